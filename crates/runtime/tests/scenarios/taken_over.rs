//! Tasks that a runtime did not start, or no longer holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use offshoot_core::{Capabilities, Change, Payload, Phase, Recovery, RowBody, Task};
use offshoot_runtime::{
    Backend, BodyError, BodyResult, BoxFuture, Context, Kind, ReconcileResult, Runtime, TaskRequest,
};
use offshoot_store::{Batch, FaultyStore, InjectedFault, Memory, Store, Write};

use crate::support::{
    Disk, Gate, OnSqlite, hanging, later, never, on_every_store, settle_down, until, until_in,
};

on_every_store!(in real time: s5_1_a_message_that_recovery_returns_wakes_its_sender);

#[tokio::test(start_paused = true)]
async fn s6_8_a_body_whose_task_another_worker_took_goes_with_its_runtime() {
    let memory = Memory::for_many_workers();
    let (came, gone) = (Gate::new(), Gate::new());
    let kind = hanging(&came, &gone);
    let first = Runtime::builder(memory.clone()).kind(&kind).open().await.unwrap();
    let session = first.session("main").await.unwrap();
    let task = session.spawn(kind.with(())).await.unwrap();
    came.arrived().await;
    // The second takes the first for dead and puts the task back into the queue.
    // The first ends it there while its body still runs.
    let second = Runtime::builder(memory).kind(&kind).restarts(later()).open().await.unwrap();
    second.recovered().await;
    assert_eq!(task.record().await.unwrap().state.phase(), Phase::Queued);
    task.cancel("enough").await.unwrap();
    assert_eq!(task.record().await.unwrap().state.phase(), Phase::Cancelled);
    drop((first, session, task));
    settle_down().await;
    assert_eq!(gone.arrivals(), 1);
}

#[tokio::test(start_paused = true)]
async fn s6_1_a_worker_without_the_kind_ends_no_task_of_another() {
    let memory = Memory::for_many_workers();
    let (came, gone) = (Gate::new(), Gate::new());
    let kind = hanging(&came, &gone);
    let first = Runtime::builder(memory.clone()).kind(&kind).open().await.unwrap();
    let session = first.session("main").await.unwrap();
    let task = session.spawn(kind.with(())).name("it").await.unwrap();
    came.arrived().await;
    let second = Runtime::builder(memory).open().await.unwrap();
    second.recovered().await;
    assert_eq!(second.task("it").await.unwrap().cancel("enough").await.unwrap(), 1);
    settle_down().await;
    let record = task.record().await.unwrap();
    assert_eq!((record.state.phase(), record.cancel.is_some()), (Phase::Running, true));
    assert_eq!(gone.arrivals(), 0, "its body is still there");
}

/// Runs for ever; the gate shows whether it still does.
#[derive(Debug)]
struct Remote(Gate);

impl Backend for Remote {
    fn capabilities(&self) -> Capabilities {
        Capabilities::CANCEL.with(Capabilities::MESSAGES)
    }

    fn recovery(&self) -> Recovery {
        Recovery::Lose
    }

    fn start(&self, _: Context) -> BoxFuture<BodyResult> {
        Box::pin(std::future::pending())
    }

    fn reconcile(&self, _: &Task) -> BoxFuture<ReconcileResult> {
        let gate = self.0.clone();
        Box::pin(async move {
            gate.pass().await;
            ReconcileResult::ByPolicy
        })
    }
}

/// Spawns a detached child with a message, and waits for the returned message.
fn sender() -> Kind<(), usize> {
    Kind::new("sender", |cx: Context, ()| async move {
        let child = cx.spawn(TaskRequest::new("remote", Payload::Null)).key("child").detached();
        child.message("read me").await?;
        let rows = cx.receive(8).await?;
        let returned = rows.iter().filter(|row| matches!(row.body(), RowBody::Returned(_)));
        Ok::<_, BodyError>(returned.count())
    })
    .resumable()
}

async fn s5_1_a_message_that_recovery_returns_wakes_its_sender(disk: &impl Disk) {
    let (known, kind) = (Gate::new(), sender());
    let open = || {
        let builder = Runtime::builder(disk.store()).kind(&kind);
        builder.backend("remote", Remote(known.clone())).open()
    };
    let runtime = open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let task = session.spawn(kind.with(())).name("it").await.unwrap();
    until_in(&task, Phase::Waiting).await;
    drop((runtime, session, task));
    settle_down().await;
    // The sender waits again before the child is found to be lost.
    let runtime = open().await.unwrap();
    let task = runtime.task("it").await.unwrap();
    let waits = |task: &Task| task.attempts == 2 && task.state.phase() == Phase::Waiting;
    until(&task, waits).await;
    known.arrived().await;
    known.admit(1);
    let waited = task.wait().timeout(Duration::from_secs(20)).await.unwrap();
    assert_eq!(waited.decode::<usize>().unwrap(), 1);
}

#[tokio::test]
async fn s3_6_an_end_that_recovery_writes_is_reported_despite_other_failures() {
    let disk = OnSqlite::default();
    let (came, gone) = (Gate::new(), Gate::new());
    let kind = hanging(&came, &gone);
    let runtime = Runtime::builder(disk.store()).kind(&kind).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    session.spawn_ephemeral(never).await.unwrap();
    session.spawn(kind.with(())).await.unwrap();
    came.arrived().await;
    drop((runtime, session));
    gone.arrived().await;
    // One task is lost, by a commit that is answered late. The other is to go back
    // into the queue, which fails at first.
    let failed = AtomicBool::new(false);
    let requeues = |write: &Write| matches!(write, Write::Put(_, Change::Requeued));
    let fails_once = move |_: u64, batch: &Batch| {
        let strikes = batch.writes.iter().any(requeues) && !failed.swap(true, Ordering::SeqCst);
        strikes.then_some(InjectedFault::Before)
    };
    let store: Arc<dyn Store> =
        Arc::new(FaultyStore::new(crate::support::reopen(&disk).await, fails_once));
    let runtime = Runtime::builder(store).kind(&kind).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let told = tokio::time::timeout(Duration::from_secs(20), session.receive(8)).await;
    assert_eq!(told.unwrap().unwrap().len(), 1);
}
