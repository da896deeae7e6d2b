//! After a crash: what is resumed, restarted, lost or unchanged.

use std::time::Duration;

use offshoot_core::{
    Change, Cursor, Event, Outcome, Phase, Task, TaskState, Visibility, WaitingOn,
};
use offshoot_runtime::{BodyError, Context, Kind, Runtime, WhyReason};
use offshoot_store::{InjectedFault, Memory};

use crate::support::{
    CommitFaults, CommitFilter, Disk, Done, Gate, crash, end_of, ended_handles, events_until,
    never, on_every_store, one_slot, open_on, returns, settle_down, until,
};

on_every_store!(
    s9_2_each_unfinished_task_goes_the_way_of_its_kind,
    s9_2_tasks_that_were_queued_or_waiting_are_taken_up_too,
    s9_2_the_owner_gets_a_row_in_each_case,
    s9_2_a_task_of_an_unregistered_kind_stays_and_why_names_it,
    s6_4_a_cancel_ends_tasks_of_an_unregistered_kind,
    s6_4_a_cancel_that_a_crash_interrupted_ends_a_task_of_an_unregistered_kind,
    s9_2_more_tasks_than_one_batch_are_all_judged,
    s9_2_reading_recovers_nothing,
    s9_2_a_waiter_that_came_before_recovery_sees_the_end,
    s9_2_a_task_that_had_returned_still_awaits_its_children,
);

/// A kind whose bodies die with their process, at their gate.
fn kind(name: &str, gate: &Gate) -> Kind<(), u32> {
    let gate = gate.clone();
    Kind::new(name, move |_, ()| {
        let gate = gate.clone();
        async move {
            gate.pass().await;
            Ok::<_, BodyError>(7)
        }
    })
}

fn lost_reason(task: &Task) -> &str {
    match task.ended() {
        Some(Outcome::Lost { reason }) => reason,
        other => panic!("not lost: {other:?}"),
    }
}

async fn s9_2_each_unfinished_task_goes_the_way_of_its_kind(disk: &impl Disk) {
    let gate = Gate::new();
    let steps = Gate::new();
    let (count, body) = (steps.clone(), gate.clone());
    let resumed: Kind<(), u32> = Kind::new("resumed", move |cx: Context, ()| {
        let (count, body) = (count.clone(), body.clone());
        async move {
            let step = move || async move {
                count.arrive();
                Ok::<_, BodyError>(7)
            };
            let value = cx.step("once", step).await?;
            body.pass().await;
            Ok::<_, BodyError>(value)
        }
    })
    .resumable();
    let restarted = kind("restarted", &gate).idempotent();
    let lost = kind("lost", &gate);
    let open = || Runtime::builder(disk.store()).kind(&resumed).kind(&restarted).kind(&lost).open();
    let runtime = open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    for kind in [&resumed, &restarted, &lost] {
        let request = kind.with(());
        let name = request.kind().to_owned();
        session.spawn(request).name(&name).await.unwrap();
    }
    session.spawn_ephemeral(never).name("closure").await.unwrap();
    for _ in 0..3 {
        gate.arrived().await;
    }
    drop(session);
    crash(runtime).await;

    gate.admit(2);
    let runtime = open().await.unwrap();
    runtime.recovered().await;
    for name in ["resumed", "restarted"] {
        let task = runtime.task(name).await.unwrap();
        let waited = task.wait().await.unwrap();
        assert_eq!(waited.decode::<u32>().unwrap(), 7, "{name}");
        assert_eq!((waited.task.attempts, waited.task.crashes), (2, 1), "{name}");
    }
    assert_eq!(steps.arrivals(), 1, "resumed from its last committed step");
    for name in ["lost", "closure"] {
        let task = runtime.task(name).await.unwrap().record().await.unwrap();
        assert_eq!(lost_reason(&task), "runtime stopped while running", "{name}");
        assert_eq!(task.attempts, 1);
    }
}

async fn s9_2_tasks_that_were_queued_or_waiting_are_taken_up_too(disk: &impl Disk) {
    let waits: Kind<(), ()> = Kind::new("waits", |cx: Context, ()| async move {
        cx.receive(1).await?.ack().await?;
        Done::Ok(())
    })
    .resumable();
    let gate = Gate::new();
    let runs = kind("runs", &gate).idempotent();
    let free = Gate::new();
    free.admit(1);
    let queues = kind("queues", &free);
    let open = || {
        let runtime = Runtime::builder(disk.store()).kind(&waits).kind(&runs).kind(&queues);
        runtime.caps(one_slot()).open()
    };
    let runtime = open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let waiting = session.spawn(waits.with(())).name("waits").await.unwrap();
    until(&waiting, |task| task.state == TaskState::Waiting(WaitingOn::Message)).await;
    session.spawn(runs.with(())).name("runs").await.unwrap();
    session.spawn(queues.with(())).name("queues").await.unwrap();
    gate.arrived().await;
    drop((session, waiting));
    crash(runtime).await;

    let runtime = open().await.unwrap();
    runtime.recovered().await;
    let session = runtime.session("main").await.unwrap();
    session.task("waits").await.unwrap().send("go").await.unwrap();
    gate.admit(1);
    for (name, crashes) in [("waits", 0), ("runs", 1)] {
        let end = end_of(&session.task(name).await.unwrap()).await;
        assert_eq!((end.state, end.crashes), (TaskState::Completed, crashes), "{name}");
    }
    let end = end_of(&session.task("queues").await.unwrap()).await;
    assert_eq!((end.attempts, end.crashes), (1, 0), "what never started has not crashed");
}

async fn s9_2_the_owner_gets_a_row_in_each_case(disk: &impl Disk) {
    let gate = Gate::new();
    let again = kind("again", &gate).idempotent();
    let runtime = Runtime::builder(disk.store()).kind(&again).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    session.spawn(again.with(())).name("again").await.unwrap();
    session.spawn_ephemeral(never).name("lost").await.unwrap();
    gate.arrived().await;
    drop(session);
    crash(runtime).await;

    let runtime = Runtime::builder(disk.store()).kind(&again).open().await.unwrap();
    runtime.recovered().await;
    let session = runtime.session("main").await.unwrap();
    assert_eq!(ended_handles(&session.drain(8).await.unwrap()), ["lost"]);
    let task = session.task("again").await.unwrap();
    let mut log = session.events(Cursor::START);
    let requeued = |event: &Event| event.change == Change::Requeued;
    assert_eq!(events_until(&mut log, requeued).await.last().unwrap().task, Some(task.id()));
    gate.admit(1);
    end_of(&task).await;
    assert_eq!(ended_handles(&session.drain(8).await.unwrap()), ["lost", "again"]);
}

async fn s6_4_a_cancel_ends_tasks_of_an_unregistered_kind(disk: &impl Disk) {
    let gate = Gate::new();
    let kind = kind("strange", &gate).idempotent();
    let runtime = Runtime::builder(disk.store()).kind(&kind).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    session.spawn(kind.with(())).name("asked").await.unwrap();
    let child = kind.with(());
    let lead = session.spawn_ephemeral(|cx: Context| async move {
        cx.spawn(child).name("child").await?;
        never(cx).await
    });
    lead.name("lead").await.unwrap();
    gate.arrived().await;
    gate.arrived().await;
    drop(session);
    crash(runtime).await;

    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    // The closure is lost, and the tasks it owned end with it.
    let lead = runtime.task("lead").await.unwrap();
    assert_eq!(end_of(&lead).await.state, TaskState::Lost);
    let asked = runtime.task("asked").await.unwrap();
    assert_eq!(asked.record().await.unwrap().state, TaskState::Running);
    assert_eq!(asked.cancel("retired").await.unwrap(), 1);
    assert_eq!(end_of(&asked).await.state, TaskState::Cancelled);
    let session = runtime.session("main").await.unwrap();
    assert_eq!(ended_handles(&session.drain(8).await.unwrap()), ["child", "lead", "asked"]);
}

async fn s6_4_a_cancel_that_a_crash_interrupted_ends_a_task_of_an_unregistered_kind(
    disk: &impl Disk,
) {
    let gate = Gate::new();
    let kind = kind("strange", &gate).idempotent();
    let runtime = Runtime::builder(disk.store()).kind(&kind).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let task = session.spawn(kind.with(())).name("it").await.unwrap();
    gate.arrived().await;
    // Its body ignores its token, so that it outlives the request.
    assert_eq!(task.cancel("enough").await.unwrap(), 1);
    drop((session, task));
    crash(runtime).await;

    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    let task = runtime.task("it").await.unwrap();
    assert_eq!(end_of(&task).await.state, TaskState::Cancelled);
}

async fn s9_2_a_task_of_an_unregistered_kind_stays_and_why_names_it(disk: &impl Disk) {
    let gate = Gate::new();
    let kind = kind("strange", &gate).idempotent();
    let waits: Kind<(), ()> = Kind::new("waits", |cx: Context, ()| async move {
        cx.receive(1).await?;
        Done::Ok(())
    })
    .resumable();
    let runtime = Runtime::builder(disk.store()).kind(&kind).kind(&waits).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    session.spawn(kind.with(())).name("it").await.unwrap();
    let waiting = session.spawn(waits.with(())).name("waits").await.unwrap();
    until(&waiting, |task| matches!(task.state, TaskState::Waiting(_))).await;
    gate.arrived().await;
    drop((session, waiting));
    crash(runtime).await;

    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    runtime.recovered().await;
    for (name, kind, state) in
        [("it", "strange", Phase::Running), ("waits", "waits", Phase::Waiting)]
    {
        let task = runtime.task(name).await.unwrap();
        let record = task.record().await.unwrap();
        assert_eq!((record.state.phase(), record.crashes), (state, 0));
        assert_eq!(task.why().await.unwrap().reasons[0], WhyReason::NoWorker(kind.into()));
    }
    crash(runtime).await;

    gate.admit(1);
    let runtime = Runtime::builder(disk.store()).kind(&kind).open().await.unwrap();
    let task = runtime.task("it").await.unwrap();
    assert_eq!(task.wait().await.unwrap().decode::<u32>().unwrap(), 7);
}

async fn s9_2_more_tasks_than_one_batch_are_all_judged(disk: &impl Disk) {
    const MANY: u64 = 1_300;
    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    for _ in 0..MANY {
        session.spawn_ephemeral(never).await.unwrap();
    }
    drop(session);
    crash(runtime).await;
    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    runtime.recovered().await;
    assert_eq!(runtime.counts().await.unwrap().of(Phase::Lost), MANY);
}

async fn s9_2_reading_recovers_nothing(disk: &impl Disk) {
    let gate = Gate::new();
    let kind = kind("strange", &gate);
    let runtime = Runtime::builder(disk.store()).kind(&kind).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    session.spawn(kind.with(())).name("it").await.unwrap();
    gate.arrived().await;
    drop(session);
    crash(runtime).await;

    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    runtime.recovered().await;
    let task = runtime.task("it").await.unwrap();
    let before = task.record().await.unwrap();
    task.why().await.unwrap();
    task.peek().await.unwrap();
    task.snapshot().await.unwrap();
    task.wait().timeout(Duration::ZERO).await.unwrap();
    runtime.tasks().live().await.unwrap();
    runtime.session("main").await.unwrap().drain(8).await.unwrap();
    assert_eq!(task.record().await.unwrap(), before);
}

async fn s9_2_a_waiter_that_came_before_recovery_sees_the_end(disk: &impl Disk) {
    let gate = Gate::new();
    let kind = kind("again", &gate).idempotent();
    let runtime = Runtime::builder(disk.store()).kind(&kind).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    session.spawn(kind.with(())).name("again").await.unwrap();
    session.spawn_ephemeral(never).name("lost").await.unwrap();
    gate.arrived().await;
    drop(session);
    crash(runtime).await;

    gate.admit(1);
    let runtime = Runtime::builder(disk.store()).kind(&kind).open().await.unwrap();
    // Both wait before recovery has had its first turn.
    let (again, lost) = (runtime.task("again").await.unwrap(), runtime.task("lost").await.unwrap());
    let (again, lost) = tokio::join!(end_of(&again), end_of(&lost));
    assert_eq!((again.state, lost.state), (TaskState::Completed, TaskState::Lost));
}

async fn s9_2_a_task_that_had_returned_still_awaits_its_children(disk: &impl Disk) {
    let gate = Gate::new();
    let child = kind("child", &gate).idempotent();
    let runtime = Runtime::builder(disk.store()).kind(&child).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let request = child.clone();
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn(request.with(())).await?;
            Ok::<_, BodyError>("done")
        })
        .name("lead")
        .await
        .unwrap();
    gate.arrived().await;
    until(&lead, |task| task.is_held()).await;
    drop((session, lead));
    crash(runtime).await;

    gate.admit(1);
    let runtime = Runtime::builder(disk.store()).kind(&child).open().await.unwrap();
    let lead = runtime.task("lead").await.unwrap();
    assert_eq!(lead.wait().await.unwrap().decode::<String>().unwrap(), "done");
}

/// Spawns a small tree that only a cancel ends, in a session called `main`.
async fn small_tree(runtime: &Runtime) -> offshoot_runtime::TaskRef {
    let session = runtime.session("main").await.unwrap();
    let there = Gate::new();
    let body = there.clone();
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            for _ in 0..3 {
                cx.spawn_ephemeral(never).await?;
            }
            body.arrive();
            never(cx).await
        })
        .name("lead")
        .await
        .unwrap();
    there.arrived().await;
    lead
}

#[tokio::test(start_paused = true)]
async fn s6_4_recovery_finishes_an_interrupted_cascade() {
    let memory = Memory::new();
    let store = CommitFaults::with(CommitFilter::Cancels, InjectedFault::CrashAfter).store(&memory);
    let runtime = Runtime::builder(store).open().await.unwrap();
    let lead = small_tree(&runtime).await;
    let cancelling = tokio::spawn(async move { lead.cancel("enough").await });
    settle_down().await;
    crash(runtime).await;
    cancelling.abort();

    let runtime = Runtime::builder(memory).open().await.unwrap();
    runtime.recovered().await;
    let all = runtime.session("main").await.unwrap().with_visibility(Visibility::Subtree);
    for task in all.tasks().await.unwrap().items {
        let Some(Outcome::Cancelled { cancel, .. }) = task.ended() else { panic!("{task:?}") };
        assert_eq!(&*cancel.reason, "enough");
    }
    assert_eq!(all.counts().await.unwrap().of(Phase::Cancelled), 4);
}

#[tokio::test(start_paused = true)]
async fn s6_4_recovery_finishes_an_interrupted_sweep() {
    let memory = Memory::new();
    let store = CommitFaults::with(CommitFilter::Sweeps, InjectedFault::CrashAfter).store(&memory);
    let runtime = Runtime::builder(store).open().await.unwrap();
    small_tree(&runtime).await;
    let session = runtime.session("main").await.unwrap();
    let cancelling = tokio::spawn(async move { session.cancel("all out").await });
    settle_down().await;
    crash(runtime).await;
    cancelling.abort();

    let runtime = open_on(&memory).await;
    runtime.recovered().await;
    let session = runtime.session("main").await.unwrap();
    assert_eq!(session.counts().await.unwrap().live(), 0);
    session.spawn_ephemeral(returns(())).await.unwrap();
}
