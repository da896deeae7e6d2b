//! Sessions: found, inspected, and removed without a trace.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use offshoot_core::{BlockKind, Change, Cursor, Phase, SessionBusy, SessionId, Sizes};
use offshoot_runtime::{BodyError, Error, Runtime, Session, TaskRef};
use offshoot_store::{Batch, CommitFuture, Memory, ReadFuture, Store, StoreError, StoreWrapper};

use crate::support::{
    Disk, Gate, Test, all_tasks, assert_says, block, crash, end_of, obedient, on_every_store, open,
    open_on, poll_once, returns, session, settle_down,
};

/// A runtime that stores larger values in blobs.
async fn on(disk: &impl Disk) -> Runtime {
    let sizes = Sizes { inline: 64, ..Sizes::default() };
    Runtime::builder(disk.store()).sizes(sizes).open().await.unwrap()
}

/// A session with one of everything, all of it ended.
async fn busy(runtime: &Runtime, name: &str) -> (Session, TaskRef) {
    let session = runtime.session(name).await.unwrap();
    let task = session
        .spawn_ephemeral(|cx| async move {
            cx.step("fetch", || async { Ok::<_, BodyError>(7) }).await?;
            cx.append([block(BlockKind::User, "go")]).await?;
            cx.spawn_ephemeral(returns("x".repeat(500))).name("below").await?;
            Ok::<_, BodyError>("x".repeat(500))
        })
        .name("docs")
        .key("once")
        .await
        .unwrap();
    end_of(&task).await;
    session.append([block(BlockKind::User, "hello")]).await.unwrap();
    (session, task)
}

fn is_gone<T: std::fmt::Debug>(answer: Result<T, Error>) {
    let error = answer.expect_err("the session is gone");
    assert!(matches!(error, Error::NoSession { .. }), "{error:?}");
}

#[tokio::test]
async fn a_session_is_found_and_looked_at_without_being_opened() -> Test {
    let runtime = open().await;
    assert!(runtime.find_session("main").await?.is_none());
    assert!(runtime.sessions(None, 9).await?.items.is_empty(), "looking opens none");
    let opened = runtime.session("main").await?;
    let found = runtime.find_session(" MAIN ").await?.expect("it is there");
    assert_eq!(found.id(), opened.id());
    assert_eq!(found.record().await?.name.as_str(), "main");
    for _ in 0..3 {
        end_of(&opened.spawn_ephemeral(returns(())).await?).await;
    }
    assert_eq!(found.counts().await?.of(Phase::Completed), 3);
    assert_eq!((found.unread_count(9).await?, found.unread_count(2).await?), (3, 2));
    found.drain(1).await?.ack().await?;
    assert_eq!(found.unread_count(9).await?, 2);
    assert!(matches!(runtime.find_session("").await, Err(Error::Name(_))));
    Ok(())
}

async fn a_removed_session_leaves_nothing_and_its_name_is_free(disk: &impl Disk) {
    let runtime = on(disk).await;
    let (other, kept) = busy(&runtime, "other").await;
    let (session, task) = busy(&runtime, "main").await;
    let old = session.id();
    runtime.remove_session("main").await.unwrap();
    assert!(runtime.find_session("main").await.unwrap().is_none());
    is_gone(runtime.remove_session("main").await);
    assert!(matches!(runtime.task(&task.id().to_string()).await, Err(Error::NotFound { .. })));
    let sessions = runtime.sessions(None, 9).await.unwrap().items;
    assert_eq!(sessions.iter().map(|one| one.id).collect::<Vec<_>>(), [other.id()]);
    let left = all_tasks(&runtime).await;
    assert!(left.iter().all(|task| task.spec.lineage.session == other.id()), "{left:?}");

    let fresh = runtime.session("main").await.unwrap();
    assert_ne!(fresh.id(), old);
    assert_eq!(fresh.counts().await.unwrap().spawned(), 0);
    assert_eq!(fresh.history(0, 9).await.unwrap().total, 0);
    assert!(fresh.drain(9).await.unwrap().is_empty());
    // Names and keys are free, and numbers begin again.
    let again = fresh.spawn_ephemeral(returns(())).name("docs").key("once").await.unwrap();
    assert_ne!(again.id(), task.id());
    let counted = fresh.spawn_ephemeral(returns(())).await.unwrap();
    assert_eq!(counted.handle(), "function-1");

    assert_eq!(other.history(0, 9).await.unwrap().total, 1);
    let value = kept.wait().await.unwrap().load::<String>().await.unwrap();
    assert_eq!(value, "x".repeat(500), "what another kept beside the records is there");
    assert_eq!(other.counts().await.unwrap().of(Phase::Completed), 2);
}

async fn a_removed_session_is_gone_after_a_restart(disk: &impl Disk) {
    let runtime = on(disk).await;
    let (session, _) = busy(&runtime, "main").await;
    session.remove().await.unwrap();
    drop(session);
    crash(runtime).await;
    let runtime = on(disk).await;
    runtime.recovered().await;
    assert!(runtime.find_session("main").await.unwrap().is_none());
    assert!(all_tasks(&runtime).await.is_empty());
    assert_eq!(runtime.counts().await.unwrap().spawned(), 0);
    busy(&runtime, "main").await;
}

on_every_store!(
    a_removed_session_leaves_nothing_and_its_name_is_free,
    a_removed_session_is_gone_after_a_restart,
);

#[tokio::test]
async fn a_session_with_live_tasks_is_not_removed() -> Test {
    let (runtime, session) = session().await;
    let lead = session
        .spawn_ephemeral(|cx| async move {
            cx.spawn_ephemeral(obedient).await?;
            obedient(cx).await
        })
        .await?;
    settle_down().await;
    let refused = runtime.remove_session("main").await.unwrap_err();
    assert!(matches!(&refused, Error::SessionBusy(SessionBusy { live: 2, .. })), "{refused:?}");
    assert_says(&refused, &["\"main\"", "2 live tasks", "cancel them first"]);
    assert!(lead.record().await?.is_live(), "a refusal changes nothing");
    session.cancel("all out").await?;
    end_of(&lead).await;
    session.remove().await
}

#[tokio::test]
async fn a_body_cannot_remove_its_own_session() {
    let (_runtime, session) = session().await;
    let own = session.clone();
    let task = session
        .spawn_ephemeral(move |_| async move {
            let refused = own.remove().await.unwrap_err();
            Ok::<_, BodyError>(refused.to_string())
        })
        .await
        .unwrap();
    let refusal = task.wait().await.unwrap().decode::<String>().unwrap();
    assert_says(&refusal, &["1 live task: cancel it first"]);
}

#[tokio::test]
async fn a_handle_on_a_removed_session_returns_an_error() -> Test {
    let (runtime, session) = session().await;
    let task = session.spawn_ephemeral(returns(())).await?;
    end_of(&task).await;
    let rows = session.drain(9).await?;
    session.clone().remove().await?;
    is_gone(session.record().await);
    is_gone(session.counts().await);
    is_gone(session.unread_count(9).await);
    is_gone(session.drain(9).await);
    is_gone(session.receive(9).await);
    is_gone(session.idle(9).await);
    is_gone(session.history(0, 9).await);
    is_gone(session.append([block(BlockKind::User, "go")]).await);
    is_gone(session.cancel("all out").await);
    is_gone(session.remove().await);
    is_gone(session.events(Cursor::START).next().await);
    is_gone(session.spawn_ephemeral(returns(())).await);
    is_gone(session.spawn_ephemeral(returns(())).under(&task).await);
    assert!(session.tasks().await?.items.is_empty());
    assert!(matches!(task.record().await, Err(Error::NotFound { .. })));
    assert!(matches!(task.wait().await, Err(Error::NotFound { .. })));
    assert!(matches!(task.send("go on").await, Err(Error::NotFound { .. })));
    assert!(matches!(task.cancel("enough").await, Err(Error::NotFound { .. })));
    rows.ack().await?;
    assert!(runtime.sessions(None, 9).await?.items.is_empty(), "nothing comes back");
    assert!(all_tasks(&runtime).await.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_wait_on_a_session_ends_with_its_removal() -> Test {
    let (runtime, session) = session().await;
    let mut events = session.events(Cursor::START);
    assert_eq!(events.next().await?.change, Change::SessionOpened);
    let (mut receive, mut idle, mut next) =
        (Box::pin(session.receive(9)), Box::pin(session.idle(9)), Box::pin(events.next()));
    assert!(poll_once(&mut receive).is_pending());
    assert!(poll_once(&mut idle).is_pending());
    assert!(poll_once(&mut next).is_pending());
    runtime.remove_session("main").await?;
    is_gone(receive.await);
    is_gone(idle.await);
    // The event of the removal may still be read, or is gone with the log.
    match next.await {
        Ok(event) => assert_eq!(event.change, Change::RemovalBegan),
        gone => is_gone(gone),
    }
    is_gone(events.next().await);
    assert!(events.snapshot().await?.is_empty());
    is_gone(events.next().await);
    Ok(())
}

#[tokio::test]
async fn of_a_spawn_and_a_removal_at_once_one_is_refused() -> Test {
    let runtime = open().await;
    for round in 0..50 {
        let session = runtime.session("main").await?;
        let gate = Gate::new();
        let spawn = session.spawn_ephemeral(gate.then(())).into_future();
        let (spawned, removed) = match round % 2 {
            0 => tokio::join!(spawn, session.remove()),
            _ => {
                let (removed, spawned) = tokio::join!(session.remove(), spawn);
                (spawned, removed)
            }
        };
        gate.open();
        match (spawned, removed) {
            (Ok(task), Err(Error::SessionBusy(_))) => {
                end_of(&task).await;
                session.remove().await?;
            }
            (Err(Error::NoSession { .. } | Error::OwnerClosed(_)), Ok(())) => {}
            both => panic!("one of them must be refused: {both:?}"),
        }
    }
    assert!(runtime.sessions(None, 9).await?.items.is_empty());
    Ok(())
}

#[tokio::test]
async fn many_may_remove_and_open_a_session_at_once() -> Test {
    let runtime = open().await;
    for _ in 0..20 {
        let (session, _) = busy(&runtime, "main").await;
        let old = session.id();
        let (one, other, third, opened) = tokio::join!(
            session.remove(),
            runtime.remove_session("main"),
            session.remove(),
            runtime.session("main"),
        );
        // Later callers find no session, or the next one.
        let late = |answer: &Result<(), Error>| matches!(answer, Err(Error::NoSession { .. }));
        for answer in [&one, &other, &third] {
            assert!(answer.is_ok() || late(answer), "{answer:?}");
        }
        assert!([one, other, third].iter().any(Result::is_ok));
        drop(opened?);
        assert!(runtime.find_session("main").await?.is_none_or(|found| found.id() != old));
    }
    Ok(())
}

/// A store in which removals delete nothing while `stuck` is set.
#[derive(Debug)]
struct Stuck {
    memory: Memory,
    stuck: Arc<AtomicBool>,
    error: StoreError,
}

impl StoreWrapper for Stuck {
    fn inner(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(self.memory.clone()))
    }

    fn wrap_commit(&self, batch: Batch) -> CommitFuture {
        self.memory.commit(batch)
    }

    fn wrap_remove(&self, session: SessionId, limit: usize) -> ReadFuture<usize> {
        match self.stuck.load(Ordering::SeqCst) {
            true => ReadFuture::ready(Err(self.error.clone())),
            false => self.memory.remove(session, limit),
        }
    }
}

async fn stuck(memory: &Memory) -> (Runtime, Arc<AtomicBool>) {
    stuck_with(memory, StoreError::NotWritten("stuck".into())).await
}

async fn stuck_with(memory: &Memory, error: StoreError) -> (Runtime, Arc<AtomicBool>) {
    let stuck = Arc::new(AtomicBool::new(true));
    let store = Stuck { memory: memory.clone(), stuck: stuck.clone(), error };
    let store: Arc<dyn Store> = Arc::new(store);
    (Runtime::builder(store).open().await.expect("memory opens"), stuck)
}

#[tokio::test(start_paused = true)]
async fn a_removal_reports_a_full_disk_and_goes_on_once_there_is_room() -> Test {
    let full = StoreError::Full { path: "/data".into() };
    let (runtime, stuck) = stuck_with(&Memory::new(), full).await;
    let (session, _) = busy(&runtime, "main").await;
    for _ in 0..2 {
        let refused = runtime.remove_session("main").await.unwrap_err();
        assert!(matches!(refused, Error::Store(StoreError::Full { .. })), "{refused:?}");
    }
    assert!(runtime.find_session("main").await?.is_none());
    stuck.store(false, Ordering::SeqCst);
    while !runtime.sessions(None, 9).await?.items.is_empty() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    is_gone(session.receive(9).await);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_removal_goes_on_while_the_store_fails_without_a_waiter() -> Test {
    let (runtime, stuck) = stuck(&Memory::new()).await;
    let (session, _) = busy(&runtime, "main").await;
    let mut removing = Box::pin(session.remove());
    assert!(poll_once(&mut removing).is_pending());
    drop(removing);
    settle_down().await;
    // From now on the session cannot be used.
    assert!(runtime.find_session("main").await?.is_none());
    is_gone(session.receive(9).await);
    let refused = session.spawn_ephemeral(returns(())).await.unwrap_err();
    assert!(matches!(refused, Error::OwnerClosed(_)), "{refused:?}");
    assert!(runtime.sessions(None, 9).await?.items[0].is_removing(), "it says so");
    // A caller that opens a session of this name waits for the removal.
    assert!(matches!(runtime.session("main").await, Err(Error::Store(_))));
    stuck.store(false, Ordering::SeqCst);
    let fresh = runtime.session("main").await?;
    assert_ne!(fresh.id(), session.id());
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(fresh.record().await?.id, fresh.id(), "the first removal touches only its own");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_a_crash_interrupted_is_finished_by_the_next_runtime() -> Test {
    let memory = Memory::new();
    let (runtime, _stuck) = stuck(&memory).await;
    let (session, _) = busy(&runtime, "main").await;
    let (other, _) = busy(&runtime, "other").await;
    let mut removing = Box::pin(session.remove());
    assert!(poll_once(&mut removing).is_pending());
    settle_down().await;
    let kept = other.id();
    drop(removing);
    crash(runtime).await;
    let runtime = open_on(&memory).await;
    runtime.recovered().await;
    let sessions = runtime.sessions(None, 9).await?.items;
    assert_eq!(sessions.iter().map(|one| one.id).collect::<Vec<_>>(), [kept]);
    assert_eq!(all_tasks(&runtime).await.len(), 2, "those of the other session");
    Ok(())
}

#[tokio::test]
async fn a_large_session_goes_in_many_steps_and_others_go_on_meanwhile() -> Test {
    const MANY: usize = 2_000;
    let (runtime, session) = session().await;
    let other = runtime.session("other").await?;
    for _ in 0..MANY {
        session.spawn_ephemeral(returns(())).await?;
    }
    while session.counts().await?.live() > 0 {
        tokio::task::yield_now().await;
    }
    let mut removing = Box::pin(session.remove());
    assert!(poll_once(&mut removing).is_pending());
    // It yields between two steps.
    end_of(&other.spawn_ephemeral(returns(())).await?).await;
    removing.await?;
    assert_eq!(runtime.counts().await?.spawned(), 1);
    Ok(())
}
