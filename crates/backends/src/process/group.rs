//! The end of a group, for systems that do not list its members.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::Roots;

/// Pause between two checks whether the group is empty.
const AGAIN: Duration = Duration::from_millis(20);

/// The number of checks after the kill: a process that cannot be reaped here may seem to
/// exist for ever.
const LOOKS: usize = 50;

/// Asks a group to end, kills it once patience is over, and resolves once it
/// is empty.
pub(crate) async fn end_group<'a, P: Future<Output = ()>>(
    roots: &Roots,
    mut patience: Pin<&'a mut P>,
) -> Pin<&'a mut P> {
    let Some(group) = roots.main.and_then(|main| Pid::from_raw(main.pid)) else { return patience };
    let there = || test_kill_process_group(group).is_ok();
    if kill_process_group(group, Signal::TERM).is_err() {
        return patience;
    }
    while there() {
        tokio::select! {
            () = tokio::time::sleep(AGAIN) => {}
            () = &mut patience => {
                let _ = kill_process_group(group, Signal::KILL);
                break;
            }
        }
    }
    for _ in 0..LOOKS {
        if !there() {
            break;
        }
        tokio::time::sleep(AGAIN).await;
    }
    patience
}
