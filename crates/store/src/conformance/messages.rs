//! Messages: durable before "queued" is said, sent once, bounded.

use offshoot_core::{Caller, Change, MessageState, Owner, Row, RowBody};

use super::world::{World, record};
use crate::batch::Write;
use crate::error::Conflict;

pub(super) async fn s5_3_a_sent_message_is_in_the_inbox(world: World) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let message = world.message(Caller::Host, Some("once"));
    let state = world.store().message(task.id(), message.id).await.unwrap();
    assert_eq!(state, None);
    let after = world.store().cursor();
    world.write(world.send(&message, task.id())).await;
    let rows = world.inbox(Owner::Task(task.id())).await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].row, Row::message(message.clone(), task.id()));
    let state = world.store().message(task.id(), message.id).await.unwrap();
    assert_eq!(state, Some(MessageState::Queued));
    let events = world.events(Some(session.id), after).await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].task, Some(task.id()));
    assert_eq!(events[0].change, Change::MessageQueued(message.id));
}

pub(super) async fn s5_3_a_consumed_message_is_neither_queued_nor_returned(world: World) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let message = world.message(Caller::Host, None);
    world.write(world.send(&message, task.id())).await;
    world.drain(Owner::Task(task.id())).await;
    assert_eq!(world.store().message(task.id(), message.id).await.unwrap(), None);
}

pub(super) async fn s5_3_a_key_sends_one_message_even_after_it_is_read(world: World) {
    let session = world.session("main").await;
    let (task, other) = (world.running(&session).await, world.running(&session).await);
    let message = world.message(Caller::Host, Some("once"));
    world.write(world.send(&message, task.id())).await;
    let used = Conflict::MessageKeyUsed(message.id);
    let again = world.message(Caller::Host, Some("once"));
    assert_eq!(world.refused_write(world.send(&again, task.id())).await, used);
    world.drain(Owner::Task(task.id())).await;
    assert_eq!(world.refused_write(world.send(&again, task.id())).await, used, "read");
    // Keys are the receiver's: another task takes it.
    world.write(world.send(&again, other.id())).await;
    // A repeated send is told what became of the first, even after the end.
    world.settle(&task).await;
    assert_eq!(world.refused_write(world.send(&again, task.id())).await, used, "ended");
}

pub(super) async fn s5_3_messages_without_a_key_are_all_sent(world: World) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let mut sent = Vec::new();
    for _ in 0..5 {
        let message = world.message(Caller::Session(session.id), None);
        world.write(world.send(&message, task.id())).await;
        sent.push(RowBody::Message(message));
    }
    let rows = world.inbox(Owner::Task(task.id())).await;
    assert_eq!(rows.into_iter().map(|pending| pending.row.body).collect::<Vec<_>>(), sent);
}

pub(super) async fn s5_4_a_message_to_nobody_is_refused(world: World) {
    let session = world.session("main").await;
    let unknown = record(world.spec(&session)).id();
    let message = world.message(Caller::Host, None);
    let conflict = world.refused_write(world.send(&message, unknown)).await;
    assert_eq!(conflict, Conflict::NoTask(unknown));
}

pub(super) async fn s5_4_a_message_to_a_task_that_has_ended_is_refused(world: World) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    world.settle(&task).await;
    let message = world.message(Caller::Host, None);
    // Ended comes before full.
    let send = Write::Send { row: Row::message(message, task.id()), room: 0 };
    assert_eq!(world.refused_write(send).await, Conflict::Ended(task.id()));
}

pub(super) async fn s8_5_a_full_inbox_refuses_messages_until_one_is_read(world: World) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let send = |room| {
        let message = world.message(Caller::Host, None);
        Write::Send { row: Row::message(message, task.id()), room }
    };
    let full = |limit| Conflict::InboxFull { task: task.id(), limit };
    assert_eq!(world.refused_write(send(0)).await, full(0));
    world.write(send(2)).await;
    world.write(send(2)).await;
    assert_eq!(world.refused_write(send(2)).await, full(2));
    let rows = world.inbox(Owner::Task(task.id())).await;
    let owner = Owner::Task(task.id());
    let strict = crate::batch::Strictness::MustBePending;
    world.write(super::world::ack(owner, &rows[..1], strict)).await;
    world.write(send(2)).await;
    assert_eq!(world.refused_write(send(2)).await, full(2));
}

pub(super) async fn s8_5_results_are_never_refused_and_take_no_room(world: World) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    for _ in 0..3 {
        let child = world.running_child(&parent).await;
        world.settle(&child).await;
    }
    let message = world.message(Caller::Host, None);
    world.write(Write::Send { row: Row::message(message, parent.id()), room: 1 }).await;
    let child = world.running_child(&parent).await;
    world.settle(&child).await;
    assert_eq!(world.inbox(Owner::Task(parent.id())).await.len(), 5);
}

pub(super) async fn s5_1_a_queued_task_takes_messages(world: World) {
    let session = world.session("main").await;
    let task = world.spawn(world.spec(&session)).await;
    let message = world.message(Caller::Host, None);
    world.write(world.send(&message, task.id())).await;
    assert_eq!(world.inbox(Owner::Task(task.id())).await.len(), 1);
}
