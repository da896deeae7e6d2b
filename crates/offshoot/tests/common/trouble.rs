//! Stores that fail where a test says so.

use std::sync::Arc;

use offshoot::{Memory, Runtime};
use offshoot_store::{Batch, Fault, Faulty, Store, Write};
use tokio::sync::watch;

/// Which commits go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Spawns,
    /// Commits that hold the outcome of a task.
    Ends,
    /// Commits of progress and activity.
    Reports,
    Everything,
}

/// Makes commits go wrong while it is on, and counts those it struck.
#[derive(Clone, Debug)]
pub struct Trouble {
    plan: Arc<watch::Sender<Option<(Of, Fault)>>>,
    struck: Arc<watch::Sender<usize>>,
}

impl Trouble {
    /// A store without trouble for now.
    pub fn none() -> Self {
        Self { plan: Arc::new(watch::Sender::new(None)), struck: Arc::default() }
    }

    pub fn with(of: Of, fault: Fault) -> Self {
        let trouble = Self::none();
        trouble.start(of, fault);
        trouble
    }

    pub fn start(&self, of: Of, fault: Fault) {
        self.plan.send_replace(Some((of, fault)));
    }

    pub fn stop(&self) {
        self.plan.send_replace(None);
    }

    /// Resolves when at least this many commits went wrong.
    pub async fn struck(&self, times: usize) {
        let mut struck = self.struck.subscribe();
        struck.wait_for(|count| *count >= times).await.expect("the sender is here");
    }

    pub fn strikes(&self) -> usize {
        *self.struck.borrow()
    }

    /// `memory` with this trouble.
    pub fn on(&self, memory: &Memory) -> Faulty {
        let trouble = self.clone();
        Faulty::new(Arc::new(memory.clone()), move |_: u64, batch: &Batch| trouble.strike(batch))
    }

    fn strike(&self, batch: &Batch) -> Option<Fault> {
        let (of, fault) = (*self.plan.borrow())?;
        if !of.holds(batch) {
            return None;
        }
        self.struck.send_modify(|count| *count += 1);
        Some(fault)
    }
}

impl Of {
    fn holds(self, batch: &Batch) -> bool {
        batch.writes.iter().any(|write| match (self, write) {
            (Self::Everything, _) | (Self::Spawns, Write::Spawn(_)) => true,
            (Self::Ends, Write::Put(task, _)) => task.outcome.is_some(),
            (Self::Ends, Write::End(_)) => true,
            (Self::Reports, Write::Put(_, change)) => {
                use offshoot::core::Change;
                matches!(change, Change::Progress | Change::Activity)
            }
            _ => false,
        })
    }
}

pub async fn open_faulty(store: &Faulty) -> Runtime {
    let store: Arc<dyn Store> = Arc::new(store.clone());
    Runtime::builder(store).open().await.expect("the store opens")
}
