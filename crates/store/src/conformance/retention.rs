//! Retention: ended tasks are deleted in time, and all others are kept.

use std::time::Duration;

use offshoot_core::{
    Block, BlockKind, Caller, Caps, Ceiling, Change, Intent, Owner, Payload, Retention,
    SessionRecord, Stamp, Step, StepState, Task, Timer,
};

use super::world::{StoreWorld, ack, called, keyed, record, spawn, spawn_under};
use crate::batch::{Counter, CounterChange, Strictness, Write};
use crate::error::Conflict;

const RETENTION: Retention = Retention {
    delivered: Duration::from_secs(100),
    undelivered: Duration::from_secs(1_000),
    in_memory: 64,
    events: 4_096,
};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

async fn open(world: &StoreWorld) -> SessionRecord {
    world.store().set_retention(RETENTION);
    world.session("main").await
}

async fn ended(world: &StoreWorld, session: &SessionRecord) -> Task {
    let task = world.running(session).await;
    world.settle(&task).await
}

/// The moment when the task's end is this long ago.
fn after(task: &Task, age: Duration) -> Stamp {
    task.since.after(age)
}

pub(super) async fn s10_4_a_read_result_is_deleted_after_its_retention(world: StoreWorld) {
    let session = open(&world).await;
    let task = ended(&world, &session).await;
    world.drain(task.owner()).await;
    let cursor = world.store().cursor();
    assert_eq!(world.expire(after(&task, seconds(99))).await, 0);
    assert_eq!(world.task(task.id()).await, Some(task.clone()));
    let now = after(&task, seconds(101));
    assert_eq!(world.expire(now).await, 1);
    assert_eq!(world.task(task.id()).await, None);
    let events = world.events(Some(session.id), cursor).await;
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].task, &events[0].change), (Some(task.id()), &Change::Deleted));
    assert_eq!(events[0].at, now);
    assert_eq!(world.expire(now).await, 0, "nothing is due twice");
}

pub(super) async fn s10_4_an_unread_result_is_kept_longer(world: StoreWorld) {
    let session = open(&world).await;
    let task = ended(&world, &session).await;
    assert_eq!(world.expire(after(&task, seconds(999))).await, 0);
    assert_eq!(world.inbox(task.owner()).await.len(), 1);
    assert_eq!(world.expire(after(&task, seconds(1_001))).await, 1);
    assert_eq!(world.task(task.id()).await, None);
    assert!(world.inbox(task.owner()).await.is_empty(), "no row without its task");
    assert_eq!(world.store().result_row(task.id()).await.unwrap(), None);
}

pub(super) async fn s10_4_a_result_whose_owner_ended_counts_as_read(world: StoreWorld) {
    let session = open(&world).await;
    let parent = world.running(&session).await;
    let child = world.running_child(&parent).await;
    let child = world.settle(&child).await;
    let parent = world.settle(&parent).await;
    assert_eq!(world.inbox(Owner::Session(session.id)).await.len(), 2);
    assert_eq!(world.expire(after(&child, seconds(99))).await, 0);
    assert_eq!(world.expire(after(&parent, seconds(101))).await, 1);
    assert_eq!(world.task(child.id()).await, None, "its owner has ended");
    assert_eq!(world.task(parent.id()).await.as_ref(), Some(&parent), "its owner is there");
    let rows = world.inbox(Owner::Session(session.id)).await;
    assert_eq!(rows.iter().map(|row| row.row.id.as_task()).collect::<Vec<_>>(), [parent.id()]);
}

pub(super) async fn s10_4_age_counts_from_the_end_and_not_from_the_read(world: StoreWorld) {
    let session = open(&world).await;
    let owner = Owner::Session(session.id);
    let old = ended(&world, &session).await;
    world.pass(seconds(90));
    let young = ended(&world, &session).await;
    // The recent task is read before the old one.
    let mut rows = world.inbox(owner).await;
    rows.reverse();
    for row in rows {
        world.write(ack(owner, &[row], Strictness::MustBePending)).await;
    }
    assert_eq!(world.expire(after(&old, seconds(101))).await, 1);
    assert_eq!(world.task(old.id()).await, None);
    assert_eq!(world.task(young.id()).await, Some(young));
}

pub(super) async fn s10_4_live_tasks_are_never_deleted(world: StoreWorld) {
    let session = open(&world).await;
    let parent = world.running(&session).await;
    let queued = world.spawn(world.spec(&session)).await;
    let child = world.running_child(&parent).await;
    world.running_child(&parent).await;
    world.settle(&child).await;
    world.drain(Owner::Task(parent.id())).await;
    let held = Intent::Finish(super::world::value(), offshoot_core::LiveChildren::Some);
    let held = world.put(&parent, held).await;
    assert_eq!(
        world.expire(after(&held, seconds(1_000_000))).await,
        1,
        "only the child that ended"
    );
    assert_eq!(world.task(held.id()).await, Some(held));
    assert_eq!(world.task(queued.id()).await, Some(queued));
}

pub(super) async fn s10_4_expiry_deletes_at_most_the_limit_at_a_time(world: StoreWorld) {
    let session = open(&world).await;
    let mut last = ended(&world, &session).await;
    for _ in 0..6 {
        last = ended(&world, &session).await;
    }
    let rows = world.inbox(Owner::Session(session.id)).await;
    let read = ack(Owner::Session(session.id), &rows[..4], Strictness::MustBePending);
    world.write(read).await;
    let now = after(&last, seconds(1_001));
    let mut steps = Vec::new();
    loop {
        match world.store().expire(now, 3).await.unwrap() {
            0 => break,
            some => steps.push(some),
        }
    }
    assert!(steps.iter().all(|some| *some <= 3), "{steps:?}");
    assert_eq!(steps.iter().sum::<usize>(), 7);
}

pub(super) async fn s10_4_a_deletion_removes_all_data_of_the_task(world: StoreWorld) {
    let session = open(&world).await;
    let stays = world.running(&session).await;
    let task = world.spawn(keyed(called(world.spec(&session), "docs"), "step 1")).await;
    let task = world.put(&task, Intent::Start(world.worker)).await;
    let store = world.store();
    let blob = store.put_blob(task.id(), "[1]".into()).await.unwrap();
    let other = store.put_blob(stays.id(), "[2]".into()).await.unwrap();
    let owner = Owner::Task(task.id());
    let counter = Counter { owner, name: "tokens".into() };
    let message = world.message(Caller::Host, Some("sent"));
    let state = StepState::Committed(Payload::Null);
    let block = Block::new(BlockKind::User, "go", world.now());
    let timer = Timer { task: task.id(), key: "due".into(), due: world.now() };
    for write in [
        Write::Append { owner, blocks: vec![block] },
        Write::Step(Step { task: task.id(), key: "fetch".into(), state }),
        Write::Arm(timer),
        Write::Count(CounterChange { counter: counter.clone(), by: 3, limit: None }),
        world.send(&message, task.id()),
    ] {
        world.write(write).await;
    }
    let task = world.settle(&task).await;
    world.drain(task.owner()).await;
    world.expire(after(&task, seconds(101))).await;
    assert_eq!(world.task(task.id()).await, None);
    assert_eq!(store.named(task.owner(), "docs").await.unwrap(), None);
    assert_eq!(store.keyed(task.owner(), "step 1").await.unwrap(), None);
    assert_eq!(store.history(owner, 0, 9).await.unwrap().total, 0);
    assert_eq!(store.step(task.id(), "fetch").await.unwrap(), None);
    assert!(store.timers(task.id()).await.unwrap().is_empty());
    assert_eq!(store.counter(&counter).await.unwrap(), 0);
    assert_eq!(store.message(owner, message.id).await.unwrap(), None);
    assert_eq!(store.blob(blob).await.unwrap(), None);
    assert_eq!(store.blob(other).await.unwrap().as_deref(), Some("[2]"), "another's stays");
}

pub(super) async fn s9_4_a_key_lives_as_long_as_its_task(world: StoreWorld) {
    let session = open(&world).await;
    let spec = || keyed(called(world.spec(&session), "docs"), "step 1");
    let task = world.spawn(spec()).await;
    let task = world.put(&task, Intent::Start(world.worker)).await;
    let task = world.settle(&task).await;
    world.drain(task.owner()).await;
    let conflict = world.refused_write(spawn(&record(spec()))).await;
    assert_eq!(conflict, Conflict::KeyUsed(task.id()));
    world.expire(after(&task, seconds(101))).await;
    world.spawn(spec()).await;
}

pub(super) async fn s8_1_a_deleted_task_still_counts_as_spawned(world: StoreWorld) {
    let session = open(&world).await;
    let task = ended(&world, &session).await;
    world.drain(task.owner()).await;
    world.expire(after(&task, seconds(101))).await;
    let store = world.store();
    for counts in [
        store.counts(task.owner()).await.unwrap(),
        store.counts_within(Some(session.id)).await.unwrap(),
        store.counts_within(None).await.unwrap(),
    ] {
        assert_eq!((counts.spawned(), counts.of(offshoot_core::Phase::Completed)), (1, 0));
    }
    let caps = Caps { total: Ceiling { session: Some(1), ..Ceiling::NONE }, ..Caps::default() };
    let next = record(world.spec(&session));
    let conflict = world.refused_write(spawn_under(&next, caps)).await;
    assert!(matches!(conflict, Conflict::Cap(_)), "{conflict:?}");
}

pub(super) async fn s1_7_a_name_finds_an_older_task_when_the_newer_is_deleted(world: StoreWorld) {
    let session = open(&world).await;
    let owner = Owner::Session(session.id);
    let mut tasks = Vec::new();
    for _ in 0..3 {
        let task = world.spawn(called(world.spec(&session), "docs")).await;
        let task = world.put(&task, Intent::Start(world.worker)).await;
        tasks.push(world.settle(&task).await);
    }
    // The newest is read, so it is deleted before the others.
    let rows = world.inbox(owner).await;
    world.write(ack(owner, &rows[2..], Strictness::MustBePending)).await;
    world.expire(after(&tasks[2], seconds(101))).await;
    let store = world.store();
    assert_eq!(world.task(tasks[2].id()).await, None);
    assert_eq!(store.named(owner, "docs").await.unwrap().as_ref(), Some(&tasks[1]));
    let live = world.spawn(called(world.spec(&session), "docs")).await;
    assert_eq!(store.named(owner, "docs").await.unwrap(), Some(live));
}
