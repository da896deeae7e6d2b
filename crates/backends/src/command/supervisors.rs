//! The supervisors at work, by task.

use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::{IdHash, TaskId};
use parking_lot::Mutex;

use super::supervisor::{StopUrgency, Supervisor};
use crate::process::kill_members;

/// The supervisors at work. One stays here until the backend has read the end of its
/// command.
#[derive(Debug, Default)]
pub(crate) struct Supervisors(Mutex<HashMap<TaskId, Entry, IdHash>>);

#[derive(Debug)]
struct Entry {
    supervisor: Arc<Supervisor>,
    end_reader: EndReader,
}

/// Whether the backend will read the end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndReader {
    Expected,
    Absent,
}

impl Supervisors {
    pub(crate) fn enter(&self, supervisor: &Arc<Supervisor>) {
        let entry = Entry { supervisor: supervisor.clone(), end_reader: EndReader::Expected };
        self.0.lock().insert(supervisor.task, entry);
    }

    pub(crate) fn of(&self, task: TaskId) -> Option<Arc<Supervisor>> {
        self.0.lock().get(&task).map(|entry| entry.supervisor.clone())
    }

    /// Forgets a command whose end has been read.
    pub(crate) fn forget(&self, supervisor: &Arc<Supervisor>) {
        let mut all = self.0.lock();
        if all.get(&supervisor.task).is_some_and(|entry| Arc::ptr_eq(&entry.supervisor, supervisor))
        {
            all.remove(&supervisor.task);
        }
    }

    /// Notes that a supervisor has ended. It is forgotten if its end will not be read.
    pub(crate) fn left(&self, supervisor: &Arc<Supervisor>) {
        let end_reader = self.0.lock().get(&supervisor.task).map(|entry| entry.end_reader);
        if end_reader == Some(EndReader::Absent) {
            self.forget(supervisor);
        }
    }

    /// Kills every process of every command at once. Their ends will not be read.
    pub(crate) fn kill_all(&self) {
        let supervisors: Vec<Arc<Supervisor>> = {
            let mut all = self.0.lock();
            all.retain(|_, entry| !entry.supervisor.is_finished());
            all.values_mut().for_each(|entry| entry.end_reader = EndReader::Absent);
            all.values().map(|entry| entry.supervisor.clone()).collect()
        };
        for supervisor in &supervisors {
            supervisor.stop(StopUrgency::Kill);
        }
        // The supervisors may not run any more, so it is not left to them.
        kill_members(supervisors.iter().filter_map(|supervisor| supervisor.roots()));
    }
}
