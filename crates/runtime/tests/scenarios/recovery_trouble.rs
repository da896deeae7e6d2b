//! Recovery on a store that fails for a while.

use std::time::Duration;

use offshoot_core::{Phase, TaskState};
use offshoot_runtime::{BodyError, Kind, RestartPolicy, Runtime, WhyReason};
use offshoot_store::{InjectedFault, Memory};

use crate::support::{CommitFaults, CommitFilter, Gate, assert_says, crash};

/// Passes its gate in every attempt.
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

/// A store on which a runtime died while this many tasks ran.
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
    let at_once = RestartPolicy { back_off: Duration::ZERO, ..RestartPolicy::default() };
    // Tasks whose recovery fails are recovered again while others of their page run
    // here already.
    for failing in [1..=1, 600..=600, 3..=900] {
        let gate = Gate::new();
        let kind = kind(&gate);
        let memory = left_behind(&kind, MANY).await;
        let trouble =
            CommitFaults::only(failing.clone(), CommitFilter::Everything, InjectedFault::Before);
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
async fn s10_3_why_reports_recovery_and_the_next_attempt() {
    let gate = Gate::new();
    let kind = kind(&gate);
    let memory = left_behind(&kind, 1).await;
    let trouble = CommitFaults::with(CommitFilter::Everything, InjectedFault::Before);
    let runtime = Runtime::builder(trouble.store(&memory)).kind(&kind).open().await.unwrap();
    trouble.until_met(3).await;
    let task = runtime.task("again-1").await.unwrap();
    let why = task.why().await.unwrap();
    assert_eq!(why.reasons, [WhyReason::Recovery]);
    assert_says(&why, &["earlier process", "awaits recovery"]);

    trouble.stop();
    runtime.recovered().await;
    let why = task.why().await.unwrap();
    assert_eq!(
        (why.state, why.reasons.as_slice()),
        (TaskState::Queued, &[WhyReason::Restart(1)][..])
    );
    assert_says(&why, &["starts again", "crashes so far: 1"]);
    gate.open();
    assert_eq!(task.wait().await.unwrap().task.attempts, 2);
}
