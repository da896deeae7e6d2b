//! Commands whose processes wait for tasks through this daemon.
//!
//! A command that waits needs no slot meanwhile. Otherwise the tasks it waits for
//! might never get one.

use std::pin::pin;
use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_client::wire::{Code, WireError};
use offshoot_core::TaskId;
use offshoot_runtime::ExternalWait;
use parking_lot::Mutex;

use super::Daemon;
use crate::limits::Limits;

/// The commands that wait, each with the number of its waits.
#[derive(Clone, Debug)]
pub(crate) struct CommandWaits {
    limits: Limits,
    waits: Arc<Mutex<HashMap<TaskId, usize>>>,
}

/// A request that may wait, and the command of which its caller is a process. Most
/// callers are no process of a command.
#[derive(Debug)]
#[must_use = "the wait begins with `during`"]
pub(crate) struct CommandWait(Option<WaitPermit>);

/// The permit of a command to wait; dropping it gives it back.
#[derive(Debug)]
struct WaitPermit {
    task: TaskId,
    waits: CommandWaits,
}

impl CommandWaits {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, waits: Arc::default() }
    }

    /// Lets a process of this task's command wait.
    ///
    /// A command that waits keeps its files open, so their number is limited.
    pub(crate) fn enter(&self, within: Option<TaskId>) -> Result<CommandWait, WireError> {
        let Some(task) = within else { return Ok(CommandWait(None)) };
        let mut waits = self.waits.lock();
        if !waits.contains_key(&task) && waits.len() as u64 >= self.limits.waiters {
            return Err(self.limit_error());
        }
        *waits.entry(task).or_default() += 1;
        Ok(CommandWait(Some(WaitPermit { task, waits: self.clone() })))
    }

    fn limit_error(&self) -> WireError {
        let Limits { waiters, files, .. } = self.limits;
        let text = format!(
            "{waiters} commands wait for others already, and no more can: each keeps its files, \
             and the system allows {files}"
        );
        let hint = "spawn with --detach and do not wait inside the command, or allow more files \
                    (`ulimit -n`) and end the daemon, so that the next one has them: \
                    `offshoot daemon stop`";
        WireError::new(Code::Cap, text).hint(hint)
    }
}

impl Drop for WaitPermit {
    fn drop(&mut self) {
        let mut waits = self.waits.waits.lock();
        if let Some(many) = waits.get_mut(&self.task) {
            *many -= 1;
            if *many == 0 {
                waits.remove(&self.task);
            }
        }
    }
}

impl CommandWait {
    /// Does `work`. If it is not done at once, the command waits until it is, or
    /// until the future is dropped.
    pub(crate) async fn during<T>(self, daemon: &Daemon, work: impl Future<Output = T>) -> T {
        let Some(permit) = self.0 else { return work.await };
        let mut work = pin!(work);
        let wait = tokio::select! {
            biased;
            done = &mut work => return done,
            wait = permit.wait(daemon) => wait,
        };
        let done = work.await;
        drop((wait, permit));
        done
    }
}

impl WaitPermit {
    /// Takes the slot of the command, if the command executes here.
    async fn wait(&self, daemon: &Daemon) -> Option<ExternalWait> {
        let runtime = daemon.runtime().ok()?;
        let task = runtime.task(&self.task.to_string()).await.ok()?;
        drop(runtime);
        // Without this the command waits as well, but keeps its slot.
        let wait = task.external_wait().await.inspect_err(|error| {
            tracing::warn!(task = %self.task, %error, "it could not be noted that a command waits");
        });
        wait.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offshoot_core::Stamp;

    #[test]
    fn a_command_takes_one_permit_for_all_its_waits() {
        let waits = CommandWaits::new(Limits { slots: 1, waiters: 1, connections: 8, files: 64 });
        let [one, other] = [1, 2].map(|random| Some(TaskId::mint(Stamp::from_micros(1), random)));
        let enter = |task| waits.enter(task);
        let (first, second) = (enter(one).unwrap(), enter(one).unwrap());
        let error = enter(other).unwrap_err();
        assert_eq!(error.code, Code::Cap);
        assert!(error.message.starts_with("1 commands wait"), "{error}");
        assert!(enter(None).is_ok(), "a caller outside of a command takes none");
        drop(first);
        assert!(enter(other).is_err());
        drop(second);
        assert!(enter(other).is_ok());
        assert!(waits.waits.lock().is_empty());
    }
}
