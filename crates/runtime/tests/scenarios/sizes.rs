//! Sizes: which values are stored inline, which in a blob, and which are refused.

use offshoot_core::{Failure, FailureKind, Outcome, Owner, Payload, Sizes, TooLarge};
use offshoot_runtime::{BodyError, Context, Error, Kind, MessageRecipient, Runtime};
use offshoot_store::Memory;

use crate::support::{
    Disk, Done, Gate, Polls, Test, all_tasks, assert_says, end_of, failure, never, on_every_store,
    returns, session,
};

const KIB: usize = 1 << 10;

fn too_large(error: Error) -> TooLarge {
    match error {
        Error::TooLarge(refused) => refused,
        other => panic!("not refused for its size: {other}"),
    }
}

#[tokio::test]
async fn s8_5_a_message_has_up_to_64_kib() {
    let (_runtime, session) = session().await;
    let task = session.spawn_ephemeral(never).await.unwrap();
    task.send(&"x".repeat(64 * KIB)).await.unwrap();
    let refused = too_large(task.send(&"x".repeat(64 * KIB + 1)).await.unwrap_err());
    assert_eq!((refused.limit, refused.bytes), (64 * KIB, 64 * KIB + 1));
    let first = session.spawn_ephemeral(never).message(&"x".repeat(64 * KIB + 1));
    too_large(first.await.unwrap_err());
}

#[tokio::test]
async fn s8_5_a_progress_report_has_up_to_4_kib() {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            // Two quotation marks are part of the report.
            cx.progress(&"x".repeat(4 * KIB - 2)).await?;
            let refused = cx.progress(&"x".repeat(4 * KIB - 1)).await.unwrap_err();
            Ok::<_, BodyError>(too_large(refused).bytes)
        })
        .await
        .unwrap();
    assert_eq!(task.wait().await.unwrap().decode::<usize>().unwrap(), 4 * KIB + 1);
}

#[tokio::test]
async fn s8_5_results_and_step_values_past_1_mib_go_to_blobs() {
    let (_runtime, session) = session().await;
    for (bytes, stored) in [(1024 * KIB, "json"), (1024 * KIB + 1, "blob")] {
        let task = session
            .spawn_ephemeral(move |cx: Context| async move {
                let text = "x".repeat(bytes - 2);
                let step = cx.step("big", || async move { Ok::<_, BodyError>(text) }).await?;
                // The journal returns it, inline or from a blob.
                let again = cx.step("big", || async { Ok::<_, BodyError>(String::new()) }).await?;
                assert_eq!(step, again);
                Ok::<_, BodyError>(step)
            })
            .await
            .unwrap();
        let waited = task.wait().await.unwrap();
        let Some(Outcome::Completed { value, .. }) = waited.outcome() else { panic!() };
        match value {
            Payload::Blob(blob) => assert_eq!((stored, blob.bytes), ("blob", bytes as u64)),
            _ => assert_eq!(stored, "json"),
        }
        assert_eq!(waited.load::<String>().await.unwrap().len(), bytes - 2);
    }
}

#[tokio::test]
async fn s8_5_a_large_input_reaches_its_body_and_its_key_finds_it_again() {
    let kind: Kind<String, usize> =
        Kind::new("measure", |_, text: String| async move { Ok::<_, BodyError>(text.len()) });
    let runtime = Runtime::builder(Memory::new()).kind(&kind).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let text = "x".repeat(2048 * KIB);
    let task = session.spawn(kind.with(text.clone())).key("k").await.unwrap();
    assert_eq!(task.wait().await.unwrap().decode::<usize>().unwrap(), 2048 * KIB);
    let again = session.spawn(kind.with(text)).key("k").await.unwrap();
    assert_eq!(again.id(), task.id());
    let other = session.spawn(kind.with("y".repeat(2048 * KIB))).key("k").await.unwrap_err();
    assert!(matches!(other, Error::KeyReused { .. }), "{other}");
}

#[tokio::test]
async fn s8_5_the_texts_of_a_failure_are_cut_and_say_how_much_is_missing() {
    let sizes = Sizes { text: 32, ..Sizes::default() };
    let runtime = Runtime::builder(Memory::new()).sizes(sizes).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let body = |_| async {
        let mut failure = Failure::new(FailureKind::Error, "é".repeat(100));
        failure.causes = vec!["c".repeat(33); 70];
        Err::<(), _>(failure)
    };
    let end = end_of(&session.spawn_ephemeral(body).await.unwrap()).await;
    let broken = failure(&end);
    assert_eq!(broken.message, format!("{} …(+84 more chars)", "é".repeat(16)));
    assert_eq!(broken.causes.len(), 65);
    assert_eq!(broken.causes[0], format!("{} …(+1 more chars)", "c".repeat(32)));
    assert_eq!(broken.causes[64], "…(+6 more causes)");

    let body = |_| async { if true { panic!("{}", "p".repeat(1 << 20)) } else { Done::Ok(()) } };
    let end = end_of(&session.spawn_ephemeral(body).await.unwrap()).await;
    let more = (1 << 20) - 32;
    assert_eq!(failure(&end).message, format!("{} …(+{more} more chars)", "p".repeat(32)));
}

#[tokio::test]
async fn s8_5_a_full_inbox_refuses_messages_but_no_results() {
    let sizes = Sizes { inbox: 2, ..Sizes::default() };
    let runtime = Runtime::builder(Memory::new()).sizes(sizes).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let gate = Gate::new();
    let body = gate.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            body.pass().await;
            let mut children = Vec::new();
            for _ in 0..3 {
                children.push(cx.spawn_ephemeral(returns(())).await?);
            }
            cx.wait(&children).await?;
            let rows = cx.drain(64).await?;
            rows.ack().await?;
            body.pass().await;
            Ok::<_, BodyError>(rows.len())
        })
        .await
        .unwrap();
    gate.arrived().await;
    for _ in 0..2 {
        task.send("fits").await.unwrap();
    }
    let refused = task.send("too many").await.unwrap_err();
    assert!(matches!(refused, Error::Full { limit: 2, .. }), "{refused}");
    gate.admit(1);
    gate.arrived().await;
    task.send("there is room again").await.unwrap();
    gate.admit(1);
    assert_eq!(task.wait().await.unwrap().decode::<usize>().unwrap(), 5);
}

on_every_store!(s8_5_a_sessions_inbox_refuses_messages_but_no_results);

async fn s8_5_a_sessions_inbox_refuses_messages_but_no_results(disk: &impl Disk) {
    let sizes = Sizes { inbox: 2, ..Sizes::default() };
    let runtime = Runtime::builder(disk.store()).sizes(sizes).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let inbox = Owner::Session(session.id());
    let chatter = || {
        let body = move |cx: Context| async move {
            let mut queued = 0;
            loop {
                match cx.send(MessageRecipient::Parent, "news").await {
                    Ok(_) => queued += 1,
                    Err(Error::Full { owner, limit }) => {
                        assert_eq!((owner, limit), (inbox, 2));
                        return Ok::<_, BodyError>(queued);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        };
        session.spawn_ephemeral(body)
    };
    for queued in [2, 0] {
        let task = chatter().await.unwrap();
        assert_eq!(task.wait().await.unwrap().decode::<u32>().unwrap(), queued);
    }
    let rows = session.drain(16).await.unwrap();
    assert_eq!(rows.len(), 4, "two messages and two results");
    rows.ack().await.unwrap();
    let task = chatter().await.unwrap();
    assert_eq!(task.wait().await.unwrap().decode::<u32>().unwrap(), 2);
}

#[test]
fn s8_5_an_inbox_holds_10_000_unread_messages() {
    assert_eq!(Sizes::default().inbox, 10_000);
}

fn assert_too_large<T: std::fmt::Debug>(refused: Result<T, Error>, what: &str) {
    let Err(Error::TooLarge(error)) = refused else { panic!("{what}: {refused:?}") };
    assert_eq!((error.what, error.limit, error.bytes > error.limit), (what, 32, true));
    assert_says(&error, &[what, "32", "raise the limit"]);
}

#[tokio::test]
async fn s8_5_the_error_for_a_large_value_names_it_its_size_and_the_limit() -> Test {
    let sizes = Sizes { message: 32, progress: 32, inline: 32, value: 32, inbox: 10, text: 32 };
    let echo = Kind::new("echo", |_cx, text: String| async { Ok::<_, BodyError>(text) });
    let runtime = Runtime::builder(Memory::new()).sizes(sizes).kind(&echo).open().await?;
    let session = runtime.session("main").await?;
    let large = "x".repeat(33);
    let polls = Polls::default();
    let spawn = || session.spawn_ephemeral(polls.body());
    assert_too_large(session.spawn(echo.with(large.clone())).await, "input");
    assert_too_large(spawn().key(&large).await, "key");
    assert_too_large(spawn().message(&large).await, "message");
    assert_too_large(spawn().tool_call(&large).await, "tool call");
    assert_too_large(spawn().agent(&large).await, "agent's name");
    assert_eq!((all_tasks(&runtime).await.len(), polls.count()), (0, 0));
    let asker = large.clone();
    let task = session
        .spawn_ephemeral(move |cx: Context| async move {
            assert_too_large(cx.progress(&asker).await, "progress report");
            assert_too_large(cx.ask(&asker).await, "question");
            let about = Payload::encode(&asker)?;
            assert_too_large(cx.ask("?").about(about).await, "matter of the question");
            let step = cx.step("s", || async { Ok::<_, BodyError>("x".repeat(33)) }).await;
            assert!(step.is_err());
            cx.ask("which?").await?;
            Ok::<_, BodyError>(asker)
        })
        .await?;
    task.wait().await?;
    assert_too_large(task.send(&large).await, "message");
    assert_too_large(session.send(MessageRecipient::All, &large).await, "message");
    assert_too_large(task.send("hello").key(&large).await, "key");
    assert_too_large(task.cancel(&large).await, "reason");
    assert_too_large(session.cancel(&large).await, "reason");
    assert_too_large(task.answer(1, &large).await, "answer");
    task.answer(1, &"this").await?;
    let waited = task.wait().await?;
    let end = failure(&waited.task);
    assert_eq!(end.kind, FailureKind::TooLarge, "a result is too late to refuse");
    assert_says(&end, &[&TooLarge { what: "result", limit: 32, bytes: 35 }.to_string()]);
    Ok(())
}
