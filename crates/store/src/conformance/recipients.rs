//! Recipients: when an inbox ends, messages go back to their senders and all other rows
//! move to the recipient.

use offshoot_core::{
    Caller, Change, Intent, LiveChildren, Outcome, Owner, Payload, Phase, Row, RowBody, RowId,
    Task, decide,
};

use super::world::{StoreWorld, ack};
use crate::batch::{Batch, EndWrite, Strictness, Write};
use crate::error::Conflict;
use crate::query::{MessagePosition, PendingRow};

fn task_ids(rows: &[PendingRow]) -> Vec<offshoot_core::TaskId> {
    rows.iter().map(|pending| pending.row.id.as_task()).collect()
}

pub(super) async fn s2_9_unread_results_move_to_the_recipient_in_completion_order(
    world: StoreWorld,
) {
    let session = world.session("main").await;
    let recipient = Owner::Session(session.id);
    let parent = world.running(&session).await;
    let (one, two) = (world.running_child(&parent).await, world.running_child(&parent).await);
    let (before, between) = (world.running(&session).await, world.running(&session).await);
    for task in [&before, &one, &between, &two] {
        world.settle(task).await;
    }
    let moved = world.inbox(Owner::Task(parent.id())).await;
    world.settle(&parent).await;
    let rows = world.inbox(recipient).await;
    let order = [before.id(), one.id(), between.id(), two.id(), parent.id()];
    assert_eq!(task_ids(&rows), order, "completion order across owners");
    assert!(rows.is_sorted_by(|one, other| one.number < other.number));
    assert!(rows.iter().all(|pending| pending.row.owner == recipient));
    assert!(rows.iter().all(|pending| pending.task.is_some()));
    assert!(world.inbox(Owner::Task(parent.id())).await.is_empty());
    // A row keeps its number in every inbox.
    assert_eq!(rows[1].number, moved[0].number);
    let found = world.store().result_row(one.id()).await.unwrap();
    assert_eq!(found.as_ref(), Some(&rows[1]));
}

pub(super) async fn s2_9_only_the_recipient_can_acknowledge_a_moved_row(world: StoreWorld) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    let child = world.running_child(&parent).await;
    world.settle(&child).await;
    let rows = world.inbox(Owner::Task(parent.id())).await;
    world.settle(&parent).await;
    let late = ack(Owner::Task(parent.id()), &rows, Strictness::MustBePending);
    let conflict = world.refused_write(late).await;
    assert_eq!(conflict, Conflict::RowGone(child.id().into()));
    let recipient = Owner::Session(session.id);
    world.write(ack(recipient, &rows, Strictness::MustBePending)).await;
    assert_eq!(task_ids(&world.inbox(recipient).await), [parent.id()]);
    assert_eq!(world.store().result_row(child.id()).await.unwrap(), None);
}

pub(super) async fn s2_9_rows_move_up_when_owner_after_owner_ends(world: StoreWorld) {
    let session = world.session("main").await;
    let top = world.running(&session).await;
    let middle = world.running_child(&top).await;
    let bottom = world.running_child(&middle).await;
    for task in [&bottom, &middle, &top] {
        world.settle(task).await;
    }
    let rows = world.inbox(Owner::Session(session.id)).await;
    assert_eq!(task_ids(&rows), [bottom.id(), middle.id(), top.id()]);
    let found = world.store().result_row(bottom.id()).await.unwrap();
    assert_eq!(found.as_ref(), rows.first());
}

pub(super) async fn s2_9_an_unread_question_moves_to_the_recipient(world: StoreWorld) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    let child = world.running_child(&parent).await;
    let body = RowBody::Question { task: child.id(), number: 1 };
    let id: RowId = offshoot_core::MessageId::mint(world.now(), world.bits()).into();
    let row = Row { id, owner: Owner::Task(parent.id()), at: world.now(), body: body.clone() };
    world.write(Write::Deliver(Box::new(row))).await;
    let recipient = Owner::Session(session.id);
    world.settle(&child).await;
    world.settle(&parent).await;
    let rows = world.inbox(recipient).await;
    assert_eq!(task_ids(&rows), [id.as_task(), child.id(), parent.id()]);
    assert_eq!((&rows[0].row.body, rows[0].row.owner), (&body, recipient));
}

async fn conversation(world: &StoreWorld) -> (Task, Task) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    let child = world.running_child(&parent).await;
    (parent, child)
}

pub(super) async fn s5_1_unread_messages_return_to_their_senders(world: StoreWorld) {
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
    // The host has no inbox to return a message to.
    let inherited = RowBody::Message(from_host.clone());
    assert_eq!(bodies, [returned.clone(), inherited, RowBody::Result(child.id())]);
    let back = rows.iter().find(|pending| pending.row.body == returned).unwrap();
    assert_eq!((back.row.id, back.row.owner), (from_parent.id.into(), parent.id_as_owner()));
    let rows = world.inbox(Owner::Session(session)).await;
    let bodies: Vec<_> = rows.iter().map(|pending| pending.row.body.clone()).collect();
    assert_eq!(bodies, [RowBody::Returned(from_session.clone())]);
    for message in [&from_parent, &from_session, &from_host] {
        let state = world.store().message(Owner::Task(child.id()), message.id).await.unwrap();
        assert_eq!(state, Some(MessagePosition::Returned));
    }
}

pub(super) async fn s5_1_a_consumed_message_does_not_return(world: StoreWorld) {
    let (parent, child) = conversation(&world).await;
    let message = world.message(Caller::Task(parent.id()), None);
    world.write(world.send(&message, child.id())).await;
    world.drain(Owner::Task(child.id())).await;
    world.settle(&child).await;
    assert_eq!(task_ids(&world.inbox(Owner::Task(parent.id())).await), [child.id()]);
    assert_eq!(world.store().message(Owner::Task(child.id()), message.id).await.unwrap(), None);
}

pub(super) async fn s2_9_a_message_whose_sender_has_ended_moves_to_the_recipient(
    world: StoreWorld,
) {
    let session = world.session("main").await;
    let top = world.running(&session).await;
    let parent = world.running_child(&top).await;
    let child = world.running_child(&parent).await;
    let message = world.message(Caller::Task(child.id()), Some("once"));
    world.write(world.send(&message, parent.id())).await;
    let sent = world.inbox(Owner::Task(parent.id())).await;
    world.settle(&child).await;
    for (ended, recipient) in [(&parent, Owner::Task(top.id())), (&top, Owner::Session(session.id))]
    {
        world.settle(ended).await;
        assert!(world.inbox(Owner::Task(ended.id())).await.is_empty());
        let first = world.inbox(recipient).await.swap_remove(0);
        assert_eq!((first.number, first.row.id), (sent[0].number, sent[0].row.id));
        assert_eq!((first.row.owner, &first.row.body), (recipient, &sent[0].row.body));
        let state = world.store().message(recipient, message.id).await.unwrap();
        assert_eq!(state, None, "it was not sent to the recipient");
    }
    assert!(world.inbox(Owner::Task(child.id())).await.is_empty());
    let state = world.store().message(Owner::Task(parent.id()), message.id).await.unwrap();
    assert_eq!(state, Some(MessagePosition::Returned));
    world.reopen().await;
    let recipient = Owner::Session(session.id);
    let rows = world.inbox(recipient).await;
    assert_eq!(rows[0].row.body, sent[0].row.body, "after a crash");
    world.write(ack(recipient, &rows[..1], Strictness::MustBePending)).await;
    assert_eq!(task_ids(&world.inbox(recipient).await), [child.id(), parent.id(), top.id()]);
}

pub(super) async fn s2_9_a_message_skips_owners_that_end_in_the_same_commit(world: StoreWorld) {
    let session = world.session("main").await;
    let recipient = Owner::Session(session.id);
    let parent = world.running(&session).await;
    let child = world.running_child(&parent).await;
    let up = world.message(Caller::Task(child.id()), None);
    let down = world.message(Caller::Task(parent.id()), None);
    world.write(world.send(&up, parent.id())).await;
    world.write(world.send(&down, child.id())).await;
    let at = world.now();
    let mut batch = Batch::new(at);
    for task in [&child, &parent] {
        let outcome = Outcome::Lost { reason: "gone".into() };
        let decided = decide(task, Intent::Finish(outcome, LiveChildren::None), at).unwrap();
        batch.push(Write::End(EndWrite { task: decided.task, change: decided.change, recipient }));
    }
    world.store().commit(batch).await.unwrap();
    let rows = world.inbox(recipient).await;
    let bodies: Vec<_> = rows.into_iter().map(|pending| pending.row.body).collect();
    let (up, down) = (RowBody::Message(up), RowBody::Returned(down));
    assert_eq!(bodies, [up, down, RowBody::Result(child.id()), RowBody::Result(parent.id())]);
    for ended in [&child, &parent] {
        assert!(world.inbox(Owner::Task(ended.id())).await.is_empty());
    }
}

pub(super) async fn s2_9_a_row_delivered_to_an_ancestor_is_found_there(world: StoreWorld) {
    let session = world.session("main").await;
    let recipient = Owner::Session(session.id);
    let parent = world.running(&session).await;
    let child = world.running_child(&parent).await;
    let at = world.now();
    let mut batch = Batch::new(at);
    for task in [&child, &parent] {
        let outcome = Outcome::value(Payload::Null);
        let decided = decide(task, Intent::Finish(outcome, LiveChildren::None), at).unwrap();
        batch.push(Write::End(EndWrite { task: decided.task, change: decided.change, recipient }));
    }
    world.store().commit(batch).await.unwrap();
    world.reopen().await;
    let rows = world.inbox(recipient).await;
    assert_eq!(task_ids(&rows), [child.id(), parent.id()]);
    for row in &rows {
        let found = world.store().result_row(row.row.id.as_task()).await.unwrap();
        assert_eq!(found.as_ref(), Some(row));
    }
    world.write(ack(recipient, &rows, Strictness::MustBePending)).await;
    for task in [&child, &parent] {
        assert_eq!(world.store().result_row(task.id()).await.unwrap(), None);
    }
}

pub(super) async fn s8_5_an_inherited_message_is_not_counted_and_uses_no_key(world: StoreWorld) {
    let session = world.session("main").await;
    let top = world.running(&session).await;
    let recipients = [Owner::Task(top.id()), Owner::Session(session.id)];
    let send = |to| {
        let message = world.message(Caller::Host, Some("once"));
        Write::Send { message, to, room: 1 }
    };
    let parents = [world.running_child(&top).await, world.running(&session).await];
    for (parent, recipient) in parents.iter().zip(recipients) {
        world.write(send(Owner::Task(parent.id()))).await;
        world.settle(parent).await;
        assert_eq!(world.inbox(recipient).await.len(), 2, "the message and the result");
    }
    world.reopen().await;
    for recipient in recipients {
        world.write(send(recipient)).await;
        let full = Conflict::InboxFull { owner: recipient, limit: 1 };
        let another = || {
            let message = world.message(Caller::Host, Some("twice"));
            Write::Send { message, to: recipient, room: 1 }
        };
        assert_eq!(world.refused_write(another()).await, full);
        let rows = world.inbox(recipient).await;
        world.write(ack(recipient, &rows[..1], Strictness::MustBePending)).await;
        assert_eq!(world.refused_write(another()).await, full, "what was read took no room");
        world.write(ack(recipient, &rows[2..], Strictness::MustBePending)).await;
        world.write(another()).await;
    }
}

pub(super) async fn s5_1_a_message_to_oneself_is_not_left_in_a_closed_inbox(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let message = world.message(Caller::Task(task.id()), None);
    world.write(world.send(&message, task.id())).await;
    world.settle(&task).await;
    assert!(world.inbox(Owner::Task(task.id())).await.is_empty());
    let rows = world.inbox(Owner::Session(session.id)).await;
    let bodies: Vec<_> = rows.into_iter().map(|pending| pending.row.body).collect();
    assert_eq!(bodies, [RowBody::Message(message.clone()), RowBody::Result(task.id())]);
    let state = world.store().message(Owner::Task(task.id()), message.id).await.unwrap();
    assert_eq!(state, Some(MessagePosition::Returned));
}

pub(super) async fn an_empty_inbox_closes_without_a_trace(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let after = world.store().cursor();
    world.settle(&task).await;
    assert_eq!(world.inbox(Owner::Session(session.id)).await.len(), 1, "its own row");
    let expected = [Change::Ended(Phase::Completed)];
    assert_eq!(world.changes(&session, after).await, expected);
}

trait AsOwner {
    fn id_as_owner(&self) -> Owner;
}

impl AsOwner for Task {
    fn id_as_owner(&self) -> Owner {
        Owner::Task(self.id())
    }
}
