//! The journal: a committed step is never computed again.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod harness;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use harness::{Disk, Gate, on_every_store};
use offshoot::core::State;
use offshoot::{BodyError, Context, Error, Kind, Runtime};

on_every_store!(
    s9_6_a_committed_step_is_never_recomputed,
    s9_6_a_step_that_began_and_did_not_commit_runs_again,
    s9_6_declared_once_it_yields_unknown,
    s9_6_a_step_declared_once_that_committed_is_replayed,
);

type Count = Arc<AtomicU32>;

fn bump(count: &Count) -> u32 {
    count.fetch_add(1, Ordering::SeqCst) + 1
}

/// Takes a committed step and then a step in which its first attempt dies.
fn journalled(count: &Count, gate: &Gate, once: Once) -> Kind<(), (u32, String)> {
    let (count, gate) = (count.clone(), gate.clone());
    Kind::new("journalled", move |cx: Context, ()| {
        let (count, gate) = (count.clone(), gate.clone());
        async move {
            let first = count.clone();
            let step = cx.step("first", move || async move { Ok::<_, BodyError>(bump(&first)) });
            let value = match once {
                Once::Both => step.once().await?,
                _ => step.await?,
            };
            let second = cx.step("second", move || async move {
                bump(&count);
                gate.pass().await;
                Ok::<_, BodyError>("took it".to_owned())
            });
            let second = match once {
                Once::Neither => second.await,
                _ => second.once().await,
            };
            let second = match second {
                Ok(second) => second,
                Err(BodyError::Failed(failure)) => failure.message,
                Err(error) => return Err(error),
            };
            Ok::<_, BodyError>((value, second))
        }
    })
    .resumable()
}

#[derive(Clone, Copy)]
enum Once {
    Neither,
    Second,
    Both,
}

/// Has the first attempt die inside the second step; what the task returns.
async fn play(disk: &impl Disk, count: &Count, once: Once) -> (u32, String) {
    let gate = Gate::new();
    let kind = journalled(count, &gate, once);
    let runtime = Runtime::builder(disk.store()).kind(&kind).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    session.spawn(kind.with(())).name("it").await.unwrap();
    gate.arrived().await;
    drop((runtime, session));
    harness::settle_down().await;

    gate.open(1);
    let runtime = Runtime::builder(disk.store()).kind(&kind).open().await.unwrap();
    let task = runtime.task("it").await.unwrap();
    let waited = task.wait().await.unwrap();
    assert_eq!((waited.task.state, waited.task.attempts), (State::Completed, 2));
    waited.decode().unwrap()
}

async fn s9_6_a_committed_step_is_never_recomputed(disk: &impl Disk) {
    let count = Count::default();
    let (first, _) = play(disk, &count, Once::Neither).await;
    assert_eq!(first, 1, "the value of the first attempt");
}

async fn s9_6_a_step_that_began_and_did_not_commit_runs_again(disk: &impl Disk) {
    let count = Count::default();
    let (_, second) = play(disk, &count, Once::Neither).await;
    assert_eq!(second, "took it");
    assert_eq!(count.load(Ordering::SeqCst), 3, "the first step once, the second twice");
}

async fn s9_6_declared_once_it_yields_unknown(disk: &impl Disk) {
    let count = Count::default();
    let (_, second) = play(disk, &count, Once::Second).await;
    assert_eq!(second, Error::Unknown("second".into()).to_string());
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

async fn s9_6_a_step_declared_once_that_committed_is_replayed(disk: &impl Disk) {
    let count = Count::default();
    let (first, _) = play(disk, &count, Once::Both).await;
    assert_eq!(first, 1);
}

#[tokio::test]
async fn s9_6_a_step_that_fails_commits_nothing() {
    let (_runtime, session) = harness::fresh().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let failed = cx.step("s", || async { Err::<u32, _>(BodyError::message("no")) }).await;
            assert!(failed.is_err());
            cx.step("s", || async { Ok::<_, BodyError>(2) }).await
        })
        .await
        .unwrap();
    assert_eq!(task.wait().await.unwrap().decode::<u32>().unwrap(), 2);
}
