//! Keys: a repeated spawn finds the task of the first one.

use offshoot_core::{Caps, Intent, Owner};

use super::world::{StoreWorld, called, cancel, keyed, record, spawn, spawn_under};
use crate::error::Conflict;

pub(super) async fn s9_4_a_key_finds_its_task_alive_and_ended(world: StoreWorld) {
    let session = world.session("main").await;
    let owner = Owner::Session(session.id);
    let store = world.store();
    assert_eq!(store.keyed(owner, "step 1").await.unwrap(), None);
    let task = world.spawn(keyed(world.spec(&session), "step 1")).await;
    assert_eq!(store.keyed(owner, "step 1").await.unwrap(), Some(task.clone()));
    let task = world.put(&task, Intent::Start(world.worker)).await;
    let task = world.settle(&task).await;
    assert_eq!(store.keyed(owner, "step 1").await.unwrap(), Some(task));
    assert_eq!(store.keyed(owner, "step 2").await.unwrap(), None);
}

pub(super) async fn s9_4_a_key_makes_one_task_even_after_it_ended(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.spawn(keyed(world.spec(&session), "step 1")).await;
    let used = Conflict::KeyUsed(task.id());
    let again = || spawn(&record(keyed(world.spec(&session), "step 1")));
    assert_eq!(world.refused_write(again()).await, used);
    let task = world.put(&task, Intent::Start(world.worker)).await;
    world.settle(&task).await;
    assert_eq!(world.refused_write(again()).await, used);
    world.drain(Owner::Session(session.id)).await;
    assert_eq!(world.refused_write(again()).await, used);
}

pub(super) async fn s9_4_a_used_key_is_reported_before_any_other_refusal(world: StoreWorld) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    let spec = || keyed(called(world.child_spec(&parent), "docs"), "step 1");
    let child = world.spawn(spec()).await;
    world.put(&parent, Intent::Cancel(cancel(world.now()))).await;
    // The name is taken, the owner is being cancelled and the caps refuse every spawn. A
    // repeated spawn must find its task all the same.
    let caps = Caps { depth: 0, ..Caps::default() };
    let conflict = world.refused_write(spawn_under(&record(spec()), caps)).await;
    assert_eq!(conflict, Conflict::KeyUsed(child.id()));
}

pub(super) async fn s9_4_the_same_key_under_another_owner_is_another_task(world: StoreWorld) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    let one = world.spawn(keyed(world.spec(&session), "step 1")).await;
    let other = world.spawn(keyed(world.child_spec(&parent), "step 1")).await;
    for task in [one, other] {
        let found = world.store().keyed(task.owner(), "step 1").await.unwrap();
        assert_eq!(found, Some(task));
    }
}
