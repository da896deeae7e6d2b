//! The end of the members of a task: TERM, then KILL to those that stay.

use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use hashbrown::HashSet;
use rustix::process::Signal;

use super::census::Coverage;
use super::identity::{Identity, SignalResult};
use super::proc::Proc;
use super::process_watch::ProcessWatch;
use super::scan::{self, ScanRequest};
use super::scanner::ScanPurpose;
use super::{Roots, Scanner, SignalRoute};

/// The pause between two checks of a process that cannot be awaited.
const AGAIN: Duration = Duration::from_millis(20);

/// The most scans for the members of a command when its runtime closes.
const LAST_LOOKS: usize = 8;

/// Ends every member, and returns their number once none is left.
///
/// Members are asked to end, and killed once `patience` is over. Each round scans again,
/// because a member may have started another one meanwhile.
pub(crate) async fn end_members(
    scanner: &Scanner,
    roots: &Roots,
    patience: impl Future<Output = ()>,
) -> usize {
    let find = |census: &super::Census| census.members(roots);
    let patience = std::pin::pin!(patience);
    #[cfg(not(target_os = "linux"))]
    let patience = super::group::end_group(roots, patience).await;
    end(scanner, EndTarget::Command(roots), find, patience).await
}

/// Ends the processes that each scan finds.
pub(crate) async fn end_found(
    scanner: &Scanner,
    find: impl Fn(&super::Census) -> Vec<Identity>,
    patience: impl Future<Output = ()>,
) -> usize {
    end(scanner, EndTarget::Any, find, patience).await
}

/// The processes to end.
#[derive(Clone, Copy)]
enum EndTarget<'a> {
    Command(&'a Roots),
    /// Of any command; their marks do not matter.
    Any,
}

impl<'a> EndTarget<'a> {
    fn since(self) -> u64 {
        match self {
            Self::Command(roots) => roots.since(),
            Self::Any => u64::MAX,
        }
    }

    fn measure(self, stage: EndStage) -> ScanPurpose<'a> {
        match (self, stage) {
            (Self::Command(roots), EndStage::Killing) => ScanPurpose::Kill(roots),
            (Self::Command(roots), EndStage::Asking) => ScanPurpose::Find(Some(roots)),
            (Self::Any, _) => ScanPurpose::Find(None),
        }
    }
}

async fn end(
    scanner: &Scanner,
    whose: EndTarget<'_>,
    find: impl Fn(&super::Census) -> Vec<Identity>,
    patience: impl Future<Output = ()>,
) -> usize {
    let mut patience = std::pin::pin!(patience);
    let mut round = EndRound::default();
    loop {
        if round.stage == EndStage::Asking && patience.as_mut().now_or_never().is_some() {
            round.stage = EndStage::Killing;
        }
        let census = scanner.scan(whose.since(), whose.measure(round.stage)).await;
        let mut members = find(&census);
        members.retain(|member| !round.refused.contains(member));
        match (members.is_empty(), census.coverage) {
            // A vanished member may have started another one, so only an empty scan is the end.
            (true, Coverage::Complete) => return round.met.len(),
            (true, Coverage::Partial) => tokio::time::sleep(AGAIN).await,
            (false, coverage) => {
                let there = round.signal(members, coverage);
                round.wait(there, patience.as_mut()).await;
            }
        }
    }
}

/// Asks the members outside the group of the main process to end.
///
/// The group is asked as a whole.
pub(crate) async fn tell_strays(scanner: &Scanner, roots: &Roots, signals: SignalRoute) {
    let Some(main) = roots.main else { return };
    let census = scanner.scan(roots.since(), ScanPurpose::Find(Some(roots))).await;
    for member in census.members(roots) {
        let group = census.group_of(member);
        let asked = group.is_some_and(|group| match signals {
            SignalRoute::Direct => group == main.pid,
            SignalRoute::PassedOn => group == main.pid || census.is_child(group, main.pid),
        });
        if !asked {
            member.send(Some(Signal::TERM));
            member.send(Some(Signal::CONT));
        }
    }
}

/// Kills every present member, without waiting.
pub(crate) fn kill_members<'a>(of: impl Iterator<Item = &'a Roots> + Clone) {
    let Some(since) = of.clone().map(Roots::since).min() else { return };
    let mut request = ScanRequest::since(since);
    of.clone().for_each(|roots| request.kill(roots));
    let (mut killed, mut proc) = (HashSet::new(), Proc::default());
    for _ in 0..LAST_LOOKS {
        let census = scan::take(&request, &mut proc);
        let members = of.clone().flat_map(|roots| census.members(roots));
        let new = members.filter(|member| killed.insert(*member)).count();
        if new == 0 && census.coverage == Coverage::Complete {
            return;
        }
    }
}

/// The progress of an ending.
#[derive(Default)]
struct EndRound {
    met: HashSet<Identity>,
    refused: HashSet<Identity>,
    stage: EndStage,
}

/// The signal that is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum EndStage {
    #[default]
    Asking,
    Killing,
}

/// The members to wait for.
#[derive(Default)]
struct RemainingMembers {
    held: Vec<OwnedFd>,
    /// The number of members that could not be held.
    unheld: usize,
}

impl EndRound {
    /// Signals each member that is due a signal, and returns those to wait for.
    fn signal(&mut self, members: Vec<Identity>, coverage: Coverage) -> RemainingMembers {
        let mut there = RemainingMembers::default();
        for member in members {
            let new = self.met.insert(member);
            let signal = match (self.stage, coverage) {
                // Until all are found, each member that ends makes room for a new one.
                (EndStage::Killing, Coverage::Partial) => None,
                (EndStage::Killing, Coverage::Complete) => Some(Signal::KILL),
                (EndStage::Asking, _) => new.then_some(Signal::TERM),
            };
            match member.send(signal) {
                SignalResult::There(held) => {
                    if signal == Some(Signal::TERM) {
                        // A stopped process handles the signal only once it continues.
                        member.send(Some(Signal::CONT));
                    }
                    there.held.push(held);
                }
                SignalResult::Gone => {}
                SignalResult::Unheld => there.unheld += 1,
                SignalResult::Refused => {
                    self.met.remove(&member);
                    self.refused.insert(member);
                }
            }
        }
        if self.stage == EndStage::Killing && coverage == Coverage::Partial {
            // They end only after the next scan.
            there = RemainingMembers { held: Vec::new(), unheld: 1 };
        }
        there
    }

    /// Waits until these processes have ended, or patience is over.
    async fn wait(
        &mut self,
        there: RemainingMembers,
        patience: Pin<&mut impl Future<Output = ()>>,
    ) {
        let gone = join_all(there.held.into_iter().map(gone));
        let gone = async {
            if there.unheld > 0 {
                tokio::time::sleep(AGAIN).await;
            } else {
                gone.await;
            }
        };
        if self.stage == EndStage::Killing {
            gone.await;
            return;
        }
        tokio::select! {
            () = gone => {}
            () = patience => self.stage = EndStage::Killing,
        }
    }
}

/// Resolves once the process behind this descriptor has ended.
async fn gone(held: OwnedFd) {
    match ProcessWatch::new(held) {
        Ok(held) => held.gone().await,
        Err(_) => tokio::time::sleep(AGAIN).await,
    }
}
