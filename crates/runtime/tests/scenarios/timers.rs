//! Timers outlive the process that armed them.

use std::time::Duration;

use offshoot_core::{TaskState, WaitingOn};
use offshoot_runtime::{BodyError, Context, Kind, RestartPolicy, Runtime, WhyReason};
use offshoot_store::Memory;
use tokio::time::Instant;

use crate::support::{VirtualWorld, end_of, session, until};

const SECOND: Duration = Duration::from_secs(1);

fn sleeper() -> Kind<(), ()> {
    Kind::new("sleeper", |cx: Context, ()| async move {
        cx.sleep("nap", 100 * SECOND).await?;
        Ok::<_, BodyError>(())
    })
    .resumable()
}

/// Sleeps, dies after 40 s, is down for `down`, and starts again. Returns how long
/// after the first start it ended.
async fn sleep_through_a_crash(down: Duration) -> u64 {
    let (memory, world) = (Memory::new(), VirtualWorld::new());
    let restarts = RestartPolicy { back_off: Duration::ZERO, ..RestartPolicy::default() };
    let open = || {
        Runtime::builder(memory.clone())
            .kind(&sleeper())
            .restarts(restarts)
            .environment(world.clone())
            .open()
    };
    let start = Instant::now();
    let runtime = open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let task = session.spawn(sleeper().with(())).name("it").await.unwrap();
    let waiting = until(&task, |task| matches!(task.state, TaskState::Waiting(_))).await;
    let TaskState::Waiting(WaitingOn::Timer(due)) = waiting.state else { panic!("{waiting:?}") };
    assert_eq!(task.why().await.unwrap().reasons, [WhyReason::Timer(due)]);
    tokio::time::sleep(40 * SECOND).await;
    assert!(task.record().await.unwrap().is_live());
    drop((runtime, session, task));
    tokio::time::sleep(down).await;

    let runtime = open().await.unwrap();
    let task = runtime.task("it").await.unwrap();
    assert_eq!(end_of(&task).await.state, TaskState::Completed);
    start.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn s9_1_a_stored_timer_keeps_its_due_time_and_is_armed_again_at_open() {
    assert_eq!(sleep_through_a_crash(30 * SECOND).await, 100);
}

#[tokio::test(start_paused = true)]
async fn s9_1_a_timer_that_came_due_between_two_runtimes_is_over_at_open() {
    assert_eq!(sleep_through_a_crash(500 * SECOND).await, 540);
}

#[tokio::test(start_paused = true)]
async fn s9_1_a_timer_that_is_over_is_not_waited_for_again() {
    let (_runtime, session) = session().await;
    let start = Instant::now();
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.sleep("a", 10 * SECOND).await?;
            cx.sleep("a", 10 * SECOND).await?;
            cx.sleep("b", 5 * SECOND).await?;
            Ok::<_, BodyError>(())
        })
        .await
        .unwrap();
    end_of(&task).await;
    assert_eq!(start.elapsed().as_secs(), 15);
}

#[tokio::test(start_paused = true)]
async fn s9_1_a_huge_sleep_is_just_long_and_a_cancel_ends_it() {
    let (_runtime, session) = session().await;
    let task = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.sleep("for ever", Duration::MAX).await?;
            Ok::<_, BodyError>(())
        })
        .await
        .unwrap();
    until(&task, |task| matches!(task.state, TaskState::Waiting(_))).await;
    task.cancel("enough").await.unwrap();
    assert_eq!(end_of(&task).await.state, TaskState::Cancelled);
}
