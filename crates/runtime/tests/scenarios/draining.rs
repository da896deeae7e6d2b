//! Reading destroys nothing: rows stay until they are acknowledged.

use std::collections::HashSet;

use offshoot_core::{Block, BlockKind, Stamp, TaskId, TaskState, Visibility};
use offshoot_runtime::{BodyError, Context, Error, InboxRows, Session};
use offshoot_store::Memory;

use crate::support::{Gate, Test, never, open, open_on, poll_once, returns, session};

fn tasks(rows: &InboxRows) -> Vec<TaskId> {
    rows.iter().filter_map(|row| row.task().map(|task| task.id())).collect()
}

/// The tasks whose results are unread, once there are `count` of them.
async fn unread_results(session: &Session, count: usize) -> Result<InboxRows, Error> {
    loop {
        let rows = session.drain(count).await?;
        if rows.len() == count {
            return Ok(rows);
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn s3_4_a_result_stays_readable_by_id_after_it_was_read_and_acknowledged() -> Test {
    let (runtime, session) = session().await;
    let task = session.spawn_ephemeral(returns(7)).await?;
    for _ in 0..3 {
        assert_eq!(task.wait().await?.decode::<u32>()?, 7);
        assert_eq!(session.drain(10).await?.len(), 1);
    }
    session.drain(10).await?.ack().await?;
    let found = runtime.task(&task.id().to_string()).await?;
    assert_eq!(found.wait().await?.decode::<u32>()?, 7);
    assert!(found.wait().await?.row().await?.is_none(), "there is no row to acknowledge any more");
    Ok(())
}

#[tokio::test]
async fn s3_4_wait_and_drain_return_rows_with_stable_ids() -> Test {
    let (_runtime, session) = session().await;
    let task = session.spawn_ephemeral(returns(7)).await?;
    let waited = task.wait().await?.row().await?.expect("an unread row");
    let again = task.wait().await?.row().await?.expect("still unread");
    let rows = session.drain(10).await?;
    let drained: Vec<_> = rows.iter().map(|row| row.id()).collect();
    assert_eq!(waited, again);
    assert_eq!(drained, [waited.id]);
    assert_eq!(session.drain(10).await?.iter().next().expect("a row").id(), waited.id);
    Ok(())
}

#[tokio::test]
async fn s3_4_row_ids_are_the_same_after_a_restart() -> Test {
    let memory = Memory::new();
    let runtime = open_on(&memory).await;
    let session = runtime.session("main").await?;
    session.spawn_ephemeral(returns(7)).await?.wait().await?;
    let before: Vec<_> = session.drain(10).await?.iter().map(|row| row.id()).collect();
    drop(runtime);
    let runtime = open_on(&memory).await;
    let rows = runtime.session("main").await?.drain(10).await?;
    assert_eq!(rows.iter().map(|row| row.id()).collect::<Vec<_>>(), before);
    Ok(())
}

#[tokio::test]
async fn s3_4_only_an_ack_marks_a_row_delivered() -> Test {
    let (_runtime, session) = session().await;
    let first = session.spawn_ephemeral(returns(1)).await?;
    let waited = first.wait().await?;
    waited.ack().await?;
    assert!(session.drain(10).await?.is_empty(), "the row of a wait can be acknowledged");
    let second = session.spawn_ephemeral(returns(2)).await?;
    second.wait().await?;
    let rows = session.drain(10).await?;
    assert_eq!(tasks(&rows), [second.id()]);
    rows.ack().await?;
    assert!(session.drain(10).await?.is_empty());
    waited.ack().await?;
    rows.ack().await?;
    assert_eq!(session.drain(10).await?.len(), 0, "acknowledging twice changes nothing");
    Ok(())
}

#[tokio::test]
async fn s3_4_an_ack_covers_only_the_rows_that_were_read() -> Test {
    let (_runtime, session) = session().await;
    session.spawn_ephemeral(returns(1)).await?.wait().await?;
    let early = session.drain(10).await?;
    let late = session.spawn_ephemeral(returns(2)).await?;
    late.wait().await?;
    early.ack().await?;
    assert_eq!(tasks(&session.drain(10).await?), [late.id()]);
    Ok(())
}

#[tokio::test]
async fn s3_4_the_commit_that_appends_a_row_to_the_history_marks_it_delivered_once() -> Test {
    let (_runtime, session) = session().await;
    session.spawn_ephemeral(returns(1)).await?.wait().await?;
    let rows = session.drain(10).await?;
    let notice = || Block::new(BlockKind::Notice, "it is done", Stamp::from_millis(1));
    session.append([notice()]).acking(&rows).await?;
    assert!(session.drain(10).await?.is_empty());
    // A second append of the same row must fail as a whole: exactly once.
    let gone = session.append([notice()]).acking(&rows).await.expect_err("delivered before");
    let row = rows.iter().next().expect("one").id();
    assert!(matches!(gone, Error::RowGone(of) if of == row), "{gone:?}");
    assert!(gone.to_string().contains("drain again"), "{gone}");
    assert_eq!(session.history(0, 10).await?.total, 1);
    Ok(())
}

#[tokio::test]
async fn s3_5_drain_never_blocks() -> Test {
    let (_runtime, session) = session().await;
    session.spawn_ephemeral(never).await?;
    let mut drain = Box::pin(session.drain(10));
    let std::task::Poll::Ready(rows) = poll_once(&mut drain) else { panic!("it waits") };
    assert!(rows?.is_empty());
    Ok(())
}

#[tokio::test]
async fn s3_5_rows_come_in_completion_order_with_task_handle_and_lineage() -> Test {
    let (_runtime, session) = session().await;
    let gates: Vec<_> = (0..20).map(|_| Gate::new()).collect();
    let mut spawned = Vec::new();
    for gate in &gates {
        spawned.push(session.spawn_ephemeral(gate.then(())).agent("lead").await?);
    }
    let mut order: Vec<usize> = (0..20).collect();
    order.sort_by_key(|number| (number * 7) % 20);
    for number in &order {
        gates[*number].open();
        spawned[*number].wait().await?;
    }
    let rows = session.drain(100).await?;
    for (row, number) in rows.iter().zip(&order) {
        let (task, expected) = (row.task().expect("a result"), &spawned[*number]);
        assert_eq!((task.id(), task.handle()), (expected.id(), expected.handle()));
        assert_eq!(task.spec.lineage, expected.spec().lineage);
        assert_eq!(task.state, TaskState::Completed);
    }
    assert_eq!(rows.len(), 20);
    assert_eq!(tasks(&session.drain(3).await?), tasks(&rows)[..3], "a limit takes the oldest");
    Ok(())
}

#[tokio::test]
async fn s3_5_an_owner_drains_only_its_own() -> Test {
    let runtime = open().await;
    let (one, two) = (runtime.session("one").await?, runtime.session("two").await?);
    let of_one = one.spawn_ephemeral(returns(1)).await?;
    let gate = Gate::new();
    let ends = gate.clone();
    let of_two = two
        .spawn_ephemeral(move |cx: Context| async move {
            let child = cx.spawn_ephemeral(returns(2)).await?;
            let rows = cx.receive(10).await?;
            assert_eq!(tasks(&rows), [child.id()], "a task drains what it owns");
            rows.ack().await?;
            ends.pass().await;
            Ok::<_, BodyError>(())
        })
        .await?;
    of_one.wait().await?;
    assert_eq!(tasks(&one.drain(10).await?), [of_one.id()]);
    assert!(two.drain(10).await?.is_empty(), "a child's result goes to its parent");
    gate.open();
    of_two.wait().await?.decode::<()>()?;
    assert_eq!(tasks(&two.drain(10).await?), [of_two.id()]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn s3_6_no_completion_is_missed_however_it_races_the_waiter() -> Test {
    let (_runtime, session) = session().await;
    for round in 0..500u32 {
        let task = session.spawn_ephemeral(returns(round)).await?;
        assert_eq!(task.wait().await?.decode::<u32>()?, round);
        let rows = session.receive(10).await?;
        assert_eq!(tasks(&rows), [task.id()]);
        rows.ack().await?;
    }
    Ok(())
}

#[tokio::test]
async fn s3_6_many_completions_may_be_one_wake_up_and_all_are_drained() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let mut spawned = HashSet::new();
    for _ in 0..100 {
        spawned.insert(session.spawn_ephemeral(gate.then(())).await?.id());
    }
    let waits = session.clone();
    let receiver = tokio::spawn(async move {
        let mut received = HashSet::new();
        let mut wakes = 0;
        while received.len() < 100 {
            let rows = waits.receive(1_000).await?;
            wakes += 1;
            received.extend(tasks(&rows));
            rows.ack().await?;
        }
        Ok::<_, Error>((received, wakes))
    });
    tokio::task::yield_now().await;
    gate.open();
    let (received, wakes) = receiver.await.expect("no panic")?;
    assert_eq!(received, spawned);
    assert!(wakes <= 100);
    assert!(session.drain(10).await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn s3_6_completions_without_a_waiter_are_all_drained_later() -> Test {
    let (_runtime, session) = session().await;
    let mut spawned = Vec::new();
    for _ in 0..50 {
        spawned.push(session.spawn_ephemeral(returns(())).await?.id());
    }
    let rows = unread_results(&session, 50).await?;
    assert_eq!(tasks(&rows).into_iter().collect::<HashSet<_>>(), spawned.into_iter().collect());
    Ok(())
}

#[tokio::test]
async fn s7_1_a_stale_body_acknowledges_nothing_in_the_recipients_inbox() -> Test {
    let (_runtime, session) = session().await;
    let (tell, told) = tokio::sync::oneshot::channel();
    let lead = session.spawn_ephemeral(|cx: Context| async move {
        let leaf = cx.spawn_ephemeral(returns(1)).await?;
        drop(tell.send(leaf.wait().await?));
        Ok::<_, BodyError>(())
    });
    lead.await?.wait().await?;
    let refused = told.await.unwrap().ack().await;
    assert!(matches!(refused, Err(Error::Forbidden(_))), "{refused:?}");
    assert_eq!(session.drain(10).await?.len(), 2, "the leaf's row has moved, and is unread");
    Ok(())
}

#[tokio::test]
async fn s7_1_only_its_owner_or_the_host_acknowledges_a_result() -> Test {
    let (runtime, session) = session().await;
    let gate = Gate::new();
    let waits = gate.clone();
    let lead = session.spawn_ephemeral(|cx: Context| async move {
        cx.spawn_ephemeral(returns(1)).name("leaf").await?.wait().await?;
        waits.pass().await;
        Ok::<_, BodyError>(cx.drain(10).await?.len())
    });
    let lead = lead.await?;
    gate.arrived().await;
    let seeing = session.clone().with_visibility(Visibility::Subtree);
    let refused = seeing.task("leaf").await?.wait().await?.ack().await;
    assert!(matches!(refused, Err(Error::Forbidden(_))), "{refused:?}");
    runtime.task("leaf").await?.wait().await?.ack().await?;
    gate.open();
    assert_eq!(lead.wait().await?.decode::<usize>()?, 0, "the host has read it");
    Ok(())
}
