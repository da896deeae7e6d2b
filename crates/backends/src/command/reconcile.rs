//! Ending the processes that a dead holder of the data directory left of a command.

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashSet;
use offshoot_core::{Task, TaskId};
use parking_lot::Mutex;

use super::commands::CommandsShared;
use super::report::Report;
use crate::process::{Roots, boot, end_found, end_members};

/// The most characters of a process's name; the system keeps less.
const LONGEST_NAME: usize = 64;

/// The time that processes left behind have to end.
const GRACE: Duration = Duration::from_secs(2);

impl CommandsShared {
    /// Ends what is left of a task that was executing when its runtime died.
    pub(crate) async fn end_left(self: Arc<Self>, task: TaskId, report: Option<Report>) {
        if let Some(earlier) = self.supervisors.of(task) {
            earlier.finished().await;
        }
        if self.dead_holders.any_lives() {
            tracing::warn!(%task, "ends nothing: who held the folder that this is a copy of lives");
            return;
        }
        self.end_sessions().await;
        let main = match &report {
            // Nothing outlives the machine.
            Some(report) if !report.boot.is_empty() && report.boot != boot() => return,
            Some(report) => report.main(),
            None => None,
        };
        let cgroups = self.dead_holders.cgroups_of(task);
        let roots = Roots { mark: task, main, cgroups, dead_holders: self.dead_holders.clone() };
        let ended = end_members(&self.scanner, &roots, tokio::time::sleep(GRACE)).await;
        for cgroup in roots.cgroups {
            drop(self.starters.run(move || cgroup.remove_left()));
        }
        if ended > 0 {
            tracing::info!(%task, processes = ended, "ended what a dead process left behind");
        }
    }

    /// Ends what is left in sessions that dead holders had to themselves, once.
    async fn end_sessions(&self) {
        if !self.dead_holders.had_sole_session() {
            return;
        }
        let told = Mutex::new(HashSet::new());
        let find = |census: &crate::process::Census| {
            let left = census.left_in_sessions(&self.dead_holders);
            for process in left.iter().filter(|process| told.lock().insert(**process)) {
                tracing::warn!(
                    pid = process.pid,
                    name = name_of(process.pid),
                    "ends a process: it is left in the session of a daemon that died"
                );
            }
            left
        };
        let end = || end_found(&self.scanner, find, tokio::time::sleep(GRACE));
        self.sessions_ended.get_or_init(end).await;
    }
}

/// The name of a process, where the system tells.
fn name_of(pid: i32) -> String {
    let name = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    crate::text::safe_text(name.trim_ascii_end(), LONGEST_NAME)
}

/// The last report in the record of a task.
pub(crate) fn reported(task: &Task) -> Option<Report> {
    task.progress.as_ref()?.value.decode().ok()
}
