//! Outside effects of a body are cleared before its end is written.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Capabilities, FailureKind, Outcome, Payload, Recovery, Task, TaskState};
use offshoot_runtime::{
    Backend, BodyResult, BoxFuture, ClearReason, Context, ReconcileResult, Runtime, TaskRef,
    TaskRequest,
};
use offshoot_store::Memory;
use tokio::sync::watch;

use crate::support::{Gate, Test, crash};

/// A backend with an effect outside that only `clear` ends. It records its calls,
/// and a clearing waits at the gate.
#[derive(Clone, Debug)]
struct Outside {
    calls: Arc<watch::Sender<Vec<String>>>,
    gate: Gate,
    recovery: Recovery,
}

impl Outside {
    fn new(recovery: Recovery) -> Self {
        Self { calls: Arc::default(), gate: Gate::new(), recovery }
    }

    fn note(&self, call: impl Into<String>) {
        self.calls.send_modify(|calls| calls.push(call.into()));
    }

    async fn until(&self, call: &str) {
        let mut calls = self.calls.subscribe();
        calls.wait_for(|calls| calls.iter().any(|one| one == call)).await.expect("alive");
    }

    fn calls(&self) -> Vec<String> {
        self.calls.borrow().clone()
    }

    async fn open(&self, memory: &Memory) -> Runtime {
        let builder = Runtime::builder(memory.clone()).backend("outside", self.clone());
        builder.open().await.expect("opens")
    }

    /// A running task of this kind.
    async fn begun(&self, runtime: &Runtime) -> TaskRef {
        let session = runtime.session("main").await.expect("opens");
        let task = session.spawn(request()).timeout(Duration::from_secs(3600)).await;
        self.until("start").await;
        task.expect("spawns")
    }
}

impl Backend for Outside {
    fn capabilities(&self) -> Capabilities {
        Capabilities::CANCEL
    }

    fn recovery(&self) -> Recovery {
        self.recovery
    }

    fn start(&self, _cx: Context) -> BoxFuture<BodyResult> {
        self.note("start");
        Box::pin(std::future::pending())
    }

    fn clear(&self, cx: &Context, why: ClearReason) -> BoxFuture<()> {
        let (this, cx) = (self.clone(), cx.clone());
        Box::pin(async move {
            this.note(format!("clear {why:?}"));
            this.gate.pass().await;
            cx.progress(&"all gone").await.expect("the task is still there");
            this.note("cleared");
        })
    }

    fn close(&self) {
        self.note("close");
    }

    fn reconcile(&self, _task: &Task) -> BoxFuture<ReconcileResult> {
        self.note("reconcile");
        Box::pin(std::future::ready(ReconcileResult::ByPolicy))
    }
}

fn request() -> TaskRequest {
    TaskRequest::new("outside", Payload::Null)
}

/// The last record of a task whose body was dropped, after checking that it is not
/// written before everything is cleared.
async fn end_after_clearing(outside: &Outside, task: &TaskRef, why: &str) -> Task {
    outside.until(why).await;
    assert!(task.record().await.expect("there").is_live(), "it has not gone yet");
    outside.gate.admit(1);
    let end = task.wait().await.expect("ends").task;
    assert_eq!(outside.calls(), ["start", why, "cleared"]);
    let last = end.progress.as_ref().map(|said| said.value.clone());
    assert_eq!(last, Payload::encode(&"all gone").ok(), "the clearing's report is kept");
    end
}

#[tokio::test(start_paused = true)]
async fn s6_1_cancelled_is_recorded_after_the_body_is_cleared_outside() {
    let outside = Outside::new(Recovery::Lose);
    let runtime = outside.open(&Memory::new()).await;
    let task = outside.begun(&runtime).await;
    task.cancel("enough").grace(Duration::ZERO).await.expect("asks");
    let end = end_after_clearing(&outside, &task, "clear Aborted").await;
    assert!(matches!(end.ended(), Some(Outcome::Cancelled { forced: true, .. })), "{end:?}");
}

#[tokio::test(start_paused = true)]
async fn s2_6_a_timeout_is_recorded_after_the_body_is_cleared_outside() {
    let outside = Outside::new(Recovery::Lose);
    let runtime = outside.open(&Memory::new()).await;
    let task = outside.begun(&runtime).await;
    let end = end_after_clearing(&outside, &task, "clear Expired").await;
    let Some(Outcome::Failed(failure)) = end.ended() else { panic!("{end:?}") };
    assert_eq!(failure.kind, FailureKind::Timeout);
}

#[tokio::test]
async fn s6_8_a_shutdown_waits_for_outside_effects_of_bodies() -> Test {
    let (memory, outside) = (Memory::new(), Outside::new(Recovery::Restart));
    let runtime = outside.open(&memory).await;
    let id = outside.begun(&runtime).await.id();
    let shutdown = tokio::spawn(runtime.shutdown(Duration::from_secs(3600)));
    outside.until("clear Released").await;
    assert!(!shutdown.is_finished());
    outside.gate.admit(1);
    assert_eq!(shutdown.await.expect("ends")?, 0, "every body has gone");
    assert_eq!(outside.calls(), ["start", "clear Released", "cleared", "close"]);
    let runtime = Runtime::builder(memory).open().await?;
    let task = runtime.get(id).await?.expect("kept");
    assert_eq!((task.state, task.crashes), (TaskState::Queued, 0));
    Ok(())
}

#[tokio::test]
async fn s6_8_a_dropped_runtime_tells_its_backends_and_settles_nothing() -> Test {
    let (memory, outside) = (Memory::new(), Outside::new(Recovery::Lose));
    let runtime = outside.open(&memory).await;
    outside.begun(&runtime).await;
    crash(runtime).await;
    outside.until("close").await;
    assert_eq!(outside.calls(), ["start", "close"]);
    Ok(())
}

#[tokio::test]
async fn s6_4_a_task_cancelled_before_a_crash_is_reconciled_first() -> Test {
    let (memory, outside) = (Memory::new(), Outside::new(Recovery::Restart));
    let runtime = outside.open(&memory).await;
    let task = outside.begun(&runtime).await;
    task.cancel("enough").grace(Duration::from_secs(3600)).await?;
    let id = task.id();
    drop(task);
    crash(runtime).await;
    let runtime = outside.open(&memory).await;
    runtime.recovered().await;
    let task = runtime.get(id).await?.expect("kept");
    assert_eq!(task.state, TaskState::Cancelled);
    assert_eq!(outside.calls(), ["start", "close", "reconcile"]);
    Ok(())
}

#[tokio::test]
async fn s9_2_an_instance_executes_its_spawn_and_the_registered_backend_takes_over() -> Test {
    let (memory, registered) = (Memory::new(), Outside::new(Recovery::Lose));
    let instance = Outside::new(Recovery::Restart);
    let runtime = registered.open(&memory).await;
    let session = runtime.session("main").await?;
    let task = session.spawn(request().executed_by(Arc::new(instance.clone()))).await?;
    instance.until("start").await;
    assert_eq!(task.spec().recovery, Recovery::Restart, "as the instance says");
    assert!(registered.calls().is_empty());
    let id = task.id();
    drop((task, session));
    crash(runtime).await;
    let runtime = registered.open(&memory).await;
    runtime.recovered().await;
    assert_eq!(runtime.get(id).await?.expect("kept").state, TaskState::Queued);
    assert_eq!(registered.calls(), ["close", "reconcile"]);
    Ok(())
}
