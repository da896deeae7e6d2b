//! The connections of a daemon, and the moment at which an idle one may end.

use std::sync::Arc;
use std::time::Duration;

use offshoot_backends::Commands;
use offshoot_core::Task;
use tokio::sync::watch;

use super::Daemon;

/// How long a daemon that ends waits for requests under way.
const LAST_REQUESTS: Duration = Duration::from_secs(5);

/// How often a daemon without connections looks for live tasks. A command ends
/// by itself, without a connection.
const WORK_CHECK: Duration = Duration::from_secs(1);

/// Counts the open connections.
#[derive(Debug)]
pub(crate) struct ConnectionCount {
    idle_limit: Duration,
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    open: usize,
    closed: bool,
}

/// One open connection; dropping it ends the count.
#[derive(Debug)]
pub(crate) struct ConnectionGuard(watch::Sender<State>);

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.0.send_modify(|state| state.open -= 1);
    }
}

impl ConnectionCount {
    pub(super) fn new(idle_limit: Duration) -> Self {
        Self { idle_limit, state: watch::Sender::default() }
    }

    /// How long the daemon stays when there is nothing to do.
    pub(crate) fn idle_limit(&self) -> Duration {
        self.idle_limit
    }

    /// Adds a connection, unless the daemon is ending.
    pub(crate) fn enter(&self) -> Option<ConnectionGuard> {
        let entered = self.state.send_if_modified(|state| {
            if !state.closed {
                state.open += 1;
            }
            !state.closed
        });
        entered.then(|| ConnectionGuard(self.state.clone()))
    }

    /// Resolves when a connection that is open now ends. Only the caller adds
    /// connections meanwhile.
    pub(crate) fn departure(&self) -> impl Future<Output = ()> + use<> {
        let mut state = self.state.subscribe();
        async move {
            // The sender outlives the wait.
            state.changed().await.ok();
        }
    }

    /// Refuses new connections from now on.
    pub(super) fn close(&self) {
        self.state.send_modify(|state| state.closed = true);
    }

    /// Waits until this is the only reference; `None` if that takes too long.
    pub(super) async fn wait_for_sole_owner<T>(&self, mut shared: Arc<T>) -> Option<T> {
        let mut state = self.state.subscribe();
        let alone = async {
            loop {
                match Arc::try_unwrap(shared) {
                    Ok(alone) => return alone,
                    Err(still) => shared = still,
                }
                // A request under way may hold it after its connection has closed.
                let step = Duration::from_millis(10);
                tokio::time::timeout(step, state.changed()).await.ok();
            }
        };
        tokio::time::timeout(LAST_REQUESTS, alone).await.ok()
    }
}

impl Daemon {
    /// Resolves once the daemon has had no connection and no work for its idle limit.
    pub(crate) async fn wait_until_idle(&self) {
        let connections = &self.connections;
        let mut state = connections.state.subscribe();
        loop {
            if state.wait_for(|state| state.open == 0).await.is_err() {
                return;
            }
            let connected = async {
                // The sender is our own.
                state.wait_for(|state| state.open > 0).await.ok();
            };
            let idle_for_long = async {
                let mut idle = Duration::ZERO;
                while idle < connections.idle_limit {
                    let pause = WORK_CHECK.min(connections.idle_limit.saturating_sub(idle));
                    tokio::time::sleep(pause).await;
                    idle = if self.has_work().await { Duration::ZERO } else { idle + pause };
                }
            };
            tokio::select! {
                () = connected => {}
                () = idle_for_long => return,
            }
        }
    }

    /// Whether a task executes, waits or queues that this daemon can execute.
    ///
    /// A queued agent without a key does not keep the daemon: the next one has it
    /// as well.
    async fn has_work(&self) -> bool {
        let Ok(runtime) = self.runtime() else { return false };
        for kind in [Commands::KIND, offshoot_agent::KIND] {
            let mut live = runtime.tasks().live().kind(kind);
            loop {
                match live.clone().await {
                    Ok(page) if page.items.iter().any(|task| !self.lacks_key(task)) => return true,
                    Ok(page) => match page.next {
                        Some(next) => live = live.after(next),
                        None => break,
                    },
                    Err(error) => {
                        tracing::warn!(%error, "the store cannot say what is left to do");
                        return true;
                    }
                }
            }
        }
        false
    }

    fn lacks_key(&self, task: &Task) -> bool {
        task.state == offshoot_core::TaskState::Queued && self.missing_requirement(task).is_some()
    }
}
