//! The counters of a task, from which budgets are computed.

use offshoot_core::{Block, BlockKind, Owner, TaskId};
use offshoot_runtime::{BodyError, Context, Error, Kind, Runtime};
use offshoot_store::{Counter, CounterChange, Memory};

use crate::support::Test;

fn count(task: TaskId, by: i64, limit: Option<u64>) -> CounterChange {
    CounterChange {
        counter: Counter { owner: Owner::Task(task), name: "tokens".into() },
        by,
        limit,
    }
}

#[tokio::test]
async fn s8_2_concurrent_charges_of_one_counter_stay_within_its_limit() -> Test {
    let draw = Kind::new("draw", |cx: Context, pool: TaskId| async move {
        let mut drawn = 0;
        loop {
            match cx.count([count(pool, 3, Some(100)), count(cx.id(), 3, None)]).await {
                Ok(()) => drawn += 3,
                Err(Error::Limit { value, .. }) => {
                    assert_eq!(value, 99, "what it stands at is told");
                    return Ok::<u64, BodyError>(drawn);
                }
                Err(error) => return Err(error.into()),
            }
            tokio::task::yield_now().await;
        }
    });
    let idle = Kind::new("idle", |cx: Context, (): ()| async move {
        cx.cancelled().await;
        Ok::<_, BodyError>(())
    });
    let runtime = Runtime::builder(Memory::new()).kind(&draw).kind(&idle).open().await?;
    let session = runtime.session("main").await?;
    let pool = session.spawn(idle.with(())).await?;
    let mut drawing = Vec::new();
    for _ in 0..10 {
        drawing.push(session.spawn(draw.with(pool.id())).await?);
    }
    let mut sum = 0;
    for task in &drawing {
        let drawn: u64 = task.wait().await?.decode()?;
        assert_eq!(task.counted("tokens").await?, drawn, "all of a count or none");
        sum += drawn;
    }
    assert_eq!((sum, pool.counted("tokens").await?), (99, 99));
    Ok(())
}

#[tokio::test]
async fn s8_2_counters_and_their_blocks_are_stored_together() -> Test {
    let write = Kind::new("write", |cx: Context, (): ()| async move {
        let block = |text| Block::new(BlockKind::Other, text, cx.now());
        cx.append([block("one")]).counting([count(cx.id(), 5, Some(5))]).await?;
        let refused = cx.append([block("two")]).counting([count(cx.id(), 1, Some(5))]).await;
        assert!(matches!(refused, Err(Error::Limit { value: 5, .. })), "{refused:?}");
        let below = cx.append([block("two")]).counting([count(cx.id(), -6, None)]).await;
        assert!(matches!(below, Err(Error::Limit { value: 5, .. })), "{below:?}");
        cx.append([block("three")]).counting([count(cx.id(), -2, None)]).await?;
        Ok::<_, BodyError>((cx.history(0, 10).await?.total, cx.counted(cx.id(), "tokens").await?))
    });
    let runtime = Runtime::builder(Memory::new()).kind(&write).open().await?;
    let task = runtime.session("main").await?.spawn(write.with(())).await?;
    assert_eq!(task.wait().await?.decode::<(u64, u64)>()?, (2, 3));
    Ok(())
}
