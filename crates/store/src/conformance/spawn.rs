//! Spawns: the state afterwards, and which owners may not spawn.

use offshoot_core::{
    Change, Cursor, Intent, LiveChildren, Owner, Phase, SessionRecord, Sweep, SweepScope, Task,
};

use super::world::{StoreWorld, cancel, detached, record, spawn, started, value};
use crate::batch::Write;
use crate::error::Conflict;
use crate::query::TaskScope;

pub(super) async fn s2_4_a_spawned_task_is_visible_when_the_commit_is_answered(world: StoreWorld) {
    let session = world.session("main").await;
    let after = world.store().cursor();
    let task = world.spawn(world.spec(&session)).await;
    assert_eq!(world.task(task.id()).await, Some(task.clone()));
    let owner = Owner::Session(session.id);
    assert_eq!(world.tasks(TaskScope::Owner(owner)).await, std::slice::from_ref(&task));
    assert_eq!(world.store().counts(owner).await.unwrap().of(Phase::Queued), 1);
    let events = world.events(Some(session.id), after).await;
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].task, &events[0].change), (Some(task.id()), &Change::Spawned));
    assert!(world.inbox(owner).await.is_empty());
}

pub(super) async fn a_spawn_that_starts_at_once_logs_one_event(world: StoreWorld) {
    let session = world.session("main").await;
    let after = world.store().cursor();
    let running = started(&world, world.spec(&session));
    world.write(spawn(&running)).await;
    assert_eq!(world.task(running.id()).await, Some(running));
    assert_eq!(world.changes(&session, after).await, [Change::SpawnedRunning]);
}

pub(super) async fn s1_1_a_task_id_is_used_once(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let mut again = world.spec(&session);
    again.id = task.id();
    let conflict = world.refused_write(spawn(&record(again.clone()))).await;
    assert_eq!(conflict, Conflict::TaskExists(task.id()));
    world.settle(&task).await;
    let conflict = world.refused_write(spawn(&record(again))).await;
    assert_eq!(conflict, Conflict::TaskExists(task.id()));
}

pub(super) async fn a_spawn_needs_its_session(world: StoreWorld) {
    let unknown = world.new_session("unknown");
    let conflict = world.refused_write(spawn(&record(world.spec(&unknown)))).await;
    assert_eq!(conflict, Conflict::NoSession(unknown.id));
}

async fn refuses_children(world: &StoreWorld, parent: &Task) {
    let closed = Conflict::OwnerClosed(Owner::Task(parent.id()));
    let child = record(world.child_spec(parent));
    assert_eq!(world.refused_write(spawn(&child)).await, closed);
    let child = record(detached(world.child_spec(parent)));
    assert_eq!(world.refused_write(spawn(&child)).await, closed, "detached");
}

pub(super) async fn a_spawn_needs_its_parent(world: StoreWorld) {
    let session = world.session("main").await;
    refuses_children(&world, &record(world.spec(&session))).await;
}

pub(super) async fn s2_9_a_task_that_has_ended_spawns_nothing(world: StoreWorld) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    let parent = world.settle(&parent).await;
    refuses_children(&world, &parent).await;
}

pub(super) async fn s2_9_a_task_that_has_returned_spawns_nothing(world: StoreWorld) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    world.running_child(&parent).await;
    let held = world.put(&parent, Intent::Finish(value(), LiveChildren::Some)).await;
    assert!(held.is_held());
    refuses_children(&world, &held).await;
}

pub(super) async fn s6_3_a_spawn_under_a_cancelled_task_is_refused(world: StoreWorld) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    let parent = world.put(&parent, Intent::Cancel(cancel(world.now()))).await;
    refuses_children(&world, &parent).await;
}

pub(super) async fn s6_3_a_spawn_anywhere_below_a_cancelled_task_is_refused(world: StoreWorld) {
    let session = world.session("main").await;
    let top = world.running(&session).await;
    let parent = world.running_child(&top).await;
    let parent = world.running_child(&parent).await;
    world.put(&top, Intent::Cancel(cancel(world.now()))).await;
    let closed = Conflict::OwnerClosed(Owner::Task(top.id()));
    let child = record(world.child_spec(&parent));
    assert_eq!(world.refused_write(spawn(&child)).await, closed);
}

pub(super) async fn s6_3_a_spawn_into_a_session_that_is_being_cancelled_is_refused(
    world: StoreWorld,
) {
    for reach in [SweepScope::Everything, SweepScope::TopLevel] {
        let session = world.session(&format!("{reach:?}")).await;
        let parent = world.running(&session).await;
        let swept = sweep(&world, &session, reach);
        world.write(Write::PutSession(Box::new(swept), Change::SweepBegan)).await;
        let closed = Conflict::OwnerClosed(Owner::Session(session.id));
        let spec = world.spec(&session);
        assert_eq!(world.refused_write(spawn(&record(spec))).await, closed);
        let spec = world.child_spec(&parent);
        assert_eq!(world.refused_write(spawn(&record(spec))).await, closed, "a child");
    }
}

pub(super) async fn s6_5_a_sweep_of_some_tasks_leaves_the_session_open(world: StoreWorld) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    let swept = sweep(&world, &session, SweepScope::ChildrenOf(parent.id()));
    world.write(Write::PutSession(Box::new(swept), Change::SweepBegan)).await;
    world.spawn(world.spec(&session)).await;
}

pub(super) async fn s2_9_a_detached_task_belongs_to_its_session(world: StoreWorld) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    let child = world.spawn(detached(world.child_spec(&parent))).await;
    let store = world.store();
    assert_eq!(store.counts(Owner::Task(parent.id())).await.unwrap().live(), 0);
    assert_eq!(store.counts(Owner::Session(session.id)).await.unwrap().live(), 2);
    assert!(world.tasks(TaskScope::Owner(Owner::Task(parent.id()))).await.is_empty());
    let found = store.named(Owner::Session(session.id), child.spec.handle.key()).await.unwrap();
    assert_eq!(found, Some(child));
}

pub(super) async fn preconditions_are_judged_against_the_state_before_the_batch(world: StoreWorld) {
    let session = world.new_session("main");
    let task = record(world.spec(&session));
    let batch =
        world.batch().write(Write::OpenSession(Box::new(session.clone()))).write(spawn(&task));
    assert_eq!(world.refused(batch).await, Conflict::NoSession(session.id));
    assert!(world.events(None, Cursor::START).await.is_empty());
}

fn sweep(world: &StoreWorld, session: &SessionRecord, reach: SweepScope) -> SessionRecord {
    let mut next = session.clone();
    next.seq += 1;
    next.sweeps.push(Sweep { id: None, cancel: (*cancel(world.now())).clone(), reach });
    next
}
