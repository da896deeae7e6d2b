//! Recovery on a store that fails for a while.

use std::time::Duration;

use offshoot::core::{Phase, State};
use offshoot::{BodyError, Kind, Memory, Reason, Restarts, Runtime};
use offshoot_store::Fault;

use crate::support::{Gate, Of, Trouble, assert_says, crash};

/// Passes its gate, as often as it must.
fn kind(gate: &Gate) -> Kind<(), ()> {
    let gate = gate.clone();
    Kind::new("again", move |_, ()| {
        let gate = gate.clone();
        async move {
            gate.pass().await;
            Ok::<_, BodyError>(())
        }
    })
    .idempotent()
}

/// A store on which a runtime died while so many tasks ran.
async fn left_behind(kind: &Kind<(), ()>, many: usize) -> Memory {
    let memory = Memory::new();
    let runtime = Runtime::builder(memory.clone()).kind(kind).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    for _ in 0..many {
        session.spawn(kind.with(())).await.unwrap();
    }
    drop(session);
    crash(runtime).await;
    memory
}

#[tokio::test(start_paused = true)]
async fn s9_2_a_write_that_fails_during_recovery_leaves_no_later_task_behind() {
    const MANY: usize = 1_300;
    let at_once = Restarts { back_off: Duration::ZERO, ..Restarts::default() };
    // Those whose judgement fails are judged again when others of their page
    // run here already.
    for failing in [1..=1, 600..=600, 3..=900] {
        let gate = Gate::new();
        let kind = kind(&gate);
        let memory = left_behind(&kind, MANY).await;
        let trouble = Trouble::only(failing.clone(), Of::Everything, Fault::Before);
        let runtime = Runtime::builder(trouble.store(&memory)).kind(&kind).restarts(at_once);
        let runtime = runtime.open().await.unwrap();
        runtime.recovered().await;
        gate.open();
        let session = runtime.session("main").await.unwrap();
        for task in session.tasks().limit(MANY).await.unwrap().items {
            let task = session.task(task.handle()).await.unwrap();
            let waited = task.wait().timeout(Duration::from_secs(60)).await.unwrap();
            assert!(waited.is_ended(), "{failing:?}: {}", task.why().await.unwrap());
        }
        assert_eq!(runtime.counts().await.unwrap().of(Phase::Completed), MANY as u64);
    }
}

#[tokio::test(start_paused = true)]
async fn s10_3_why_says_that_a_task_awaits_recovery_or_its_next_attempt() {
    let gate = Gate::new();
    let kind = kind(&gate);
    let memory = left_behind(&kind, 1).await;
    let trouble = Trouble::with(Of::Everything, Fault::Before);
    let runtime = Runtime::builder(trouble.store(&memory)).kind(&kind).open().await.unwrap();
    trouble.until_met(3).await;
    let task = runtime.task("again-1").await.unwrap();
    let why = task.why().await.unwrap();
    assert_eq!(why.reasons, [Reason::Recovery]);
    assert_says(&why, &["earlier process", "awaits recovery"]);

    trouble.stop();
    runtime.recovered().await;
    let why = task.why().await.unwrap();
    assert_eq!((why.state, why.reasons.as_slice()), (State::Queued, &[Reason::Restart(1)][..]));
    assert_says(&why, &["starts again", "crashes so far: 1"]);
    gate.open();
    assert_eq!(task.wait().await.unwrap().task.attempts, 2);
}
