//! The reports of a task while it runs, and its traces after a failure.

use std::time::Duration;

use offshoot_core::{
    Activity, ActivityKind, Block, BlockKind, Change, Failure, FailureKind, Outcome, Stamp,
    TaskState,
};
use offshoot_runtime::{BodyError, Context, Error, Runtime, Session, TaskRef};
use offshoot_store::{InjectedFault, Memory};

use crate::support::{
    CommitFaults, CommitFilter, Gate, Test, VirtualWorld, changes_of, end_of, failure, never,
    session, until,
};

#[derive(Debug, thiserror::Error)]
#[error("could not index")]
struct Outer(#[source] Middle);

#[derive(Debug, thiserror::Error)]
#[error("could not read")]
struct Middle(#[source] std::io::Error);

#[tokio::test]
async fn s2_7_a_failure_carries_kind_message_and_the_whole_cause_chain() -> Test {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|_cx| async {
            Err::<(), _>(Outer(Middle(std::io::Error::other("disk on fire"))))
        })
        .await?;
    let waited = task.wait().await?;
    let failure = failure(&waited.task);
    assert_eq!(failure.kind, FailureKind::Error);
    assert_eq!(failure.message, "could not index");
    assert_eq!(failure.causes, ["could not read", "disk on fire"]);
    let answer = waited.decode::<()>().expect_err("it failed").to_string();
    assert!(answer.contains("could not index: could not read: disk on fire"), "{answer}");
    Ok(())
}

#[tokio::test]
async fn s2_7_a_failure_that_a_body_hands_on_keeps_its_kind() -> Test {
    let (_runtime, session) = session().await;
    let handed = Failure::new(FailureKind::Exit(3), "the linter was not happy");
    let returned = handed.clone();
    let task = session.spawn_ephemeral(|_cx| async { Err::<(), _>(returned) }).await?;
    assert_eq!(failure(&task.wait().await?.task), &handed);
    Ok(())
}

/// A body that leaves something behind and then ends as `end` says.
async fn leaves_a_trace<F, Run>(session: &Session, end: F) -> Result<TaskRef, Error>
where
    F: FnOnce(Context) -> Run + Send + 'static,
    Run: Future<Output = Result<(), BodyError>> + Send + 'static,
{
    session
        .spawn_ephemeral(|cx: Context| async move {
            let at = Stamp::from_millis(1);
            let blocks = [
                Block::new(BlockKind::Assistant, "half of the answer", at),
                Block::new(BlockKind::ToolUse, "grep", at),
            ];
            cx.append(blocks).await?;
            cx.progress(&1).await?;
            cx.progress(&"the last word").await?;
            cx.activity(3, ActivityKind::Tool("grep".into())).await?;
            end(cx).await
        })
        .await
}

async fn assert_trace(task: &TaskRef) -> Test {
    let peek = task.peek().await?;
    let texts: Vec<_> = peek.blocks.iter().filter_map(|block| block.text.as_deref()).collect();
    assert_eq!(texts, ["half of the answer", "grep"]);
    let record = task.record().await?;
    assert!(!record.is_live());
    let progress = record.progress.clone().expect("progress");
    assert_eq!(progress.value.decode::<String>()?, "the last word");
    assert_eq!(record.activity.clone().expect("activity").step, 3);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s2_7_partial_output_and_trace_survive_failure_panic_and_cancel() -> Test {
    let (_runtime, session) = session().await;
    let fails = leaves_a_trace(&session, |_cx| async { Err(BodyError::message("no")) }).await?;
    let panics = leaves_a_trace(&session, |_cx| async { panic!("no") }).await?;
    let stops = leaves_a_trace(&session, |cx| async move {
        cx.cancelled().await;
        Err(BodyError::Cancelled)
    })
    .await?;
    let aborted = leaves_a_trace(&session, |_cx| std::future::pending()).await?;
    for (task, state) in [
        (&fails, TaskState::Failed),
        (&panics, TaskState::Failed),
        (&stops, TaskState::Cancelled),
        (&aborted, TaskState::Cancelled),
    ] {
        if state == TaskState::Cancelled {
            until(task, |task| task.activity.is_some()).await;
            task.cancel("enough").await?;
        }
        assert_eq!(task.wait().await?.task.state, state);
        assert_trace(task).await?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s2_7_the_last_report_survives_a_store_that_fails_for_a_while() -> Test {
    let trouble = CommitFaults::none();
    let runtime = trouble.open().await;
    let session = runtime.session("main").await?;
    let fails = trouble.clone();
    let task = leaves_a_trace(&session, |_cx| async move {
        fails.start(CommitFilter::Reports, InjectedFault::Before);
        Err(BodyError::message("no"))
    })
    .await?;
    trouble.until_met(3).await;
    assert!(task.record().await?.is_live(), "the end does not overtake the last word");
    trouble.stop();
    assert!(matches!(task.wait().await?.outcome(), Some(Outcome::Failed(_))));
    assert_trace(&task).await
}

#[tokio::test(start_paused = true)]
async fn s2_8_running_shows_the_step_the_activity_and_its_start() -> Test {
    let clock = VirtualWorld::at(1_000);
    let builder = Runtime::builder(Memory::new()).environment(clock.clone());
    let runtime = builder.open().await?;
    let session = runtime.session("main").await?;
    let (next, done) = (tokio::sync::Notify::new(), Gate::new());
    let next = std::sync::Arc::new(next);
    let (goes, ends) = (next.clone(), done.clone());
    let task = session
        .spawn_ephemeral(move |cx: Context| async move {
            for (step, doing) in [
                (1, ActivityKind::Model),
                (2, ActivityKind::Tool("grep".into())),
                (u64::MAX, ActivityKind::Idle),
            ] {
                cx.activity(step, doing).await?;
                goes.notified().await;
            }
            ends.pass().await;
            Ok::<_, BodyError>(())
        })
        .await?;
    let mut wanted = Vec::new();
    for (step, doing) in [
        (1, ActivityKind::Model),
        (2, ActivityKind::Tool("grep".into())),
        (u64::MAX, ActivityKind::Idle),
    ] {
        let since = Stamp::from_millis(1_000_000 + 1_000 * wanted.len() as i64);
        let expected = Activity { step, doing, since };
        let found = until(&task, |task| {
            task.activity.as_ref().is_some_and(|activity| activity.step == step)
        })
        .await;
        assert_eq!(found.state, TaskState::Running);
        assert_eq!(found.activity.as_deref(), Some(&expected));
        wanted.push(expected);
        clock.set(1_000 + wanted.len() as i64);
        next.notify_one();
    }
    done.open();
    task.wait().await?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s2_8_saying_the_same_again_does_not_make_it_younger() -> Test {
    let clock = VirtualWorld::at(1_000);
    let builder = Runtime::builder(Memory::new()).environment(clock.clone());
    let runtime = builder.open().await?;
    let session = runtime.session("main").await?;
    let task = session
        .spawn_ephemeral(move |cx: Context| async move {
            cx.activity(1, ActivityKind::Model).await?;
            clock.set(2_000);
            tokio::time::sleep(Duration::from_secs(5)).await;
            cx.activity(1, ActivityKind::Model).await?;
            Ok::<_, BodyError>(())
        })
        .await?;
    let activity = task.wait().await?.task.activity.clone().expect("an activity");
    assert_eq!(activity.since, Stamp::from_millis(1_000_000));
    Ok(())
}

#[tokio::test]
async fn s2_8_age_never_decreases_even_if_the_clock_goes_back() -> Test {
    let clock = VirtualWorld::at(1_000);
    let builder = Runtime::builder(Memory::new()).environment(clock.clone());
    let runtime = builder.open().await?;
    let session = runtime.session("main").await?;
    let task = session.spawn_ephemeral(never).await?;
    let mut ages = Vec::new();
    for wall in [1_000, 1_060, 400, 1_010, 1_120] {
        clock.set(wall);
        ages.push(task.snapshot().await?.age.as_secs());
    }
    assert_eq!(ages, [0, 60, 60, 60, 120]);
    clock.set(400);
    let since = task.record().await?.since;
    task.cancel("enough").grace(Duration::ZERO).await?;
    assert!(task.wait().await?.task.since >= since, "nor does the record go back");
    Ok(())
}

#[tokio::test]
async fn s2_8_the_age_of_a_task_that_has_ended_stands_still() -> Test {
    let clock = VirtualWorld::at(1_000);
    let builder = Runtime::builder(Memory::new()).environment(clock.clone());
    let runtime = builder.open().await?;
    let session = runtime.session("main").await?;
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then(())).await?;
    clock.set(1_030);
    gate.open();
    task.wait().await?;
    clock.set(5_000);
    assert_eq!(task.snapshot().await?.age, Duration::from_secs(30));
    Ok(())
}

/// The number of reports of `task` in the log.
async fn reports(session: &Session, task: &TaskRef) -> usize {
    let changes = changes_of(session, task).await;
    changes.iter().filter(|change| matches!(change, Change::Progress | Change::Activity)).count()
}

#[tokio::test(start_paused = true)]
async fn s3_7_progress_and_activity_are_written_at_most_once_a_second() -> Test {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            for number in 0..1_000u64 {
                cx.progress(&number).await?;
                cx.activity(number, ActivityKind::Model).await?;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Ok::<_, BodyError>(())
        })
        .await?;
    let ended = task.wait().await?.task;
    assert_eq!(
        ended.progress.clone().expect("progress").value.decode::<u64>()?,
        999,
        "the last stands"
    );
    assert_eq!(ended.activity.clone().expect("activity").step, 999);
    let reports = reports(&session, &task).await;
    // Ten seconds, both ends included, and the last report.
    assert!((10..=12).contains(&reports), "{reports} writes in ten seconds");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s3_7_a_report_is_seen_within_a_second_though_nothing_follows() -> Test {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.progress(&1).await?;
            cx.progress(&2).await?;
            std::future::pending::<()>().await;
            Ok::<_, BodyError>(())
        })
        .await?;
    let start = tokio::time::Instant::now();
    until(&task, |task| {
        task.progress.as_ref().is_some_and(|said| said.value.decode::<u32>().ok() == Some(2))
    })
    .await;
    assert!(start.elapsed() <= Duration::from_secs(1));
    Ok(())
}

/// An error that is its own cause.
#[derive(Debug)]
struct Ouroboros;

impl std::fmt::Display for Ouroboros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("again")
    }
}

impl std::error::Error for Ouroboros {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self)
    }
}

#[tokio::test]
async fn s2_7_a_cause_chain_without_an_end_ends() {
    let (_runtime, session) = session().await;
    let task = session.spawn_ephemeral(|_| async { Err::<(), _>(Ouroboros) }).await.unwrap();
    let end = end_of(&task).await;
    let failure = failure(&end);
    assert_eq!((failure.message.as_str(), failure.causes.len()), ("again", 65));
}
