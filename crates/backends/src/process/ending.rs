//! Ending the members of a task: TERM, and KILL to those that stay.

use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::time::Duration;

use futures_util::future::join_all;
use hashbrown::HashSet;
use rustix::process::Signal;

use super::held::Held;
use super::identity::{Identity, Reached};
use super::{Roots, Scanner};

/// How long a process that cannot be awaited is left before it is looked for
/// again.
const AGAIN: Duration = Duration::from_millis(20);

/// Ends every member and resolves once none is left; how many there were. They
/// are asked to end, and killed once `patience` is over. It looks again after
/// each round, because a member may have started another meanwhile.
pub(crate) async fn end_members(
    scanner: &Scanner,
    roots: &Roots,
    patience: impl Future<Output = ()>,
) -> usize {
    let find = |census: &super::Census| census.members(roots);
    let patience = std::pin::pin!(patience);
    #[cfg(not(target_os = "linux"))]
    let patience = super::group::end_group(roots, patience).await;
    end_found(scanner, roots.since(), find, patience).await
}

/// Does so for whatever is found.
pub(crate) async fn end_found(
    scanner: &Scanner,
    since: u64,
    find: impl Fn(&super::Census) -> Vec<Identity>,
    patience: impl Future<Output = ()>,
) -> usize {
    let mut patience = std::pin::pin!(patience);
    let mut round = Round::default();
    loop {
        let census = scanner.look(since).await;
        let there = round.signal(find(&census));
        if there.is_empty() {
            return round.met.len();
        }
        round.wait(there, patience.as_mut()).await;
    }
}

/// Asks those members to end that are not in the group of the main process,
/// which is asked as a whole.
pub(crate) async fn tell_strays(scanner: &Scanner, roots: &Roots) {
    let group = roots.main.map(|main| main.pid);
    let census = scanner.look(roots.since()).await;
    for member in census.members(roots) {
        if census.group_of(member) != group {
            member.send(Some(Signal::TERM));
            member.send(Some(Signal::CONT));
        }
    }
}

/// Kills every member there is now, without waiting for anything.
pub(crate) fn kill_members<'a>(of: impl Iterator<Item = &'a Roots> + Clone) {
    let Some(since) = of.clone().map(Roots::since).min() else { return };
    let census = super::Census::take(since, &HashSet::new());
    for roots in of {
        for member in census.members(roots) {
            member.send(Some(Signal::KILL));
        }
    }
}

/// How far the ending has come.
#[derive(Default)]
struct Round {
    met: HashSet<Identity>,
    refused: HashSet<Identity>,
    killing: bool,
}

impl Round {
    /// Signals each member that is due one; those to wait for.
    fn signal(&mut self, members: Vec<Identity>) -> Vec<OwnedFd> {
        let mut there = Vec::new();
        for member in members {
            if self.refused.contains(&member) {
                continue;
            }
            let new = self.met.insert(member);
            let signal = match (self.killing, new) {
                (true, _) => Some(Signal::KILL),
                (false, true) => Some(Signal::TERM),
                (false, false) => None,
            };
            match member.send(signal) {
                Reached::There(held) => {
                    if signal == Some(Signal::TERM) {
                        // One that is stopped does not hear it otherwise.
                        member.send(Some(Signal::CONT));
                    }
                    there.push(held);
                }
                Reached::Gone => {}
                Reached::Refused => {
                    self.met.remove(&member);
                    self.refused.insert(member);
                }
            }
        }
        there
    }

    /// Waits until those are gone, or patience is.
    async fn wait(&mut self, there: Vec<OwnedFd>, patience: Pin<&mut impl Future<Output = ()>>) {
        let gone = join_all(there.into_iter().map(gone));
        if self.killing {
            gone.await;
            return;
        }
        tokio::select! {
            _ = gone => {}
            () = patience => self.killing = true,
        }
    }
}

/// Resolves once the process behind this descriptor has ended.
async fn gone(held: OwnedFd) {
    match Held::new(held) {
        Ok(held) => held.gone().await,
        Err(_) => tokio::time::sleep(AGAIN).await,
    }
}
