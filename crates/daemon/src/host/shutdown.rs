//! The end of a daemon: what it waits for, and what it reports.

use std::time::Duration;

use offshoot_backends::Commands;
use offshoot_client::wire::{Hello, ShutdownReport};
use offshoot_core::Phase;
use offshoot_store::{TaskQuery, TaskScope};
use tokio::sync::watch;

use super::Daemon;

/// Timeout for the recovery of what an earlier daemon left.
const RECOVERY: Duration = Duration::from_secs(10);

/// Timeout for the bodies of tasks.
const BODIES: Duration = Duration::from_secs(15);

/// Timeout for bodies whose ends cannot be written. Their processes are killed
/// after it.
const UNWRITABLE_BODIES: Duration = Duration::from_secs(2);

/// Timeout for closing the store.
const CLOSING: Duration = Duration::from_secs(15);

/// Timeout for the callers that asked the daemon to end and read its report.
const GOODBYE: Duration = Duration::from_secs(2);

/// How a daemon ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShutdownMode {
    /// The end of every task is written.
    Orderly,
    /// Nothing can be written: the data directory is gone, or the store has failed.
    Unwritable,
}

impl Daemon {
    /// Ends the daemon, no later than the sum of its timeouts, which is how long
    /// the next daemon waits ([`LONGEST_SHUTDOWN`]).
    ///
    /// [`LONGEST_SHUTDOWN`]: offshoot_client::LONGEST_SHUTDOWN
    pub(crate) async fn shut_down(&self, mode: ShutdownMode) -> ShutdownReport {
        let Some(runtime) = self.runtime.lock().take() else { return ShutdownReport::default() };
        self.connections.close();
        self.reserve.give_share();
        // Even a daemon that lives for a moment ends what an earlier one left.
        let recovered = tokio::time::timeout(RECOVERY, runtime.recovered()).await.is_ok();
        if !recovered {
            tracing::warn!("what an earlier daemon left is left to the next one");
        }
        // Requests under way hold it for a moment longer.
        let runtime = self.connections.wait_for_sole_owner(runtime).await;
        let timeout = match mode {
            ShutdownMode::Orderly => BODIES,
            ShutdownMode::Unwritable => UNWRITABLE_BODIES,
        };
        match runtime.map(|runtime| runtime.shutdown(timeout)) {
            Some(ending) => match ending.await {
                Ok(0) if recovered => {
                    if let Err(error) = self.commands.release() {
                        tracing::warn!(%error, "it could not be noted that nothing is left");
                    }
                }
                Ok(0) => {}
                Ok(left) => tracing::warn!(left, "some bodies did not go"),
                Err(error) => tracing::error!(%error, "the runtime did not end in good order"),
            },
            None => tracing::warn!("a request is still under way; the next daemon settles it"),
        }
        let report = self.shutdown_report().await;
        if let Err(error) = self.store.close(CLOSING).await {
            tracing::error!(%error, "the store was not closed in good order");
        }
        report
    }

    /// Reports the commands whose ends are not written.
    async fn shutdown_report(&self) -> ShutdownReport {
        let mut query = TaskQuery::new(TaskScope::Everything);
        query.phases = vec![Phase::Running, Phase::Waiting];
        query.kind = Some(Commands::KIND.into());
        let mut unsettled = 0;
        loop {
            let page = match self.store.tasks(query.clone()).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(%error, "the store cannot say what is left");
                    break;
                }
            };
            unsettled += page.items.len();
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        let data = self.dir.data();
        let why = (unsettled > 0 && self.disk_is_full())
            .then(|| format!("the disk under {} is full", data.display()));
        if unsettled > 0 {
            tracing::warn!(
                unsettled,
                "the ends of some tasks are not written: the next daemon settles them"
            );
        }
        ShutdownReport { unsettled, why }
    }

    /// The report of the shutdown, once there is one.
    pub(crate) fn subscribe_to_shutdown(&self) -> watch::Receiver<Option<ShutdownReport>> {
        self.stopped.subscribe()
    }

    /// Publishes the report, and waits until its subscribers have read it.
    pub(crate) async fn publish_shutdown(&self, report: ShutdownReport) {
        self.stopped.send_replace(Some(report));
        tokio::time::timeout(GOODBYE, self.stopped.closed()).await.ok();
    }

    /// Whether the daemon may end for a newer one: nothing executes here that the
    /// newer one could not go on with.
    pub(crate) async fn may_yield_to(&self, hello: &Hello) -> bool {
        if !hello.is_newer_than(env!("CARGO_PKG_VERSION")) {
            return false;
        }
        let Ok(runtime) = self.runtime() else { return true };
        let counts = runtime.counts().await;
        counts.is_ok_and(|counts| counts.of(Phase::Running) + counts.of(Phase::Waiting) == 0)
    }
}
