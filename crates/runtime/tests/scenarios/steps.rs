//! The journal: the work of a committed step is never done again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use offshoot_core::TaskState;
use offshoot_runtime::{BodyError, Context, Error, Kind, Runtime};

use crate::support::{Disk, Gate, crash, on_every_store, session};

on_every_store!(
    s9_6_a_committed_step_is_never_recomputed,
    s9_6_a_step_that_began_and_did_not_commit_runs_again,
    s9_6_declared_once_it_yields_unknown,
    s9_6_a_step_declared_once_that_committed_is_replayed,
    s9_6_two_steps_of_one_key_at_the_same_time_take_effect_once,
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

/// Has the first attempt die inside the second step, and returns the task's value.
async fn play(disk: &impl Disk, count: &Count, once: Once) -> (u32, String) {
    let gate = Gate::new();
    let kind = journalled(count, &gate, once);
    let runtime = Runtime::builder(disk.store()).kind(&kind).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    session.spawn(kind.with(())).name("it").await.unwrap();
    gate.arrived().await;
    drop(session);
    crash(runtime).await;

    gate.admit(1);
    let runtime = Runtime::builder(disk.store()).kind(&kind).open().await.unwrap();
    let task = runtime.task("it").await.unwrap();
    let waited = task.wait().await.unwrap();
    assert_eq!((waited.task.state, waited.task.attempts), (TaskState::Completed, 2));
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
    let (_runtime, session) = session().await;
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

#[tokio::test(start_paused = true)]
async fn s9_6_steps_and_sleeps_do_not_share_their_keys() {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let second = std::time::Duration::from_secs(1);
            let mut values = Vec::new();
            for key in ["sleep:x", ":sleep:x", "::sleep:x", "x"] {
                let number = values.len();
                values.push(cx.step(key, move || async move { Ok::<_, BodyError>(number) }).await?);
                let start = tokio::time::Instant::now();
                cx.sleep(key, second).await?;
                assert!(start.elapsed() >= second, "{key:?} was not slept through");
            }
            cx.sleep("y", second).await?;
            values.push(cx.step(":sleep:y", || async { Ok::<_, BodyError>(4) }).await?);
            Ok::<_, BodyError>(values)
        })
        .await
        .unwrap();
    assert_eq!(task.wait().await.unwrap().decode::<Vec<usize>>().unwrap(), [0, 1, 2, 3, 4]);
}

async fn s9_6_two_steps_of_one_key_at_the_same_time_take_effect_once(disk: &impl Disk) {
    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let count = Count::default();
    let taken = count.clone();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let step = || {
                let taken = taken.clone();
                cx.step("s", move || async move {
                    tokio::task::yield_now().await;
                    Ok::<_, BodyError>(bump(&taken))
                })
            };
            let (one, other, third) = tokio::join!(
                step().into_future(),
                step().once().into_future(),
                step().into_future()
            );
            Ok::<_, BodyError>((one?, other?, third?))
        })
        .await
        .unwrap();
    assert_eq!(task.wait().await.unwrap().decode::<(u32, u32, u32)>().unwrap(), (1, 1, 1));
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn s9_6_when_the_first_of_two_steps_fails_the_second_is_taken() {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let failing = cx.step("s", || async {
                tokio::task::yield_now().await;
                Err::<u32, _>(BodyError::message("no"))
            });
            let other = cx.step("s", || async { Ok::<_, BodyError>(2) });
            let (failed, taken) = tokio::join!(failing.into_future(), other.into_future());
            assert!(failed.is_err());
            taken
        })
        .await
        .unwrap();
    assert_eq!(task.wait().await.unwrap().decode::<u32>().unwrap(), 2);
}

#[tokio::test]
async fn s9_6_a_step_inside_itself_is_an_error_and_does_not_hang() {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            let inner = cx.clone();
            cx.step("s", move || async move {
                inner.step("s", || async { Ok::<_, BodyError>(1) }).await
            })
            .await
        })
        .await
        .unwrap();
    let failed = task.wait().await.unwrap().decode::<u32>().unwrap_err();
    assert!(failed.to_string().contains("\"s\" is taken inside itself"), "{failed}");
}
