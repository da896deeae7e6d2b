//! A body that never yields: nothing can stop it, and nobody pretends to.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod harness;

use std::sync::mpsc;
use std::time::Duration;

use harness::{Done, Gate, end_of};
use offshoot::Reason;
use offshoot::core::{Caps, Ceiling, Phase, State};
use offshoot::{Memory, Runtime};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn s6_1_a_body_that_never_yields_stays_running_and_why_says_unresponsive() {
    let executing = Ceiling { space: Some(1), ..Ceiling::NONE };
    let caps = Caps { executing, ..Caps::default() };
    let runtime = Runtime::builder(Memory::new()).caps(caps).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let (release, blocked) = mpsc::channel::<()>();
    let gate = Gate::new();
    let body = gate.clone();
    let run = |_| async move {
        body.arrive();
        // Deaf to everything but this.
        blocked.recv().ok();
        std::future::pending::<()>().await;
        Done::Ok(())
    };
    let task = session.spawn_ephemeral(run).await.unwrap();
    let next = session.spawn_ephemeral(|_| async { Done::Ok(()) }).await.unwrap();
    gate.arrived().await;
    task.cancel("enough").grace(Duration::ZERO).await.unwrap();
    while !task.snapshot().await.unwrap().unresponsive {
        tokio::task::yield_now().await;
    }
    let record = task.record().await.unwrap();
    assert_eq!(record.state, State::Running);
    let why = task.why().await.unwrap();
    assert_eq!(why.reasons[0], Reason::Unresponsive);
    assert!(why.to_string().contains("cancel: unresponsive"), "{why}");
    assert_eq!(next.record().await.unwrap().state, State::Queued, "it keeps its slot");

    release.send(()).unwrap();
    assert_eq!(end_of(&task).await.state, State::Cancelled);
    assert_eq!(end_of(&next).await.state.phase(), Phase::Completed);
}
