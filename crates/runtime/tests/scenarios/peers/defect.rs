//! Defects of defect in ids, ends, slow readers and failed turns.

use std::collections::HashSet;
use std::task::Poll;
use std::time::Duration;

use offshoot_core::{Cursor, TaskState};
use offshoot_runtime::{BodyError, Context, Error};
use offshoot_store::Memory;

use super::assert_a_panic_ends_its_task;
use crate::support::{
    Done, Flag, Gate, Test, end_of, ended_handles, notices, open_on, returns, session, texts,
};

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn peer_defect_defect_leaves_a_panicked_task_running() -> Test {
    assert_a_panic_ends_its_task().await
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
    assert_eq!(watch.next().await.expect("a record")?.state, TaskState::Completed);
    Ok(())
}

#[tokio::test]
async fn peer_defect_defect_loses_drained_results_when_the_turn_fails() {
    let (_runtime, session) = session().await;
    session.spawn_ephemeral(returns(())).name("child").await.unwrap();
    // A turn that drains and then fails before it stores anything.
    let turn = async {
        let rows = session.receive(8).await?;
        assert_eq!(ended_handles(&rows), ["child"]);
        Err::<(), BodyError>(BodyError::message("the model is down"))
    };
    assert!(turn.await.is_err());
    let rows = session.drain(8).await.unwrap();
    session.append(notices(&rows)).acking(&rows).await.unwrap();
    assert_eq!(texts(&session).await, ["child"]);
}

#[tokio::test]
async fn peer_defect_defect_never_stops_a_body_that_ignores_the_token() {
    let (_runtime, session) = session().await;
    let gone = Gate::new();
    let flag = Flag::new(&gone);
    // It computes for ever and never checks for a cancel.
    let run = |_| async move {
        let _flag = flag;
        std::future::poll_fn(|cx| {
            cx.waker().wake_by_ref();
            Poll::<Done>::Pending
        })
        .await
    };
    let task = session.spawn_ephemeral(run).await.unwrap();
    task.cancel("enough").grace(Duration::ZERO).await.unwrap();
    assert_eq!(end_of(&task).await.state, TaskState::Cancelled);
    assert_eq!(gone.arrivals(), 1);
}
