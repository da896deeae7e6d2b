//! The events that wake an owner that is idle between two turns.

use offshoot_core::{BlockKind, Phase, TaskState, Wake};
use offshoot_runtime::{BodyError, Context, Error, Runtime, WaitEnd};

use crate::support::{
    Disk, Done, Gate, block, end_of, ended_handles, never, on_every_store, returns, session,
    settle_down, until_in,
};

on_every_store!(
    in real time:
    s4_4_a_silent_end_is_read_with_the_next_that_wakes,
);

async fn s4_4_a_silent_end_is_read_with_the_next_that_wakes(disk: &impl Disk) {
    let runtime = Runtime::builder(disk.store()).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let gate = Gate::new();
    let body = |gate: Gate| {
        move |_: Context| async move {
            gate.pass().await;
            Done::Ok(())
        }
    };
    // One ends before the session is idle, one while it is.
    let before = session.spawn_ephemeral(returns(())).wake(Wake::Silent);
    end_of(&before.name("before").await.unwrap()).await;
    let during = session.spawn_ephemeral(body(gate.clone())).wake(Wake::Silent).name("during");
    let during = during.await.unwrap();
    let loud = Gate::new();
    session.spawn_ephemeral(body(loud.clone())).name("loud").await.unwrap();
    let mut idle = Box::pin(session.idle(8));
    assert!(futures_util::poll!(&mut idle).is_pending());
    gate.admit(1);
    // A waiter for the task itself is woken.
    end_of(&during).await;
    settle_down().await;
    assert!(futures_util::poll!(&mut idle).is_pending(), "no reason yet");
    loud.admit(1);
    let rows = idle.await.unwrap();
    assert_eq!(ended_handles(&rows), ["before", "during", "loud"]);
    rows.ack().await.unwrap();
    assert!(session.drain(8).await.unwrap().is_empty());
}

#[tokio::test]
async fn s4_4_receive_returns_a_silent_end_as_well() {
    let (_runtime, session) = session().await;
    let gate = Gate::new();
    let body = gate.clone();
    let silent = session.spawn_ephemeral(|_| async move {
        body.pass().await;
        Done::Ok(())
    });
    silent.wake(Wake::Silent).name("silent").await.unwrap();
    let mut received = Box::pin(session.receive(8));
    assert!(futures_util::poll!(&mut received).is_pending());
    gate.admit(1);
    assert_eq!(ended_handles(&received.await.unwrap()), ["silent"]);
}

#[tokio::test]
async fn s4_4_the_question_of_a_silent_task_wakes_its_owner() {
    let (_runtime, session) = session().await;
    let silent = session.spawn_ephemeral(|cx: Context| async move {
        cx.ask("which way?").await?;
        Done::Ok(())
    });
    let silent = silent.wake(Wake::Silent).await.unwrap();
    assert_eq!(session.idle(8).await.unwrap().len(), 1);
    assert_eq!(silent.wait().await.unwrap().end, WaitEnd::NeedsInput);
    silent.answer(1, &"left").await.unwrap();
    assert_eq!(end_of(&silent).await.state, TaskState::Completed);
}

#[tokio::test]
async fn s4_4_a_report_wakes_only_with_the_policy_for_it() {
    let (_runtime, session) = session().await;
    for (wake, wakes) in [(Wake::OnTerminal, false), (Wake::OnActivity, true)] {
        let gate = Gate::new();
        let body = gate.clone();
        let task = session.spawn_ephemeral(|cx: Context| async move {
            cx.progress(&"half").await?;
            body.arrive();
            never(cx).await
        });
        task.wake(wake).await.unwrap();
        gate.arrived().await;
        // It is a reason once, even if it came before.
        for wakes in [wakes, false] {
            let woken = futures_util::poll!(Box::pin(session.idle(8)));
            assert_eq!(woken.is_ready(), wakes, "{wake:?}");
        }
    }
}

#[tokio::test]
async fn s4_4_an_idle_task_waits_without_a_slot_until_it_has_a_reason() {
    let (_runtime, session) = session().await;
    let lead = session
        .spawn_ephemeral(|cx: Context| async move {
            let quiet = cx.spawn_ephemeral(returns(())).wake(Wake::Silent);
            quiet.name("quiet").await?;
            let rows = cx.idle(8).await?;
            cx.append([block(BlockKind::Notice, "read")]).acking(&rows).await?;
            Ok::<_, BodyError>((ended_handles(&rows), rows.len()))
        })
        .await
        .unwrap();
    until_in(&lead, Phase::Waiting).await;
    settle_down().await;
    assert_eq!(lead.record().await.unwrap().state.phase(), Phase::Waiting);
    lead.send("go on").await.unwrap();
    let read: (Vec<String>, usize) = lead.wait().await.unwrap().decode().unwrap();
    assert_eq!(read, (vec!["quiet".to_owned()], 2));
}

#[tokio::test]
async fn s6_6_a_cancel_and_the_end_of_the_runtime_wake_an_idle_owner() {
    let (runtime, session) = session().await;
    let idle = |cx: Context| async move {
        let ended = cx.idle(8).await.map(|_| ());
        assert!(matches!(ended, Err(Error::Cancelled)), "{ended:?}");
        Err::<(), _>(BodyError::Cancelled)
    };
    let task = session.spawn_ephemeral(idle).wake(Wake::Silent).await.unwrap();
    until_in(&task, Phase::Waiting).await;
    let idle = session.clone();
    let idle = tokio::spawn(async move { idle.idle(8).await.map(|_| ()) });
    task.cancel("enough").into_future().await.unwrap();
    assert_eq!(end_of(&task).await.state, TaskState::Cancelled);
    settle_down().await;
    drop(runtime);
    assert!(matches!(idle.await.unwrap(), Err(Error::Closed)));
}
