//! Backends: declared capabilities, and hooks.

use std::sync::Arc;

use offshoot_core::{Capabilities, InboxMessage, Outcome, Payload, Recovery, Task, TaskState};
use offshoot_runtime::{
    Backend, BodyError, BodyResult, BoxFuture, Context, Error, Kind, ReconcileResult, Runtime,
    TaskRequest,
};
use offshoot_store::Memory;
use tokio::sync::watch;

use crate::support::{Polls, Test, all_tasks, assert_says, never, open, open_on, returns};

/// The calls of a backend, in order.
#[derive(Clone, Debug, Default)]
struct Calls(Arc<watch::Sender<Vec<String>>>);

impl Calls {
    fn note(&self, call: &str, task: &Task) {
        self.0.send_modify(|calls| calls.push(format!("{call} {}", task.handle())));
    }

    fn all(&self) -> Vec<String> {
        self.0.borrow().clone()
    }

    async fn until(&self, call: &str) {
        let mut calls = self.0.subscribe();
        calls.wait_for(|calls| calls.iter().any(|one| one == call)).await.expect("alive");
    }
}

/// Runs until it is cancelled, and reconciles old tasks as it is set to.
#[derive(Debug)]
struct Plugin {
    calls: Calls,
    can: Capabilities,
    found: fn() -> ReconcileResult,
}

impl Plugin {
    fn new(calls: &Calls) -> Self {
        let can = Capabilities::CANCEL.with(Capabilities::MESSAGES);
        Self { calls: calls.clone(), can, found: || ReconcileResult::ByPolicy }
    }
}

impl Backend for Plugin {
    fn capabilities(&self) -> Capabilities {
        self.can
    }

    fn recovery(&self) -> Recovery {
        Recovery::Restart
    }

    fn start(&self, cx: Context) -> BoxFuture<BodyResult> {
        let calls = self.calls.clone();
        Box::pin(async move {
            let record = cx.task("self").await?.record().await?;
            calls.note("start", &record);
            cx.cancelled().await;
            Err(BodyError::Cancelled)
        })
    }

    fn deliver(&self, task: &Task, _message: &InboxMessage) {
        self.calls.note("deliver", task);
    }

    fn cancel(&self, task: &Task) {
        self.calls.note("cancel", task);
    }

    fn reconcile(&self, task: &Task) -> BoxFuture<ReconcileResult> {
        self.calls.note("reconcile", task);
        Box::pin(std::future::ready((self.found)()))
    }
}

fn probe() -> TaskRequest {
    TaskRequest::new("probe", Payload::Null)
}

const ALL: [(Capabilities, &str); 6] = [
    (Capabilities::CANCEL, "cancel"),
    (Capabilities::RESUME, "resume"),
    (Capabilities::MESSAGES, "messages"),
    (Capabilities::APPROVALS, "approvals"),
    (Capabilities::STRUCTURED_OUTPUT, "structured output"),
    (Capabilities::TRANSCRIPT, "transcript"),
];

#[tokio::test]
async fn s12_1_a_request_beyond_the_capabilities_is_refused_up_front() -> Test {
    for (lacks, word) in ALL {
        let others = ALL.iter().filter(|(one, _)| *one != lacks);
        let can = others.fold(Capabilities::NONE, |all, (one, _)| all.with(*one));
        let calls = Calls::default();
        let plugin = Plugin { can, ..Plugin::new(&calls) };
        let runtime = Runtime::builder(Memory::new()).backend("probe", plugin).open().await?;
        let session = runtime.session("main").await?;
        let refused = session.spawn(probe()).needs(lacks).await.expect_err("lacking");
        let Error::Incapable { kind, missing } = &refused else { panic!("{refused:?}") };
        assert_eq!((&**kind, missing.as_slice()), ("probe", &[word][..]));
        assert!(all_tasks(&runtime).await.is_empty(), "before anything is created");
        assert!(calls.all().is_empty());
        session.spawn(probe()).needs(can).await?;
    }
    Ok(())
}

#[tokio::test]
async fn s12_1_several_needs_add_up_and_all_that_is_missing_is_named() -> Test {
    let runtime = open().await;
    let session = runtime.session("main").await?;
    let polls = Polls::default();
    let spawn = session.spawn_ephemeral(polls.body());
    let spawn = spawn.needs(Capabilities::RESUME).needs(Capabilities::STRUCTURED_OUTPUT);
    let Err(Error::Incapable { missing, .. }) = spawn.needs(Capabilities::CANCEL).await else {
        panic!("a closure cannot do this")
    };
    assert_eq!(missing, ["resume", "structured output"]);
    assert_eq!(polls.count(), 0);
    Ok(())
}

#[tokio::test]
async fn s12_1_a_kind_that_reads_no_messages_is_sent_none() -> Test {
    let deaf = Kind::new("deaf", |_cx, (): ()| std::future::pending::<Result<(), BodyError>>())
        .without_messages();
    let runtime = Runtime::builder(Memory::new()).kind(&deaf).open().await?;
    let session = runtime.session("main").await?;
    let refused = session.spawn(deaf.with(())).message("hello").await;
    assert!(matches!(refused, Err(Error::Incapable { missing, .. }) if missing == ["messages"]));
    let task = session.spawn(deaf.with(())).await?;
    assert!(matches!(task.send("hello").await, Err(Error::TakesNoMessages(id)) if id == task.id()));
    assert_eq!(all_tasks(&runtime).await.len(), 1);
    Ok(())
}

#[tokio::test]
async fn s12_1_the_capabilities_of_a_kind_are_on_the_record() -> Test {
    let kind = Kind::new("index", |_cx, (): ()| async { Ok::<_, BodyError>(()) }).resumable();
    let runtime = Runtime::builder(Memory::new()).kind(&kind).open().await?;
    let session = runtime.session("main").await?;
    let task = session.spawn(kind.with(())).needs(Capabilities::RESUME).await?;
    assert!(task.spec().can.has(Capabilities::RESUME));
    assert!(!task.spec().can.has(Capabilities::STRUCTURED_OUTPUT));
    Ok(())
}

#[tokio::test]
async fn s12_4_a_plugin_starts_delivers_and_cancels_tasks_of_its_kind() -> Test {
    let calls = Calls::default();
    let builder = Runtime::builder(Memory::new()).backend("probe", Plugin::new(&calls));
    let runtime = builder.open().await?;
    let session = runtime.session("main").await?;
    let task = session.spawn(probe()).await?;
    session.spawn_ephemeral(never).await?;
    assert_eq!((task.handle(), &*task.spec().kind), ("probe-1", "probe"));
    calls.until("start probe-1").await;
    task.send("hello").await?;
    calls.until("deliver probe-1").await;
    task.cancel("enough").await?;
    calls.until("cancel probe-1").await;
    assert_eq!(task.wait().await?.task.state, TaskState::Cancelled);
    assert_eq!(calls.all(), ["start probe-1", "deliver probe-1", "cancel probe-1"]);
    assert_eq!(session.tasks().kind("probe").await?.items.len(), 1);
    Ok(())
}

/// The outcome of a running task when a backend finds `found` after a crash.
async fn reconciled(found: fn() -> ReconcileResult) -> Result<(Task, Vec<String>), Error> {
    let (memory, calls) = (Memory::new(), Calls::default());
    let builder = Runtime::builder(memory.clone()).backend("probe", Plugin::new(&calls));
    let runtime = builder.open().await?;
    let task = runtime.session("main").await?.spawn(probe()).await?;
    calls.until("start probe-1").await;
    drop(runtime);
    let plugin = Plugin { found, ..Plugin::new(&calls) };
    let runtime = Runtime::builder(memory).backend("probe", plugin).open().await?;
    runtime.recovered().await;
    let task = runtime.task(&task.id().to_string()).await?.record().await?;
    Ok((task, calls.all()))
}

#[tokio::test]
async fn s12_4_a_plugin_reconciles_the_tasks_of_a_crash() -> Test {
    let (task, calls) = reconciled(|| ReconcileResult::Ended(Ok(Payload::Null))).await?;
    assert!(matches!(task.ended(), Some(Outcome::Completed { .. })));
    assert_eq!(calls, ["start probe-1", "reconcile probe-1"], "it is not started again");
    let (task, _) =
        reconciled(|| ReconcileResult::Ended(Err(BodyError::message("exit 3")))).await?;
    assert!(matches!(task.ended(), Some(Outcome::Failed(end)) if end.message == "exit 3"));
    let (task, _) = reconciled(|| ReconcileResult::Lost("the machine is gone".into())).await?;
    assert!(
        matches!(task.ended(), Some(Outcome::Lost { reason }) if reason == "the machine is gone")
    );
    let (task, _) = reconciled(|| ReconcileResult::ByPolicy).await?;
    assert_eq!((task.state, task.crashes), (TaskState::Queued, 1), "it waits to be started again");
    Ok(())
}

#[tokio::test]
async fn s12_4_a_duplicate_kind_is_an_error_at_start_up() {
    let (memory, calls) = (Memory::new(), Calls::default());
    let twice = Runtime::builder(memory.clone())
        .backend("probe", Plugin::new(&calls))
        .backend("probe", Plugin::new(&calls));
    let refused = twice.open().await.expect_err("registered twice");
    assert!(matches!(&refused, Error::DuplicateKind(kind) if &**kind == "probe"));
    assert_says(&refused, &["probe", "twice", "name of its own"]);
    let taken = Runtime::builder(memory.clone()).backend("function", Plugin::new(&calls));
    assert!(matches!(taken.open().await, Err(Error::ReservedKind(_))), "the kind of closures");
    open_on(&memory).await;
}

#[tokio::test]
async fn s12_4_an_unregistered_kind_is_refused_before_anything_is_created() -> Test {
    let runtime = open().await;
    let session = runtime.session("main").await?;
    let refused = session.spawn(probe()).await.expect_err("unknown");
    assert!(matches!(&refused, Error::UnknownKind(kind) if &**kind == "probe"));
    assert_says(&refused, &["probe", "register it before"]);
    assert!(all_tasks(&runtime).await.is_empty());
    session.spawn_ephemeral(returns(())).await?;
    Ok(())
}
