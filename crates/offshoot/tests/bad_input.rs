//! Bad input: a typed error that names the thing and the way out, and nothing
//! changes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::trouble::{Of, Trouble, open_faulty};
use common::{Gate, Polls, all_tasks, never, obedient, open, returns, session};
use offshoot::core::{Cap, CapReached, Caps, Ceiling, Level, NameError, Payload, Sizes, TooLarge};
use offshoot::store::{OpenStore, Read, Store, StoreError};
use offshoot::{
    Address, BodyError, Context, Error, Kind, Memory, Request, Runtime, Session, TaskRef,
};
use offshoot_store::Fault;

type Test = Result<(), Error>;

fn assert_says(error: &impl std::fmt::Display, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
}

#[tokio::test]
async fn bad_input_names_say_what_is_wrong_and_what_would_be_right() -> Test {
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
        let refused = session.spawn_ephemeral(never()).name(name).await.expect_err("bad");
        assert!(matches!(refused, Error::Name(_)));
        assert_says(&refused, words);
        assert!(matches!(runtime.session(name).await, Err(Error::Name(_))), "{name}");
    }
    assert!(all_tasks(&runtime).await.is_empty());
    assert_eq!(runtime.sessions(None, 10).await?.items.len(), 1);
    Ok(())
}

#[tokio::test]
async fn bad_input_profiles_must_be_able_to_begin_a_handle() -> Test {
    let (runtime, session) = session().await;
    for (profile, expected) in [
        (" ", NameError::Blank),
        ("a/b", NameError::Character('/')),
        ("a\nb", NameError::Character('\n')),
        (&*"p".repeat(65), NameError::TooLong(65)),
    ] {
        let refused = session.spawn_ephemeral(never()).profile(profile).await;
        let Err(Error::BadProfile(named, error)) = refused else { panic!("{refused:?}") };
        assert_eq!((named.as_str(), error), (profile, expected));
    }
    assert!(all_tasks(&runtime).await.is_empty());
    Ok(())
}

#[tokio::test]
async fn bad_input_an_unknown_handle_suggests_the_nearest() -> Test {
    let (runtime, session) = session().await;
    session.spawn_ephemeral(never()).name("documents").await?;
    let unknown = session.task("docments").await.expect_err("unknown");
    assert!(matches!(&unknown, Error::NotFound { nearest: Some(near), .. } if near == "documents"));
    assert_says(&unknown, &["docments", "did you mean", "documents"]);
    let far = session.task("zzzz").await.expect_err("unknown");
    assert!(matches!(far, Error::NotFound { nearest: None, .. }));
    session.spawn_ephemeral(never()).name("a").await?;
    for nothing in ["", "  ", "/", "//", "b"] {
        for found in [session.task(nothing).await, runtime.task(nothing).await] {
            assert!(matches!(found, Err(Error::NotFound { nearest: None, .. })), "{found:?}");
        }
    }
    Ok(())
}

/// A value whose arrays lie this deep in one another.
fn nested(depth: usize) -> serde_json::Value {
    (1..depth).fold(serde_json::json!([]), |inner, _| [inner].into())
}

#[tokio::test]
async fn bad_input_a_value_that_could_not_be_read_back_is_refused_when_it_is_written() -> Test {
    let echo = Kind::new("echo", |_cx, number: f64| async move { Ok::<_, BodyError>(number) });
    let runtime = Runtime::builder(Memory::new()).kind(&echo).open().await?;
    let session = runtime.session("main").await?;
    let refused = session.spawn(echo.with(f64::NAN)).await.expect_err("no number");
    assert!(matches!(refused, Error::Payload(_)), "{refused:?}");
    assert_says(&refused, &["NaN", "finite number"]);
    assert!(all_tasks(&runtime).await.is_empty());

    let infinite = session.spawn_ephemeral(returns(vec![1.0, f64::INFINITY])).await?;
    assert_says(&common::failure(&infinite.wait().await?), &["inf", "finite number"]);
    let deep = session.spawn_ephemeral(returns(nested(128))).await?;
    assert_says(&common::failure(&deep.wait().await?), &["128 levels", "flatten it"]);
    let deepest = session.spawn_ephemeral(returns(nested(127))).await?;
    assert_eq!(deepest.wait().await?.decode::<serde_json::Value>()?, nested(127));
    Ok(())
}

async fn capped(caps: Caps) -> Result<(Runtime, Session), Error> {
    let runtime = Runtime::builder(Memory::new()).caps(caps).open().await?;
    let session = runtime.session("main").await?;
    Ok((runtime, session))
}

fn assert_capped(refused: Result<TaskRef, Error>, cap: Cap, limit: u64, used: u64) {
    let Err(Error::Cap(reached)) = refused else { panic!("{refused:?}") };
    assert_eq!(reached, CapReached { cap, limit, used });
    assert_says(&reached, &[&cap.to_string(), &limit.to_string(), "raise the cap"]);
}

#[tokio::test]
async fn bad_input_a_cap_that_is_reached_names_itself_and_the_present_use() -> Test {
    let two = Ceiling { session: Some(2), ..Ceiling::NONE };
    let (runtime, session) = capped(Caps { live: two, ..Caps::default() }).await?;
    let first = session.spawn_ephemeral(obedient()).await?;
    session.spawn_ephemeral(never()).await?;
    let polls = Polls::default();
    let refused = session.spawn_ephemeral(polls.body()).await;
    assert_capped(refused, Cap::Live(Level::Session), 2, 2);
    assert_eq!((all_tasks(&runtime).await.len(), polls.count()), (2, 0));
    first.cancel("room").await?;
    first.wait().await?;
    session.spawn_ephemeral(polls.body()).await?;

    let (_runtime, session) = capped(Caps { total: two, ..Caps::default() }).await?;
    for _ in 0..2 {
        session.spawn_ephemeral(returns(())).await?.wait().await?;
    }
    let refused = session.spawn_ephemeral(returns(())).await;
    assert_capped(refused, Cap::Total(Level::Session), 2, 2);

    let one = Ceiling { owner: Some(1), ..Ceiling::NONE };
    let (_runtime, session) =
        capped(Caps { executing: one, queued: one, ..Caps::default() }).await?;
    session.spawn_ephemeral(never()).await?;
    session.spawn_ephemeral(never()).await?;
    let refused = session.spawn_ephemeral(never()).await;
    assert_capped(refused, Cap::Queued(Level::Owner), 1, 1);
    Ok(())
}

#[tokio::test]
async fn bad_input_the_depth_cap_names_itself() -> Test {
    let (_runtime, session) = capped(Caps { depth: 0, ..Caps::default() }).await?;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            assert_capped(cx.spawn_ephemeral(never()).await, Cap::Depth, 0, 1);
            Ok::<_, BodyError>(())
        })
        .await?;
    task.wait().await?.decode::<()>()
}

#[tokio::test(start_paused = true)]
async fn bad_input_zero_and_huge_durations() -> Test {
    let (runtime, session) = session().await;
    let polls = Polls::default();
    let zero = session.spawn_ephemeral(polls.body()).timeout(Duration::ZERO).await;
    let zero = zero.expect_err("no time at all");
    assert!(matches!(zero, Error::ZeroDuration { what: "a timeout" }));
    assert_says(&zero, &["timeout", "longer than zero"]);
    assert_eq!((all_tasks(&runtime).await.len(), polls.count()), (0, 0));
    let huge = Duration::MAX;
    let spawn = session.spawn_ephemeral(|cx: Context| async move {
        cx.sleep("for ever", Duration::MAX).await?;
        Ok::<_, BodyError>(())
    });
    let sleeper = spawn.timeout(huge).grace(huge).await?;
    sleeper.cancel("enough").grace(huge).await?;
    assert_eq!(sleeper.wait().timeout(huge).await?.task.state, offshoot::core::State::Cancelled);
    let abrupt = session.spawn_ephemeral(never()).await?;
    abrupt.cancel("at once").grace(Duration::ZERO).await?;
    abrupt.wait().timeout(huge).await?;
    session.spawn_ephemeral(obedient()).await?;
    assert_eq!(runtime.shutdown(huge).await?, 0);
    Ok(())
}

fn too_large<T: std::fmt::Debug>(refused: Result<T, Error>, what: &str) {
    let Err(Error::TooLarge(error)) = refused else { panic!("{what}: {refused:?}") };
    assert_eq!((error.what, error.limit, error.bytes > error.limit), (what, 32, true));
    assert_says(&error, &[what, "32", "raise the limit"]);
}

#[tokio::test]
async fn bad_input_too_large_payloads_name_what_how_large_and_the_limit() -> Test {
    let sizes = Sizes { message: 32, progress: 32, inline: 32, value: 32, inbox: 10, text: 32 };
    let echo = Kind::new("echo", |_cx, text: String| async { Ok::<_, BodyError>(text) });
    let runtime = Runtime::builder(Memory::new()).sizes(sizes).kind(&echo).open().await?;
    let session = runtime.session("main").await?;
    let large = "x".repeat(33);
    let polls = Polls::default();
    let spawn = || session.spawn_ephemeral(polls.body());
    too_large(session.spawn(echo.with(large.clone())).await, "input");
    too_large(spawn().key(&large).await, "key");
    too_large(spawn().message(&large).await, "message");
    too_large(spawn().tool_call(&large).await, "tool call");
    too_large(spawn().agent(&large).await, "agent's name");
    assert_eq!((all_tasks(&runtime).await.len(), polls.count()), (0, 0));
    let asker = large.clone();
    let task = session
        .spawn_ephemeral(move |cx: Context| async move {
            too_large(cx.progress(&asker).await, "progress report");
            too_large(cx.ask(&asker).await, "question");
            let about = Payload::encode(&asker)?;
            too_large(cx.ask("?").about(about).await, "matter of the question");
            let step = cx.step("s", || async { Ok::<_, BodyError>("x".repeat(33)) }).await;
            assert!(step.is_err());
            cx.ask("which?").await?;
            Ok::<_, BodyError>(asker)
        })
        .await?;
    task.wait().await?;
    too_large(task.send(&large).await, "message");
    too_large(session.send(Address::All, &large).await, "message");
    too_large(task.send("hello").key(&large).await, "key");
    too_large(task.cancel(&large).await, "reason");
    too_large(session.cancel(&large).await, "reason");
    too_large(task.answer(1, &large).await, "answer");
    task.answer(1, &"this").await?;
    let waited = task.wait().await?;
    let end = common::failure(&waited);
    assert_eq!(end.kind, offshoot::core::FailureKind::TooLarge, "a result is too late to refuse");
    assert_says(&end, &[&TooLarge { what: "result", limit: 32, bytes: 35 }.to_string()]);
    Ok(())
}

#[tokio::test]
async fn bad_input_a_key_reused_for_another_request() -> Test {
    let echo = Kind::new("echo", |_cx, text: String| async { Ok::<_, BodyError>(text) });
    let runtime = Runtime::builder(Memory::new()).kind(&echo).open().await?;
    let session = runtime.session("main").await?;
    let first = session.spawn(echo.with("a".into())).key("k").await?;
    let again = session.spawn(echo.with("a".into())).key("k").await?;
    assert_eq!(again.id(), first.id());
    let polls = Polls::default();
    let others = [
        session.spawn(echo.with("b".into())).key("k").await,
        session.spawn(echo.with("a".into())).key("k").name("docs").await,
        session.spawn(echo.with("a".into())).key("k").profile("scout").await,
        session.spawn_ephemeral(polls.body()).key("k").await,
    ];
    for other in others {
        let refused = other.expect_err("another request");
        let Error::KeyReused { key, task } = &refused else { panic!("{refused:?}") };
        assert_eq!((&**key, *task), ("k", first.id()));
        assert_says(&refused, &["k", &first.id().to_string(), "use a new key"]);
    }
    assert_eq!((all_tasks(&runtime).await.len(), polls.count()), (1, 0));
    Ok(())
}

#[tokio::test]
async fn bad_input_the_same_large_request_under_a_key_is_the_same_request() -> Test {
    let echo = Kind::new("echo", |_cx, text: String| async move { Ok::<_, BodyError>(text.len()) });
    let sizes = Sizes { inline: 16, ..Sizes::default() };
    let runtime = Runtime::builder(Memory::new()).sizes(sizes).kind(&echo).open().await?;
    let session = runtime.session("main").await?;
    let first = session.spawn(echo.with("a".repeat(100))).key("k").await?;
    let again = session.spawn(echo.with("a".repeat(100))).key("k").await?;
    assert_eq!(again.id(), first.id());
    let other = session.spawn(echo.with("b".repeat(100))).key("k").await;
    assert!(matches!(other, Err(Error::KeyReused { .. })), "{other:?}");
    Ok(())
}

#[tokio::test]
async fn bad_input_a_closed_runtime_refuses_everything_and_says_so() -> Test {
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
        session.send(Address::All, "hello").await.map(drop),
        session.cancel("all").await.map(drop),
        session.wait([&task]).await.map(drop),
        session.events(offshoot::core::Cursor::START).next().await.map(drop),
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
async fn bad_input_kinds() -> Test {
    let kind = |name: &str| Kind::new(name, |_cx, (): ()| async { Ok::<_, BodyError>(()) });
    let memory = Memory::new();
    for bad in ["", " ", "a/b", "all", &"k".repeat(65)] {
        let refused = Runtime::builder(memory.clone()).kind(&kind(bad)).open().await;
        assert!(matches!(refused, Err(Error::BadKind(name, _)) if name == bad), "{bad:?}");
    }
    let twice = Runtime::builder(memory.clone()).kind(&kind("index")).kind(&kind("index"));
    let twice = twice.open().await.expect_err("twice");
    assert!(matches!(twice, Error::DuplicateKind(_)));
    assert_says(&twice, &["index", "twice", "name of its own"]);
    let runtime = common::open_on(&memory).await;
    let session = runtime.session("main").await?;
    let unknown = session.spawn(Request::new("index", Payload::Null)).await.expect_err("unknown");
    assert!(matches!(unknown, Error::UnknownKind(_)));
    assert_says(&unknown, &["index", "register it before"]);
    Ok(())
}

#[tokio::test]
async fn bad_input_a_store_that_fails_is_told_and_nothing_changes() -> Test {
    let memory = Memory::new();
    let trouble = Trouble::none();
    let runtime = open_faulty(&trouble.on(&memory)).await;
    let session = runtime.session("main").await?;
    let gate = Gate::new();
    let task = session.spawn_ephemeral(gate.then(())).await?;
    let before = task.record().await?;
    trouble.start(Of::Everything, Fault::Before);
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
    fn open_store(self) -> Read<Arc<dyn Store>> {
        Read::ready(Err(self.0))
    }
}

#[tokio::test]
async fn bad_input_a_store_that_is_locked_full_newer_or_corrupt_says_so_at_open() {
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

#[tokio::test]
async fn bad_input_a_second_runtime_on_one_store_is_told_who_holds_it() {
    let memory = Memory::new();
    let first = common::open_on(&memory).await;
    let second = Runtime::builder(memory.clone()).open().await.expect_err("held");
    assert!(matches!(second, Error::Store(StoreError::Locked { .. })));
    assert_says(&second, &["in use by"]);
    drop(first);
    open().await;
    common::open_on(&memory).await;
}

#[test]
fn bad_input_a_runtime_outside_tokio_says_what_it_needs() {
    let opening = Runtime::builder(Memory::new()).open();
    let std::task::Poll::Ready(opened) = common::poll_once(&mut Box::pin(opening)) else {
        panic!("it waits")
    };
    let refused = opened.expect_err("no executor");
    assert!(matches!(refused, Error::NoExecutor));
    assert_says(&refused, &["Tokio", "environment"]);
}
