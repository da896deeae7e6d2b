//! Messages: stored before the answer, sent once, bounded.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{
    Caller, Change, DeliveryMode, InboxMessage, Owner, Retention, Row, RowBody, SessionRecord,
};

use super::world::{StoreWorld, record};
use crate::batch::Write;
use crate::error::Conflict;
use crate::query::MessagePosition;

pub(super) async fn s5_3_a_sent_message_is_in_the_inbox(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let message = world.message(Caller::Host, Some("once"));
    let state = world.store().message(Owner::Task(task.id()), message.id).await.unwrap();
    assert_eq!(state, None);
    let after = world.store().cursor();
    world.write(world.send(&message, task.id())).await;
    let rows = world.inbox(Owner::Task(task.id())).await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].row, Row::message(message.clone(), Owner::Task(task.id())));
    let state = world.store().message(Owner::Task(task.id()), message.id).await.unwrap();
    assert_eq!(state, Some(MessagePosition::Queued(rows[0].number)));
    let events = world.events(Some(session.id), after).await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].task, Some(task.id()));
    assert_eq!(events[0].change, Change::MessageQueued(message.id));
}

pub(super) async fn s5_3_a_consumed_message_is_neither_queued_nor_returned(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let message = world.message(Caller::Host, None);
    world.write(world.send(&message, task.id())).await;
    world.drain(Owner::Task(task.id())).await;
    assert_eq!(world.store().message(Owner::Task(task.id()), message.id).await.unwrap(), None);
}

pub(super) async fn s5_3_a_key_sends_one_message_even_after_it_is_read(world: StoreWorld) {
    let session = world.session("main").await;
    let (task, other) = (world.running(&session).await, world.running(&session).await);
    let message = world.message(Caller::Host, Some("once"));
    world.write(world.send(&message, task.id())).await;
    let used = Conflict::MessageKeyUsed(message.id);
    let again = world.message(Caller::Host, Some("once"));
    assert_eq!(world.refused_write(world.send(&again, task.id())).await, used);
    world.drain(Owner::Task(task.id())).await;
    assert_eq!(world.refused_write(world.send(&again, task.id())).await, used, "read");
    // Another task accepts it.
    world.write(world.send(&again, other.id())).await;
    // A repeated send finds the first message even after the end of the task.
    world.settle(&task).await;
    assert_eq!(world.refused_write(world.send(&again, task.id())).await, used, "ended");
}

/// A message with another sender or text and the same key.
fn with_change(
    message: &Arc<InboxMessage>,
    change: impl FnOnce(&mut InboxMessage),
) -> Arc<InboxMessage> {
    let mut message = (**message).clone();
    change(&mut message);
    Arc::new(message)
}

/// The write that sends `message` to a session.
fn send_to_session(message: &Arc<InboxMessage>, session: &SessionRecord, room: usize) -> Write {
    Write::Send { message: message.clone(), to: Owner::Session(session.id), room }
}

pub(super) async fn s5_3_each_sender_has_its_own_keys(world: StoreWorld) {
    let session = world.session("main").await;
    let (task, peer) = (world.running(&session).await, world.running(&session).await);
    let senders = [
        Caller::Host,
        Caller::Session(session.id),
        Caller::Task(task.id()),
        Caller::Task(peer.id()),
    ];
    let mut sent = Vec::new();
    for from in senders {
        let message = world.message(from, Some("once"));
        world.write(world.send(&message, task.id())).await;
        sent.push(message.id);
    }
    world.reopen().await;
    assert_eq!(world.inbox(Owner::Task(task.id())).await.len(), senders.len());
    for (from, first) in senders.into_iter().zip(sent) {
        let again = world.message(from, Some("once"));
        let conflict = world.refused_write(world.send(&again, task.id())).await;
        assert_eq!(conflict, Conflict::MessageKeyUsed(first));
    }
}

pub(super) async fn s5_3_a_key_reused_for_another_message_is_reported(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let first = world.message(Caller::Host, Some("once"));
    world.write(world.send(&first, task.id())).await;
    let again = world.message(Caller::Host, Some("once"));
    let others = [
        with_change(&again, |message| message.text = "another".into()),
        with_change(&again, |message| message.mode = DeliveryMode::FollowUp),
    ];
    let reused = Conflict::MessageKeyReused(first.id);
    for other in &others {
        assert_eq!(world.refused_write(world.send(other, task.id())).await, reused);
    }
    world.drain(Owner::Task(task.id())).await;
    world.reopen().await;
    for other in &others {
        assert_eq!(world.refused_write(world.send(other, task.id())).await, reused, "read");
    }
    let used = world.refused_write(world.send(&again, task.id())).await;
    assert_eq!(used, Conflict::MessageKeyUsed(first.id));
}

pub(super) async fn s5_3_a_key_in_a_session_inbox_lives_as_long_as_its_sender(world: StoreWorld) {
    let session = world.session("main").await;
    let retention = Retention { delivered: Duration::from_secs(100), ..Retention::default() };
    world.store().set_retention(retention);
    let task = world.running(&session).await;
    let message = world.message(Caller::Task(task.id()), Some("once"));
    world.write(send_to_session(&message, &session, 9)).await;
    let used = Conflict::MessageKeyUsed(message.id);
    let again = world.message(Caller::Task(task.id()), Some("once"));
    assert_eq!(world.refused_write(send_to_session(&again, &session, 9)).await, used);
    let ended = world.settle(&task).await;
    world.drain(Owner::Session(session.id)).await;
    assert_eq!(world.refused_write(send_to_session(&again, &session, 9)).await, used, "read");
    world.expire(ended.since.after(Duration::from_secs(101))).await;
    world.write(send_to_session(&again, &session, 9)).await;
}

pub(super) async fn s5_1_a_message_to_a_session_is_found_by_its_id(world: StoreWorld) {
    let session = world.session("main").await;
    let owner = Owner::Session(session.id);
    let task = world.running(&session).await;
    world.settle(&task).await;
    let message = world.message(Caller::Host, None);
    assert_eq!(world.store().message(owner, message.id).await.unwrap(), None);
    world.write(send_to_session(&message, &session, 9)).await;
    let rows = world.inbox(owner).await;
    let standing = world.store().message(owner, message.id).await.unwrap();
    assert_eq!(standing, Some(MessagePosition::Queued(rows[1].number)));
    world.drain(owner).await;
    assert_eq!(world.store().message(owner, message.id).await.unwrap(), None);
}

pub(super) async fn s5_4_a_message_to_an_unknown_session_is_refused(world: StoreWorld) {
    let session = world.new_session("unknown");
    let message = world.message(Caller::Host, None);
    let conflict = world.refused_write(send_to_session(&message, &session, 0)).await;
    assert_eq!(conflict, Conflict::NoSession(session.id));
}

pub(super) async fn s8_5_a_sessions_inbox_is_bounded_too(world: StoreWorld) {
    let session = world.session("main").await;
    let owner = Owner::Session(session.id);
    let send = || send_to_session(&world.message(Caller::Host, None), &session, 2);
    let full = Conflict::InboxFull { owner, limit: 2 };
    // Results are not counted.
    for _ in 0..3 {
        let task = world.running(&session).await;
        world.settle(&task).await;
    }
    world.write(send()).await;
    world.write(send()).await;
    assert_eq!(world.refused_write(send()).await, full);
    world.reopen().await;
    assert_eq!(world.refused_write(send()).await, full, "after a crash");
    let rows = world.inbox(owner).await;
    let strict = crate::batch::Strictness::MustBePending;
    world.write(super::world::ack(owner, &rows[..3], strict)).await;
    assert_eq!(world.refused_write(send()).await, full, "only results were read");
    world.write(super::world::ack(owner, &rows[3..4], strict)).await;
    world.write(send()).await;
    assert_eq!(world.refused_write(send()).await, full);
    let task = world.running(&session).await;
    world.settle(&task).await;
    assert_eq!(world.inbox(owner).await.len(), 3);
}

pub(super) async fn s5_3_messages_without_a_key_are_all_sent(world: StoreWorld) {
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

pub(super) async fn s5_4_a_message_to_an_unknown_task_is_refused(world: StoreWorld) {
    let session = world.session("main").await;
    let unknown = record(world.spec(&session)).id();
    let message = world.message(Caller::Host, None);
    let conflict = world.refused_write(world.send(&message, unknown)).await;
    assert_eq!(conflict, Conflict::NoTask(unknown));
}

pub(super) async fn s5_4_a_message_to_a_task_that_has_ended_is_refused(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    world.settle(&task).await;
    let message = world.message(Caller::Host, None);
    // The end is reported before the full inbox.
    let send = Write::Send { message, to: Owner::Task(task.id()), room: 0 };
    assert_eq!(world.refused_write(send).await, Conflict::Ended(task.id()));
}

pub(super) async fn s8_5_a_full_inbox_refuses_messages_until_one_is_read(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let send = |room| {
        let message = world.message(Caller::Host, None);
        Write::Send { message, to: Owner::Task(task.id()), room }
    };
    let full = |limit| Conflict::InboxFull { owner: Owner::Task(task.id()), limit };
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

pub(super) async fn s8_5_results_are_never_refused_and_not_counted(world: StoreWorld) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    for _ in 0..3 {
        let child = world.running_child(&parent).await;
        world.settle(&child).await;
    }
    let message = world.message(Caller::Host, None);
    world.write(Write::Send { message, to: Owner::Task(parent.id()), room: 1 }).await;
    let child = world.running_child(&parent).await;
    world.settle(&child).await;
    assert_eq!(world.inbox(Owner::Task(parent.id())).await.len(), 5);
}

pub(super) async fn s5_1_a_queued_task_takes_messages(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.spawn(world.spec(&session)).await;
    let message = world.message(Caller::Host, None);
    world.write(world.send(&message, task.id())).await;
    assert_eq!(world.inbox(Owner::Task(task.id())).await.len(), 1);
}
