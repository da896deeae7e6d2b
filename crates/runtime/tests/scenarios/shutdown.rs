//! The end of a runtime: by a drop, and by a shutdown.

use std::time::Duration;

use offshoot_core::{Canceller, Cursor, Outcome, Phase, Task, TaskState, Visibility};
use offshoot_runtime::{BodyError, CancelledError, Context, Error, Kind, Runtime};
use offshoot_store::{InjectedFault, Memory, Store};

use crate::support::{
    CommitFaults, CommitFilter, Disk, Done, Flag, Gate, LateAnswer, LateStore, never, obedient,
    on_every_store, one_slot, session, settle_down, until, until_in,
};

on_every_store!(
    in real time:
    s6_8_a_drop_aborts_every_body_and_writes_nothing_and_the_next_open_settles,
    s6_8_a_shutdown_gives_resumable_tasks_back_to_the_queue,
    s6_8_a_shutdown_cancels_tasks_that_cannot_resume,
);

const SECOND: Duration = Duration::from_secs(1);

/// Resumes where it was, and returns once its gate is open.
fn worker(gate: &Gate) -> Kind<(), u32> {
    let gate = gate.clone();
    Kind::new("worker", move |cx: Context, ()| {
        let gate = gate.clone();
        async move {
            tokio::select! {
                () = gate.pass() => Ok::<_, BodyError>(1),
                () = cx.cancelled() => Err(CancelledError.into()),
            }
        }
    })
    .resumable()
}

fn by_shutdown(task: &Task) -> bool {
    matches!(task.ended(), Some(Outcome::Cancelled { cancel, .. }) if cancel.by == Canceller::Shutdown)
}

async fn s6_8_a_drop_aborts_every_body_and_writes_nothing_and_the_next_open_settles(
    disk: &impl Disk,
) {
    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let (gate, gone) = (Gate::new(), Gate::new());
    for _ in 0..3 {
        let (body, flag) = (gate.clone(), Flag::new(&gone));
        let run = |_| async move {
            let _flag = flag;
            body.pass().await;
            Done::Ok(())
        };
        session.spawn_ephemeral(run).await.unwrap();
        gate.arrived().await;
    }
    drop(runtime);
    for _ in 0..3 {
        gone.arrived().await;
    }
    drop(session);

    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    runtime.recovered().await;
    let session = runtime.session("main").await.unwrap();
    let tasks = session.tasks().await.unwrap().items;
    assert_eq!(tasks.len(), 3);
    for task in tasks {
        assert_eq!(task.state, TaskState::Lost);
        assert!(task.cancel.is_none(), "the drop wrote nothing");
        assert_eq!(task.seq, 2, "spawned, then settled by the next open");
    }
}

#[tokio::test(start_paused = true)]
async fn s6_8_a_spawn_that_becomes_durable_during_shutdown_is_stopped() {
    let memory = Memory::new();
    let late = LateStore::on(&memory);
    let runtime = Runtime::builder(late.store()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    late.put_off(CommitFilter::Spawns);
    let spawning = tokio::spawn(session.spawn_ephemeral(obedient).into_future());
    late.kept_back().await;
    let shutdown = tokio::spawn(runtime.shutdown(SECOND));
    settle_down().await;
    late.answer(LateAnswer::Truth);
    let id = spawning.await.unwrap().unwrap().id();
    assert_eq!(shutdown.await.unwrap().unwrap(), 0, "it went with the others");

    let task = memory.task(id).await.unwrap().unwrap();
    assert!(by_shutdown(&task), "{task:?}");
}

#[tokio::test]
async fn s6_8_a_spawn_that_the_store_answers_after_the_drop_runs_nothing() {
    let runtime = CommitFaults::with(CommitFilter::Spawns, InjectedFault::After).open().await;
    let session = runtime.session("main").await.unwrap();
    let polled = Gate::new();
    let body = polled.clone();
    let run = |cx| async move {
        body.arrive();
        never(cx).await
    };
    let mut spawning = Box::pin(session.spawn_ephemeral(run).into_future());
    assert!(futures_util::poll!(&mut spawning).is_pending());
    drop(runtime);
    let _ = spawning.await;
    settle_down().await;
    assert_eq!(polled.arrivals(), 0);
}

#[tokio::test]
async fn s6_8_every_waiter_gets_the_error_that_the_runtime_is_closed() {
    let (runtime, session) = session().await;
    let task = session.spawn_ephemeral(never).await.unwrap();
    let waiter = task.clone();
    let waiter = tokio::spawn(async move { waiter.wait().await.map(|_| ()) });
    let reader = session.clone();
    let reader = tokio::spawn(async move { reader.receive(1).await.map(|_| ()) });
    let follower = session.clone();
    let follower = tokio::spawn(async move {
        let mut log = follower.events(Cursor::START);
        loop {
            log.next().await?;
        }
    });
    settle_down().await;
    drop(runtime);
    for answer in [waiter.await.unwrap(), reader.await.unwrap(), follower.await.unwrap()] {
        assert!(matches!(answer, Err(Error::Closed)), "{answer:?}");
    }
    let refused = session.spawn_ephemeral(never).await.unwrap_err();
    assert!(matches!(refused, Error::Closed), "{refused}");
}

#[test]
fn s6_8_a_tokio_runtime_that_goes_first_closes_ours() {
    let build = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (theirs, other) = (build(), build());
    let (memory, gone) = (Memory::new(), Gate::new());
    let flag = Flag::new(&gone);
    let (runtime, session, task) = theirs.block_on(async {
        let runtime = Runtime::builder(memory.clone()).open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        let run = |cx| async move {
            let _flag = flag;
            never(cx).await
        };
        let task = session.spawn_ephemeral(run).name("it").await.unwrap();
        (runtime, session, task)
    });
    let (waits, reads) = (task.clone(), session.clone());
    let waits = other.spawn(async move { waits.wait().await.map(|_| ()) });
    let reads = other.spawn(async move { reads.receive(1).await.map(|_| ()) });
    other.block_on(settle_down());
    drop(theirs);
    assert_eq!(gone.arrivals(), 1);
    other.block_on(async {
        for answer in [waits.await.unwrap(), reads.await.unwrap()] {
            assert!(matches!(answer, Err(Error::Closed)), "{answer:?}");
        }
        assert!(matches!(task.record().await, Err(Error::Closed)));
        let refused = session.spawn_ephemeral(never).await.unwrap_err();
        assert!(matches!(refused, Error::Closed), "{refused}");
        runtime.recovered().await;
        drop(runtime);
        let runtime = Runtime::builder(memory).open().await.unwrap();
        runtime.recovered().await;
        let task = runtime.task("it").await.unwrap().record().await.unwrap();
        assert_eq!(task.state, TaskState::Lost);
    });
}

#[tokio::test]
async fn s6_8_a_shutdown_of_many_tasks_takes_few_commits() {
    const MANY: usize = 1_000;
    let cancels = CommitFaults::counting(CommitFilter::Cancels);
    let store = cancels.store(&Memory::new());
    let runtime = Runtime::builder(store.clone()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    for _ in 0..MANY {
        session.spawn_ephemeral(obedient).await.unwrap();
    }
    assert_eq!(runtime.shutdown(60 * SECOND).await.unwrap(), 0);
    let counts = store.counts_within(None).await.unwrap();
    assert_eq!(counts.of(Phase::Cancelled), MANY as u64);
    assert!(cancels.met() <= MANY / 100, "{} commits", cancels.met());
}

async fn s6_8_a_shutdown_gives_resumable_tasks_back_to_the_queue(disk: &impl Disk) {
    let gate = Gate::new();
    let kind = worker(&gate);
    let open = || Runtime::builder(disk.store()).kind(&kind).caps(one_slot()).open();
    let runtime = open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let running = session.spawn(kind.with(())).name("running").await.unwrap();
    session.spawn(kind.with(())).name("queued").await.unwrap();
    gate.arrived().await;
    until_in(&running, Phase::Running).await;
    assert_eq!(runtime.shutdown(60 * SECOND).await.unwrap(), 0);
    drop((session, running));
    assert_eq!(gate.arrivals(), 1, "the released slot started no task");

    // Without the kind they stay in the state that the shutdown wrote.
    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    runtime.recovered().await;
    for name in ["running", "queued"] {
        let task = runtime.task(name).await.unwrap().record().await.unwrap();
        assert_eq!((task.state, task.crashes), (TaskState::Queued, 0), "{name}");
        assert!(task.cancel.is_none());
    }
    drop(runtime);

    gate.admit(2);
    let runtime = open().await.unwrap();
    for name in ["running", "queued"] {
        let task = runtime.task(name).await.unwrap();
        assert_eq!(task.wait().await.unwrap().decode::<u32>().unwrap(), 1);
    }
}

async fn s6_8_a_shutdown_cancels_tasks_that_cannot_resume(disk: &impl Disk) {
    let gate = Gate::new();
    let kind = worker(&gate);
    let runtime = Runtime::builder(disk.store()).kind(&kind).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let child = kind.clone();
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn(child.with(())).name("child").await?;
            cx.cancelled().await;
            Err::<(), BodyError>(CancelledError.into())
        })
        .name("lead")
        .await
        .unwrap();
    gate.arrived().await;
    assert_eq!(runtime.shutdown(60 * SECOND).await.unwrap(), 0);
    drop((session, lead));

    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let all = session.with_visibility(Visibility::Subtree);
    for name in ["lead", "child"] {
        let task = all.task(name).await.unwrap().record().await.unwrap();
        assert!(by_shutdown(&task), "{name}: {task:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn s6_8_a_shutdown_leaves_a_task_that_only_waits_for_its_children() {
    let gate = Gate::new();
    let kind = worker(&gate);
    let memory = Memory::new();
    let runtime = Runtime::builder(memory.clone()).kind(&kind).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let child = kind.clone();
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn(child.with(())).await?;
            Ok::<_, BodyError>("done")
        })
        .name("lead")
        .await
        .unwrap();
    gate.arrived().await;
    until(&lead, |task| task.is_held()).await;
    let start = tokio::time::Instant::now();
    assert_eq!(runtime.shutdown(60 * SECOND).await.unwrap(), 0);
    assert_eq!(start.elapsed(), Duration::ZERO);

    gate.admit(1);
    let runtime = Runtime::builder(memory).kind(&kind).open().await.unwrap();
    let lead = runtime.task("lead").await.unwrap();
    assert_eq!(lead.wait().await.unwrap().decode::<String>().unwrap(), "done");
}

#[tokio::test(start_paused = true)]
async fn s6_8_a_shutdown_waits_no_longer_than_its_patience_and_accepts_nothing_new() {
    let (runtime, session) = session().await;
    let late = session.clone();
    let gate = Gate::new();
    let body = gate.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.cancelled().await;
            let refused = late.spawn_ephemeral(never).top_level().await;
            assert!(matches!(refused, Err(Error::Closed)));
            body.arrive();
            never(cx).await
        })
        .await
        .unwrap();
    let start = tokio::time::Instant::now();
    assert_eq!(runtime.shutdown(10 * SECOND).await.unwrap(), 0, "forced after half of it");
    assert_eq!(gate.arrivals(), 1);
    assert!(start.elapsed() <= 10 * SECOND);
    assert!(matches!(task.record().await, Err(Error::Closed)));
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[tokio::test]
async fn s6_8_bodies_that_never_began_and_panic_when_dropped_do_not_stop_the_drop() {
    let memory = Memory::new();
    let runtime = Runtime::builder(memory.clone()).caps(one_slot()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    session.spawn_ephemeral(never).await.unwrap();
    for _ in 0..2 {
        let bomb = Bomb;
        let body = |cx: Context| async move {
            let _bomb = bomb;
            never(cx).await
        };
        session.spawn_ephemeral(body).await.unwrap();
    }
    let reader = session.clone();
    let reads = tokio::spawn(async move { reader.receive(1).await.map(drop) });
    settle_down().await;
    drop(runtime);
    assert!(matches!(reads.await.unwrap(), Err(Error::Closed)));
    drop(session);
    Runtime::builder(memory).open().await.expect("the store is free");
}
