//! What refuses a message, and in which order.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod harness;

use harness::{Done, for_ever, fresh};
use offshoot::core::{Phase, Sizes};
use offshoot::{Address, Error, Kind, Memory, Runtime};

#[tokio::test]
async fn s5_4_refusals_come_in_their_order() {
    let mute: Kind<(), ()> = Kind::new("mute", |_, ()| for_ever()).without_messages();
    let quick: Kind<(), ()> =
        Kind::new("quick", |_, ()| async { Done::Ok(()) }).resumable().without_messages();
    let sizes = Sizes { inbox: 1, ..Sizes::default() };
    let runtime = Runtime::builder(Memory::new()).kind(&mute).kind(&quick).sizes(sizes);
    let runtime = runtime.open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let stranger = runtime.session("other").await.unwrap();

    let refused = session.send(Address::Handle("nobody"), "x").await.unwrap_err();
    assert!(matches!(refused, Error::NotFound { .. }), "{refused}");

    // Out of scope, and ended: permission goes first.
    let over = stranger.spawn_ephemeral(|_| async { Done::Ok(()) }).await.unwrap();
    over.wait().await.unwrap();
    let id = over.id().to_string();
    let refused = session.send(Address::Handle(&id), "x").await.unwrap_err();
    assert!(matches!(refused, Error::Forbidden(_)), "{refused}");

    // Ended for good, without messages: the end goes first.
    let refused = over.send("x").await.unwrap_err();
    assert!(matches!(refused, Error::Ended { .. }), "{refused}");

    // Ended, could go on, takes no messages.
    let quick = session.spawn(quick.with(())).await.unwrap();
    quick.wait().await.unwrap();
    let refused = quick.send("x").await.unwrap_err();
    assert!(matches!(refused, Error::TakesNoMessages(_)), "{refused}");

    let mute = session.spawn(mute.with(())).await.unwrap();
    let refused = mute.send("x").await.unwrap_err();
    assert!(matches!(refused, Error::TakesNoMessages(_)), "{refused}");

    let full = session.spawn_ephemeral(|_| for_ever()).await.unwrap();
    full.send("fits").await.unwrap();
    let refused = full.send("x").await.unwrap_err();
    assert!(matches!(refused, Error::Full { limit: 1, .. }), "{refused}");

    drop(runtime);
    let refused = full.send("x").await.unwrap_err();
    assert!(matches!(refused, Error::Closed), "{refused}");
}

#[tokio::test]
async fn s5_4_a_refused_message_changes_nothing() {
    let (_runtime, session) = fresh().await;
    let task = session.spawn_ephemeral(|_| async { Done::Ok(()) }).await.unwrap();
    let end = harness::end_of(&task).await;
    task.send("x").await.unwrap_err();
    assert_eq!(task.record().await.unwrap(), end);
    assert_eq!(session.counts().await.unwrap().of(Phase::Completed), 1);
    assert_eq!(session.drain(8).await.unwrap().len(), 1);
}
