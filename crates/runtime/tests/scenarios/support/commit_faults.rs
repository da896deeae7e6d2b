//! Stores that fail where a test says so.

use std::ops::RangeInclusive;
use std::sync::Arc;

use offshoot_core::Change;
use offshoot_runtime::Runtime;
use offshoot_store::{Batch, FaultyStore, InjectedFault, Memory, Store, Write};
use tokio::sync::watch;

/// The commits that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitFilter {
    Spawns,
    /// Commits that start a task that was queued.
    Starts,
    /// Commits with the outcome of a task, whether it has ended or still waits for its
    /// children.
    Outcomes,
    /// Commits that end a task.
    Ends,
    /// Commits of progress and activity.
    Reports,
    /// Commits that cancel a task.
    Cancels,
    /// Commits that begin a sweep.
    Sweeps,
    Messages,
    /// Commits that append to a history.
    Appends,
    Everything,
}

/// Makes the picked commits fail, and counts them.
#[derive(Clone, Debug)]
pub(crate) struct CommitFaults {
    plan: Arc<watch::Sender<Option<Plan>>>,
    met: Arc<watch::Sender<usize>>,
}

#[derive(Clone, Debug)]
struct Plan {
    of: CommitFilter,
    fault: Option<InjectedFault>,
    numbers: RangeInclusive<usize>,
}

const ALL: RangeInclusive<usize> = 1..=usize::MAX;

impl CommitFaults {
    /// A store without failures for now.
    pub(crate) fn none() -> Self {
        Self { plan: Arc::new(watch::Sender::new(None)), met: Arc::default() }
    }

    pub(crate) fn with(of: CommitFilter, fault: InjectedFault) -> Self {
        Self::none().planned(Plan { of, fault: Some(fault), numbers: ALL })
    }

    /// Only the picked commits with these numbers fail, counted from 1.
    pub(crate) fn only(
        numbers: RangeInclusive<usize>,
        of: CommitFilter,
        fault: InjectedFault,
    ) -> Self {
        Self::none().planned(Plan { of, fault: Some(fault), numbers })
    }

    /// Nothing fails, and the commits are counted.
    pub(crate) fn counting(of: CommitFilter) -> Self {
        Self::none().planned(Plan { of, fault: None, numbers: ALL })
    }

    pub(crate) fn start(&self, of: CommitFilter, fault: InjectedFault) {
        self.plan.send_replace(Some(Plan { of, fault: Some(fault), numbers: ALL }));
    }

    pub(crate) fn stop(&self) {
        self.plan.send_replace(None);
    }

    /// Resolves after at least this many picked commits.
    pub(crate) async fn until_met(&self, times: usize) {
        let mut met = self.met.subscribe();
        met.wait_for(|count| *count >= times).await.expect("the sender is here");
    }

    /// The number of picked commits so far.
    pub(crate) fn met(&self) -> usize {
        *self.met.borrow()
    }

    /// `memory` with these failures.
    pub(crate) fn on(&self, memory: &Memory) -> FaultyStore {
        let trouble = self.clone();
        FaultyStore::new(Arc::new(memory.clone()), move |_: u64, batch: &Batch| {
            trouble.strike(batch)
        })
    }

    /// `memory` with these failures, for a runtime to open.
    pub(crate) fn store(&self, memory: &Memory) -> Arc<dyn Store> {
        Arc::new(self.on(memory))
    }

    /// A runtime on a memory store with these failures.
    pub(crate) async fn open(&self) -> Runtime {
        Runtime::builder(self.store(&Memory::new())).open().await.expect("the store opens")
    }

    fn planned(self, plan: Plan) -> Self {
        self.plan.send_replace(Some(plan));
        self
    }

    fn strike(&self, batch: &Batch) -> Option<InjectedFault> {
        let plan = self.plan.borrow().clone().filter(|plan| plan.of.holds(batch))?;
        self.met.send_modify(|count| *count += 1);
        plan.fault.filter(|_| plan.numbers.contains(&self.met()))
    }
}

impl CommitFilter {
    /// Whether this commit is picked.
    pub(crate) fn holds(self, batch: &Batch) -> bool {
        batch.writes.iter().any(|write| match (self, write) {
            (Self::Everything, _)
            | (Self::Spawns, Write::Spawn(_))
            | (Self::Starts, Write::Put(_, Change::Started { .. }))
            | (Self::Messages, Write::Send { .. })
            | (Self::Appends, Write::Append { .. })
            | (Self::Sweeps, Write::PutSession(_, Change::SweepBegan))
            | (Self::Cancels, Write::Put(_, Change::CancelRequested))
            | (Self::Outcomes | Self::Ends, Write::End(_)) => true,
            (Self::Outcomes, Write::Put(task, _)) => task.outcome.is_some(),
            (Self::Reports, Write::Put(_, change)) => {
                matches!(change, Change::Progress | Change::Activity)
            }
            _ => false,
        })
    }
}
