//! Names: unique among the live tasks of an owner, and found by lookup.

use offshoot_core::Owner;

use super::world::{StoreWorld, called, detached, record, spawn};
use crate::error::Conflict;

pub(super) async fn s1_4_a_name_is_unique_among_the_live_tasks_of_one_owner(world: StoreWorld) {
    let session = world.session("main").await;
    let first = world.spawn(called(world.spec(&session), "docs")).await;
    let second = record(called(world.spec(&session), "docs"));
    let conflict = world.refused_write(spawn(&second)).await;
    assert_eq!(conflict, Conflict::NameTaken(first.id()));
}

pub(super) async fn s1_3_names_are_compared_by_their_folded_form(world: StoreWorld) {
    let session = world.session("main").await;
    let first = world.spawn(called(world.spec(&session), "Docs ①")).await;
    let second = record(called(world.spec(&session), " DOCS 1 "));
    let conflict = world.refused_write(spawn(&second)).await;
    assert_eq!(conflict, Conflict::NameTaken(first.id()));
    let found = world.store().named(first.owner(), "docs 1").await.unwrap().unwrap();
    assert_eq!((found.id(), found.handle()), (first.id(), "Docs ①"));
}

pub(super) async fn s1_4_a_name_is_free_once_its_task_has_ended(world: StoreWorld) {
    let session = world.session("main").await;
    for _ in 0..3 {
        let mut spec = called(world.spec(&session), "docs");
        spec.recovery = offshoot_core::Recovery::Restart;
        let task = world.spawn(spec).await;
        let task = world.put(&task, offshoot_core::Intent::Start(world.worker)).await;
        world.settle(&task).await;
    }
}

pub(super) async fn s1_4_the_same_name_under_another_owner_is_fine(world: StoreWorld) {
    let one = world.session("one").await;
    let other = world.session("other").await;
    let parent = world.running(&one).await;
    let of_one = world.spawn(called(world.spec(&one), "docs")).await;
    let of_other = world.spawn(called(world.spec(&other), "docs")).await;
    let of_task = world.spawn(called(world.child_spec(&parent), "docs")).await;
    for task in [&of_one, &of_other, &of_task] {
        let found = world.store().named(task.owner(), "docs").await.unwrap();
        assert_eq!(found.as_ref(), Some(task));
    }
    // The name of a detached child belongs to its session and not to its parent.
    let stray = record(detached(called(world.child_spec(&parent), "docs")));
    let conflict = world.refused_write(spawn(&stray)).await;
    assert_eq!(conflict, Conflict::NameTaken(of_one.id()));
}

pub(super) async fn s1_7_a_name_finds_the_live_task_else_the_one_that_ended_last(
    world: StoreWorld,
) {
    let session = world.session("main").await;
    let owner = Owner::Session(session.id);
    let store = world.store();
    assert_eq!(store.named(owner, "docs").await.unwrap(), None);
    for _ in 0..3 {
        let task = world.spawn(called(world.spec(&session), "docs")).await;
        assert_eq!(store.named(owner, "docs").await.unwrap(), Some(task.clone()));
        let task = world.put(&task, offshoot_core::Intent::Start(world.worker)).await;
        assert_eq!(store.named(owner, "docs").await.unwrap(), Some(task.clone()));
        let task = world.settle(&task).await;
        assert_eq!(store.named(owner, "docs").await.unwrap(), Some(task));
    }
    world.drain(owner).await;
    let found = store.named(owner, "docs").await.unwrap().unwrap();
    assert!(!found.is_live());
}

pub(super) async fn a_lookup_of_an_unused_name_is_none(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let store = world.store();
    let key = task.spec.handle.key();
    assert_eq!(store.named(Owner::Task(task.id()), key).await.unwrap(), None);
    assert_eq!(store.named(task.owner(), "unknown").await.unwrap(), None);
}
