//! Inboxes: rows in the order of their arrival, until they are read.

use offshoot_core::{Intent, Owner, Row, RowBody};

use super::world::{StoreWorld, record};
use crate::batch::Write;
use crate::query::PendingRow;

pub(super) async fn s4_1_the_end_and_its_row_are_one_commit(world: StoreWorld) {
    let session = world.session("main").await;
    let owner = Owner::Session(session.id);
    let task = world.running(&session).await;
    assert_eq!(world.store().result_row(task.id()).await.unwrap(), None);
    let ended = world.settle(&task).await;
    let rows = world.inbox(owner).await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].row.body, RowBody::Result(task.id()));
    assert_eq!((rows[0].row.owner, rows[0].row.id), (owner, task.id().into()));
    assert_eq!(rows[0].task, Some(ended));
    let found = world.store().result_row(task.id()).await.unwrap();
    assert_eq!(found, Some(rows[0].clone()));
}

pub(super) async fn s4_1_a_refused_settle_delivers_nothing(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    world.running_child(&task).await;
    // The guard of a body without children fails, so the row is not delivered.
    let (_, batch) = world.settling(&task);
    world.refused(batch).await;
    assert!(world.inbox(Owner::Session(session.id)).await.is_empty());
}

pub(super) async fn s3_5_rows_come_in_completion_order(world: StoreWorld) {
    let session = world.session("main").await;
    let mut tasks = Vec::new();
    for _ in 0..6 {
        tasks.push(world.running(&session).await);
    }
    let order = [3, 0, 5, 1, 4, 2];
    for at in order {
        world.settle(&tasks[at]).await;
    }
    let rows = world.inbox(Owner::Session(session.id)).await;
    assert!(rows.is_sorted_by(|one, other| one.number < other.number));
    let task_ids: Vec<_> = rows.iter().map(|pending| pending.row.id.as_task()).collect();
    let ended: Vec<_> = order.iter().map(|at| tasks[*at].id()).collect();
    assert_eq!(task_ids, ended);
}

pub(super) async fn s3_5_an_inbox_holds_only_its_owners_rows(world: StoreWorld) {
    let (one, other) = (world.session("one").await, world.session("other").await);
    let parent = world.running(&one).await;
    let child = world.running_child(&parent).await;
    let stranger = world.running(&other).await;
    world.settle(&child).await;
    world.settle(&stranger).await;
    assert!(world.inbox(Owner::Session(one.id)).await.is_empty());
    let ids = |rows: Vec<PendingRow>| rows.iter().map(|row| row.row.id).collect::<Vec<_>>();
    assert_eq!(ids(world.inbox(Owner::Task(parent.id())).await), [child.id().into()]);
    assert_eq!(ids(world.inbox(Owner::Session(other.id)).await), [stranger.id().into()]);
}

pub(super) async fn an_inbox_is_read_in_pages(world: StoreWorld) {
    let session = world.session("main").await;
    let owner = Owner::Session(session.id);
    for _ in 0..7 {
        let task = world.running(&session).await;
        world.settle(&task).await;
    }
    let all = world.inbox(owner).await;
    let (mut read, mut after) = (Vec::new(), 0);
    loop {
        let part = world.store().inbox(owner, after, 3).await.unwrap();
        let Some(last) = part.last() else { break };
        assert!(part.len() <= 3);
        after = last.number;
        read.extend(part);
    }
    assert_eq!(read, all);
    assert_eq!(read.len(), 7);
}

pub(super) async fn s3_4_reading_changes_nothing(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    world.settle(&task).await;
    let first = world.inbox(Owner::Session(session.id)).await;
    let second = world.inbox(Owner::Session(session.id)).await;
    assert_eq!(first, second);
}

pub(super) async fn s5_5_a_question_is_a_row_of_the_owner(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let body = RowBody::Question { task: task.id(), number: 1 };
    let id = offshoot_core::MessageId::mint(world.now(), world.bits()).into();
    let row = Row { id, owner: task.owner(), at: world.now(), body };
    world.write(Write::Deliver(Box::new(row.clone()))).await;
    let rows = world.inbox(task.owner()).await;
    assert_eq!(rows.iter().map(|pending| pending.row.clone()).collect::<Vec<_>>(), [row]);
    assert_eq!(world.store().result_row(task.id()).await.unwrap(), None, "no result yet");
}

pub(super) async fn s5_2_a_task_is_spawned_with_its_first_message(world: StoreWorld) {
    let session = world.session("main").await;
    let task = record(world.spec(&session));
    let message = world.message(offshoot_core::Caller::Host, Some("first"));
    let deliver = Write::Deliver(Box::new(Row::message(message.clone(), Owner::Task(task.id()))));
    let batch = world.batch().write(super::world::spawn(&task)).write(deliver);
    world.commit(batch).await.unwrap();
    let owner = Owner::Task(task.id());
    let rows = world.inbox(owner).await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].row.body, RowBody::Message(message.clone()));
    // It counts like any other message: its key is used and it counts against the limit.
    let again = world.message(offshoot_core::Caller::Host, Some("first"));
    let conflict = world.refused_write(world.send(&again, task.id())).await;
    assert_eq!(conflict, crate::error::Conflict::MessageKeyUsed(message.id));
    let next = world.message(offshoot_core::Caller::Host, None);
    let send = Write::Send { message: next, to: owner, room: 1 };
    let conflict = world.refused_write(send).await;
    assert_eq!(conflict, crate::error::Conflict::InboxFull { owner, limit: 1 });
}

pub(super) async fn s4_1_the_owner_gets_a_row_for_a_task_that_never_started(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.spawn(world.spec(&session)).await;
    let lost = offshoot_core::Outcome::Lost { reason: "never started".into() };
    let finish = Intent::Finish(lost, offshoot_core::LiveChildren::None);
    let (ended, end) = world.end(&task, finish);
    world.write(end).await;
    let rows = world.inbox(task.owner()).await;
    assert_eq!(rows.into_iter().map(|row| row.task).collect::<Vec<_>>(), [Some(ended)]);
}
