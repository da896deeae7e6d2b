//! Faults: a write with a fault is whole or absent, and a caller that reads and decides
//! again reaches the same end.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use offshoot_core::Cursor;
use parking_lot::Mutex;

use super::scenario::{SCENARIO_STEPS, Scenario};
use super::snapshot::StoreSnapshot;
use super::world::StoreWorld;
use crate::batch::Batch;
use crate::error::{CommitError, StoreError};
use crate::faulty::{FaultPlan, FaultPoint, FaultyStore, InjectedFault};
use crate::future::CommitFuture;

/// A run of the scenario on a store with faults.
struct ScenarioRun {
    world: StoreWorld,
    scenario: Scenario,
    faulty: Option<FaultyStore>,
    faults: Arc<dyn FaultPlan>,
}

/// One plan for every store that is opened during a run.
struct SharedPlan(Arc<dyn FaultPlan>);

impl FaultPlan for SharedPlan {
    fn at_commit(&self, number: u64, batch: &Batch) -> Option<InjectedFault> {
        self.0.at_commit(number, batch)
    }
}

impl ScenarioRun {
    async fn new(world: &StoreWorld, faults: impl FaultPlan + 'static) -> Self {
        let world = world.another().await;
        let scenario = Scenario::new(&world);
        let mut run = Self { world, scenario, faulty: None, faults: Arc::new(faults) };
        run.wrap();
        run
    }

    fn wrap(&mut self) {
        self.world.wrap(|store| {
            let faulty = FaultyStore::new(store, SharedPlan(self.faults.clone()));
            self.faulty = Some(faulty.clone());
            Arc::new(faulty)
        });
    }

    /// The visible state. A crashed store is reopened first.
    async fn observe(&mut self) -> StoreSnapshot {
        if self.faulty.as_ref().is_some_and(FaultyStore::has_crashed) {
            self.faulty = None;
            self.world.reopen().await;
            self.wrap();
        }
        StoreSnapshot::take(&*self.world.store(), &self.scenario.messages()).await.unwrap()
    }

    async fn commit(&self, batch: Batch) -> Result<Cursor, CommitError> {
        let commit = self.world.store().commit(batch);
        answer_or_withheld(commit, self.faulty.as_ref().unwrap()).await
    }

    /// Executes one step until it has taken effect. Returns the state after each failure.
    async fn execute(&mut self, step: usize) -> Vec<StoreSnapshot> {
        let mut seen = Vec::new();
        loop {
            let store = self.world.store();
            let Some(batch) = SCENARIO_STEPS[step](&self.scenario, &*store).await else {
                return seen;
            };
            drop(store);
            match self.commit(batch).await {
                Ok(_) => return seen,
                Err(CommitError::Store(
                    StoreError::NotWritten(_) | StoreError::Unknown(_) | StoreError::Closed,
                )) => seen.push(self.observe().await),
                Err(other) => panic!("step {step}: {other:?}"),
            }
        }
    }
}

/// The answer to a commit, or an error when the store withholds it. The notification of a
/// withheld answer replaces a timeout.
async fn answer_or_withheld(
    commit: CommitFuture,
    faulty: &FaultyStore,
) -> Result<Cursor, CommitError> {
    let mut commit = pin!(commit);
    let mut withheld = pin!(faulty.withheld());
    poll_fn(|context| {
        if let Poll::Ready(answer) = commit.as_mut().poll(context) {
            return Poll::Ready(answer);
        }
        let no_answer = || Err(StoreError::Unknown("no answer came".into()).into());
        withheld.as_mut().poll(context).map(|()| no_answer())
    })
    .await
}

/// The visible states before the scenario and after each step, without faults.
async fn without_faults(world: &StoreWorld) -> Vec<StoreSnapshot> {
    let mut run = ScenarioRun::new(world, |_: u64, _: &Batch| None).await;
    let mut seen = vec![run.observe().await];
    for step in 0..SCENARIO_STEPS.len() {
        assert!(run.execute(step).await.is_empty());
        seen.push(run.observe().await);
    }
    assert_eq!(run.faulty.unwrap().commits(), SCENARIO_STEPS.len() as u64);
    seen
}

/// Runs the scenario once for each step, with `fault` at that step.
async fn with_fault_at_every_step(world: StoreWorld, fault: InjectedFault) {
    let wanted = without_faults(&world).await;
    for struck in 0..SCENARIO_STEPS.len() {
        let at = FaultPoint { commit: struck as u64 + 1, fault };
        let mut run = ScenarioRun::new(&world, once(at)).await;
        for step in 0..SCENARIO_STEPS.len() {
            let seen = run.execute(step).await;
            if step != struck {
                assert!(seen.is_empty(), "step {step} was not to fail");
                continue;
            }
            let whole = if fault.writes() { &wanted[step + 1] } else { &wanted[step] };
            assert_eq!(seen.len(), 1, "{fault:?} strikes step {step}");
            assert_eq!(&seen[0], whole, "{fault:?} at step {step} left half of it");
        }
        let end = run.observe().await;
        assert_eq!(Some(&end), wanted.last(), "after {fault:?} at step {struck}");
        run.faulty = None;
        run.world.reopen().await;
        let end = run.look_plain().await;
        assert_eq!(Some(&end), wanted.last(), "reopened after {fault:?} at step {struck}");
    }
}

impl ScenarioRun {
    async fn look_plain(&self) -> StoreSnapshot {
        StoreSnapshot::take(&*self.world.store(), &self.scenario.messages()).await.unwrap()
    }
}

/// The fault `at`, but only once: a reopened store counts from 1 again.
fn once(at: FaultPoint) -> impl FaultPlan {
    let left = Mutex::new(Some(at));
    move |number: u64, _: &Batch| {
        let mut left = left.lock();
        left.filter(|at| at.commit == number).inspect(|_| *left = None).map(|at| at.fault)
    }
}

pub(super) async fn s4_3_after_an_error_before_a_write_nothing_is_written(world: StoreWorld) {
    with_fault_at_every_step(world, InjectedFault::Before).await;
}

pub(super) async fn s4_3_after_an_error_after_a_write_all_is_written(world: StoreWorld) {
    with_fault_at_every_step(world, InjectedFault::After).await;
}

pub(super) async fn s4_3_after_a_lost_reply_all_is_written(world: StoreWorld) {
    with_fault_at_every_step(world, InjectedFault::LostReply).await;
}

pub(super) async fn s4_3_after_a_missing_reply_all_is_written(world: StoreWorld) {
    with_fault_at_every_step(world, InjectedFault::NoReply).await;
}

pub(super) async fn s4_3_after_a_crash_before_a_write_nothing_is_written(world: StoreWorld) {
    with_fault_at_every_step(world, InjectedFault::CrashBefore).await;
}

pub(super) async fn s4_3_after_a_crash_after_a_write_all_is_written(world: StoreWorld) {
    with_fault_at_every_step(world, InjectedFault::CrashAfter).await;
}

pub(super) async fn s4_3_any_sequence_of_faults_leads_to_the_same_end(world: StoreWorld) {
    let wanted = without_faults(&world).await;
    for seed in 1..=8u64 {
        let random = Mutex::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let faults = move |_: u64, _: &Batch| {
            let mut random = random.lock();
            *random ^= *random << 13;
            *random ^= *random >> 7;
            *random ^= *random << 17;
            let choice = (*random >> 32) as usize % (2 * InjectedFault::ALL.len());
            InjectedFault::ALL.get(choice).copied()
        };
        let mut run = ScenarioRun::new(&world, faults).await;
        for step in 0..SCENARIO_STEPS.len() {
            for seen in run.execute(step).await {
                let whole = seen == wanted[step] || seen == wanted[step + 1];
                assert!(whole, "seed {seed}: half of step {step} was left: {seen:#?}");
            }
        }
        let end = run.observe().await;
        assert_eq!(Some(&end), wanted.last(), "seed {seed}");
    }
}

/// A fault at the first blob.
struct FirstBlobFault(InjectedFault);

impl FaultPlan for FirstBlobFault {
    fn at_commit(&self, _number: u64, _batch: &Batch) -> Option<InjectedFault> {
        None
    }

    fn at_blob(&self, number: u64) -> Option<InjectedFault> {
        (number == 1).then_some(self.0)
    }
}

pub(super) async fn s8_5_a_failed_blob_can_be_stored_again(world: StoreWorld) {
    // A withheld answer is excluded: nothing reports it.
    for fault in InjectedFault::ALL.into_iter().filter(|fault| *fault != InjectedFault::NoReply) {
        let world = world.another().await;
        let session = world.session("main").await;
        let task = world.running(&session).await;
        let before = world.snapshot().await;
        world.wrap(|store| Arc::new(FaultyStore::new(store, FirstBlobFault(fault))));
        assert!(world.store().put_blob(task.id(), "[1]".into()).await.is_err());
        if fault.crashes() {
            world.reopen().await;
        }
        let blob = world.store().put_blob(task.id(), "[2]".into()).await.unwrap();
        assert_eq!(world.store().blob(blob).await.unwrap().as_deref(), Some("[2]"));
        assert_eq!(world.snapshot().await, before, "{fault:?}");
    }
}

pub(super) async fn a_crashed_store_answers_every_call_with_an_error(world: StoreWorld) {
    let scenario = Scenario::new(&world);
    let faulty = Mutex::new(None);
    world.wrap(|store| {
        let store =
            FaultyStore::new(store, FaultPoint { commit: 1, fault: InjectedFault::CrashBefore });
        *faulty.lock() = Some(store.clone());
        Arc::new(store)
    });
    let store = world.store();
    let batch = SCENARIO_STEPS[0](&scenario, &*store).await.unwrap();
    assert!(store.commit(batch.clone()).await.is_err());
    let again = store.commit(batch).await;
    assert!(matches!(again, Err(CommitError::Store(StoreError::Closed))));
    assert!(matches!(store.sessions(None, 1).await, Err(StoreError::Closed)));
    assert_eq!(faulty.lock().as_ref().map(FaultyStore::commits), Some(1));
    drop(store);
    faulty.lock().take();
    world.reopen().await;
    assert!(world.store().sessions(None, 1).await.unwrap().items.is_empty());
}
