//! The refusals of a message, and their order.

use std::sync::atomic::{AtomicBool, Ordering};

use offshoot_core::{
    Capabilities, DeliveryMode, InboxMessage, MessageState, Payload, Phase, Recovery, Sizes, Task,
};
use offshoot_runtime::{
    Backend, BodyResult, BoxFuture, Context, Error, InputStatus, Kind, MessageRecipient, Runtime,
    TaskRequest,
};
use offshoot_store::{InjectedFault, Memory};

use crate::support::{CommitFaults, CommitFilter, Done, end_of, never, returns, session};

#[tokio::test]
async fn s5_4_refusals_come_in_their_order() {
    let mute: Kind<(), ()> = Kind::new("mute", |cx, ()| never(cx)).without_messages();
    let quick: Kind<(), ()> =
        Kind::new("quick", |_, ()| async { Done::Ok(()) }).resumable().without_messages();
    let sizes = Sizes { inbox: 1, ..Sizes::default() };
    let runtime = Runtime::builder(Memory::new()).kind(&mute).kind(&quick).sizes(sizes);
    let runtime = runtime.open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let stranger = runtime.session("other").await.unwrap();

    let refused = session.send(MessageRecipient::Handle("nobody"), "x").await.unwrap_err();
    assert!(matches!(refused, Error::NotFound { .. }), "{refused}");

    // Out of scope, and ended: scope is checked first.
    let over = stranger.spawn_ephemeral(returns(())).await.unwrap();
    over.wait().await.unwrap();
    let id = over.id().to_string();
    let refused = session.send(MessageRecipient::Handle(&id), "x").await.unwrap_err();
    assert!(matches!(refused, Error::Forbidden(_)), "{refused}");

    // Ended for good, and takes no messages: the end is checked first.
    let refused = over.send("x").await.unwrap_err();
    assert!(matches!(refused, Error::Ended { .. }), "{refused}");

    // Ended, resumable, and takes no messages.
    let quick = session.spawn(quick.with(())).await.unwrap();
    quick.wait().await.unwrap();
    let refused = quick.send("x").await.unwrap_err();
    assert!(matches!(refused, Error::TakesNoMessages(_)), "{refused}");

    let mute = session.spawn(mute.with(())).await.unwrap();
    let refused = mute.send("x").await.unwrap_err();
    assert!(matches!(refused, Error::TakesNoMessages(_)), "{refused}");

    let full = session.spawn_ephemeral(never).await.unwrap();
    full.send("fits").await.unwrap();
    let refused = full.send("x").await.unwrap_err();
    assert!(matches!(refused, Error::Full { limit: 1, .. }), "{refused}");

    drop(runtime);
    let refused = full.send("x").await.unwrap_err();
    assert!(matches!(refused, Error::Closed), "{refused}");
}

/// A kind whose tasks read nothing after their last message, nor before it.
#[derive(Debug, Default)]
struct Deaf(AtomicBool);

impl Backend for Deaf {
    fn capabilities(&self) -> Capabilities {
        Capabilities::CANCEL.with(Capabilities::MESSAGES)
    }

    fn recovery(&self) -> Recovery {
        Recovery::Lose
    }

    fn start(&self, _cx: Context) -> BoxFuture<BodyResult> {
        Box::pin(std::future::pending())
    }

    fn input_status(&self, _task: &Task) -> InputStatus {
        if self.0.load(Ordering::SeqCst) { InputStatus::Ended } else { InputStatus::Open }
    }

    fn deliver(&self, _task: &Task, message: &InboxMessage) {
        self.0.store(message.mode == DeliveryMode::Last, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn s5_4_ended_input_is_reported_before_a_full_inbox() {
    let sizes = Sizes { inbox: 1, ..Sizes::default() };
    let runtime = Runtime::builder(Memory::new()).backend("deaf", Deaf::default()).sizes(sizes);
    let runtime = runtime.open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let task = session.spawn(TaskRequest::new("deaf", Payload::Null)).await.unwrap();
    task.send("the end").last().await.unwrap();
    let refused = task.send("x").await.unwrap_err();
    assert!(matches!(refused, Error::InputEnded(id) if id == task.id()), "{refused}");
}

#[tokio::test]
async fn s5_4_a_refused_message_changes_nothing() {
    let (_runtime, session) = session().await;
    let task = session.spawn_ephemeral(returns(())).await.unwrap();
    let end = end_of(&task).await;
    task.send("x").await.unwrap_err();
    assert_eq!(task.record().await.unwrap(), end);
    assert_eq!(session.counts().await.unwrap().of(Phase::Completed), 1);
    assert_eq!(session.drain(8).await.unwrap().len(), 1);
}

#[tokio::test]
async fn s5_1_a_message_to_all_reports_the_result_for_each_child() {
    let mute: Kind<(), ()> = Kind::new("mute", |cx, ()| never(cx)).without_messages();
    let sizes = Sizes { inbox: 1, ..Sizes::default() };
    let runtime = Runtime::builder(Memory::new()).kind(&mute).sizes(sizes).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let before = session.spawn_ephemeral(never).await.unwrap();
    let full = session.spawn_ephemeral(never).await.unwrap();
    let deaf = session.spawn(mute.with(())).await.unwrap();
    let after = session.spawn_ephemeral(never).await.unwrap();
    full.send("fits").await.unwrap();

    let receipts = session.send(MessageRecipient::All, "hear").await.unwrap();
    let queued: Vec<_> = (&receipts).into_iter().map(|receipt| receipt.task).collect();
    assert_eq!(queued, [before.id(), after.id()], "a full inbox holds up no other task");
    let refused: Vec<_> = receipts.refused().iter().map(|refused| refused.task).collect();
    assert_eq!(refused, [full.id(), deaf.id()]);
    assert!(matches!(receipts.refused()[0].error, Error::Full { limit: 1, .. }));
    assert!(matches!(receipts.refused()[1].error, Error::TakesNoMessages(_)));
    for receipt in receipts {
        assert_eq!(session.receipt(receipt).await.unwrap(), MessageState::Queued);
    }
}

#[tokio::test]
async fn s5_1_a_message_to_all_that_the_store_fails_for_one_reaches_the_others() {
    let runtime =
        CommitFaults::only(1..=1, CommitFilter::Messages, InjectedFault::Before).open().await;
    let session = runtime.session("main").await.unwrap();
    let first = session.spawn_ephemeral(never).await.unwrap();
    let second = session.spawn_ephemeral(never).await.unwrap();
    let receipts = session.send(MessageRecipient::All, "hear").key("k").await.unwrap();
    assert_eq!(receipts.first().unwrap().task, second.id());
    let [refused] = receipts.refused() else { panic!("{receipts:?}") };
    assert_eq!(refused.task, first.id());
    assert!(matches!(refused.error, Error::Store(_)), "{}", refused.error);
    // Sent again with its key it reaches the task that missed it, and no other
    // one twice.
    let again = session.send(MessageRecipient::All, "hear").key("k").await.unwrap();
    assert!(again.refused().is_empty());
    assert_eq!(again.as_slice()[1].message, receipts.first().unwrap().message);
}
