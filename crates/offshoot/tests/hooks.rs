//! Backends whose hooks panic harm nobody else.

use offshoot::core::{Capabilities, Outcome, Recovery, State, Task};
use offshoot::{
    Backend, BodyError, BoxFuture, Context, Ended, Memory, Reconciled, Request, Runtime,
};

type Test = Result<(), Box<dyn std::error::Error>>;

#[derive(Debug)]
struct Clumsy;

impl Backend for Clumsy {
    fn capabilities(&self) -> Capabilities {
        Capabilities::CANCEL.with(Capabilities::MESSAGES)
    }

    fn recovery(&self) -> Recovery {
        Recovery::Lose
    }

    fn start(&self, cx: Context) -> BoxFuture<Ended> {
        Box::pin(async move {
            cx.cancelled().await;
            Err(BodyError::Cancelled)
        })
    }

    fn deliver(&self, _task: &Task) {
        panic!("deliver");
    }

    fn cancel(&self, _task: &Task) {
        panic!("cancel");
    }

    fn reconcile(&self, _task: &Task) -> BoxFuture<Reconciled> {
        panic!("reconcile");
    }
}

fn request() -> Request {
    Request::new("clumsy", offshoot::core::Payload::Null)
}

#[tokio::test]
async fn s6_4_a_hook_that_panics_loses_neither_message_nor_cancel() -> Test {
    let runtime = Runtime::builder(Memory::new()).backend("clumsy", Clumsy).open().await?;
    let session = runtime.session("main").await?;
    let task = session.spawn(request()).await?;
    task.send("hello").await?;
    assert_eq!(task.cancel("enough").await?, 1);
    assert_eq!(task.wait().await?.task.state, State::Cancelled);
    Ok(())
}

#[tokio::test]
async fn s9_2_a_backend_that_panics_when_asked_holds_up_no_recovery() -> Test {
    let disk = Memory::new();
    let runtime = Runtime::builder(disk.clone()).backend("clumsy", Clumsy).open().await?;
    let session = runtime.session("main").await?;
    let clumsy = session.spawn(request()).await?.id();
    let closure = session
        .spawn_ephemeral(|cx| async move {
            cx.cancelled().await;
            Ok::<_, BodyError>(())
        })
        .await?
        .id();
    drop((session, runtime));
    let runtime = Runtime::builder(disk).backend("clumsy", Clumsy).open().await?;
    runtime.recovered().await;
    for id in [clumsy, closure] {
        let task = runtime.get(id).await?.ok_or("it is kept")?;
        assert!(matches!(task.ended(), Some(Outcome::Lost { .. })), "{:?}", task.state);
    }
    Ok(())
}
