//! Bad input: a typed error that names the input and the way out, and no change.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{NameError, Payload, Sizes, TaskState};
use offshoot_runtime::{BodyError, Error, Kind, MessageRecipient, Runtime, TaskRequest};
use offshoot_store::{InjectedFault, Memory, OpenStore, ReadFuture, Store, StoreError};

use crate::support::{
    CommitFaults, CommitFilter, Gate, Polls, Test, all_tasks, assert_says, failure, never,
    obedient, open_on, poll_once, returns, session,
};

#[tokio::test]
async fn the_error_for_a_bad_name_names_the_fault_and_the_rule() -> Test {
    let (runtime, session) = session().await;
    let long = "n".repeat(65);
    let cases: [(&str, &[&str]); 8] = [
        ("  ", &["blank", "at least one"]),
        ("\u{200b}\u{202e}", &["blank", "at least one visible"]),
        ("do\u{200b}cs", &["invisible", "'\\u{200b}'", "take it out"]),
        ("docs\u{202e}fdp", &["invisible", "'\\u{202e}'", "take it out"]),
        ("Broadcast", &["broadcast", "reserved", "choose another"]),
        (&long, &["64", "65", "shorten"]),
        ("src/lib.rs", &["'/'", "use letters"]),
        ("0190a6b2-7c1e-7d3a-9b1f-3f6d2c5e8a01", &["UUID", "choose another"]),
    ];
    for (name, words) in cases {
        let refused = session.spawn_ephemeral(never).name(name).await.expect_err("bad");
        assert!(matches!(refused, Error::Name(_)));
        assert_says(&refused, words);
        assert!(matches!(runtime.session(name).await, Err(Error::Name(_))), "{name}");
    }
    assert!(all_tasks(&runtime).await.is_empty());
    assert_eq!(runtime.sessions(None, 10).await?.items.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_profile_must_be_able_to_begin_a_handle() -> Test {
    let (runtime, session) = session().await;
    for (profile, expected) in [
        (" ", NameError::Blank),
        ("a/b", NameError::Character('/')),
        ("a\nb", NameError::Character('\n')),
        (&*"p".repeat(65), NameError::TooLong(65)),
    ] {
        let refused = session.spawn_ephemeral(never).profile(profile).await;
        let Err(Error::BadProfile(named, error)) = refused else { panic!("{refused:?}") };
        assert_eq!((named.as_str(), error), (profile.trim(), expected));
    }
    assert!(all_tasks(&runtime).await.is_empty());
    Ok(())
}

#[tokio::test]
async fn an_unknown_handle_suggests_the_nearest() -> Test {
    let (runtime, session) = session().await;
    session.spawn_ephemeral(never).name("documents").await?;
    let unknown = session.task("docments").await.expect_err("unknown");
    assert!(matches!(&unknown, Error::NotFound { nearest: Some(near), .. } if near == "documents"));
    assert_says(&unknown, &["docments", "did you mean", "documents"]);
    let far = session.task("zzzz").await.expect_err("unknown");
    assert!(matches!(far, Error::NotFound { nearest: None, .. }));
    session.spawn_ephemeral(never).name("a").await?;
    for nothing in ["", "  ", "/", "//", "b"] {
        for found in [session.task(nothing).await, runtime.task(nothing).await] {
            assert!(matches!(found, Err(Error::NotFound { nearest: None, .. })), "{found:?}");
        }
    }
    Ok(())
}

/// A value with arrays nested this deep.
fn nested(depth: usize) -> serde_json::Value {
    (1..depth).fold(serde_json::json!([]), |inner, _| [inner].into())
}

#[tokio::test]
async fn a_value_that_could_not_be_read_back_is_refused_when_it_is_written() -> Test {
    let echo = Kind::new("echo", |_cx, number: f64| async move { Ok::<_, BodyError>(number) });
    let runtime = Runtime::builder(Memory::new()).kind(&echo).open().await?;
    let session = runtime.session("main").await?;
    let refused = session.spawn(echo.with(f64::NAN)).await.expect_err("no number");
    assert!(matches!(refused, Error::Payload(_)), "{refused:?}");
    assert_says(&refused, &["NaN", "finite number"]);
    assert!(all_tasks(&runtime).await.is_empty());

    let infinite = session.spawn_ephemeral(returns(vec![1.0, f64::INFINITY])).await?;
    assert_says(&failure(&infinite.wait().await?.task), &["inf", "finite number"]);
    let deep = session.spawn_ephemeral(returns(nested(128))).await?;
    assert_says(&failure(&deep.wait().await?.task), &["128 levels", "flatten it"]);
    let deepest = session.spawn_ephemeral(returns(nested(127))).await?;
    assert_eq!(deepest.wait().await?.decode::<serde_json::Value>()?, nested(127));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_zero_is_refused_and_huge_durations_are_fine() -> Test {
    let (runtime, session) = session().await;
    let polls = Polls::default();
    let zero = session.spawn_ephemeral(polls.body()).timeout(Duration::ZERO).await;
    let zero = zero.expect_err("no time at all");
    assert!(matches!(zero, Error::ZeroDuration { what: "a timeout" }));
    assert_says(&zero, &["timeout", "longer than zero"]);
    assert_eq!((all_tasks(&runtime).await.len(), polls.count()), (0, 0));
    let huge = Duration::MAX;
    let patient = session.spawn_ephemeral(obedient).timeout(huge).grace(huge).await?;
    patient.cancel("enough").grace(huge).await?;
    assert_eq!(patient.wait().timeout(huge).await?.task.state, TaskState::Cancelled);
    let abrupt = session.spawn_ephemeral(never).await?;
    abrupt.cancel("at once").grace(Duration::ZERO).await?;
    abrupt.wait().timeout(huge).await?;
    session.spawn_ephemeral(obedient).await?;
    assert_eq!(runtime.shutdown(huge).await?, 0);
    Ok(())
}

#[tokio::test]
async fn a_closed_runtime_refuses_every_operation() -> Test {
    let (runtime, session) = session().await;
    let task = session.spawn_ephemeral(returns(7)).await?;
    let waited = task.wait().await?;
    let rows = session.drain(10).await?;
    runtime.shutdown(Duration::from_secs(1)).await?;
    let polls = Polls::default();
    let refused = [
        session.spawn_ephemeral(polls.body()).await.map(drop),
        session.task("function-1").await.map(drop),
        session.tasks().await.map(drop),
        session.counts().await.map(drop),
        session.drain(1).await.map(drop),
        session.receive(1).await.map(drop),
        session.history(0, 1).await.map(drop),
        session.append([]).await,
        session.send(MessageRecipient::All, "hello").await.map(drop),
        session.cancel("all").await.map(drop),
        session.wait([&task]).await.map(drop),
        session.events(offshoot_core::Cursor::START).next().await.map(drop),
        task.record().await.map(drop),
        task.snapshot().await.map(drop),
        task.wait().await.map(drop),
        task.watch().next().await.expect("an answer").map(drop),
        task.send("hello").await.map(drop),
        task.cancel("enough").await.map(drop),
        task.answer(1, &"x").await,
        task.questions().await.map(drop),
        task.peek().await.map(drop),
        task.why().await.map(drop),
        rows.ack().await,
        waited.ack().await,
    ];
    for (number, refused) in refused.into_iter().enumerate() {
        assert!(matches!(refused, Err(Error::Closed)), "{number}: {refused:?}");
    }
    assert_eq!(polls.count(), 0);
    assert_says(&Error::Closed, &["closed", "open it again"]);
    Ok(())
}

#[tokio::test]
async fn a_kind_must_be_able_to_begin_a_handle() {
    let kind = |name: &str| Kind::new(name, |_cx, (): ()| async { Ok::<_, BodyError>(()) });
    let memory = Memory::new();
    for bad in ["", " ", "a/b", "all", &"k".repeat(65)] {
        let refused = Runtime::builder(memory.clone()).kind(&kind(bad)).open().await;
        assert!(matches!(refused, Err(Error::BadKind(name, _)) if name == bad.trim()), "{bad:?}");
    }
    open_on(&memory).await;
}

#[tokio::test]
async fn kinds_and_profiles_are_trimmed_as_names_are() -> Test {
    let kind = Kind::new(" pad ", |_cx, (): ()| async { Ok::<_, BodyError>(()) });
    let runtime = Runtime::builder(Memory::new()).kind(&kind).open().await?;
    let session = runtime.session("main").await?;
    let task = session.spawn(kind.with(())).await?;
    assert_eq!((task.handle(), session.task(" PAD-1 ").await?.id()), ("pad-1", task.id()));
    session.spawn(TaskRequest::new("\tpad", Payload::Null)).await?;
    let reviewer = session.spawn_ephemeral(never).profile(" review\n").await?;
    assert_eq!(session.task("review-1").await?.id(), reviewer.id());
    for list in [session.tasks().kind("pad"), session.tasks().kind(" pad ")] {
        assert_eq!(list.await?.items.len(), 2);
    }
    assert_eq!(session.tasks().profile(" review").await?.items.len(), 1);

    let padded = Kind::new("pad ", |_cx, (): ()| async { Ok::<_, BodyError>(()) });
    let twice = Runtime::builder(Memory::new()).kind(&kind).kind(&padded).open().await;
    assert!(matches!(twice, Err(Error::DuplicateKind(name)) if &*name == "pad"));
    Ok(())
}

#[tokio::test]
async fn a_result_too_large_for_its_record_names_the_way_to_read_it() -> Test {
    let sizes = Sizes { inline: 16, ..Sizes::default() };
    let runtime = Runtime::builder(Memory::new()).sizes(sizes).open().await?;
    let session = runtime.session("main").await?;
    let large = "x".repeat(64);
    let waited = session.spawn_ephemeral(returns(large.clone())).await?.wait().await?;
    let refused = waited.decode::<String>().expect_err("beside the record");
    assert_says(&refused, &["66 bytes", "too large for its record", "`Waited::load`"]);
    assert!(!refused.to_string().contains("fit its type"), "{refused}");
    assert_eq!(waited.load::<String>().await?, large);
    assert_says(&waited.load::<u8>().await.expect_err("a text"), &["does not fit its type"]);
    Ok(())
}

#[tokio::test]
async fn a_failing_store_is_reported_and_nothing_changes() -> Test {
    let trouble = CommitFaults::none();
    let runtime = trouble.open().await;
    let session = runtime.session("main").await?;
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then(())).await?;
    let before = task.record().await?;
    trouble.start(CommitFilter::Everything, InjectedFault::Before);
    let polls = Polls::default();
    let refused = [
        runtime.session("another").await.map(drop),
        session.spawn_ephemeral(polls.body()).await.map(drop),
        task.send("hello").await.map(drop),
        task.cancel("enough").await.map(drop),
        session.cancel("enough").await.map(drop),
    ];
    for (number, refused) in refused.into_iter().enumerate() {
        assert!(
            matches!(refused, Err(Error::Store(StoreError::NotWritten(_)))),
            "{number}: {refused:?}"
        );
    }
    trouble.stop();
    assert_eq!(task.record().await?, before);
    assert_eq!((all_tasks(&runtime).await.len(), polls.count()), (1, 0));
    gate.open();
    task.wait().await?.decode::<()>()
}

/// A store that cannot be opened.
struct Unopenable(StoreError);

impl OpenStore for Unopenable {
    fn open_store(self) -> ReadFuture<Arc<dyn Store>> {
        ReadFuture::ready(Err(self.0))
    }
}

#[tokio::test]
async fn a_locked_full_newer_or_corrupt_store_fails_at_open() {
    let path = || "/data".into();
    let cases: [(StoreError, &[&str]); 4] = [
        (StoreError::Locked { path: path(), holder: "process 7".into() }, &["/data", "process 7"]),
        (StoreError::Full { path: path() }, &["/data", "full", "free some space"]),
        (StoreError::Newer { path: path(), found: 9, known: 3 }, &["/data", "9", "3", "newer"]),
        (StoreError::Corrupt { path: path(), detail: "page 2".into() }, &["/data", "page 2"]),
    ];
    for (error, words) in cases {
        let refused = Runtime::builder(Unopenable(error)).open().await.expect_err("cannot open");
        assert!(matches!(refused, Error::Store(_)));
        assert_says(&refused, words);
    }
}

#[test]
fn a_runtime_outside_tokio_is_refused_with_the_way_out() {
    let opening = Runtime::builder(Memory::new()).open();
    let std::task::Poll::Ready(opened) = poll_once(&mut Box::pin(opening)) else {
        panic!("it waits")
    };
    let refused = opened.expect_err("no executor");
    assert!(matches!(refused, Error::NoExecutor));
    assert_says(&refused, &["Tokio", "environment"]);
}

#[tokio::test]
async fn an_overlong_handle_or_a_path_with_a_gap_is_not_found() -> Test {
    let (runtime, session) = session().await;
    session.spawn_ephemeral(never).name("docs").await?;
    let long = "x".repeat(1_000_000);
    for error in [session.task(&long).await.unwrap_err(), runtime.task(&long).await.unwrap_err()] {
        assert_says(&error, &["there is no task", "more chars"]);
        assert!(error.to_string().len() < 300);
    }
    for path in ["docs//x", "docs/", "/docs"] {
        assert_says(&runtime.task(path).await.unwrap_err(), &[path]);
    }
    Ok(())
}
