//! Fences: an attempt whose lease has ended cannot write.

use offshoot_core::{Block, BlockKind, Intent, Outcome, Owner, RequeueReason, Task, WaitingOn};

use super::world::{StoreWorld, cancel, record};
use crate::batch::{Batch, Write};
use crate::error::Conflict;

fn note(world: &StoreWorld, task: &Task) -> Write {
    let block = Block::new(BlockKind::Assistant, "so far", world.now());
    Write::Append { owner: Owner::Task(task.id()), blocks: vec![block] }
}

fn fenced(world: &StoreWorld, task: &Task, epoch: u32) -> Batch {
    world.batch().fenced(task.id(), epoch).write(note(world, task))
}

pub(super) async fn s9_1_the_holder_of_the_lease_writes(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    world.commit(fenced(&world, &task, task.lease.epoch)).await.unwrap();
    // Waiting returns the slot and keeps the lease.
    world.put(&task, Intent::Park(WaitingOn::Message)).await;
    world.commit(fenced(&world, &task, task.lease.epoch)).await.unwrap();
    // A cancel request does not end the lease of the body that must stop.
    let task = world.task(task.id()).await.unwrap();
    world.put(&task, Intent::Cancel(cancel(world.now()))).await;
    world.commit(fenced(&world, &task, task.lease.epoch)).await.unwrap();
}

pub(super) async fn s9_1_a_stale_epoch_is_refused(world: StoreWorld) {
    let session = world.session("main").await;
    let first = world.running(&session).await;
    let back = world.put(&first, Intent::Requeue(RequeueReason::Crashed)).await;
    let second = world.put(&back, Intent::Start(world.worker)).await;
    let over = Conflict::LeaseOver(first.id());
    assert_eq!(world.refused(fenced(&world, &first, first.lease.epoch)).await, over);
    assert_eq!(world.refused(fenced(&world, &first, second.lease.epoch + 1)).await, over);
    world.commit(fenced(&world, &second, second.lease.epoch)).await.unwrap();
}

pub(super) async fn s9_1_a_released_lease_has_ended(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let over = Conflict::LeaseOver(task.id());
    let epoch = task.lease.epoch;
    let back = world.put(&task, Intent::Requeue(RequeueReason::Released)).await;
    assert_eq!(world.refused(fenced(&world, &task, epoch)).await, over, "queued");
    let again = world.put(&back, Intent::Start(world.worker)).await;
    let ended = world.settle(&again).await;
    assert_eq!(world.refused(fenced(&world, &ended, again.lease.epoch)).await, over, "ended");
}

pub(super) async fn s9_1_a_body_that_returned_has_no_lease(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    world.running_child(&task).await;
    let lost = Outcome::Lost { reason: "gone".into() };
    let finish = Intent::Finish(lost, offshoot_core::LiveChildren::Some);
    let held = world.put(&task, finish).await;
    let conflict = world.refused(fenced(&world, &held, task.lease.epoch)).await;
    assert_eq!(conflict, Conflict::LeaseOver(task.id()));
}

pub(super) async fn a_fence_needs_its_task(world: StoreWorld) {
    let session = world.session("main").await;
    let unknown = record(world.spec(&session));
    let conflict = world.refused(fenced(&world, &unknown, 0)).await;
    assert_eq!(conflict, Conflict::NoTask(unknown.id()));
}

pub(super) async fn s9_1_a_fence_covers_writes_to_other_tasks(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    world.settle(&task).await;
    let child = record(world.spec(&session));
    let batch = world.batch().fenced(task.id(), task.lease.epoch);
    let conflict = world.refused(batch.write(super::world::spawn(&child))).await;
    assert_eq!(conflict, Conflict::LeaseOver(task.id()));
}
