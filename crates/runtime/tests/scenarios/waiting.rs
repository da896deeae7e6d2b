//! Waiting: for one, any or all; woken by the end itself; harmless to drop.

use std::time::Duration;

use offshoot_core::{Outcome, TaskState, WaitingOn};
use offshoot_runtime::{BodyError, Context, Error, WaitEnd};

use crate::support::{
    Gate, Test, capped, never, one_slot, poll_once, read_all, returns, session, until, until_state,
};

#[tokio::test]
async fn s3_1_wait_for_one() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then("done")).await?;
    let mut wait = task.wait().into_future();
    assert!(poll_once(&mut wait).is_pending());
    gate.open();
    let waited = wait.await?;
    assert_eq!((waited.end, waited.is_ended()), (WaitEnd::Ended, true));
    assert_eq!(waited.decode::<String>()?, "done");
    Ok(())
}

#[tokio::test]
async fn s3_1_wait_for_any_returns_with_the_first_and_shows_the_others() -> Test {
    let (_runtime, session) = session().await;
    let gates = [Gate::new(), Gate::new(), Gate::new()];
    let mut tasks = Vec::new();
    for gate in &gates {
        tasks.push(session.spawn_ephemeral(gate.then(())).await?);
    }
    let mut wait = session.wait(&tasks).any().into_future();
    assert!(poll_once(&mut wait).is_pending());
    gates[1].open();
    let ends: Vec<_> = wait.await?.iter().map(|waited| waited.is_ended()).collect();
    assert_eq!(ends, [false, true, false], "in the order in which they were asked for");
    Ok(())
}

#[tokio::test]
async fn s3_1_wait_for_all_returns_with_the_last() -> Test {
    let (_runtime, session) = session().await;
    let gates = [Gate::new(), Gate::new(), Gate::new()];
    let mut tasks = Vec::new();
    for (number, gate) in gates.iter().enumerate() {
        tasks.push(session.spawn_ephemeral(gate.then(number)).await?);
    }
    let mut wait = session.wait(&tasks).into_future();
    for gate in &gates {
        assert!(poll_once(&mut wait).is_pending());
        gate.open();
        session.receive(10).await?.ack().await?;
    }
    let mut values = Vec::new();
    for waited in wait.await? {
        values.push(waited.decode::<usize>()?);
    }
    assert_eq!(values, [0, 1, 2]);
    Ok(())
}

#[tokio::test]
async fn s3_1_a_wait_for_nothing_returns_at_once() -> Test {
    let (_runtime, session) = session().await;
    assert!(session.wait([]).await?.is_empty());
    assert!(session.wait([]).any().await?.is_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s3_1_a_deadline_ends_the_wait_when_it_is_over() -> Test {
    let (_runtime, session) = session().await;
    let task = session.spawn_ephemeral(never).await?;
    let start = tokio::time::Instant::now();
    assert_eq!(task.wait().timeout(Duration::from_secs(30)).await?.end, WaitEnd::TimedOut);
    assert_eq!(start.elapsed().as_secs(), 30);
    let many = session.wait([&task]).any().timeout(Duration::from_secs(30)).await?;
    assert_eq!(many[0].end, WaitEnd::TimedOut);
    assert_eq!(start.elapsed().as_secs(), 60);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s3_1_a_deadline_of_zero_looks_and_does_not_wait() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then(())).await?;
    let start = tokio::time::Instant::now();
    assert_eq!(task.wait().timeout(Duration::ZERO).await?.end, WaitEnd::TimedOut);
    gate.open();
    task.wait().await?;
    assert_eq!(task.wait().timeout(Duration::ZERO).await?.end, WaitEnd::Ended);
    assert_eq!(start.elapsed(), Duration::ZERO);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s3_1_a_wait_is_woken_by_push_in_no_time() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then(())).await?;
    let mut wait = task.wait().into_future();
    assert!(poll_once(&mut wait).is_pending());
    let start = tokio::time::Instant::now();
    gate.open();
    wait.await?;
    // Polling would have had to sleep, and virtual time would have moved.
    assert_eq!(start.elapsed(), Duration::ZERO);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s3_2_a_timeout_returns_a_fresh_snapshot_and_changes_nothing() -> Test {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            tokio::time::sleep(Duration::from_secs(10)).await;
            cx.progress(&"half way").await?;
            std::future::pending::<()>().await;
            Ok::<_, BodyError>(())
        })
        .await?;
    let waited = task.wait().timeout(Duration::from_secs(30)).await?;
    let progress = waited.task.progress.clone().expect("what was said during the wait");
    assert_eq!(progress.value.decode::<String>()?, "half way");
    assert!(waited.row().await?.is_none());
    assert_eq!(task.record().await?, waited.task, "the timeout left no mark");
    Ok(())
}

#[tokio::test]
async fn s3_2_a_body_that_drops_its_wait_goes_on_running() -> Test {
    let (_runtime, session) = session().await;
    let (gate, done) = (Gate::new(), Gate::new());
    let (child, waits) = (gate.then(7), done.clone());
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let child = cx.spawn_ephemeral(child).await?;
            let mut wait = child.wait().into_future();
            assert!(poll_once(&mut wait).is_pending());
            drop(wait);
            waits.pass().await;
            Ok::<_, BodyError>(child.wait().await?.decode::<u32>()?)
        })
        .await?;
    until_state(&task, TaskState::Running).await;
    gate.open();
    done.open();
    assert_eq!(task.wait().await?.decode::<u32>()?, 7);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn s3_2_any_number_of_waiters_may_wait_on_one_task() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then(7)).await?;
    let parked = std::sync::Arc::new(tokio::sync::Barrier::new(257));
    let mut waiters = tokio::task::JoinSet::new();
    for _ in 0..256 {
        let (task, parked) = (task.clone(), parked.clone());
        waiters.spawn(async move {
            let mut wait = task.wait().into_future();
            assert!(poll_once(&mut wait).is_pending());
            parked.wait().await;
            wait.await?.decode::<u32>()
        });
    }
    parked.wait().await;
    gate.open();
    while let Some(waited) = waiters.join_next().await {
        assert_eq!(waited.expect("no panic")?, 7);
    }
    Ok(())
}

#[tokio::test]
async fn s3_2_a_wait_through_a_bodys_reference_is_a_wait_for_itself() -> Test {
    let (_runtime, session) = session().await;
    let (hand, mut handed) = tokio::sync::mpsc::unbounded_channel();
    let gate = Gate::new();
    let child = gate.then(7);
    let parent = session
        .spawn_ephemeral(move |cx: Context| async move {
            drop(hand.send(cx.spawn_ephemeral(child).await?));
            Ok::<_, BodyError>(())
        })
        .await?;
    let child = handed.recv().await.expect("the child");
    until(&parent, |task| task.is_held()).await;
    let mut wait = child.wait().into_future();
    assert!(poll_once(&mut wait).is_pending(), "that the parent has returned does not matter");
    parent.cancel("enough").grace(Duration::MAX).await?;
    assert!(poll_once(&mut wait).is_pending(), "who waits was not asked to stop");
    gate.open();
    assert_eq!(wait.await?.decode::<u32>()?, 7);
    Ok(())
}

#[tokio::test]
async fn s3_3_a_waiters_own_cancellation_ends_its_wait_at_once() -> Test {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let child = cx.spawn_ephemeral(never).await?;
            match child.wait().await {
                Err(Error::Cancelled) => Ok::<_, BodyError>("the wait was cut"),
                other => panic!("{other:?}"),
            }
        })
        .await?;
    until_state(&task, TaskState::Waiting(WaitingOn::Children)).await;
    task.cancel("enough").grace(Duration::MAX).await?;
    let held = until(&task, |task| task.outcome.is_some()).await;
    assert!(matches!(held.outcome.as_deref(), Some(Outcome::Completed { .. })));
    Ok(())
}

#[tokio::test]
async fn s3_3_a_cancelled_waiter_does_not_queue_for_a_slot() -> Test {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await?;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            // It has the only slot and does not stop.
            let child = cx.spawn_ephemeral(never).await?;
            child.wait().await?;
            Ok::<_, BodyError>(())
        })
        .await?;
    until_state(&task, TaskState::Waiting(WaitingOn::Children)).await;
    task.cancel("enough").grace(Duration::MAX).await?;
    let held = until(&task, |task| task.outcome.is_some()).await;
    assert!(matches!(held.outcome.as_deref(), Some(Outcome::Cancelled { forced: false, .. })));
    Ok(())
}

#[tokio::test]
async fn s3_3_a_wait_that_begins_after_the_cancel_ends_too() -> Test {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let child = cx.spawn_ephemeral(never).await?;
            cx.cancelled().await;
            assert!(matches!(child.wait().await, Err(Error::Cancelled)));
            assert!(matches!(cx.wait([&child]).any().await, Err(Error::Cancelled)));
            Err::<(), _>(BodyError::Cancelled)
        })
        .await?;
    task.cancel("enough").grace(Duration::MAX).await?;
    until(&task, |task| task.outcome.is_some()).await;
    Ok(())
}

#[tokio::test]
async fn s3_3_a_wait_returns_when_the_task_needs_input() -> Test {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let answer = cx.ask("which one?").await?;
            let leave = cx.ask("may I?").approval().await?;
            Ok::<_, BodyError>((answer.decode::<String>()?, leave.decode::<String>()?))
        })
        .await?;
    let other = session.spawn_ephemeral(never).await?;
    for (number, on) in [(1, WaitingOn::Input(1)), (2, WaitingOn::Approval(2))] {
        let waited = task.wait().await?;
        assert_eq!(waited.end, WaitEnd::NeedsInput);
        assert_eq!(waited.task.state, TaskState::Waiting(on));
        let many = session.wait([&other, &task]).await?;
        assert_eq!(many[1].end, WaitEnd::NeedsInput, "all-of returns for input, too");
        task.answer(number, &"the first").await?;
    }
    let answers = task.wait().await?.decode::<(String, String)>()?;
    assert_eq!(answers, ("the first".to_owned(), "the first".to_owned()));
    Ok(())
}

#[tokio::test]
async fn s3_6_a_completion_before_the_waiter_parks_is_not_missed() -> Test {
    let (_runtime, session) = session().await;
    let task = session.spawn_ephemeral(returns(7)).await?;
    let wait = task.wait();
    session.receive(1).await?;
    assert_eq!(wait.await?.decode::<u32>()?, 7);
    Ok(())
}

#[tokio::test]
async fn s3_6_a_wait_gets_results_that_are_read_and_forgotten_meanwhile() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let mut tasks = Vec::new();
    for number in 0..200u32 {
        tasks.push(session.spawn_ephemeral(gate.then(number)).await?);
    }
    let mut all = session.wait(&tasks).into_future();
    let mut one = tasks[0].wait().into_future();
    assert!(poll_once(&mut all).is_pending() && poll_once(&mut one).is_pending());
    gate.open();
    read_all(&session, tasks.len()).await?;
    assert!(matches!(tasks[0].record().await, Err(Error::NotFound { .. })), "it is forgotten");
    assert_eq!(one.await?.decode::<u32>()?, 0);
    for (number, waited) in all.await?.into_iter().enumerate() {
        assert_eq!(waited.decode::<usize>()?, number);
        assert_eq!(waited.row().await?, None, "another reader took the row");
    }
    Ok(())
}

#[tokio::test]
async fn s3_6_an_end_that_the_wait_saw_first_counts_although_the_store_forgot_it() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let early = session.spawn_ephemeral(returns(7)).await?;
    early.wait().await?;
    let late = session.spawn_ephemeral(gate.then(8)).await?;
    let mut both = session.wait([&early, &late]).into_future();
    assert!(poll_once(&mut both).is_pending());
    for _ in 0..100 {
        session.spawn_ephemeral(returns(())).await?;
    }
    read_all(&session, 101).await?;
    assert!(matches!(early.record().await, Err(Error::NotFound { .. })), "it is forgotten");
    gate.open();
    let both = both.await?;
    assert_eq!((both[0].decode::<u32>()?, both[1].decode::<u32>()?), (7, 8));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn s3_6_waits_and_readers_side_by_side_miss_no_end() -> Test {
    let (_runtime, session) = session().await;
    let reader = {
        let session = session.clone();
        tokio::spawn(async move { read_all(&session, 4_000).await })
    };
    let mut waiters = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let session = session.clone();
        waiters.spawn(async move {
            for number in 0..500u32 {
                let gate = Gate::new();
                let task = session.spawn_ephemeral(gate.then(number)).await?;
                let mut wait = task.wait().into_future();
                assert!(poll_once(&mut wait).is_pending());
                gate.open();
                assert_eq!(wait.await?.decode::<u32>()?, number);
            }
            Ok::<_, Error>(())
        });
    }
    while let Some(waited) = waiters.join_next().await {
        waited.expect("no panic")?;
    }
    reader.await.expect("no panic")
}

#[tokio::test]
async fn s3_3_a_body_that_waits_for_itself_is_refused() -> Test {
    let (_runtime, session) = session().await;
    let task = session.spawn_ephemeral(|cx: Context| async move {
        let itself = cx.task("self").await?;
        let one = itself.wait().await.map(drop);
        let many = cx.wait([&itself]).await.map(drop);
        let refused = |wait: &Result<(), Error>| matches!(wait, Err(Error::WaitsForItself(_)));
        Ok::<_, BodyError>(refused(&one) && refused(&many))
    });
    assert!(task.await?.wait().await?.decode::<bool>()?);
    Ok(())
}

#[tokio::test]
async fn s3_1_a_wait_with_a_deadline_is_polled_on_any_thread() -> Test {
    let (_runtime, session) = session().await;
    let task = session.spawn_ephemeral(never).await?;
    let mut wait = task.wait().timeout(Duration::from_secs(1)).into_future();
    let elsewhere = std::thread::spawn(move || poll_once(&mut wait).is_pending());
    assert!(elsewhere.join().expect("no panic for want of a clock"));
    Ok(())
}
