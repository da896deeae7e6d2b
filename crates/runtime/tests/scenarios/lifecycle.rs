//! One record, one transition table: the states of a task.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{
    ActivityKind, Change, Intent, LiveChildren, Outcome, Payload, Phase, TaskState, WaitingOn,
    decide,
};
use offshoot_runtime::{BodyError, Context, Error, Kind, Runtime};
use offshoot_store::{InjectedFault, Memory, Store};

use crate::support::{
    CommitFaults, CommitFilter, Gate, Polls, Test, all_tasks, capped, changes_of, never, obedient,
    one_slot, open_on, poll_once, returns, session, until,
};

#[tokio::test]
async fn s2_1_a_task_is_queued_runs_and_completes() -> Test {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await?;
    let gate = Gate::new();
    session.spawn_ephemeral(gate.then(())).await?;
    let task = session.spawn_ephemeral(returns(())).await?;
    assert_eq!(task.record().await?.state, TaskState::Queued);
    gate.open();
    task.wait().await?;
    let expected =
        [Change::Spawned, Change::Started { attempt: 1 }, Change::Ended(Phase::Completed)];
    assert_eq!(changes_of(&session, &task).await, expected);
    Ok(())
}

#[tokio::test]
async fn s2_1_a_task_ends_completed_failed_or_cancelled() -> Test {
    let (_runtime, session) = session().await;
    let completes = session.spawn_ephemeral(returns(())).await?;
    let fails =
        session.spawn_ephemeral(|_cx| async { Err::<(), _>(BodyError::message("no")) }).await?;
    let stops = session.spawn_ephemeral(obedient).await?;
    stops.cancel("enough").await?;
    for (task, state) in [
        (completes, TaskState::Completed),
        (fails, TaskState::Failed),
        (stops, TaskState::Cancelled),
    ] {
        assert_eq!(task.wait().await?.task.state, state);
    }
    Ok(())
}

#[tokio::test]
async fn s2_1_a_task_that_never_starts_is_cancelled_or_lost() -> Test {
    let memory = Memory::new();
    let runtime = Runtime::builder(memory.clone()).caps(one_slot()).open().await?;
    let session = runtime.session("main").await?;
    session.spawn_ephemeral(never).await?;
    let polls = Polls::default();
    let cancelled = session.spawn_ephemeral(polls.body()).await?;
    let lost = session.spawn_ephemeral(polls.body()).await?;
    cancelled.cancel("not needed").await?;
    assert_eq!(
        changes_of(&session, &cancelled).await,
        [Change::Spawned, Change::CancelRequested, Change::Ended(Phase::Cancelled)]
    );
    drop(runtime);
    let runtime = open_on(&memory).await;
    let lost = runtime.task(&lost.id().to_string()).await?;
    assert_eq!(lost.wait().await?.task.state, TaskState::Lost);
    assert_eq!(polls.count(), 0);
    Ok(())
}

#[tokio::test]
async fn s2_1_running_goes_back_to_queued_for_a_resume() -> Test {
    let memory = Memory::new();
    let (started, gate) = (Gate::new(), Gate::new());
    let kind = |started: &Gate, gate: &Gate| {
        let (started, gate) = (started.clone(), gate.clone());
        Kind::new("patient", move |_cx, (): ()| {
            let (started, gate) = (started.clone(), gate.clone());
            async move {
                started.open();
                gate.pass().await;
                Ok::<_, BodyError>(())
            }
        })
        .resumable()
    };
    let first = kind(&started, &gate);
    let runtime = Runtime::builder(memory.clone()).kind(&first).open().await?;
    let task = runtime.session("main").await?.spawn(first.with(())).await?;
    started.pass().await;
    assert_eq!(runtime.shutdown(Duration::from_secs(5)).await?, 0);
    gate.open();
    let runtime = Runtime::builder(memory).kind(&kind(&started, &gate)).open().await?;
    let session = runtime.session("main").await?;
    let task = session.task(&task.id().to_string()).await?;
    assert_eq!(task.wait().await?.task.attempts, 2);
    let expected = [
        Change::SpawnedRunning,
        Change::Requeued,
        Change::Started { attempt: 2 },
        Change::Ended(Phase::Completed),
    ];
    assert_eq!(changes_of(&session, &task).await, expected);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s2_1_a_waiting_state_names_its_reason() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let opens = gate.clone();
    let task = session
        .spawn_ephemeral(move |cx: Context| async move {
            let child = cx.spawn_ephemeral(opens.then(())).await?;
            child.wait().await?;
            cx.ask("which?").await?;
            cx.ask("may I?").approval().await?;
            cx.sleep("nap", Duration::from_secs(60)).await?;
            // The child's result is there already; a message is yet to come.
            cx.drain(16).await?.ack().await?;
            cx.receive(16).await?;
            Ok::<_, BodyError>(())
        })
        .await?;
    until(&task, |task| task.state == TaskState::Waiting(WaitingOn::Children)).await;
    gate.open();
    until(&task, |task| task.state == TaskState::Waiting(WaitingOn::Input(1))).await;
    task.answer(1, &"this").await?;
    until(&task, |task| task.state == TaskState::Waiting(WaitingOn::Approval(2))).await;
    task.answer(2, &true).await?;
    until(&task, |task| matches!(task.state, TaskState::Waiting(WaitingOn::Timer(_)))).await;
    until(&task, |task| task.state == TaskState::Waiting(WaitingOn::Message)).await;
    task.send("go on").await?;
    assert_eq!(task.wait().await?.task.state, TaskState::Completed);
    let path = changes_of(&session, &task).await;
    let waits = path.iter().filter(|change| matches!(change, Change::Waiting(_))).count();
    let resumes = path.iter().filter(|change| matches!(change, Change::Resumed)).count();
    assert_eq!((waits, resumes), (5, 5), "{path:?}");
    Ok(())
}

#[tokio::test]
async fn s2_1_a_terminal_record_never_changes() -> Test {
    let (runtime, session) = session().await;
    let kept = Gate::new();
    let (tell, told) = tokio::sync::oneshot::channel();
    let task = session
        .spawn_ephemeral(move |cx: Context| async move {
            tell.send(cx).ok();
            Ok::<_, BodyError>(7)
        })
        .await?;
    let cx = told.await.expect("the body ran");
    let ended = task.wait().await?.task;
    assert!(
        matches!(task.cancel("late").await, Err(Error::Ended { state, .. }) if state == TaskState::Completed)
    );
    assert!(matches!(task.send("late").await, Err(Error::Ended { .. })));
    assert!(task.answer(1, &"late").await.is_err());
    assert!(cx.progress(&"late").await.is_err());
    drop(cx.activity(9, ActivityKind::Model).await);
    assert!(cx.append([]).await.is_err());
    assert!(cx.spawn_ephemeral(kept.then(())).await.is_err());
    session.cancel("all").await?;
    session.drain(10).await?.ack().await?;
    assert_eq!(task.record().await?, ended);
    assert_eq!(runtime.counts().await?.of(Phase::Completed), 1);
    Ok(())
}

#[tokio::test]
async fn s2_2_the_same_function_decides_for_every_store_and_caller() -> Test {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then(5)).await?;
    let running = task.record().await?;
    gate.open();
    let ended = task.wait().await?.task;
    let outcome = Outcome::value(Payload::encode(&5)?);
    let decided = decide(&running, Intent::Finish(outcome, LiveChildren::None), ended.since);
    let decided = decided.expect("legal");
    assert_eq!(decided.task, ended, "what the store holds is what was decided");
    assert_eq!(changes_of(&session, &task).await.last(), Some(&decided.change));
    Ok(())
}

#[tokio::test]
async fn s2_2_illegal_transitions_are_typed_errors() -> Test {
    let (_runtime, session) = session().await;
    let task = session.spawn_ephemeral(returns(())).await?;
    let ended = task.wait().await?.task;
    let illegal = decide(&ended, Intent::Resume, ended.since).expect_err("an end is final");
    assert_eq!(illegal, offshoot_core::IllegalTransition::Terminal(TaskState::Completed));
    let refused = task.cancel("late").await.expect_err("an end is final");
    let Error::Ended { id, state } = refused else { panic!("{refused}") };
    assert_eq!((id, state), (task.id(), TaskState::Completed));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn s2_3_no_reader_sees_an_end_without_its_result() -> Test {
    let (runtime, session) = session().await;
    let runtime = std::sync::Arc::new(runtime);
    for round in 0..50u32 {
        let gate = Gate::new();
        let task = session.spawn_ephemeral(gate.then(round)).await?;
        let mut readers = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let (task, runtime) = (task.clone(), runtime.clone());
            readers.spawn(async move {
                let mut last = 0;
                loop {
                    let record = task.record().await?;
                    assert!(record.seq >= last, "a record never goes back");
                    last = record.seq;
                    assert_eq!(record.is_live(), record.outcome.is_none());
                    let listed = runtime.tasks().newest_first().limit(1).await?.items.remove(0);
                    assert_eq!(listed.is_live(), listed.outcome.is_none());
                    if !record.is_live() {
                        return Ok::<_, Error>(());
                    }
                    tokio::task::yield_now().await;
                }
            });
        }
        gate.open();
        assert_eq!(task.wait().await?.decode::<u32>()?, round);
        while let Some(read) = readers.join_next().await {
            read.expect("no panic")?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn s2_4_the_record_is_durable_before_the_body_is_polled() -> Test {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let record = cx.task("self").await?.record().await?;
            Ok::<_, BodyError>((record.seq, record.state))
        })
        .await?;
    assert_eq!(task.wait().await?.decode::<(u64, TaskState)>()?, (1, TaskState::Running));
    Ok(())
}

#[tokio::test]
async fn s2_4_a_body_is_not_polled_before_a_slow_store_has_answered() -> Test {
    let trouble = CommitFaults::with(CommitFilter::Spawns, InjectedFault::NoReply);
    let store = trouble.on(&Memory::new());
    let runtime = Runtime::builder(Arc::new(store.clone()) as Arc<dyn Store>).open().await?;
    let session = runtime.session("main").await?;
    let polls = Polls::default();
    let mut spawning = session.spawn_ephemeral(polls.body()).into_future();
    assert!(poll_once(&mut spawning).is_pending());
    store.withheld().await;
    trouble.stop();
    // Other tasks come and go before the answer.
    session.spawn_ephemeral(returns(())).await?.wait().await?;
    assert_eq!(polls.count(), 0, "the record is written, but its commit is unanswered");
    assert!(poll_once(&mut spawning).is_pending());
    Ok(())
}

#[tokio::test]
async fn s2_4_if_the_write_fails_the_body_never_runs_and_the_spawn_fails() -> Test {
    let trouble = CommitFaults::with(CommitFilter::Spawns, InjectedFault::Before);
    let runtime = trouble.open().await;
    let session = runtime.session("main").await?;
    let polls = Polls::default();
    let refused = session.spawn_ephemeral(polls.body()).name("docs").await;
    assert!(matches!(refused, Err(Error::Store(_))), "{refused:?}");
    trouble.stop();
    assert!(all_tasks(&runtime).await.is_empty());
    session.spawn_ephemeral(polls.body()).name("docs").await?.wait().await?;
    assert_eq!(polls.count(), 1, "only the second body ran, and the name was free");
    Ok(())
}

#[tokio::test]
async fn s2_4_a_queued_body_is_not_polled_before_its_start_is_durable() -> Test {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await?;
    let gate = Gate::new();
    session.spawn_ephemeral(gate.then(())).await?;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            Ok::<_, BodyError>(cx.task("self").await?.record().await?.state)
        })
        .await?;
    gate.open();
    assert_eq!(task.wait().await?.decode::<TaskState>()?, TaskState::Running);
    Ok(())
}
