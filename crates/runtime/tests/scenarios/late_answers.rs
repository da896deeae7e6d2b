//! Tasks whose commits the store answers late.

use std::time::Duration;

use offshoot_core::{Phase, Retention, Task};
use offshoot_runtime::{Context, Error, Runtime, Session, TaskRef};
use offshoot_store::Memory;

use crate::support::{
    CommitFilter, Done, Gate, LateAnswer, LateStore, crash, end_of, hanging, later, never,
    one_slot, settle_down, until,
};

#[tokio::test(start_paused = true)]
async fn s3_6_a_wait_returns_if_the_task_is_forgotten_before_its_end_is_reported() {
    let late = LateStore::on(&Memory::new());
    let retention = Retention { in_memory: 0, ..Retention::default() };
    let runtime = Runtime::builder(late.store()).retention(retention).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    // It has returned, and ends by the commit that ends its child.
    let gate = Gate::new();
    let child = gate.then(());
    let lead = session.spawn_ephemeral(|cx: Context| async move {
        cx.spawn_ephemeral(child).await?;
        Done::Ok(())
    });
    let lead = lead.await.unwrap();
    until(&lead, Task::is_held).await;
    let waits = lead.clone();
    let waiter = tokio::spawn(async move { waits.wait().await });
    settle_down().await;
    late.keep_back(CommitFilter::Ends);
    gate.admit(1);
    late.kept_back().await;
    // Another reader acknowledges the end before the runtime knows of it, and the
    // store forgets what was read.
    lead.wait().await.unwrap().ack().await.unwrap();
    assert!(matches!(lead.record().await, Err(Error::NotFound { .. })));
    late.answer(LateAnswer::Unknown);
    let answer = tokio::time::timeout(Duration::from_secs(3_600), waiter).await;
    let answer = answer.expect("the wait is over").unwrap();
    assert!(matches!(answer, Err(Error::NotFound { .. })), "{answer:?}");
}

/// A task whose start is written and not answered, and which another worker has
/// put back into the queue since.
struct TakenBack {
    late: LateStore,
    /// The gate at which its body arrives.
    came: Gate,
    /// The gate at which its body reports that it is gone.
    gone: Gate,
    task: TaskRef,
    _workers: [Runtime; 2],
    _session: Session,
}

impl TakenBack {
    async fn new() -> Self {
        let memory = Memory::for_many_workers();
        let (late, came, gone) = (LateStore::on(&memory), Gate::new(), Gate::new());
        let kind = hanging(&came, &gone);
        let first = Runtime::builder(late.store()).kind(&kind).caps(one_slot());
        let first = first.open().await.unwrap();
        let session = first.session("main").await.unwrap();
        let gate = Gate::new();
        let before = session.spawn_ephemeral(gate.then(())).await.unwrap();
        let task = session.spawn(kind.with(())).await.unwrap();
        late.keep_back(CommitFilter::Starts);
        gate.admit(1);
        end_of(&before).await;
        late.kept_back().await;
        let second = Runtime::builder(memory).kind(&kind).restarts(later()).open().await.unwrap();
        second.recovered().await;
        assert_eq!(task.record().await.unwrap().state.phase(), Phase::Queued);
        let _workers = [first, second];
        Self { late, came, gone, task, _workers, _session: session }
    }
}

#[tokio::test(start_paused = true)]
async fn s6_8_a_body_whose_task_ended_before_its_start_was_answered_never_begins() {
    let TakenBack { late, came, task, .. } = &TakenBack::new().await;
    task.cancel("enough").await.unwrap();
    assert_eq!(end_of(task).await.state.phase(), Phase::Cancelled);
    late.answer(LateAnswer::Truth);
    settle_down().await;
    assert_eq!(came.arrivals(), 0);
}

#[tokio::test(start_paused = true)]
async fn s6_8_a_body_that_begins_while_its_task_is_ended_unstarted_goes() {
    let TakenBack { late, came, gone, task, .. } = &TakenBack::new().await;
    late.keep_back(CommitFilter::Ends);
    let ended = task.clone();
    let cancel = tokio::spawn(async move { ended.cancel("enough").await });
    late.kept_back().await;
    // The start is answered before the end is.
    late.answer(LateAnswer::Truth);
    came.arrived().await;
    late.answer(LateAnswer::Truth);
    cancel.await.unwrap().unwrap();
    settle_down().await;
    assert_eq!(gone.arrivals(), 1);
}

#[tokio::test(start_paused = true)]
async fn s3_6_a_wait_for_a_forgotten_task_that_ended_while_recovery_looked_returns() {
    let memory = Memory::new();
    let kind = hanging(&Gate::new(), &Gate::new());
    let runtime = Runtime::builder(memory.clone()).kind(&kind).caps(one_slot());
    let runtime = runtime.open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    session.spawn_ephemeral(never).await.unwrap();
    let id = session.spawn(kind.with(())).await.unwrap().id();
    drop(session);
    crash(runtime).await;
    // Recovery has found the task queued, and goes on after it has ended.
    let late = LateStore::on(&memory);
    late.keep_lists_back(2);
    let retention = Retention { in_memory: 0, ..Retention::default() };
    let runtime = Runtime::builder(late.store()).kind(&kind).retention(retention);
    let runtime = tokio::spawn(runtime.open());
    late.kept_back().await;
    late.answer(LateAnswer::Truth);
    let runtime = runtime.await.unwrap().unwrap();
    late.kept_back().await;
    let task = runtime.task(&id.to_string()).await.unwrap();
    task.cancel("enough").await.unwrap();
    late.answer(LateAnswer::Truth);
    runtime.recovered().await;
    settle_down().await;
    task.wait().await.unwrap().ack().await.unwrap();
    let answer = tokio::time::timeout(Duration::from_secs(3_600), task.wait()).await;
    let answer = answer.expect("the wait is over");
    assert!(matches!(answer, Err(Error::NotFound { .. })), "{answer:?}");
}
