//! Panics of bodies and backends, in destructors and hooks, affect no other task.

use offshoot_core::{
    Capabilities, FailureKind, InboxMessage, Outcome, Payload, Recovery, Task, TaskState,
};
use offshoot_runtime::{
    Backend, BodyError, BodyResult, BoxFuture, Context, ReconcileResult, Runtime, TaskRequest,
};
use offshoot_store::Memory;

use crate::support::{Test, capped, failure, never, obedient, one_slot, session};

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("the bomb went off");
        }
    }
}

#[tokio::test]
async fn s2_6_a_panic_that_throws_a_bomb_is_a_failure_all_the_same() -> Test {
    let (_runtime, session) = session().await;
    let thrower = session
        .spawn_ephemeral(|_cx| async {
            if true {
                std::panic::panic_any(Bomb);
            }
            Ok::<_, BodyError>(())
        })
        .await?;
    assert_eq!(failure(&thrower.wait().await?.task).kind, FailureKind::Panic);
    Ok(())
}

#[tokio::test]
async fn s6_2_a_queued_body_that_panics_when_dropped_is_cancelled_all_the_same() -> Test {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await?;
    let first = session.spawn_ephemeral(obedient).await?;
    let bomb = Bomb;
    let queued = session
        .spawn_ephemeral(move |_cx| async move {
            let _bomb = bomb;
            Ok::<_, BodyError>(())
        })
        .await?;
    assert_eq!(queued.record().await?.state, TaskState::Queued);
    assert_eq!(queued.cancel("enough").await?, 1);
    assert_eq!(queued.wait().await?.task.state, TaskState::Cancelled);
    first.cancel("enough").await?;
    assert!(first.wait().await?.is_ended());
    Ok(())
}

/// A backend that panics in every hook.
#[derive(Debug)]
struct Clumsy;

impl Backend for Clumsy {
    fn capabilities(&self) -> Capabilities {
        Capabilities::CANCEL.with(Capabilities::MESSAGES)
    }

    fn recovery(&self) -> Recovery {
        Recovery::Lose
    }

    fn start(&self, cx: Context) -> BoxFuture<BodyResult> {
        Box::pin(async move { obedient(cx).await.map(|()| Payload::Null) })
    }

    fn deliver(&self, _task: &Task, _message: &InboxMessage) {
        panic!("deliver");
    }

    fn cancel(&self, _task: &Task) {
        panic!("cancel");
    }

    fn reconcile(&self, _task: &Task) -> BoxFuture<ReconcileResult> {
        panic!("reconcile");
    }
}

fn request() -> TaskRequest {
    TaskRequest::new("clumsy", Payload::Null)
}

#[tokio::test]
async fn s6_4_a_hook_that_panics_loses_neither_message_nor_cancel() -> Test {
    let runtime = Runtime::builder(Memory::new()).backend("clumsy", Clumsy).open().await?;
    let session = runtime.session("main").await?;
    let task = session.spawn(request()).await?;
    task.send("hello").await?;
    assert_eq!(task.cancel("enough").await?, 1);
    assert_eq!(task.wait().await?.task.state, TaskState::Cancelled);
    Ok(())
}

#[tokio::test]
async fn s9_2_a_backend_that_panics_when_asked_holds_up_no_recovery() -> Test {
    let disk = Memory::new();
    let runtime = Runtime::builder(disk.clone()).backend("clumsy", Clumsy).open().await?;
    let session = runtime.session("main").await?;
    let clumsy = session.spawn(request()).await?.id();
    let closure = session.spawn_ephemeral(never).await?.id();
    drop((session, runtime));
    let runtime = Runtime::builder(disk).backend("clumsy", Clumsy).open().await?;
    runtime.recovered().await;
    for id in [clumsy, closure] {
        let task = runtime.get(id).await?.expect("it is kept");
        assert!(matches!(task.ended(), Some(Outcome::Lost { .. })), "{:?}", task.state);
    }
    Ok(())
}
