//! Acknowledgements: a row is read once, by the commit that acknowledges it.

use offshoot_core::{Block, BlockKind, Change, Owner, SessionRecord};

use super::world::{StoreWorld, ack};
use crate::batch::{Ack, RowRef, Strictness, Write};
use crate::error::Conflict;
use crate::query::PendingRow;

async fn rows(world: &StoreWorld, count: usize) -> (SessionRecord, Vec<PendingRow>) {
    let session = world.session("main").await;
    for _ in 0..count {
        let task = world.running(&session).await;
        world.settle(&task).await;
    }
    let rows = world.inbox(Owner::Session(session.id)).await;
    assert_eq!(rows.len(), count);
    (session, rows)
}

pub(super) async fn s4_2_rows_enter_the_history_and_leave_the_inbox_in_one_commit(
    world: StoreWorld,
) {
    let (session, rows) = rows(&world, 3).await;
    let owner = Owner::Session(session.id);
    let block = Block::new(BlockKind::Notice, "two results", world.now());
    let append = Write::Append { owner, blocks: vec![block.clone()] };
    let after = world.store().cursor();
    let batch = world.batch().write(append);
    let batch = batch.write(ack(owner, &rows[..2], Strictness::MustBePending));
    world.commit(batch).await.unwrap();
    assert_eq!(world.inbox(owner).await, rows[2..]);
    assert_eq!(world.store().history(owner, 0, 10).await.unwrap().blocks, [block]);
    let changes = world.changes(&session, after).await;
    assert_eq!(changes, [Change::HistoryGrew(1), Change::Acknowledged { rows: 2 }]);
}

pub(super) async fn s4_2_an_acknowledgement_that_fails_leaves_the_rows_pending(world: StoreWorld) {
    let (session, rows) = rows(&world, 2).await;
    let owner = Owner::Session(session.id);
    world.write(ack(owner, &rows[..1], Strictness::MustBePending)).await;
    // One of the two rows is gone, so neither is acknowledged and nothing is appended.
    let block = Block::new(BlockKind::Notice, "both results", world.now());
    let batch = world.batch().write(Write::Append { owner, blocks: vec![block] });
    let batch = batch.write(ack(owner, &rows, Strictness::MustBePending));
    assert_eq!(world.refused(batch).await, Conflict::RowGone(rows[0].row.id));
    assert_eq!(world.inbox(owner).await, rows[1..]);
}

pub(super) async fn s3_4_a_lenient_acknowledgement_may_be_repeated(world: StoreWorld) {
    let (session, rows) = rows(&world, 2).await;
    let owner = Owner::Session(session.id);
    world.write(ack(owner, &rows[..1], Strictness::MayBeGone)).await;
    let after = world.store().cursor();
    world.write(ack(owner, &rows[..1], Strictness::MayBeGone)).await;
    assert!(world.changes(&session, after).await.is_empty(), "nothing was acknowledged");
    world.write(ack(owner, &rows, Strictness::MayBeGone)).await;
    assert_eq!(world.changes(&session, after).await, [Change::Acknowledged { rows: 1 }]);
    assert!(world.inbox(owner).await.is_empty());
}

pub(super) async fn s3_4_an_acknowledged_result_stays_readable_by_id(world: StoreWorld) {
    let (session, rows) = rows(&world, 1).await;
    world.drain(Owner::Session(session.id)).await;
    let task = rows[0].task.clone().unwrap();
    assert_eq!(world.task(task.id()).await.as_ref(), Some(&task));
    assert_eq!(world.store().result_row(task.id()).await.unwrap(), None);
}

pub(super) async fn s3_5_rows_of_another_owner_cannot_be_acknowledged(world: StoreWorld) {
    let (session, rows) = rows(&world, 1).await;
    let other = Owner::Session(world.session("other").await.id);
    let conflict = world.refused_write(ack(other, &rows, Strictness::MustBePending)).await;
    assert_eq!(conflict, Conflict::RowGone(rows[0].row.id));
    world.write(ack(other, &rows, Strictness::MayBeGone)).await;
    assert_eq!(world.inbox(Owner::Session(session.id)).await, rows);
}

pub(super) async fn a_row_is_identified_by_its_number_and_its_id(world: StoreWorld) {
    let (session, rows) = rows(&world, 2).await;
    let owner = Owner::Session(session.id);
    let mixed = RowRef { number: rows[0].number, id: rows[1].row.id };
    let strict = |strictness| Write::Ack(Ack { owner, rows: [mixed].into(), strictness });
    let conflict = world.refused_write(strict(Strictness::MustBePending)).await;
    assert_eq!(conflict, Conflict::RowGone(rows[1].row.id));
    world.write(strict(Strictness::MayBeGone)).await;
    assert_eq!(world.inbox(owner).await, rows);
}

pub(super) async fn rows_are_acknowledged_in_any_order(world: StoreWorld) {
    let (session, mut rows) = rows(&world, 4).await;
    let owner = Owner::Session(session.id);
    let last = rows.pop().unwrap();
    world.write(ack(owner, &[last], Strictness::MustBePending)).await;
    let second = rows.remove(1);
    world.write(ack(owner, &[second], Strictness::MustBePending)).await;
    assert_eq!(world.inbox(owner).await, rows);
}

pub(super) async fn s4_7_an_acknowledgement_by_a_task_is_logged_for_the_task(world: StoreWorld) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    let child = world.running_child(&parent).await;
    world.settle(&child).await;
    let after = world.store().cursor();
    world.drain(Owner::Task(parent.id())).await;
    let events = world.events(Some(session.id), after).await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].task, Some(parent.id()));
    assert_eq!(events[0].change, Change::Acknowledged { rows: 1 });
}
