//! Caps: checked together with the spawn, at every level.

use offshoot_core::{Cap, CapLevel, CapReached, Caps, Ceiling, Owner, Task};

use super::world::{StoreWorld, record, spawn_under, started};
use crate::error::Conflict;

fn ceiling(level: CapLevel, limit: u64) -> Ceiling {
    let mut ceiling = Ceiling::NONE;
    match level {
        CapLevel::Owner => ceiling.owner = Some(limit),
        CapLevel::Session => ceiling.session = Some(limit),
        CapLevel::Space => ceiling.space = Some(limit),
    }
    ceiling
}

fn open() -> Caps {
    Caps { live: Ceiling::NONE, ..Caps::default() }
}

async fn refused(world: &StoreWorld, task: &Task, caps: Caps) -> CapReached {
    match world.refused_write(spawn_under(task, caps)).await {
        Conflict::Cap(reached) => reached,
        other => panic!("expected a cap, got {other:?}"),
    }
}

pub(super) async fn s8_1_the_depth_cap_refuses(world: StoreWorld) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    let child = record(world.child_spec(&parent));
    let reached = refused(&world, &child, Caps { depth: 0, ..open() }).await;
    assert_eq!(reached, CapReached { cap: Cap::Depth, limit: 0, used: 1 });
    world.write(spawn_under(&child, Caps { depth: 1, ..open() })).await;
}

/// One task outside, one beside and one below a parent, so that each level has a different
/// count.
async fn family(world: &StoreWorld) -> Task {
    let elsewhere = world.session("elsewhere").await;
    world.spawn(world.spec(&elsewhere)).await;
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    world.spawn(world.child_spec(&parent)).await;
    record(world.child_spec(&parent))
}

pub(super) async fn s8_1_the_live_cap_refuses_at_every_level(world: StoreWorld) {
    let task = family(&world).await;
    for (level, used) in [(CapLevel::Owner, 1), (CapLevel::Session, 2), (CapLevel::Space, 3)] {
        let caps = |limit| Caps { live: ceiling(level, limit), ..open() };
        let reached = refused(&world, &task, caps(used)).await;
        assert_eq!(reached, CapReached { cap: Cap::Live(level), limit: used, used });
        assert_eq!(caps(used + 1).live, ceiling(level, used + 1));
    }
    let all = Ceiling { owner: Some(2), session: Some(3), space: Some(4) };
    world.write(spawn_under(&task, Caps { live: all, ..open() })).await;
}

pub(super) async fn s8_1_the_total_cap_refuses_at_every_level(world: StoreWorld) {
    let task = family(&world).await;
    for (level, used) in [(CapLevel::Owner, 1), (CapLevel::Session, 2), (CapLevel::Space, 3)] {
        let caps = Caps { total: ceiling(level, used), ..open() };
        let reached = refused(&world, &task, caps).await;
        assert_eq!(reached, CapReached { cap: Cap::Total(level), limit: used, used });
    }
    let all = Ceiling { owner: Some(2), session: Some(3), space: Some(4) };
    world.write(spawn_under(&task, Caps { total: all, ..open() })).await;
}

pub(super) async fn s8_1_the_queued_cap_refuses_tasks_that_would_queue(world: StoreWorld) {
    let task = family(&world).await;
    for (level, used) in [(CapLevel::Owner, 1), (CapLevel::Session, 1), (CapLevel::Space, 2)] {
        let caps = Caps { queued: ceiling(level, used), ..open() };
        let reached = refused(&world, &task, caps).await;
        assert_eq!(reached, CapReached { cap: Cap::Queued(level), limit: used, used });
    }
    let none = Ceiling { owner: Some(0), session: Some(0), space: Some(0) };
    let running = started(&world, (*task.spec).clone());
    world.write(spawn_under(&running, Caps { queued: none, ..open() })).await;
}

pub(super) async fn s8_1_an_end_frees_the_live_cap_but_not_the_total_cap(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    world.settle(&task).await;
    world.drain(Owner::Session(session.id)).await;
    let next = record(world.spec(&session));
    let caps = Caps { total: ceiling(CapLevel::Session, 1), ..open() };
    let reached = refused(&world, &next, caps).await;
    assert_eq!(reached, CapReached { cap: Cap::Total(CapLevel::Session), limit: 1, used: 1 });
    let caps = Caps { live: ceiling(CapLevel::Session, 1), ..open() };
    world.write(spawn_under(&next, caps)).await;
}
