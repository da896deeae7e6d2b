//! Deleting what ended tasks and removed sessions left behind.

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashSet;
use offshoot_agent::OwnerState;
use offshoot_core::TaskId;
use offshoot_runtime::Runtime;
use parking_lot::Mutex;

use super::Daemon;

/// Pause between two sweeps.
const SWEEP_INTERVAL: Duration = Duration::from_secs(3600);

impl Daemon {
    /// Deletes unneeded logs and empty worktrees, now and every [`SWEEP_INTERVAL`].
    pub(super) async fn maintain(self: Arc<Self>) {
        if let Ok(runtime) = self.runtime() {
            runtime.recovered().await;
            // A daemon that is ending has not recovered, even if it says so.
            if self.runtime().is_ok()
                && let Err(error) = self.commands.recovered()
            {
                tracing::warn!(%error, "it could not be noted that nothing is left");
            }
        }
        loop {
            let Ok(runtime) = self.runtime() else { return };
            self.sweep_logs(&runtime).await;
            self.sweep_worktrees(&runtime).await;
            drop(runtime);
            tokio::time::sleep(SWEEP_INTERVAL).await;
            self.reserve.fill();
        }
    }

    /// The tasks without a record whose output stays as long as this daemon lives.
    ///
    /// The first call must come before the daemon deletes any record.
    pub(crate) async fn unrecorded_tasks(&self, runtime: &Runtime) -> &HashSet<TaskId> {
        let found = self.unrecorded.get_or_init(|| async {
            let without = Mutex::new(HashSet::new());
            let kept = async |id| {
                if !matches!(runtime.get(id).await, Ok(Some(_))) {
                    without.lock().insert(id);
                }
                true
            };
            if let Err(error) = self.commands.sweep(kept).await {
                tracing::warn!(%error, "old logs could not be looked at");
            }
            let unrecorded = without.into_inner();
            if !unrecorded.is_empty() {
                let logs = unrecorded.len();
                tracing::warn!(logs, "logs of tasks without a record stay: the last daemon died");
            }
            unrecorded
        });
        found.await
    }

    /// Deletes the logs of tasks that are gone, or whose session is being
    /// removed, and returns their number.
    pub(crate) async fn sweep_logs(&self, runtime: &Runtime) -> usize {
        let unrecorded = self.unrecorded_tasks(runtime).await;
        let kept = async |id| match runtime.get(id).await {
            Ok(None) => unrecorded.contains(&id),
            Ok(Some(task)) => {
                let session = runtime.session_record(task.spec.lineage.session).await;
                !matches!(session, Ok(Some(session)) if session.is_removing())
            }
            Err(_) => true,
        };
        match self.commands.sweep(kept).await {
            Ok(swept) => {
                if swept > 0 {
                    tracing::info!(swept, "logs of tasks that are no more were deleted");
                }
                swept
            }
            Err(error) => {
                tracing::warn!(%error, "old logs could not be deleted");
                0
            }
        }
    }

    /// Removes the temporary files of ended agents, and their empty worktrees.
    async fn sweep_worktrees(&self, runtime: &Runtime) {
        let fate = async |id| match runtime.get(id).await {
            Ok(None) => OwnerState::Gone,
            Ok(Some(task)) if !task.is_live() => OwnerState::Ended,
            _ => OwnerState::Live,
        };
        let kept = async |id| !matches!(fate(id).await, OwnerState::Gone | OwnerState::Ended);
        if let Err(error) = self.runs.sweep(kept).await {
            tracing::warn!(%error, "what agents kept for a while could not be deleted");
        }
        match self.agents.sweep_worktrees(fate).await {
            Ok(0) => {}
            Ok(swept) => tracing::info!(swept, "worktrees with nothing in them were removed"),
            Err(error) => tracing::warn!(%error, "old worktrees could not be looked at"),
        }
    }
}
