//! Watching one record, and a session's log.

use std::collections::HashMap;

use offshoot_core::{Change, Cursor, Event, Phase, Retention, TaskState};
use offshoot_runtime::{BodyError, Context, Error, Runtime};
use offshoot_store::Memory;

use crate::support::{
    Gate, Test, events_until, never, open_on, poll_once, read_all, returns, session,
};

fn is_end(event: &Event) -> bool {
    matches!(event.change, Change::Ended(_))
}

#[tokio::test]
async fn s3_7_watch_gives_the_current_record_then_the_latest() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then(7)).await?;
    let mut watch = task.watch();
    assert_eq!(watch.next().await.expect("a record")?, task.record().await?);
    {
        let mut next = Box::pin(watch.next());
        assert!(poll_once(&mut next).is_pending(), "the same record is not told twice");
    }
    gate.open();
    let last = watch.next().await.expect("a record")?;
    assert_eq!(last, task.record().await?);
    assert_eq!(last.state, TaskState::Completed);
    assert!(watch.next().await.is_none(), "nothing comes after the end");
    Ok(())
}

#[tokio::test]
async fn s3_7_a_slow_watcher_skips_to_the_latest_record() -> Test {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            for number in 0..50u32 {
                let child = cx.spawn_ephemeral(returns(number)).await?;
                child.wait().await?;
            }
            Ok::<_, BodyError>(())
        })
        .await?;
    let mut watch = task.watch();
    watch.next().await.expect("a record")?;
    task.wait().await?;
    assert_eq!(watch.next().await.expect("a record")?, task.record().await?);
    assert!(watch.next().await.is_none());
    Ok(())
}

#[tokio::test]
async fn s3_7_a_watch_of_a_task_that_has_ended_gives_its_end() -> Test {
    let (_runtime, session) = session().await;
    let task = session.spawn_ephemeral(returns(7)).await?;
    task.wait().await?;
    let mut watch = task.watch();
    assert_eq!(watch.next().await.expect("a record")?.state, TaskState::Completed);
    assert!(watch.next().await.is_none());
    Ok(())
}

#[tokio::test]
async fn s3_7_a_slow_watcher_gets_the_last_record_of_a_task_that_the_store_forgot() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then(7)).await?;
    let (mut begun, mut fresh) = (task.watch(), task.watch());
    begun.next().await.expect("a record")?;
    gate.open();
    // Unread ends push it out.
    for _ in 0..100 {
        session.spawn_ephemeral(returns(())).await?;
    }
    read_all(&session, 101).await?;
    assert!(matches!(task.record().await, Err(Error::NotFound { .. })), "it is forgotten");
    for watch in [&mut begun, &mut fresh] {
        assert_eq!(watch.next().await.expect("a record")?.state, TaskState::Completed);
        assert!(watch.next().await.is_none());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn s3_7_the_log_has_one_order_and_no_later_commit_is_skipped() -> Test {
    let (_runtime, session) = session().await;
    let mut spawners = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let session = session.clone();
        spawners.spawn(async move {
            for _ in 0..25 {
                session.spawn_ephemeral(returns(())).await?.wait().await?;
            }
            Ok::<_, Error>(())
        });
    }
    // One reader beside the writers, and one after they have finished.
    let mut beside = session.events(Cursor::START);
    let mut seen: Vec<Event> = Vec::new();
    while seen.iter().filter(|event| is_end(event)).count() < 200 {
        seen.push(beside.next().await?);
    }
    while let Some(spawner) = spawners.join_next().await {
        spawner.expect("no panic")?;
    }
    assert!(seen.windows(2).all(|two| two[0].cursor < two[1].cursor), "cursors only grow");
    let mut changes: HashMap<_, Vec<Change>> = HashMap::new();
    for event in &seen {
        if let Some(task) = event.task {
            changes.entry(task).or_default().push(event.change.clone());
        }
    }
    let expected = [Change::SpawnedRunning, Change::Ended(Phase::Completed)];
    assert!(changes.len() == 200 && changes.values().all(|changes| changes[..] == expected));
    let mut later = session.events(Cursor::START);
    for event in &seen {
        assert_eq!(&later.next().await?, event, "everybody reads the same log");
    }
    Ok(())
}

#[tokio::test]
async fn s3_7_a_reader_goes_on_from_its_cursor() -> Test {
    let memory = Memory::new();
    let runtime = open_on(&memory).await;
    let session = runtime.session("main").await?;
    for _ in 0..5 {
        session.spawn_ephemeral(returns(())).await?.wait().await?;
    }
    let mut whole = session.events(Cursor::START);
    let mut all = Vec::new();
    while all.iter().filter(|event| is_end(event)).count() < 5 {
        all.push(whole.next().await?);
    }
    drop(runtime);
    // A cursor can be stored, and is valid after a restart.
    let stored = serde_json::to_string(&all[3].cursor).expect("a cursor is a value");
    let cursor: Cursor = serde_json::from_str(&stored).expect("the same cursor");
    let runtime = open_on(&memory).await;
    let session = runtime.session("main").await?;
    let mut rest = session.events(cursor);
    assert_eq!(rest.cursor(), cursor);
    for event in &all[4..] {
        assert_eq!(&rest.next().await?, event);
        assert_eq!(rest.cursor(), event.cursor);
    }
    Ok(())
}

#[tokio::test]
async fn s3_7_a_reader_at_the_end_is_woken_by_the_next_commit() -> Test {
    let (_runtime, session) = session().await;
    let mut events = session.events(Cursor::START);
    assert_eq!(events.next().await?.change, Change::SessionOpened);
    {
        let mut next = Box::pin(events.next());
        assert!(poll_once(&mut next).is_pending());
    }
    let reader = tokio::spawn(async move { events.next().await });
    tokio::task::yield_now().await;
    let task = session.spawn_ephemeral(never).await?;
    let event = reader.await.expect("no panic")?;
    assert_eq!((event.task, event.change), (Some(task.id()), Change::SpawnedRunning));
    Ok(())
}

async fn forgetful(memory: &Memory, events: usize) -> Runtime {
    let retention = Retention { events, ..Retention::default() };
    Runtime::builder(memory.clone()).retention(retention).open().await.expect("opens")
}

#[tokio::test]
async fn s3_7_a_lagging_reader_gets_an_error_and_goes_on_from_a_snapshot() -> Test {
    let runtime = forgetful(&Memory::new(), 8).await;
    let session = runtime.session("main").await?;
    let live = session.spawn_ephemeral(never).await?;
    let mut slow = session.events(Cursor::START);
    slow.next().await?;
    let mut stale = session.events(slow.cursor());
    for _ in 0..50 {
        session.spawn_ephemeral(returns(())).await?.wait().await?;
    }
    let Err(Error::CursorExpired(expired)) = stale.next().await else { panic!("not told") };
    assert!(expired.oldest > slow.cursor());
    let snapshot = stale.snapshot().await?;
    let ids: Vec<_> = snapshot.iter().map(|task| task.id()).collect();
    assert_eq!(ids, [live.id()], "the records as they are now");
    let after = session.spawn_ephemeral(never).await?;
    let events = events_until(&mut stale, |event| event.task == Some(after.id())).await;
    assert_eq!(events.last().expect("that one").change, Change::SpawnedRunning);
    Ok(())
}

#[tokio::test]
async fn s3_7_from_the_oldest_cursor_nothing_is_missing() -> Test {
    let runtime = forgetful(&Memory::new(), 8).await;
    let session = runtime.session("main").await?;
    for _ in 0..50 {
        session.spawn_ephemeral(returns(())).await?.wait().await?;
    }
    let Err(Error::CursorExpired(expired)) = session.events(Cursor::START).next().await else {
        panic!("not told")
    };
    let mut rest = session.events(expired.oldest);
    for _ in 0..8 {
        rest.next().await?;
    }
    let mut next = Box::pin(rest.next());
    assert!(poll_once(&mut next).is_pending(), "eight are kept, and eight were read");
    Ok(())
}

#[tokio::test]
async fn s3_7_events_are_deltas() -> Test {
    let (_runtime, session) = session().await;
    let text = "x".repeat(100_000);
    let task = session.spawn_ephemeral(returns(text.clone())).await?;
    task.wait().await?;
    let events = events_until(&mut session.events(Cursor::START), is_end).await;
    let size: usize =
        events.iter().map(|event| serde_json::to_string(event).expect("json").len()).sum();
    assert!(size < 2_000, "the result is in the record, not in the log: {size} bytes");
    assert_eq!(task.wait().await?.decode::<String>()?, text);
    Ok(())
}
