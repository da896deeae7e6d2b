//! Reopening: every answered commit is there, and every precondition holds.

use std::time::Duration;

use offshoot_core::{Cursor, Owner, Retention, Task};

use super::populated::PopulatedStore;
use super::world::{StoreWorld, record, spawn};
use crate::batch::Write;
use crate::query::{TaskQuery, TaskScope};

async fn busy(world: &StoreWorld) -> PopulatedStore {
    let stage = PopulatedStore::new(world).await;
    let all = stage.everything(world).into_iter().fold(world.batch(), crate::batch::Batch::write);
    world.commit(all).await.unwrap();
    stage
}

pub(super) async fn s4_3_all_answered_commits_survive_a_crash(world: StoreWorld) {
    let stage = busy(&world).await;
    let blob = world.store().put_blob(stage.lead.id(), "[1]".into()).await.unwrap();
    let before = world.snapshot().await;
    let cursor = world.store().cursor();
    world.reopen().await;
    assert_eq!(world.snapshot().await, before);
    assert_eq!(world.store().blob(blob).await.unwrap().as_deref(), Some("[1]"));
    assert_eq!(world.events(None, cursor).await, [], "an old cursor keeps its position");
}

pub(super) async fn s4_3_all_answered_commits_survive_a_close(world: StoreWorld) {
    busy(&world).await;
    let before = world.snapshot().await;
    world.store().close(Duration::from_secs(3_600)).await.unwrap();
    world.reopen().await;
    assert_eq!(world.snapshot().await, before);
}

pub(super) async fn s4_3_a_pending_commit_is_whole_or_absent_after_a_crash(world: StoreWorld) {
    let session = world.session("main").await;
    let pairs: Vec<_> =
        (0..20).map(|_| [record(world.spec(&session)), record(world.spec(&session))]).collect();
    let commit = |[one, two]: &[Task; 2]| {
        world.store().commit(world.batch().write(spawn(one)).write(spawn(two)))
    };
    let mut answers: Vec<_> = pairs.iter().map(commit).collect();
    let late = answers.split_off(5);
    for answer in answers {
        answer.await.unwrap();
    }
    // The other commits may or may not have been written.
    drop(late);
    world.reopen().await;
    let tasks = world.tasks(TaskScope::Everything).await;
    for (at, [one, two]) in pairs.iter().enumerate() {
        let (has_one, has_two) = (tasks.contains(one), tasks.contains(two));
        assert_eq!(has_one, has_two, "half of commit {at} is there");
        assert!(has_one || at >= 5, "commit {at} was acknowledged and is gone");
    }
    let events = world.events(Some(session.id), Cursor::START).await;
    let task_ids: Vec<_> = events.iter().filter_map(|event| event.task).collect();
    assert_eq!(task_ids, tasks.iter().map(Task::id).collect::<Vec<_>>());
}

pub(super) async fn s4_3_every_precondition_holds_after_a_crash(world: StoreWorld) {
    let stage = PopulatedStore::new(&world).await;
    let mut refusals = Vec::new();
    for impossible in stage.impossible(&world) {
        refusals.push((world.refused_write(impossible.clone()).await, impossible));
    }
    world.reopen().await;
    for (conflict, impossible) in refusals {
        assert_eq!(world.refused_write(impossible).await, conflict);
    }
    for forbidden in stage.forbidden(&world) {
        world.refused(forbidden).await;
    }
    let all = stage.everything(&world).into_iter().fold(world.batch(), crate::batch::Batch::write);
    world.commit(all).await.unwrap();
}

pub(super) async fn s3_7_the_log_continues_after_a_reopen(world: StoreWorld) {
    let stage = busy(&world).await;
    let before = world.events(None, Cursor::START).await;
    let cursor = world.store().cursor();
    world.reopen().await;
    world.spawn(world.spec(&stage.session)).await;
    let after = world.events(None, cursor).await;
    assert_eq!(after.len(), 1);
    assert!(after[0].cursor > cursor, "a place in the log is never used twice");
    assert_eq!(world.events(None, Cursor::START).await, [before, after].concat());
}

pub(super) async fn s3_4_a_row_keeps_its_number_and_later_ones_get_higher(world: StoreWorld) {
    let session = world.session("main").await;
    let owner = Owner::Session(session.id);
    for _ in 0..2 {
        let task = world.running(&session).await;
        world.settle(&task).await;
    }
    let before = world.inbox(owner).await;
    world.reopen().await;
    assert_eq!(world.inbox(owner).await, before);
    world.drain(owner).await;
    world.reopen().await;
    let task = world.running(&session).await;
    world.settle(&task).await;
    let after = world.inbox(owner).await;
    assert!(after[0].number > before[1].number, "also when the inbox was empty");
}

pub(super) async fn s10_1_a_page_cursor_survives_a_reopen(world: StoreWorld) {
    let session = world.session("main").await;
    let tasks: Vec<_> = (0..6).map(|_| record(world.spec(&session))).collect();
    for task in &tasks {
        world.write(spawn(task)).await;
    }
    let mut query = TaskQuery { limit: 4, ..TaskQuery::new(TaskScope::Everything) };
    let first = world.store().tasks(query.clone()).await.unwrap();
    world.reopen().await;
    let late = world.spawn(world.spec(&session)).await;
    query.after = first.next;
    let rest = world.list(query).await;
    assert_eq!([first.items, rest].concat(), [tasks, vec![late]].concat());
}

pub(super) async fn s8_5_blob_numbers_are_not_reused_after_a_reopen(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let one = world.store().put_blob(task.id(), "1".into()).await.unwrap();
    world.reopen().await;
    let two = world.store().put_blob(task.id(), "2".into()).await.unwrap();
    assert_ne!(one, two);
    assert_eq!(world.store().blob(one).await.unwrap().as_deref(), Some("1"));
    assert_eq!(world.store().blob(two).await.unwrap().as_deref(), Some("2"));
}

pub(super) async fn s10_4_deleted_tasks_stay_deleted_and_counted(world: StoreWorld) {
    let session = world.session("main").await;
    let delivered = Duration::from_secs(100);
    world.store().set_retention(Retention { delivered, ..Retention::default() });
    let task = world.running(&session).await;
    let task = world.settle(&task).await;
    world.drain(task.owner()).await;
    world.expire(task.since.after(Duration::from_secs(101))).await;
    let before = world.snapshot().await;
    world.reopen().await;
    assert_eq!(world.task(task.id()).await, None);
    assert_eq!(world.snapshot().await, before);
    assert_eq!(world.store().counts_within(None).await.unwrap().spawned(), 1);
}

pub(super) async fn an_empty_store_opens_empty(world: StoreWorld) {
    world.reopen().await;
    let before = world.snapshot().await;
    let session = world.new_session("main");
    world.write(Write::OpenSession(Box::new(session.clone()))).await;
    assert_ne!(world.snapshot().await, before);
    world.reopen().await;
    assert_eq!(world.store().session(session.id).await.unwrap(), Some(session));
}
