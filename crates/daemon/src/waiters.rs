//! Commands whose processes wait for tasks through this daemon. They need no
//! slot as long as they do, or those they wait for might never get one.

use std::pin::pin;
use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_client::wire::{Code, WireError};
use offshoot_core::TaskId;
use offshoot_runtime::ExternalWait;
use parking_lot::Mutex;

use crate::house::House;
use crate::limits::Limits;

/// The commands that wait, and with how many waits each.
#[derive(Clone, Debug)]
pub(crate) struct Waiters {
    limits: Limits,
    waits: Arc<Mutex<HashMap<TaskId, usize>>>,
}

/// A visitor that may come to wait, for the command of which it is a process.
/// Most visitors are no command's.
#[derive(Debug)]
#[must_use = "nobody waits before `during`"]
pub(crate) struct Waiter(Option<Place>);

/// A place among those that wait, given back by dropping it.
#[derive(Debug)]
struct Place {
    task: TaskId,
    waiters: Waiters,
}

impl Waiters {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, waits: Arc::default() }
    }

    /// A place for a visitor from within this task's command. One that waits
    /// keeps its files, so not any number may.
    pub(crate) fn enter(&self, within: Option<TaskId>) -> Result<Waiter, WireError> {
        let Some(task) = within else { return Ok(Waiter(None)) };
        let mut waits = self.waits.lock();
        if !waits.contains_key(&task) && waits.len() as u64 >= self.limits.waiters {
            return Err(self.refusal());
        }
        *waits.entry(task).or_default() += 1;
        Ok(Waiter(Some(Place { task, waiters: self.clone() })))
    }

    fn refusal(&self) -> WireError {
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

impl Drop for Place {
    fn drop(&mut self) {
        let mut waits = self.waiters.waits.lock();
        if let Some(many) = waits.get_mut(&self.task) {
            *many -= 1;
            if *many == 0 {
                waits.remove(&self.task);
            }
        }
    }
}

impl Waiter {
    /// Does `work`. If that is not done at once, the command waits until it is,
    /// or its visitor has gone.
    pub(crate) async fn during<T>(self, house: &House, work: impl Future<Output = T>) -> T {
        let Some(place) = self.0 else { return work.await };
        let mut work = pin!(work);
        let wait = tokio::select! {
            biased;
            done = &mut work => return done,
            wait = place.wait(house) => wait,
        };
        let done = work.await;
        drop((wait, place));
        done
    }
}

impl Place {
    /// Has the command wait, if it is one that executes here.
    async fn wait(&self, house: &House) -> Option<ExternalWait> {
        let runtime = house.runtime().ok()?;
        let task = runtime.task(&self.task.to_string()).await.ok()?;
        drop(runtime);
        // It waits in any case. Without this it keeps its slot meanwhile.
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
    fn a_command_takes_one_place_however_many_waits_it_has() {
        let waiters = Waiters::new(Limits { slots: 1, waiters: 1, connections: 8, files: 64 });
        let [one, other] = [1, 2].map(|random| Some(TaskId::mint(Stamp::from_micros(1), random)));
        let place = |task| waiters.enter(task);
        let (first, second) = (place(one).unwrap(), place(one).unwrap());
        let fault = place(other).unwrap_err();
        assert_eq!(fault.code, Code::Cap);
        assert!(fault.message.starts_with("1 commands wait"), "{fault}");
        assert!(place(None).is_ok(), "whoever is no command's takes none");
        drop(first);
        assert!(place(other).is_err());
        drop(second);
        assert!(place(other).is_ok());
        assert!(waiters.waits.lock().is_empty());
    }
}
