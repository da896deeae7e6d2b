//! Leases: which worker executes a task and may write for it, and what a wrong clock
//! does.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use offshoot_core::{BlockKind, Change, FailureKind, TaskState};
use offshoot_runtime::{BodyError, Context, Error, Kind, Runtime};
use offshoot_store::{Memory, StoreError};
use tokio::time::Instant;

use crate::support::{
    Disk, Done, Gate, VirtualWorld, assert_says, block, changes_of, crash, end_of, failure, never,
    on_every_store, returns, session, settle_down, until,
};

on_every_store!(
    s9_1_an_attempt_holds_a_lease_with_an_epoch,
    s9_1_a_store_that_is_held_is_not_taken_over,
);

const SECOND: Duration = Duration::from_secs(1);

fn worker(gate: &Gate) -> Kind<(), u32> {
    let gate = gate.clone();
    Kind::new("worker", move |_, ()| {
        let gate = gate.clone();
        async move {
            gate.pass().await;
            Ok::<_, BodyError>(1)
        }
    })
    .resumable()
}

async fn s9_1_an_attempt_holds_a_lease_with_an_epoch(disk: &impl Disk) {
    let gate = Gate::new();
    let kind = worker(&gate);
    let mut workers = Vec::new();
    for epoch in 1..=2 {
        let runtime = Runtime::builder(disk.store()).kind(&kind).open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        let task = session.spawn(kind.with(())).key("k").await.unwrap();
        gate.arrived().await;
        let record = until(&task, |task| task.state == TaskState::Running).await;
        assert_eq!(record.lease.epoch, epoch);
        workers.push(record.lease.worker.unwrap());
    }
    assert_ne!(workers[0], workers[1]);
}

async fn s9_1_a_store_that_is_held_is_not_taken_over(disk: &impl Disk) {
    let _holder = Runtime::builder(disk.store()).open().await.unwrap();
    let refused = Runtime::builder(disk.store()).open().await.unwrap_err();
    assert!(matches!(refused, Error::Store(StoreError::Locked { .. })), "{refused}");
    assert_says(&refused, &["in use by"]);
}

#[tokio::test]
async fn s9_1_a_body_that_has_ended_writes_no_more() {
    let (_runtime, session) = session().await;
    let kept: Arc<Mutex<Option<Context>>> = Arc::default();
    let keep = kept.clone();
    let run = |cx: Context| async move {
        *keep.lock().unwrap() = Some(cx);
        Done::Ok(())
    };
    let task = session.spawn_ephemeral(run).await.unwrap();
    let end = end_of(&task).await;
    let cx = kept.lock().unwrap().take().unwrap();
    let refused = cx.append([block(BlockKind::User, "late")]).await.unwrap_err();
    assert!(matches!(refused, Error::LeaseLost(_)), "{refused}");
    assert!(cx.step("late", || async { Done::Ok(()) }).await.is_err());
    assert!(cx.progress(&1).await.is_err());
    assert!(cx.spawn_ephemeral(returns(())).await.is_err());
    assert_eq!(task.record().await.unwrap(), end);
    assert_eq!(task.peek().await.unwrap().total, 0);
}

#[tokio::test(start_paused = true)]
async fn s9_1_a_stale_writer_is_refused() {
    // Two workers hold the store; the second takes the first for dead.
    let memory = Memory::for_many_workers();
    let (gate, kept) = (Gate::new(), Arc::new(Mutex::new(Vec::<Context>::new())));
    let (body, keep) = (gate.clone(), kept.clone());
    let kind: Kind<(), String> = Kind::new("worker", move |cx: Context, ()| {
        let (body, keep) = (body.clone(), keep.clone());
        async move {
            let attempt = {
                let mut kept = keep.lock().unwrap();
                kept.push(cx);
                kept.len()
            };
            body.pass().await;
            Ok::<_, BodyError>(format!("attempt {attempt}"))
        }
    })
    .resumable();
    let first = Runtime::builder(memory.clone()).kind(&kind).open().await.unwrap();
    let session = first.session("main").await.unwrap();
    session.spawn(kind.with(())).name("it").await.unwrap();
    gate.arrived().await;
    let second = Runtime::builder(memory).kind(&kind).open().await.unwrap();
    gate.arrived().await;

    let stale = kept.lock().unwrap()[0].clone();
    let before = second.task("it").await.unwrap().record().await.unwrap();
    assert_eq!(before.lease.epoch, 2);
    let refused = stale.append([block(BlockKind::User, "stale")]).await.unwrap_err();
    assert!(matches!(refused, Error::LeaseLost(_)), "{refused}");
    assert!(stale.step("stale", || async { Done::Ok(()) }).await.is_err());
    assert!(matches!(stale.progress(&1).await, Err(Error::LeaseLost(_))));
    assert!(matches!(stale.ask("stale?").await, Err(Error::LeaseLost(_))));
    let refused = stale.spawn_ephemeral(never).await.unwrap_err();
    assert!(matches!(refused, Error::LeaseLost(_)), "{refused}");
    assert_eq!(second.task("it").await.unwrap().record().await.unwrap(), before);

    // The stale attempt returns first; its result is discarded.
    gate.admit(1);
    settle_down().await;
    assert!(second.task("it").await.unwrap().record().await.unwrap().is_live());
    gate.admit(1);
    let waited = second.task("it").await.unwrap().wait().await.unwrap();
    assert_eq!(waited.decode::<String>().unwrap(), "attempt 2");
    let rows = second.session("main").await.unwrap().drain(8).await.unwrap();
    assert_eq!(rows.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn s9_5_of_two_workers_that_recover_at_once_exactly_one_wins() {
    let memory = Memory::for_many_workers();
    let gate = Gate::new();
    let kind = worker(&gate);
    let runtime = Runtime::builder(memory.clone()).kind(&kind).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    for _ in 0..20 {
        session.spawn(kind.with(())).await.unwrap();
        session.spawn_ephemeral(never).await.unwrap();
        gate.arrived().await;
    }
    drop(session);
    crash(runtime).await;

    let one = Runtime::builder(memory.clone()).kind(&kind).open();
    let other = Runtime::builder(memory).kind(&kind).open();
    let (one, other) = tokio::join!(one, other);
    let (one, other) = (one.unwrap(), other.unwrap());
    tokio::join!(one.recovered(), other.recovered());
    gate.admit(100);
    let session = one.session("main").await.unwrap();
    for task in session.tasks().limit(100).await.unwrap().items {
        // Only the worker that has the task notifies, so both are asked.
        let id = task.id().to_string();
        let (here, there) = (one.task(&id).await.unwrap(), other.task(&id).await.unwrap());
        tokio::select! {
            ended = end_of(&here) => drop(ended),
            ended = end_of(&there) => drop(ended),
        }
        let record = here.record().await.unwrap();
        let crashed = u32::from(record.state == TaskState::Completed);
        assert_eq!(record.crashes, crashed, "requeued once: {record:?}");
        assert_eq!(record.attempts, 1 + crashed);
    }
    assert_eq!(gate.arrivals(), 40, "each was taken up once");
    assert_eq!(session.drain(100).await.unwrap().len(), 40, "one row each");
}

#[tokio::test(start_paused = true)]
async fn s9_1_a_jump_of_the_wall_clock_expires_nothing() {
    let world = VirtualWorld::new();
    let runtime = Runtime::builder(Memory::new()).environment(world.clone()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let start = Instant::now();
    let limited = session.spawn_ephemeral(never).timeout(100 * SECOND);
    let limited = limited.await.unwrap();
    let sleeper = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.sleep("nap", 50 * SECOND).await?;
            Done::Ok(())
        })
        .await
        .unwrap();
    let deaf = session.spawn_ephemeral(never).await.unwrap();
    until(&sleeper, |task| matches!(task.state, TaskState::Waiting(_))).await;
    deaf.cancel("enough").grace(20 * SECOND).await.unwrap();
    for jump in 0..4 {
        match jump % 2 {
            0 => world.jump_ahead(Duration::from_secs(10 * 365 * 86_400)),
            _ => world.jump_back(Duration::from_secs(20 * 365 * 86_400)),
        }
        tokio::time::sleep(SECOND).await;
        for task in [&limited, &sleeper, &deaf] {
            assert!(task.record().await.unwrap().is_live());
        }
    }
    assert_eq!(end_of(&deaf).await.state, TaskState::Cancelled);
    assert_eq!(start.elapsed().as_secs(), 20);
    assert_eq!(end_of(&sleeper).await.state, TaskState::Completed);
    assert_eq!(start.elapsed().as_secs(), 50);
    let end = end_of(&limited).await;
    assert_eq!(start.elapsed().as_secs(), 100);
    assert_eq!(failure(&end).kind, FailureKind::Timeout);
    assert!(!changes_of(&session, &limited).await.contains(&Change::Requeued));
}
