//! The end of an inbox: results go to the heir, messages to their senders.

use offshoot_core::{Caller, Change, Owner, Phase, Row, RowBody, RowId, Task};

use super::world::{World, ack};
use crate::batch::{Strictness, Write};
use crate::error::Conflict;
use crate::query::{Pending, Standing};

fn told(rows: &[Pending]) -> Vec<offshoot_core::TaskId> {
    rows.iter().map(|pending| pending.row.id.as_task()).collect()
}

pub(super) async fn s2_9_unread_results_move_to_the_heir_in_completion_order(world: World) {
    let session = world.session("main").await;
    let heir = Owner::Session(session.id);
    let parent = world.running(&session).await;
    let (one, two) = (world.running_child(&parent).await, world.running_child(&parent).await);
    let (before, between) = (world.running(&session).await, world.running(&session).await);
    for task in [&before, &one, &between, &two] {
        world.settle(task).await;
    }
    let moved = world.inbox(Owner::Task(parent.id())).await;
    world.settle(&parent).await;
    let rows = world.inbox(heir).await;
    let order = [before.id(), one.id(), between.id(), two.id(), parent.id()];
    assert_eq!(told(&rows), order, "completion order, whoever the rows were for");
    assert!(rows.is_sorted_by(|one, other| one.number < other.number));
    assert!(rows.iter().all(|pending| pending.row.owner == heir));
    assert!(rows.iter().all(|pending| pending.task.is_some()));
    assert!(world.inbox(Owner::Task(parent.id())).await.is_empty());
    // A row keeps its number wherever it goes, and is found where it is.
    assert_eq!(rows[1].number, moved[0].number);
    let found = world.store().result_row(one.id()).await.unwrap();
    assert_eq!(found.as_ref(), Some(&rows[1]));
}

pub(super) async fn s2_9_a_moved_row_is_acknowledged_by_its_heir_only(world: World) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    let child = world.running_child(&parent).await;
    world.settle(&child).await;
    let rows = world.inbox(Owner::Task(parent.id())).await;
    world.settle(&parent).await;
    let late = ack(Owner::Task(parent.id()), &rows, Strictness::MustBePending);
    let conflict = world.refused_write(late).await;
    assert_eq!(conflict, Conflict::RowGone(child.id().into()));
    let heir = Owner::Session(session.id);
    world.write(ack(heir, &rows, Strictness::MustBePending)).await;
    assert_eq!(told(&world.inbox(heir).await), [parent.id()]);
    assert_eq!(world.store().result_row(child.id()).await.unwrap(), None);
}

pub(super) async fn s2_9_rows_move_up_through_every_generation(world: World) {
    let session = world.session("main").await;
    let top = world.running(&session).await;
    let middle = world.running_child(&top).await;
    let bottom = world.running_child(&middle).await;
    for task in [&bottom, &middle, &top] {
        world.settle(task).await;
    }
    let rows = world.inbox(Owner::Session(session.id)).await;
    assert_eq!(told(&rows), [bottom.id(), middle.id(), top.id()]);
    let found = world.store().result_row(bottom.id()).await.unwrap();
    assert_eq!(found.as_ref(), rows.first());
}

pub(super) async fn s2_9_an_unread_question_moves_to_the_heir(world: World) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    let child = world.running_child(&parent).await;
    let body = RowBody::Question { task: child.id(), number: 1 };
    let id: RowId = offshoot_core::MessageId::mint(world.now(), world.bits()).into();
    let row = Row { id, owner: Owner::Task(parent.id()), at: world.now(), body: body.clone() };
    world.write(Write::Deliver(Box::new(row))).await;
    let heir = Owner::Session(session.id);
    world.settle(&child).await;
    world.settle(&parent).await;
    let rows = world.inbox(heir).await;
    assert_eq!(told(&rows), [id.as_task(), child.id(), parent.id()]);
    assert_eq!((&rows[0].row.body, rows[0].row.owner), (&body, heir));
}

async fn conversation(world: &World) -> (Task, Task) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    let child = world.running_child(&parent).await;
    (parent, child)
}

pub(super) async fn s5_1_unread_messages_return_to_their_senders(world: World) {
    let (parent, child) = conversation(&world).await;
    let session = parent.spec.lineage.session;
    let from_parent = world.message(Caller::Task(parent.id()), None);
    let from_session = world.message(Caller::Session(session), None);
    let from_host = world.message(Caller::Host, None);
    for message in [&from_parent, &from_session, &from_host] {
        world.write(world.send(message, child.id())).await;
    }
    world.settle(&child).await;
    let rows = world.inbox(Owner::Task(parent.id())).await;
    let bodies: Vec<_> = rows.iter().map(|pending| pending.row.body.clone()).collect();
    let returned = RowBody::Returned(from_parent.clone());
    assert_eq!(bodies.len(), 2);
    assert!(bodies.contains(&returned) && bodies.contains(&RowBody::Result(child.id())));
    let back = rows.iter().find(|pending| pending.row.body == returned).unwrap();
    assert_eq!((back.row.id, back.row.owner), (from_parent.id.into(), parent.id_as_owner()));
    let rows = world.inbox(Owner::Session(session)).await;
    let bodies: Vec<_> = rows.iter().map(|pending| pending.row.body.clone()).collect();
    assert_eq!(bodies, [RowBody::Returned(from_session.clone())]);
    for message in [&from_parent, &from_session, &from_host] {
        let state = world.store().message(Owner::Task(child.id()), message.id).await.unwrap();
        assert_eq!(state, Some(Standing::Returned));
    }
}

pub(super) async fn s5_1_a_consumed_message_does_not_return(world: World) {
    let (parent, child) = conversation(&world).await;
    let message = world.message(Caller::Task(parent.id()), None);
    world.write(world.send(&message, child.id())).await;
    world.drain(Owner::Task(child.id())).await;
    world.settle(&child).await;
    assert_eq!(told(&world.inbox(Owner::Task(parent.id())).await), [child.id()]);
    assert_eq!(world.store().message(Owner::Task(child.id()), message.id).await.unwrap(), None);
}

pub(super) async fn s5_1_a_message_from_a_task_that_has_ended_is_returned_to_nobody(world: World) {
    let session = world.session("main").await;
    let (sender, receiver) = (world.running(&session).await, world.running(&session).await);
    let message = world.message(Caller::Task(sender.id()), None);
    world.write(world.send(&message, receiver.id())).await;
    world.settle(&sender).await;
    world.settle(&receiver).await;
    assert!(world.inbox(Owner::Task(sender.id())).await.is_empty());
    let state = world.store().message(Owner::Task(receiver.id()), message.id).await.unwrap();
    assert_eq!(state, Some(Standing::Returned));
}

pub(super) async fn s5_1_a_message_to_oneself_is_not_left_in_a_closed_inbox(world: World) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let message = world.message(Caller::Task(task.id()), None);
    world.write(world.send(&message, task.id())).await;
    world.settle(&task).await;
    assert!(world.inbox(Owner::Task(task.id())).await.is_empty());
    let state = world.store().message(Owner::Task(task.id()), message.id).await.unwrap();
    assert_eq!(state, Some(Standing::Returned));
}

pub(super) async fn an_empty_inbox_closes_without_a_trace(world: World) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let after = world.store().cursor();
    world.settle(&task).await;
    assert_eq!(world.inbox(Owner::Session(session.id)).await.len(), 1, "its own row");
    let told = [Change::Ended(Phase::Completed)];
    assert_eq!(world.changes(&session, after).await, told);
}

trait AsOwner {
    fn id_as_owner(&self) -> Owner;
}

impl AsOwner for Task {
    fn id_as_owner(&self) -> Owner {
        Owner::Task(self.id())
    }
}
