//! Messages with a key: sent again they are found, and messages of other senders
//! are not lost.

use offshoot_core::{MessageState, Owner, Receipt};
use offshoot_runtime::{BodyError, Context, Error, Kind, MessageRecipient, Runtime};

use crate::support::{Disk, Done, Gate, message_texts, on_every_store, session};

on_every_store!(
    s5_3_two_senders_that_use_one_key_lose_nothing,
    s5_3_a_key_with_another_text_is_refused_with_the_way_out,
    s5_3_a_key_to_the_session_is_each_tasks_own,
    s5_3_a_key_finds_the_message_that_a_continued_task_began_with,
);

/// Reads all messages once the gate opens, and returns them.
async fn read_all(cx: Context, gate: Gate) -> Result<Vec<String>, BodyError> {
    gate.pass().await;
    let rows = cx.drain(16).await?;
    rows.ack().await?;
    gate.pass().await;
    Ok(message_texts(&rows))
}

async fn s5_3_two_senders_that_use_one_key_lose_nothing(disk: &impl Disk) {
    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let gate = Gate::new();
    let body = gate.clone();
    let task = session.spawn_ephemeral(|cx| read_all(cx, body)).name("reader").await.unwrap();
    let by_host = runtime.task("reader").await.unwrap();
    let first = task.send("from the session").key("k").await.unwrap().first().unwrap();
    let second = by_host.send("from the host").key("k").await.unwrap().first().unwrap();
    assert_ne!(first.message, second.message);
    let again = by_host.send("from the host").key("k").await.unwrap().first().unwrap();
    assert_eq!(again, second);
    gate.admit(1);
    gate.arrived().await;
    gate.arrived().await;
    let read = task.send("from the session").key("k").await.unwrap().first().unwrap();
    assert_eq!((read.message, read.state), (first.message, MessageState::Consumed));
    gate.admit(1);
    let heard = task.wait().await.unwrap().decode::<Vec<String>>().unwrap();
    assert_eq!(heard, ["from the session", "from the host"]);
}

async fn s5_3_a_key_with_another_text_is_refused_with_the_way_out(disk: &impl Disk) {
    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let gate = Gate::new();
    let body = gate.clone();
    let task = session.spawn_ephemeral(|cx| read_all(cx, body)).await.unwrap();
    let first = task.send("left").key("turn 7").await.unwrap().first().unwrap();
    let refused = task.send("right").key("turn 7").await.unwrap_err();
    let Error::MessageKeyReused { key, to, message } = &refused else { panic!("{refused:?}") };
    let recipient = Owner::Task(task.id());
    assert_eq!((&**key, *to, *message), ("turn 7", recipient, first.message));
    let text = refused.to_string();
    for word in ["turn 7", &task.id().to_string(), "use a new key"] {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
    gate.admit(2);
    assert_eq!(task.wait().await.unwrap().decode::<Vec<String>>().unwrap(), ["left"]);
    let late = task.send("right").key("turn 7").await.unwrap_err();
    assert!(matches!(late, Error::MessageKeyReused { .. }), "{late:?}");
}

async fn s5_3_a_key_to_the_session_is_each_tasks_own(disk: &impl Disk) {
    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    for name in ["one", "two"] {
        let body = move |cx: Context| async move {
            let send = |text: String| {
                let cx = cx.clone();
                async move { cx.send(MessageRecipient::Parent, &text).key("report").await }
            };
            let first = send(format!("from {name}")).await?.first();
            let again = send(format!("from {name}")).await?.first();
            let other = send("something else".to_owned()).await.unwrap_err();
            assert!(matches!(other, Error::MessageKeyReused { .. }), "{other:?}");
            Ok::<_, BodyError>((first, again))
        };
        let task = session.spawn_ephemeral(body).name(name).await.unwrap();
        let (first, again) =
            task.wait().await.unwrap().decode::<(Option<Receipt>, Option<Receipt>)>().unwrap();
        assert!(first.is_some() && first == again, "{first:?}, then {again:?}");
    }
    assert_eq!(message_texts(&session.drain(16).await.unwrap()), ["from one", "from two"]);
}

async fn s5_3_a_key_finds_the_message_that_a_continued_task_began_with(disk: &impl Disk) {
    let echo: Kind<(), Vec<String>> = Kind::new("echo", |cx: Context, ()| async move {
        let rows = cx.receive(8).await?;
        rows.ack().await?;
        Ok::<_, BodyError>(message_texts(&rows))
    })
    .resumable();
    let runtime = Runtime::builder(disk.store()).kind(&echo).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let old = session.spawn(echo.with(())).name("echo").message("one").await.unwrap();
    old.wait().await.unwrap();
    let first = old.send("two").key("k").await.unwrap().first().unwrap();
    let again = old.send("two").key("k").await.unwrap().first().unwrap();
    assert_eq!((first.task, first.message), (again.task, again.message));
    let refused = old.send("three").key("k").await.unwrap_err();
    assert!(matches!(refused, Error::MessageKeyReused { .. }), "{refused:?}");
    // The same key of another sender is another message, and makes another task.
    let by_host = runtime.task(&old.id().to_string()).await.unwrap();
    let other = by_host.send("four").key("k").await.unwrap().first().unwrap();
    assert_ne!((other.task, other.message), (first.task, first.message));
    for (receipt, text) in [(first, "two"), (other, "four")] {
        let task = runtime.task(&receipt.task.to_string()).await.unwrap();
        assert_eq!(task.wait().await.unwrap().decode::<Vec<String>>().unwrap(), [text]);
    }
}

#[tokio::test]
async fn s5_5_a_question_repeated_with_its_key_is_asked_once_and_another_is_refused() {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let body = gate.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let about = || offshoot_core::Payload::encode("rm");
            let ask = |text: &str| cx.ask(text).key("k");
            let one = ask("which?").about(about()?).await?;
            let again = ask("which?").about(about()?).await?;
            assert_eq!(one, again);
            let others = [
                ask("where?").about(about()?),
                ask("which?"),
                ask("which?").about(about()?).approval(),
            ];
            for other in others {
                let refused = other.await.unwrap_err();
                let Error::QuestionKeyReused { key, number } = &refused else {
                    panic!("{refused}")
                };
                assert_eq!((&**key, *number), ("k", 1));
                assert!(refused.to_string().contains("use a new key"), "{refused}");
            }
            body.pass().await;
            Done::Ok(())
        })
        .await
        .unwrap();
    task.wait().await.unwrap();
    task.answer(1, &"left").await.unwrap();
    gate.arrived().await;
    assert_eq!(task.questions().await.unwrap().len(), 1);
    gate.admit(1);
    task.wait().await.unwrap().decode::<()>().unwrap();
}

#[tokio::test]
async fn s5_5_questions_asked_at_once_under_one_key_are_one_question() {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let ask =
                || async { cx.ask("which?").key("k").await?.decode::<u32>().map_err(Error::from) };
            let (one, other) = futures_util::join!(ask(), ask());
            Ok::<_, BodyError>((one?, other?))
        })
        .await
        .unwrap();
    task.wait().await.unwrap();
    task.answer(1, &7).await.unwrap();
    assert_eq!(task.wait().await.unwrap().decode::<(u32, u32)>().unwrap(), (7, 7));
    assert_eq!(task.questions().await.unwrap().len(), 1);
}
