//! Who is in, and when the daemon may go.

use std::sync::Arc;
use std::time::Duration;

use offshoot_backends::Commands;
use offshoot_core::Task;
use tokio::sync::watch;

use crate::house::House;

/// How long a daemon that ends waits for the requests under way.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How often a daemon that has no visitors looks whether anything is left to
/// do. What is done can end without anybody's doing.
const LOOK: Duration = Duration::from_secs(1);

/// Counts the connections.
#[derive(Debug)]
pub(crate) struct Idle {
    patience: Duration,
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    visitors: usize,
    closed: bool,
}

/// One connection, as long as it lasts.
#[derive(Debug)]
pub(crate) struct Visit(watch::Sender<State>);

impl Drop for Visit {
    fn drop(&mut self) {
        self.0.send_modify(|state| state.visitors -= 1);
    }
}

impl Idle {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, state: watch::Sender::default() }
    }

    /// How long the daemon stays when there is nothing to do.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// Lets somebody in, unless the daemon is ending.
    pub(crate) fn enter(&self) -> Option<Visit> {
        let entered = self.state.send_if_modified(|state| {
            if !state.closed {
                state.visitors += 1;
            }
            !state.closed
        });
        entered.then(|| Visit(self.state.clone()))
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

    /// Lets nobody in any more.
    pub(crate) fn close(&self) {
        self.state.send_modify(|state| state.closed = true);
    }

    /// Resolves once the daemon has been without visitors and without work for
    /// so long that it may go.
    pub(crate) async fn until_idle(&self, house: &House) {
        let mut state = self.state.subscribe();
        loop {
            if state.wait_for(|state| state.visitors == 0).await.is_err() {
                return;
            }
            let came = async {
                // The sender is our own.
                state.wait_for(|state| state.visitors > 0).await.ok();
            };
            let bored = async {
                let mut idle = Duration::ZERO;
                while idle < self.patience {
                    let pause = LOOK.min(self.patience.saturating_sub(idle));
                    tokio::time::sleep(pause).await;
                    idle = if has_work(house).await { Duration::ZERO } else { idle + pause };
                }
            };
            tokio::select! {
                () = came => {}
                () = bored => return,
            }
        }
    }

    /// Waits until nobody else holds this; gives up on who takes too long.
    pub(crate) async fn until_alone<T>(&self, mut shared: Arc<T>) -> Option<T> {
        let mut state = self.state.subscribe();
        let alone = async {
            loop {
                match Arc::try_unwrap(shared) {
                    Ok(alone) => return alone,
                    Err(still) => shared = still,
                }
                // A request that is under way may hold it after its connection
                // has gone.
                let step = Duration::from_millis(10);
                tokio::time::timeout(step, state.changed()).await.ok();
            }
        };
        tokio::time::timeout(LAST_WORDS, alone).await.ok()
    }
}

/// Whether any task executes, waits or queues that this daemon executes. What
/// nobody here can execute does not keep it, and neither does an agent whose
/// key nobody has brought: the next daemon has it as well.
async fn has_work(house: &House) -> bool {
    let Ok(runtime) = house.runtime() else { return false };
    for kind in [Commands::KIND, offshoot_agent::KIND] {
        let mut live = runtime.tasks().live().kind(kind);
        loop {
            match live.clone().await {
                Ok(page) if page.items.iter().any(|task| !lacks_key(house, task)) => return true,
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

fn lacks_key(house: &House, task: &Task) -> bool {
    task.state == offshoot_core::TaskState::Queued && house.lacks(task).is_some()
}
