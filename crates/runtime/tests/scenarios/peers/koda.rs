//! Defects of koda in results, waits, cancelling and its own end.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Caps, Ceiling, Cursor, Outcome, Retention, TaskState};
use offshoot_runtime::{Context, Error, Runtime};
use offshoot_store::{InjectedFault, Memory, Store};

use crate::support::{
    CommitFaults, CommitFilter, Flag, Gate, Test, end_of, never, obedient, poll_once, returns,
    session, settle_down,
};

#[tokio::test(start_paused = true)]
async fn peer_defect_koda_drops_the_payload_that_comes_after_the_status() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then(vec![1u8; 100_000])).await?;
    let mut watch = task.watch();
    watch.next().await.expect("a record")?;
    gate.open();
    // The first record that says "completed" has the payload, however late it is
    // read.
    let first = watch.next().await.expect("a record")?;
    assert_eq!(first.state, TaskState::Completed);
    tokio::time::advance(Duration::from_secs(3_600)).await;
    let Some(Outcome::Completed { value, .. }) = first.ended() else { panic!("{first:?}") };
    assert_eq!(value.decode::<Vec<u8>>()?.len(), 100_000);
    assert_eq!(task.wait().await?.decode::<Vec<u8>>()?.len(), 100_000);
    Ok(())
}

#[tokio::test]
async fn peer_defect_koda_reports_a_cancel_as_success() -> Test {
    let (_runtime, session) = session().await;
    let task = session.spawn_ephemeral(obedient).await?;
    task.cancel("enough").await?;
    let waited = task.wait().await?;
    assert!(matches!(waited.outcome(), Some(Outcome::Cancelled { .. })));
    let answer = waited.decode::<()>().expect_err("no success").to_string();
    assert!(answer.contains("cancelled"), "{answer}");
    Ok(())
}

#[tokio::test]
async fn peer_defect_koda_loses_the_result_of_a_dropped_wait() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then(7)).await?;
    let before = task.record().await?;
    for _ in 0..3 {
        let mut wait = task.wait().into_future();
        assert!(poll_once(&mut wait).is_pending());
    }
    assert_eq!(task.record().await?, before, "a dropped wait changes nothing");
    gate.open();
    let mut wait = task.wait().into_future();
    let _ = poll_once(&mut wait);
    drop(wait);
    assert_eq!(task.wait().await?.decode::<u32>()?, 7, "the result is still there");
    assert_eq!(session.drain(10).await?.len(), 1, "and still unread");
    assert_eq!(session.task(task.handle()).await?.id(), task.id());
    Ok(())
}

#[tokio::test]
async fn peer_defect_koda_drains_everyones_results_in_hash_order_without_ids() -> Test {
    let (runtime, session) = session().await;
    let other = runtime.session("other").await?;
    other.spawn_ephemeral(returns(())).await?.wait().await?;
    let mut ended = Vec::new();
    for _ in 0..50 {
        let task = session.spawn_ephemeral(returns(())).await?;
        task.wait().await?;
        ended.push((task.id(), task.handle().to_owned()));
    }
    let rows = session.drain(100).await?;
    let drained: Vec<_> = rows
        .iter()
        .map(|row| {
            let task = row.task().expect("a result");
            (task.id(), task.handle().to_owned())
        })
        .collect();
    assert_eq!(drained, ended);
    Ok(())
}

/// The number of events that a session keeps after a thousand tasks without a reader.
async fn kept_events() -> Result<usize, Error> {
    let retention = Retention { events: 100, ..Retention::default() };
    let runtime = Runtime::builder(Memory::new()).retention(retention).open().await?;
    let session = runtime.session("main").await?;
    let mut idle = session.events(Cursor::START);
    idle.next().await?;
    for _ in 0..1_000 {
        session.spawn_ephemeral(returns(())).await?.wait().await?;
    }
    let mut late = session.events(idle.cursor());
    let Err(Error::CursorExpired(expired)) = late.next().await else { panic!("not answer") };
    let mut rest = session.events(expired.oldest);
    let mut kept = 0;
    while poll_once(&mut Box::pin(rest.next())).is_ready() {
        kept += 1;
    }
    Ok(kept)
}

#[tokio::test]
async fn peer_defect_koda_queues_events_without_bound() -> Test {
    assert_eq!(kept_events().await?, 100);
    Ok(())
}

#[tokio::test]
async fn peer_defect_koda_misses_a_task_between_spawn_and_attach() {
    // The answer is late: the record is there, the body is not.
    let runtime = CommitFaults::with(CommitFilter::Spawns, InjectedFault::After).open().await;
    let session = runtime.session("main").await.unwrap();
    let mut spawning = Box::pin(session.spawn_ephemeral(obedient).into_future());
    assert!(futures_util::poll!(&mut spawning).is_pending());
    assert_eq!(session.cancel("all out").await.unwrap(), 1);
    let task = spawning.await.unwrap();
    assert_eq!(end_of(&task).await.state, TaskState::Cancelled);
}

#[tokio::test]
async fn peer_defect_koda_tasks_hold_the_registry_that_holds_them() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let caps = Caps { executing: Ceiling { space: Some(2), ..Ceiling::NONE }, ..Caps::default() };
    let runtime = Runtime::builder(store.clone()).caps(caps).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let gone = Gate::new();
    // Running, waiting and queued; each holds references to itself.
    for n in 0..4 {
        let (flag, own) = (Flag::new(&gone), session.clone());
        let run = move |cx: Context| async move {
            let _kept = (flag, cx.clone(), own);
            if n == 0 {
                cx.receive(1).await?;
            }
            never(cx).await
        };
        session.spawn_ephemeral(run).await.unwrap();
    }
    settle_down().await;
    drop((runtime, session));
    for _ in 0..4 {
        gone.arrived().await;
    }
    settle_down().await;
    assert_eq!(Arc::strong_count(&store), 1);
}
