//! Ending a group where the system does not tell who is in it.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::Roots;

/// How often it is looked whether the group is empty.
const AGAIN: Duration = Duration::from_millis(20);

/// Asks a group to end, kills it once patience is over, and resolves once it
/// is empty.
pub(crate) async fn end_group<P: Future<Output = ()>>(
    roots: &Roots,
    mut patience: Pin<&mut P>,
) -> Pin<&mut P> {
    let Some(group) = roots.main.and_then(|main| Pid::from_raw(main.pid)) else { return patience };
    let mut asked = kill_process_group(group, Signal::TERM);
    while asked.is_ok() && test_kill_process_group(group).is_ok() {
        tokio::select! {
            () = tokio::time::sleep(AGAIN) => {}
            () = &mut patience => {
                asked = kill_process_group(group, Signal::KILL);
                break;
            }
        }
    }
    patience
}
