//! Sizes: what fits, what goes to a blob, what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod harness;

use harness::{Disk, Done, Gate, end_of, for_ever, fresh, on_every_store};
use offshoot::core::{Failure, FailureKind, Outcome, Owner, Payload, Sizes, TooLarge};
use offshoot::{Address, BodyError, Context, Error, Kind, Memory, Runtime, Sqlite};

const KIB: usize = 1 << 10;

fn too_large(error: Error) -> TooLarge {
    match error {
        Error::TooLarge(refused) => refused,
        other => panic!("not refused for its size: {other}"),
    }
}

#[tokio::test]
async fn s8_5_a_message_has_up_to_64_kib() {
    let (_runtime, session) = fresh().await;
    let task = session.spawn_ephemeral(|_| for_ever()).await.unwrap();
    task.send(&"x".repeat(64 * KIB)).await.unwrap();
    let refused = too_large(task.send(&"x".repeat(64 * KIB + 1)).await.unwrap_err());
    assert_eq!((refused.limit, refused.bytes), (64 * KIB, 64 * KIB + 1));
    let first = session.spawn_ephemeral(|_| for_ever()).message(&"x".repeat(64 * KIB + 1));
    too_large(first.await.unwrap_err());
}

#[tokio::test]
async fn s8_5_a_progress_report_has_up_to_4_kib() {
    let (_runtime, session) = fresh().await;
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
    let (_runtime, session) = fresh().await;
    for (bytes, stored) in [(1024 * KIB, "json"), (1024 * KIB + 1, "blob")] {
        let task = session
            .spawn_ephemeral(move |cx: Context| async move {
                let text = "x".repeat(bytes - 2);
                let step = cx.step("big", || async move { Ok::<_, BodyError>(text) }).await?;
                // The journal gives it back, wherever it is.
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

/// How many values a folder keeps beside its records.
fn blobs(folder: &std::path::Path) -> usize {
    let Ok(tasks) = std::fs::read_dir(folder.join("blobs")) else { return 0 };
    tasks.map(|task| std::fs::read_dir(task.unwrap().path()).unwrap().count()).sum()
}

#[tokio::test]
async fn s1_5_a_refused_spawn_leaves_no_large_input_behind() {
    let kind: Kind<String, ()> = Kind::new("measure", |_, _| for_ever());
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::builder(Sqlite::at(folder.path())).kind(&kind).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let large = || kind.with("x".repeat(2048 * KIB));
    let first = session.spawn(large()).name("it").key("k").await.unwrap();
    assert_eq!(blobs(folder.path()), 1);
    let refused = session.spawn(large()).name("it").await.unwrap_err();
    assert!(matches!(refused, Error::NameTaken { .. }), "{refused}");
    let other = kind.with("y".repeat(2048 * KIB));
    let reused = session.spawn(other).name("it").key("k").await.unwrap_err();
    assert!(matches!(reused, Error::KeyReused { .. }), "{reused}");
    let found = session.spawn(large()).name("it").key("k").await.unwrap();
    assert_eq!(found.id(), first.id());
    assert_eq!(blobs(folder.path()), 1);
}

#[tokio::test]
async fn s8_5_past_the_largest_value_a_typed_error_says_so() {
    let sizes = Sizes { value: 100, ..Sizes::default() };
    let runtime = Runtime::builder(Memory::new()).sizes(sizes).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let step = cx.step("big", || async { Ok::<_, BodyError>("x".repeat(101)) }).await;
            assert!(step.is_err());
            Ok::<_, BodyError>("x".repeat(101))
        })
        .await
        .unwrap();
    let end = end_of(&task).await;
    let Some(Outcome::Failed(failure)) = end.ended() else { panic!("{end:?}") };
    assert_eq!(failure.kind, FailureKind::TooLarge);
}

fn failure(end: &offshoot::core::Task) -> Failure {
    match end.ended() {
        Some(Outcome::Failed(failure)) => failure.clone(),
        other => panic!("it did not fail: {other:?}"),
    }
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
    let broken = failure(&end_of(&session.spawn_ephemeral(body).await.unwrap()).await);
    assert_eq!(broken.message, format!("{} …(+84 more chars)", "é".repeat(16)));
    assert_eq!(broken.causes.len(), 65);
    assert_eq!(broken.causes[0], format!("{} …(+1 more chars)", "c".repeat(32)));
    assert_eq!(broken.causes[64], "…(+6 more causes)");

    let body = |_| async { if true { panic!("{}", "p".repeat(1 << 20)) } else { Done::Ok(()) } };
    let panicked = failure(&end_of(&session.spawn_ephemeral(body).await.unwrap()).await);
    let more = (1 << 20) - 32;
    assert_eq!(panicked.message, format!("{} …(+{more} more chars)", "p".repeat(32)));
}

/// An error that is its own cause.
#[derive(Debug)]
struct Ouroboros;

impl std::fmt::Display for Ouroboros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("again")
    }
}

impl std::error::Error for Ouroboros {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self)
    }
}

#[tokio::test]
async fn s2_7_a_cause_chain_without_an_end_ends() {
    let (_runtime, session) = fresh().await;
    let task = session.spawn_ephemeral(|_| async { Err::<(), _>(Ouroboros) }).await.unwrap();
    let failure = failure(&end_of(&task).await);
    assert_eq!((failure.message.as_str(), failure.causes.len()), ("again", 65));
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
                children.push(cx.spawn_ephemeral(|_| async { Done::Ok(()) }).await?);
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
    gate.open(1);
    gate.arrived().await;
    task.send("there is room again").await.unwrap();
    gate.open(1);
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
                match cx.send(Address::Parent, "news").await {
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
