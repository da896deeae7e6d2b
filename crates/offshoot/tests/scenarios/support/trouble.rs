//! Stores that fail where a test says so.

use std::ops::RangeInclusive;
use std::sync::Arc;

use offshoot::core::Change;
use offshoot::{Memory, Runtime, Store};
use offshoot_store::{Batch, Fault, Faulty, Write};
use tokio::sync::watch;

/// Which commits go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Spawns,
    /// Commits that start a task that was queued.
    Starts,
    /// Commits that hold the outcome of a task, whether it has ended or still
    /// waits for its children.
    Outcomes,
    /// Commits that end a task.
    Ends,
    /// Commits of progress and activity.
    Reports,
    /// Commits that ask a task to stop.
    Cancels,
    /// Commits that begin the cancel of many.
    Sweeps,
    Messages,
    /// Commits that put something into a history.
    Appends,
    Everything,
}

/// Has commits go wrong, and counts those it is about.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    plan: Arc<watch::Sender<Option<Plan>>>,
    met: Arc<watch::Sender<usize>>,
}

#[derive(Clone, Debug)]
struct Plan {
    of: Of,
    fault: Option<Fault>,
    numbers: RangeInclusive<usize>,
}

const ALL: RangeInclusive<usize> = 1..=usize::MAX;

impl Trouble {
    /// A store without trouble for now.
    pub(crate) fn none() -> Self {
        Self { plan: Arc::new(watch::Sender::new(None)), met: Arc::default() }
    }

    pub(crate) fn with(of: Of, fault: Fault) -> Self {
        Self::none().planned(Plan { of, fault: Some(fault), numbers: ALL })
    }

    /// Only the commits of these numbers go wrong, counted from 1.
    pub(crate) fn only(numbers: RangeInclusive<usize>, of: Of, fault: Fault) -> Self {
        Self::none().planned(Plan { of, fault: Some(fault), numbers })
    }

    /// Nothing goes wrong, and the commits are counted.
    pub(crate) fn counting(of: Of) -> Self {
        Self::none().planned(Plan { of, fault: None, numbers: ALL })
    }

    pub(crate) fn start(&self, of: Of, fault: Fault) {
        self.plan.send_replace(Some(Plan { of, fault: Some(fault), numbers: ALL }));
    }

    pub(crate) fn stop(&self) {
        self.plan.send_replace(None);
    }

    /// Resolves when there were at least so many of the commits it is about.
    pub(crate) async fn until_met(&self, times: usize) {
        let mut met = self.met.subscribe();
        met.wait_for(|count| *count >= times).await.expect("the sender is here");
    }

    /// How many of the commits it is about there were.
    pub(crate) fn met(&self) -> usize {
        *self.met.borrow()
    }

    /// `memory` with this trouble.
    pub(crate) fn on(&self, memory: &Memory) -> Faulty {
        let trouble = self.clone();
        Faulty::new(Arc::new(memory.clone()), move |_: u64, batch: &Batch| trouble.strike(batch))
    }

    /// `memory` with this trouble, for a runtime to open.
    pub(crate) fn store(&self, memory: &Memory) -> Arc<dyn Store> {
        Arc::new(self.on(memory))
    }

    /// A runtime on a memory store with this trouble.
    pub(crate) async fn open(&self) -> Runtime {
        Runtime::builder(self.store(&Memory::new())).open().await.expect("the store opens")
    }

    fn planned(self, plan: Plan) -> Self {
        self.plan.send_replace(Some(plan));
        self
    }

    fn strike(&self, batch: &Batch) -> Option<Fault> {
        let plan = self.plan.borrow().clone().filter(|plan| plan.of.holds(batch))?;
        self.met.send_modify(|count| *count += 1);
        plan.fault.filter(|_| plan.numbers.contains(&self.met()))
    }
}

impl Of {
    /// Whether this is one of them.
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
