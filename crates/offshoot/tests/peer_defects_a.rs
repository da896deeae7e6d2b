//! What published systems get wrong today, shown not to happen here: identity,
//! endings, waits and the log.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use common::trouble::{Of, Trouble, open_faulty};
use common::{Gate, never, obedient, open_on, poll_once, returns, session};
use offshoot::core::{Cursor, FailureKind, Outcome, Retention, State};
use offshoot::{BodyError, Context, Error, Memory, Runtime, WaitEnd};
use offshoot_store::Fault;

type Test = Result<(), Error>;

#[tokio::test]
async fn peer_defect_awaken_ids_start_again_after_a_reload() -> Test {
    let memory = Memory::new();
    let mut results = Vec::new();
    for round in 0..3u32 {
        let runtime = open_on(&memory).await;
        let session = runtime.session("main").await?;
        let task = session.spawn_ephemeral(returns(round)).await?;
        task.wait().await?;
        results.push((task.id().to_string(), round));
    }
    let runtime = open_on(&memory).await;
    for (id, round) in results {
        let task = runtime.task(&id).await?;
        assert_eq!(task.wait().await?.decode::<u32>()?, round, "no record was overwritten");
    }
    Ok(())
}

#[tokio::test]
async fn peer_defect_defect_handles_overwrite_old_records_after_a_reload() -> Test {
    let memory = Memory::new();
    let mut handles = HashSet::new();
    for _ in 0..3 {
        let runtime = open_on(&memory).await;
        let session = runtime.session("main").await?;
        for _ in 0..3 {
            let task = session.spawn_ephemeral(returns(())).await?;
            task.wait().await?;
            assert!(handles.insert(task.handle().to_owned()), "{} again", task.handle());
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn peer_defect_awaken_checks_a_name_then_commits() -> Test {
    let (_runtime, session) = session().await;
    let barrier = Arc::new(tokio::sync::Barrier::new(64));
    let mut spawns = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let (session, barrier) = (session.clone(), barrier.clone());
        spawns.spawn(async move {
            barrier.wait().await;
            session.spawn_ephemeral(never()).name("scout").await.is_ok()
        });
    }
    assert_eq!(spawns.join_all().await.into_iter().filter(|won| *won).count(), 1);
    Ok(())
}

#[tokio::test]
async fn peer_defect_everruns_never_checks_that_a_name_is_unique() -> Test {
    let (_runtime, session) = session().await;
    let parent = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn_ephemeral(obedient()).name("scout").await?;
            let second = cx.spawn_ephemeral(obedient()).name("Scout").await;
            assert!(matches!(second, Err(Error::NameTaken { .. })));
            Err::<(), _>(BodyError::message("done"))
        })
        .await?;
    let waited = parent.wait().await?;
    assert_eq!(common::failure(&waited).message, "done");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn peer_defect_koda_drops_the_payload_that_comes_after_the_status() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then(vec![1u8; 100_000])).await?;
    let mut watch = task.watch();
    watch.next().await.expect("a record")?;
    gate.open();
    // The first record that says "completed" has the payload, however late
    // anybody looks.
    let first = watch.next().await.expect("a record")?;
    assert_eq!(first.state, State::Completed);
    tokio::time::advance(Duration::from_secs(3_600)).await;
    let Some(Outcome::Completed { value, .. }) = first.ended() else { panic!("{first:?}") };
    assert_eq!(value.decode::<Vec<u8>>()?.len(), 100_000);
    assert_eq!(task.wait().await?.decode::<Vec<u8>>()?.len(), 100_000);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn peer_defect_awaken_leaves_a_task_running_when_its_end_is_not_written() -> Test {
    let memory = Memory::new();
    let trouble = Trouble::with(Of::Ends, Fault::Before);
    let runtime = open_faulty(&trouble.on(&memory)).await;
    let session = runtime.session("main").await?;
    let task = session.spawn_ephemeral(returns(7)).await?;
    trouble.struck(100).await;
    assert!(task.snapshot().await?.settling);
    trouble.stop();
    assert_eq!(task.wait().await?.decode::<u32>()?, 7);
    Ok(())
}

#[tokio::test]
async fn peer_defect_koda_reports_a_cancel_as_success() -> Test {
    let (_runtime, session) = session().await;
    let task = session.spawn_ephemeral(obedient()).await?;
    task.cancel("enough").await?;
    let waited = task.wait().await?;
    assert!(matches!(waited.outcome(), Some(Outcome::Cancelled { .. })));
    let told = waited.decode::<()>().expect_err("no success").to_string();
    assert!(told.contains("cancelled"), "{told}");
    Ok(())
}

#[tokio::test]
async fn peer_defect_defect_relabels_finished_work_as_cancelled() -> Test {
    let (_runtime, session) = session().await;
    let finished = session.spawn_ephemeral(returns(7)).await?;
    finished.wait().await?;
    assert!(matches!(finished.cancel("late").await, Err(Error::Ended { .. })));
    session.cancel("everything").await?;
    assert_eq!(finished.wait().await?.decode::<u32>()?, 7);
    let finishes = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.cancelled().await;
            Ok::<_, BodyError>(8)
        })
        .await?;
    finishes.cancel("just before it finishes").await?;
    assert_eq!(finishes.wait().await?.decode::<u32>()?, 8);
    Ok(())
}

async fn assert_a_panic_ends_its_task() -> Test {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|_cx| async {
            tokio::task::yield_now().await;
            if true {
                panic!("out of luck");
            }
            Ok::<_, BodyError>(())
        })
        .name("unlucky")
        .await?;
    let waited = task.wait().await?;
    assert_eq!(common::failure(&waited).kind, FailureKind::Panic);
    assert_eq!(session.drain(10).await?.len(), 1, "its owner is told");
    session.spawn_ephemeral(returns(())).name("unlucky").await?;
    Ok(())
}

#[tokio::test]
async fn peer_defect_awaken_leaves_a_panicked_task_running() -> Test {
    assert_a_panic_ends_its_task().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn peer_defect_defect_leaves_a_panicked_task_running() -> Test {
    assert_a_panic_ends_its_task().await
}

#[tokio::test(start_paused = true)]
async fn peer_defect_everruns_polls_each_second() -> Test {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|_cx| async {
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            Ok::<_, BodyError>(())
        })
        .await?;
    let start = tokio::time::Instant::now();
    task.wait().await?;
    assert_eq!(start.elapsed(), Duration::from_millis(1_500), "woken when it ends, not later");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn peer_defect_everruns_panics_on_a_huge_timeout() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then(7)).await?;
    for huge in [Duration::MAX, Duration::from_secs(u64::MAX), Duration::from_millis(u64::MAX)] {
        assert!(poll_once(&mut task.wait().timeout(huge).into_future()).is_pending());
        assert!(poll_once(&mut session.wait([&task]).timeout(huge).into_future()).is_pending());
    }
    gate.open();
    assert_eq!(task.wait().timeout(Duration::MAX).await?.end, WaitEnd::Ended);
    Ok(())
}

#[tokio::test]
async fn peer_defect_koda_loses_the_result_of_a_dropped_wait() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then(7)).await?;
    let mut wait = task.wait().into_future();
    assert!(poll_once(&mut wait).is_pending());
    drop(wait);
    gate.open();
    assert_eq!(task.wait().await?.decode::<u32>()?, 7);
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

/// How many events a session keeps after a thousand tasks whose events nobody
/// reads.
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
    let Err(Error::CursorExpired(expired)) = late.next().await else { panic!("not told") };
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
async fn peer_defect_awaken_queues_messages_without_bound() -> Test {
    let sizes = offshoot::core::Sizes { inbox: 3, ..Default::default() };
    let runtime = Runtime::builder(Memory::new()).sizes(sizes).open().await?;
    let task = runtime.session("main").await?.spawn_ephemeral(never()).await?;
    for _ in 0..3 {
        task.send("hello").await?;
    }
    assert!(matches!(task.send("hello").await, Err(Error::Full { limit: 3, .. })));
    Ok(())
}

#[tokio::test]
async fn peer_defect_defect_lets_a_slow_subscriber_block_the_agent() -> Test {
    let (_runtime, session) = session().await;
    let mut slow: Vec<_> = (0..16).map(|_| session.events(Cursor::START)).collect();
    for subscriber in &mut slow {
        subscriber.next().await?;
    }
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            for _ in 0..1_000 {
                cx.spawn_ephemeral(returns(())).await?.wait().await?;
            }
            Ok::<_, BodyError>(())
        })
        .await?;
    let mut watch = task.watch();
    watch.next().await.expect("a record")?;
    task.wait().await?.decode::<()>()?;
    assert_eq!(watch.next().await.expect("a record")?.state, State::Completed);
    Ok(())
}
