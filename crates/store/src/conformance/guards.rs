//! Guards: what a decision assumed about a task's children still holds.

use offshoot_core::{Block, BlockKind, Intent, LiveChildren, Owner, Task, TaskId};

use super::world::{StoreWorld, detached, value};
use crate::batch::{Batch, Guard, Write};
use crate::error::Conflict;

struct Family {
    world: StoreWorld,
    parent: Task,
}

impl Family {
    async fn new(world: StoreWorld) -> Self {
        let session = world.session("main").await;
        let parent = world.running(&session).await;
        Self { world, parent }
    }

    fn batch(&self, guard: Guard) -> Batch {
        let block = Block::new(BlockKind::Other, "guarded", self.world.now());
        let owner = Owner::Session(self.parent.spec.lineage.session);
        self.world.batch().guard(guard).write(Write::Append { owner, blocks: vec![block] })
    }

    async fn holds(&self, guard: Guard) {
        self.world.commit(self.batch(guard)).await.unwrap();
    }

    async fn fails(&self, guard: Guard) {
        let conflict = self.world.refused(self.batch(guard)).await;
        assert_eq!(conflict, Conflict::Children(self.parent.id()), "{guard:?}");
    }

    async fn child(&self) -> Task {
        self.world.running_child(&self.parent).await
    }
}

fn only(owner: TaskId, child: &Task) -> Guard {
    Guard::OnlyChild { owner, child: child.id() }
}

fn stays(owner: TaskId, child: &Task) -> Guard {
    Guard::OwnerStays { owner, child: child.id() }
}

pub(super) async fn s2_9_childless_means_without_live_children(world: StoreWorld) {
    let family = Family::new(world).await;
    let parent = family.parent.id();
    family.holds(Guard::Childless(parent)).await;
    family.fails(Guard::HasChildren(parent)).await;
    let child = family.child().await;
    family.fails(Guard::Childless(parent)).await;
    family.holds(Guard::HasChildren(parent)).await;
    family.world.settle(&child).await;
    family.holds(Guard::Childless(parent)).await;
    family.fails(Guard::HasChildren(parent)).await;
}

pub(super) async fn s2_9_a_queued_child_is_live(world: StoreWorld) {
    let family = Family::new(world).await;
    family.world.spawn(family.world.child_spec(&family.parent)).await;
    family.fails(Guard::Childless(family.parent.id())).await;
}

pub(super) async fn s2_9_a_detached_child_does_not_count(world: StoreWorld) {
    let family = Family::new(world).await;
    let stray = detached(family.world.child_spec(&family.parent));
    let stray = family.world.spawn(stray).await;
    family.holds(Guard::Childless(family.parent.id())).await;
    family.fails(only(family.parent.id(), &stray)).await;
}

pub(super) async fn s2_9_grandchildren_do_not_count(world: StoreWorld) {
    let family = Family::new(world).await;
    let child = family.child().await;
    let grandchild = family.world.running_child(&child).await;
    let parent = family.parent.id();
    family.holds(only(parent, &child)).await;
    family.fails(only(parent, &grandchild)).await;
}

pub(super) async fn s2_9_only_child_means_no_other_live_child(world: StoreWorld) {
    let family = Family::new(world).await;
    let parent = family.parent.id();
    let one = family.child().await;
    family.holds(only(parent, &one)).await;
    let other = family.child().await;
    family.fails(only(parent, &one)).await;
    family.fails(only(parent, &other)).await;
    family.world.settle(&one).await;
    family.fails(only(parent, &one)).await;
    family.holds(only(parent, &other)).await;
}

pub(super) async fn s2_9_an_owner_that_has_not_returned_stays(world: StoreWorld) {
    let family = Family::new(world).await;
    let child = family.child().await;
    family.holds(stays(family.parent.id(), &child)).await;
}

pub(super) async fn s2_9_a_returned_owner_stays_for_its_other_children_only(world: StoreWorld) {
    let family = Family::new(world).await;
    let parent = family.parent.id();
    let (one, other) = (family.child().await, family.child().await);
    family.world.put(&family.parent, Intent::Finish(value(), LiveChildren::Some)).await;
    family.holds(stays(parent, &one)).await;
    family.holds(stays(parent, &other)).await;
    family.world.settle(&one).await;
    family.fails(stays(parent, &other)).await;
}

pub(super) async fn s2_9_an_owner_ends_with_its_last_child_in_one_commit(world: StoreWorld) {
    let family = Family::new(world).await;
    let (world, parent) = (&family.world, &family.parent);
    let child = world.running_child(parent).await;
    let held = world.put(parent, Intent::Finish(value(), LiveChildren::Some)).await;
    let (child, settle) = world.settling(&child);
    let (ended, end) = world.end(&held, Intent::Release);
    // The guard is checked against the state before the batch, when the child is live.
    let batch = settle.guard(only(parent.id(), &child)).write(end);
    world.commit(batch).await.unwrap();
    assert_eq!(world.task(parent.id()).await, Some(ended));
    let rows = world.inbox(parent.owner()).await;
    let task_ids: Vec<_> = rows.iter().map(|pending| pending.row.id.as_task()).collect();
    assert_eq!(task_ids, [child.id(), parent.id()], "the child's row went to the recipient");
}
