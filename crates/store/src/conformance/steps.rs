//! Steps: a committed value is final.

use offshoot_core::{Change, Payload, Step, StepState, Task};

use super::world::StoreWorld;
use crate::batch::Write;
use crate::error::Conflict;

fn step(task: &Task, key: &str, state: StepState) -> Write {
    Write::Step(Step { task: task.id(), key: key.into(), state })
}

fn committed(value: &str) -> StepState {
    StepState::Committed(Payload::encode(value).unwrap())
}

pub(super) async fn s9_6_a_step_begins_and_commits(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let store = world.store();
    assert_eq!(store.step(task.id(), "fetch").await.unwrap(), None);
    let after = store.cursor();
    world.write(step(&task, "fetch", StepState::Started)).await;
    assert_eq!(store.step(task.id(), "fetch").await.unwrap(), Some(StepState::Started));
    assert!(world.changes(&session, after).await.is_empty(), "a start is not logged");
    // A later attempt begins the step again.
    world.write(step(&task, "fetch", StepState::Started)).await;
    world.write(step(&task, "fetch", committed("page"))).await;
    assert_eq!(store.step(task.id(), "fetch").await.unwrap(), Some(committed("page")));
    let events = world.events(Some(session.id), after).await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].task, Some(task.id()));
    assert_eq!(events[0].change, Change::StepCommitted("fetch".into()));
}

pub(super) async fn s9_6_a_committed_step_is_final(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    world.write(step(&task, "fetch", committed("first"))).await;
    let conflict = Conflict::StepCommitted(task.id(), "fetch".into());
    let again = step(&task, "fetch", committed("second"));
    assert_eq!(world.refused_write(again).await, conflict);
    let again = step(&task, "fetch", StepState::Started);
    assert_eq!(world.refused_write(again).await, conflict);
    let stored = world.store().step(task.id(), "fetch").await.unwrap();
    assert_eq!(stored, Some(committed("first")));
}

pub(super) async fn s9_6_steps_are_per_task_and_key(world: StoreWorld) {
    let session = world.session("main").await;
    let (one, other) = (world.running(&session).await, world.running(&session).await);
    world.write(step(&one, "fetch", committed("one"))).await;
    world.write(step(&one, "parse", committed("parsed"))).await;
    world.write(step(&other, "fetch", committed("other"))).await;
    let store = world.store();
    assert_eq!(store.step(one.id(), "fetch").await.unwrap(), Some(committed("one")));
    assert_eq!(store.step(one.id(), "parse").await.unwrap(), Some(committed("parsed")));
    assert_eq!(store.step(other.id(), "fetch").await.unwrap(), Some(committed("other")));
    assert_eq!(store.step(other.id(), "parse").await.unwrap(), None);
}

pub(super) async fn s9_6_a_step_can_commit_an_empty_value(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    world.write(step(&task, "once", StepState::Committed(Payload::Null))).await;
    let stored = world.store().step(task.id(), "once").await.unwrap();
    assert_eq!(stored, Some(StepState::Committed(Payload::Null)));
}

pub(super) async fn s9_6_steps_outlive_the_attempt(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    world.write(step(&task, "fetch", committed("page"))).await;
    let crashed = offshoot_core::RequeueReason::Crashed;
    let back = world.put(&task, offshoot_core::Intent::Requeue(crashed)).await;
    world.put(&back, offshoot_core::Intent::Start(world.worker)).await;
    let stored = world.store().step(task.id(), "fetch").await.unwrap();
    assert_eq!(stored, Some(committed("page")));
}
