//! A task that keeps crashing fails; one that waits or makes progress does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use offshoot_core::{BlockKind, Change, FailureKind, TaskState, WaitingOn};
use offshoot_runtime::{BodyError, Context, Kind, RestartPolicy, Runtime};
use tokio::time::Instant;

use crate::support::{
    Disk, Done, Gate, block, changes_of, crash, end_of, ended_handles, failure, on_every_store,
    settle_down, until,
};

on_every_store!(
    s9_2_a_crash_loop_ends_after_max_attempts_with_back_off,
    s9_2_a_task_that_waits_is_taken_up_after_any_number_of_crashes,
    s9_2_an_attempt_that_gets_further_leaves_the_crashes_behind,
    s9_2_a_body_that_waits_and_then_crashes_is_in_a_crash_loop_all_the_same,
);

/// More crashes in a row than a task may have.
const MANY: u32 = 6;

fn at_once() -> RestartPolicy {
    RestartPolicy { back_off: Duration::ZERO, ..RestartPolicy::default() }
}

/// A kind whose bodies die with their process, at their gate.
fn doomed(gate: &Gate) -> Kind<(), u32> {
    let gate = gate.clone();
    Kind::new("doomed", move |_, ()| {
        let gate = gate.clone();
        async move {
            gate.pass().await;
            Ok::<_, BodyError>(7)
        }
    })
    .idempotent()
}

async fn s9_2_a_crash_loop_ends_after_max_attempts_with_back_off(disk: &impl Disk) {
    let gate = Gate::new();
    let kind = doomed(&gate);
    let restarts = RestartPolicy { back_off: Duration::from_secs(3), ..RestartPolicy::default() };
    let open = || Runtime::builder(disk.store()).kind(&kind).restarts(restarts).open();
    for (attempt, back_off) in [(1, 0), (2, 3), (3, 6)] {
        let runtime = open().await.unwrap();
        let start = Instant::now();
        let session = runtime.session("main").await.unwrap();
        session.spawn(kind.with(())).name("it").key("k").await.unwrap();
        gate.arrived().await;
        assert!(start.elapsed().as_secs() >= back_off, "attempt {attempt}");
        let record = session.task("it").await.unwrap().record().await.unwrap();
        assert_eq!((record.attempts, record.crashes), (attempt, attempt - 1));
        drop(session);
        crash(runtime).await;
    }
    let runtime = open().await.unwrap();
    runtime.recovered().await;
    let end = runtime.task("it").await.unwrap().record().await.unwrap();
    assert_eq!(failure(&end).kind, FailureKind::CrashLoop);
    assert_eq!(gate.arrivals(), 3);
    let session = runtime.session("main").await.unwrap();
    assert_eq!(ended_handles(&session.drain(8).await.unwrap()), ["it"]);
}

async fn s9_2_a_task_that_waits_is_taken_up_after_any_number_of_crashes(disk: &impl Disk) {
    let kind: Kind<(), ()> = Kind::new("patient", |cx: Context, ()| async move {
        cx.receive(1).await?.ack().await?;
        Done::Ok(())
    })
    .resumable();
    let open = || Runtime::builder(disk.store()).kind(&kind).restarts(at_once()).open();
    for attempt in 1..=MANY {
        let runtime = open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        let task = session.spawn(kind.with(())).name("it").key("k").await.unwrap();
        let waits = |state| state == TaskState::Waiting(WaitingOn::Message);
        let record = until(&task, |task| waits(task.state) && task.attempts == attempt).await;
        assert_eq!(record.crashes, 0);
        drop((session, task));
        crash(runtime).await;
    }
    let runtime = open().await.unwrap();
    let task = runtime.task("it").await.unwrap();
    task.send("go").await.unwrap();
    assert_eq!(end_of(&task).await.state, TaskState::Completed);
}

async fn s9_2_an_attempt_that_gets_further_leaves_the_crashes_behind(disk: &impl Disk) {
    let (attempts, gate) = (Arc::new(AtomicU32::new(0)), Gate::new());
    let (count, pass) = (attempts.clone(), gate.clone());
    // Each attempt gets one commit further than the one before.
    let kind: Kind<(), ()> = Kind::new("slow", move |cx: Context, ()| {
        let (count, pass) = (count.clone(), pass.clone());
        async move {
            let attempt = count.fetch_add(1, Ordering::SeqCst);
            match attempt % 2 {
                0 => drop(cx.step(&attempt.to_string(), || async { Done::Ok(()) }).await?),
                _ => cx.append([block(BlockKind::Other, "further")]).await?,
            }
            pass.pass().await;
            Done::Ok(())
        }
    })
    .resumable();
    let open = || Runtime::builder(disk.store()).kind(&kind).restarts(at_once()).open();
    for attempt in 1..=MANY {
        let runtime = open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        let task = session.spawn(kind.with(())).name("it").key("k").await.unwrap();
        gate.arrived().await;
        let record = task.record().await.unwrap();
        assert_eq!((record.attempts, record.crashes), (attempt, 0));
        drop((session, task));
        crash(runtime).await;
    }
    gate.admit(1);
    let runtime = open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let task = session.task("it").await.unwrap();
    assert_eq!(end_of(&task).await.state, TaskState::Completed);
    let log = changes_of(&session, &task).await;
    let advanced = log.into_iter().filter(|change| *change == Change::Advanced).count();
    assert_eq!(advanced, MANY as usize, "written once after each crash, and never before one");
}

async fn s9_2_a_body_that_waits_and_then_crashes_is_in_a_crash_loop_all_the_same(disk: &impl Disk) {
    let gate = Gate::new();
    let pass = gate.clone();
    let kind: Kind<(), ()> = Kind::new("restless", move |cx: Context, ()| {
        let pass = pass.clone();
        async move {
            // Every attempt does the same again: that is no progress.
            let child = cx.spawn_ephemeral(|_| async {
                settle_down().await;
                Done::Ok(())
            });
            cx.wait([&child.await?]).await?;
            pass.pass().await;
            Done::Ok(())
        }
    })
    .resumable();
    let open = || Runtime::builder(disk.store()).kind(&kind).restarts(at_once()).open();
    for _ in 0..3 {
        let runtime = open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        session.spawn(kind.with(())).name("it").key("k").await.unwrap();
        gate.arrived().await;
        drop(session);
        crash(runtime).await;
    }
    let runtime = open().await.unwrap();
    let end = end_of(&runtime.task("it").await.unwrap()).await;
    assert_eq!(failure(&end).kind, FailureKind::CrashLoop);
}
