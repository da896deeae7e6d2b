//! A crash at any commit: every settled result is in its owner's history
//! exactly once.

use std::sync::Arc;

use offshoot_core::Phase;
use offshoot_runtime::{BodyError, Context, Error, Kind, Runtime};
use offshoot_store::{Batch, FaultyStore, InjectedFault, OpenStore, Store};

use crate::support::{Disk, Gate, notices, on_every_store, reopen, texts};

const CHILDREN: u32 = 3;

fn child() -> Kind<u32, u32> {
    Kind::new("child", |_, n: u32| async move { Ok::<_, BodyError>(n) }).idempotent()
}

/// Spawns children, waits for them, and appends their results to its history, as
/// an agent's loop does.
fn parent() -> Kind<(), ()> {
    Kind::new("lead", |cx: Context, ()| async move {
        let mut children = Vec::new();
        for n in 0..CHILDREN {
            let key = format!("child {n}");
            children.push(cx.spawn(child().with(n)).key(&key).name(&key).await?);
        }
        cx.wait(&children).await?;
        loop {
            let rows = cx.drain(2).await?;
            if rows.is_empty() {
                return Ok::<_, BodyError>(());
            }
            cx.append(notices(&rows)).acking(&rows).await?;
        }
    })
    .resumable()
}

async fn open(store: Arc<dyn Store>) -> Result<Runtime, Error> {
    Runtime::builder(store).kind(&parent()).kind(&child()).open().await
}

/// Runs the whole scenario, from where an earlier run was interrupted.
async fn play(runtime: &Runtime) -> Result<(), Error> {
    let session = runtime.session("main").await?;
    let parent = session.spawn(parent().with(())).key("lead").name("lead").await?;
    let ended = parent.wait().await?;
    assert_eq!(ended.task.state.phase(), Phase::Completed, "{:?}", ended.task);
    let rows = session.drain(8).await?;
    if !rows.is_empty() {
        session.append(notices(&rows)).acking(&rows).await?;
    }
    Ok(())
}

on_every_store!(s4_3_after_a_crash_at_any_commit_every_result_is_in_its_owners_history_once,);

async fn s4_3_after_a_crash_at_any_commit_every_result_is_in_its_owners_history_once<D>(_: &D)
where
    D: Disk + Default,
{
    for fault in [InjectedFault::CrashBefore, InjectedFault::CrashAfter] {
        for at in 1.. {
            let disk = D::default();
            let inner = disk.store().open_store().await.unwrap();
            let crash = Gate::new();
            let crashed = crash.clone();
            let store = FaultyStore::new(inner, move |number, _: &Batch| {
                (number == at).then(|| {
                    crashed.arrive();
                    fault
                })
            });
            let runtime = open(Arc::new(store)).await.unwrap();
            tokio::select! {
                biased;
                () = crash.arrived() => {}
                played = play(&runtime) => {
                    // The caller sees the crash as an error.
                    if let Err(error) = played {
                        assert_eq!(crash.arrivals(), 1, "{error}");
                    }
                }
            }
            drop(runtime);

            let runtime = open(reopen(&disk).await).await.unwrap();
            runtime.recovered().await;
            play(&runtime).await.unwrap();
            let session = runtime.session("main").await.unwrap();
            assert_eq!(texts(&session).await, ["lead"], "{fault:?} at {at}");
            let peek = runtime.task("lead").await.unwrap().peek().last(99).await.unwrap();
            let mut answer: Vec<_> =
                peek.blocks.into_iter().filter_map(|block| block.text).collect();
            answer.sort();
            assert_eq!(answer, ["child 0", "child 1", "child 2"], "{fault:?} at {at}");
            assert_eq!(session.counts().await.unwrap().spawned(), u64::from(CHILDREN) + 1);
            if crash.arrivals() == 0 {
                break;
            }
        }
    }
}
