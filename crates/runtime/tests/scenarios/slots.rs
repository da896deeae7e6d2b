//! Slots: which tasks take one, which give it back, and what a timeout counts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use offshoot_core::{FailureKind, Phase, TaskState, WaitingOn};
use offshoot_runtime::{BodyError, Context, WaitEnd, WhyReason};
use tokio::time::Instant;

use crate::support::{
    Done, Gate, capped, end_of, failure, never, obedient, one_slot, poll_once, returns,
    settle_down, until, until_in,
};

#[tokio::test]
async fn s8_3_a_task_that_waits_for_its_child_gives_its_slot_to_it() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            let child = cx.spawn_ephemeral(|_| async { Ok::<_, BodyError>(7) }).await?;
            Ok::<_, BodyError>(child.wait().await?.decode::<u32>()?)
        })
        .await
        .unwrap();
    assert_eq!(lead.wait().await.unwrap().decode::<u32>().unwrap(), 7);
}

#[tokio::test]
async fn s8_3_a_body_that_waits_through_a_foreign_handle_gives_its_slot_back() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    let inside = session.clone();
    let lead = session
        .spawn_ephemeral(move |_| async move {
            // Owned by the session, which is the one to wait for it.
            let other = inside.spawn_ephemeral(returns(7)).top_level().await?;
            let first = other.wait().await?.decode::<u32>()?;
            // Owned by this task, but referred to through the session.
            let child = inside.spawn_ephemeral(returns(8)).await?;
            let second = inside.wait([&child]).await?[0].decode::<u32>()?;
            Ok::<_, BodyError>(first + second)
        })
        .await
        .unwrap();
    assert_eq!(lead.wait().await.unwrap().decode::<u32>().unwrap(), 15);
}

#[tokio::test]
async fn s8_3_a_wait_outside_a_body_takes_no_slot_from_it() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    let (hand, mut handed) = tokio::sync::mpsc::unbounded_channel();
    let gate = Gate::new();
    let works = gate.clone();
    let lead = session
        .spawn_ephemeral(move |cx: Context| async move {
            let child = cx.spawn_ephemeral(returns(())).await?;
            drop(hand.send(child.clone()));
            // A future that the body hands to the executor is outside of it.
            tokio::spawn(async move { child.wait().await });
            works.pass().await;
            Done::Ok(())
        })
        .await
        .unwrap();
    let child = handed.recv().await.unwrap();
    let mut wait = child.wait().into_future();
    assert!(poll_once(&mut wait).is_pending());
    settle_down().await;
    assert_eq!(lead.record().await.unwrap().state, TaskState::Running, "it executes");
    assert_eq!(child.record().await.unwrap().state, TaskState::Queued, "in the one slot there is");
    gate.open();
    assert!(wait.await.unwrap().is_ended());
    assert_eq!(end_of(&lead).await.state, TaskState::Completed);
}

#[tokio::test]
async fn s8_3_a_task_that_has_returned_and_awaits_children_has_no_slot() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.spawn_ephemeral(returns(())).await?;
            Done::Ok(())
        })
        .await
        .unwrap();
    assert_eq!(end_of(&lead).await.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn s8_3_every_kind_of_wait_gives_the_slot_back_and_keeps_the_lease() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    for kind in ["message", "input", "timer"] {
        let task = session
            .spawn_ephemeral(move |cx: Context| async move {
                match kind {
                    "message" => cx.receive(1).await?.ack().await?,
                    "input" => drop(cx.ask("well?").await?),
                    _ => cx.sleep("nap", Duration::from_secs(60)).await?,
                }
                Done::Ok(())
            })
            .await
            .unwrap();
        let waiting = until_in(&task, Phase::Waiting).await;
        assert!(waiting.lease.worker.is_some(), "it keeps its lease");
        // The slot is free: another task runs to its end.
        let other = session.spawn_ephemeral(returns(())).await.unwrap();
        assert_eq!(end_of(&other).await.state, TaskState::Completed);
        match kind {
            "message" => drop(task.send("go").await.unwrap()),
            "input" => task.answer(1, &()).await.unwrap(),
            _ => assert!(matches!(waiting.state, TaskState::Waiting(WaitingOn::Timer(_)))),
        }
        let end = end_of(&task).await;
        assert_eq!((end.state, end.attempts), (TaskState::Completed, 1));
    }
}

#[tokio::test]
async fn s8_3_a_resumer_waits_for_a_slot_and_goes_before_new_tasks() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    let order: Arc<Mutex<Vec<&str>>> = Arc::default();
    let note = |name: &'static str| {
        let order = order.clone();
        move || order.lock().unwrap().push(name)
    };
    let resumed = note("resumed");
    let resumer = session
        .spawn_ephemeral(|cx: Context| async move {
            cx.receive(1).await?.ack().await?;
            resumed();
            Done::Ok(())
        })
        .await
        .unwrap();
    until_in(&resumer, Phase::Waiting).await;
    let gate = Gate::new();
    session.spawn_ephemeral(gate.then(())).await.unwrap();
    gate.arrived().await;
    let fresh = note("fresh");
    let late = session
        .spawn_ephemeral(|_| async move {
            fresh();
            Done::Ok(())
        })
        .await
        .unwrap();
    // A new task queues already when the message to the resuming one comes.
    resumer.send("go").await.unwrap();
    settle_down().await;
    assert_eq!(resumer.record().await.unwrap().state.phase(), Phase::Waiting);
    gate.admit(1);
    end_of(&late).await;
    end_of(&resumer).await;
    assert_eq!(*order.lock().unwrap(), ["resumed", "fresh"]);
}

#[tokio::test(start_paused = true)]
async fn s8_3_a_timeout_counts_from_the_start_not_from_queueing() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    let first = session
        .spawn_ephemeral(|_| async {
            tokio::time::sleep(Duration::from_secs(100)).await;
            Done::Ok(())
        })
        .await
        .unwrap();
    let limit = Duration::from_secs(10);
    let queued = session.spawn_ephemeral(never).timeout(limit).await.unwrap();
    assert_eq!(end_of(&first).await.state, TaskState::Completed);
    let start = Instant::now();
    until(&queued, |task| task.state != TaskState::Queued).await;
    let end = end_of(&queued).await;
    assert_eq!(failure(&end).kind, FailureKind::Timeout);
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn s3_2_a_timeout_returns_although_no_slot_is_free() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    let gate = Gate::new();
    let gone_on = gate.clone();
    let lead = session
        .spawn_ephemeral(move |cx: Context| async move {
            let child = cx.spawn_ephemeral(obedient).await?;
            let start = Instant::now();
            let waited = child.wait().timeout(Duration::from_secs(10)).await?;
            assert_eq!((waited.end, start.elapsed().as_secs()), (WaitEnd::TimedOut, 10));
            let waited = cx.wait([&child]).timeout(Duration::from_secs(10)).await?;
            assert_eq!((waited[0].end, start.elapsed().as_secs()), (WaitEnd::TimedOut, 20));
            gone_on.pass().await;
            child.cancel("enough").await?;
            // It may wait again before it has a slot.
            child.wait().await?;
            Done::Ok(())
        })
        .await
        .unwrap();
    gate.arrived().await;
    let why = lead.why().await.unwrap();
    assert_eq!(why.state, TaskState::Waiting(WaitingOn::Children), "it counts for no cap");
    assert_eq!(why.reasons, [WhyReason::Queue(0)]);
    gate.open();
    assert_eq!(end_of(&lead).await.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn s8_3_a_body_that_went_on_without_a_slot_gets_the_next() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    let (busy, works) = (Gate::new(), Gate::new());
    let (child, work) = (busy.then(()), works.clone());
    let lead = session
        .spawn_ephemeral(move |cx: Context| async move {
            let child = cx.spawn_ephemeral(child).await?;
            child.wait().timeout(Duration::from_secs(10)).await?;
            work.pass().await;
            Done::Ok(())
        })
        .await
        .unwrap();
    works.arrived().await;
    let fresh = session.spawn_ephemeral(returns(())).await.unwrap();
    busy.open();
    until(&lead, |task| task.state == TaskState::Running).await;
    settle_down().await;
    assert_eq!(fresh.record().await.unwrap().state, TaskState::Queued, "the slot is taken");
    works.open();
    assert_eq!(end_of(&fresh).await.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn s8_3_a_body_that_ends_before_it_has_a_slot_takes_none() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    let busy = Gate::new();
    let child = busy.then(());
    let lead = session
        .spawn_ephemeral(move |cx: Context| async move {
            let child = cx.spawn_ephemeral(child).await?;
            child.wait().timeout(Duration::from_secs(10)).await?;
            Done::Ok(())
        })
        .await
        .unwrap();
    until(&lead, |task| task.is_held()).await;
    assert_eq!(lead.why().await.unwrap().reasons, [WhyReason::Children(1)]);
    busy.open();
    assert_eq!(end_of(&lead).await.state, TaskState::Completed);
    let next = session.spawn_ephemeral(returns(())).await.unwrap();
    assert_eq!(end_of(&next).await.state, TaskState::Completed, "the slot is free");
}

#[tokio::test(start_paused = true)]
async fn s3_2_a_timeout_also_bounds_the_queueing_for_a_slot() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    let (hand, mut handed) = tokio::sync::mpsc::unbounded_channel();
    let lead = session
        .spawn_ephemeral(move |cx: Context| async move {
            let child = cx
                .spawn_ephemeral(|cx: Context| async move {
                    cx.receive(1).await?;
                    Done::Ok(())
                })
                .await?;
            drop(hand.send(child.clone()));
            let start = Instant::now();
            let waited = child.wait().timeout(Duration::from_secs(10)).await?;
            assert_eq!((waited.end, start.elapsed().as_secs()), (WaitEnd::Ended, 10));
            Done::Ok(())
        })
        .await
        .unwrap();
    until_in(&lead, Phase::Waiting).await;
    let blocker = session.spawn_ephemeral(never).await.unwrap();
    until_in(&blocker, Phase::Running).await;
    // It ends without a slot, so its waiter gets none from it.
    let child = handed.recv().await.unwrap();
    child.cancel("enough").await.unwrap();
    assert_eq!(end_of(&lead).await.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn s3_2_a_body_that_dropped_its_wait_may_wait_again_before_it_has_a_slot() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    let busy = Gate::new();
    let child = busy.then(());
    let lead = session
        .spawn_ephemeral(move |cx: Context| async move {
            let child = cx.spawn_ephemeral(child).await?;
            let wait = child.wait().into_future();
            assert!(tokio::time::timeout(Duration::from_secs(10), wait).await.is_err());
            // By now it queues.
            settle_down().await;
            cx.receive(1).await?.ack().await?;
            Done::Ok(())
        })
        .await
        .unwrap();
    until(&lead, |task| task.state == TaskState::Waiting(WaitingOn::Message)).await;
    lead.send("go").await.unwrap();
    busy.open();
    assert_eq!(end_of(&lead).await.state, TaskState::Completed);
}
