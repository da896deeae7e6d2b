//! Waits of a body outside its future, as the processes of a command make them.

use offshoot_core::{TaskState, WaitingOn};
use offshoot_runtime::{TaskRef, WhyReason};

use crate::support::{
    Done, Gate, capped, end_of, obedient, one_slot, returns, settle_down, until_state,
};

const FOR_TASKS: TaskState = TaskState::Waiting(WaitingOn::Children);

async fn state(task: &TaskRef) -> TaskState {
    task.record().await.unwrap().state
}

#[tokio::test]
async fn s8_3_a_body_that_waits_elsewhere_gives_its_slot_to_the_awaited_task() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    let gate = Gate::new();
    let lead = session.spawn_ephemeral(gate.then(())).await.unwrap();
    let child = session.spawn_ephemeral(returns(7)).under(&lead).await.unwrap();
    settle_down().await;
    assert_eq!((state(&lead).await, state(&child).await), (TaskState::Running, TaskState::Queued));
    let wait = lead.external_wait().await.unwrap().expect("its body is here");
    assert_eq!(state(&lead).await, FOR_TASKS);
    assert_eq!(child.wait().await.unwrap().decode::<u32>().unwrap(), 7);
    drop(wait);
    until_state(&lead, TaskState::Running).await;
    // It has its slot again, so no other task gets one.
    let other = session.spawn_ephemeral(returns(())).await.unwrap();
    settle_down().await;
    assert_eq!(state(&other).await, TaskState::Queued);
    gate.open();
    assert_eq!(end_of(&lead).await.state, TaskState::Completed);
    assert_eq!(end_of(&other).await.state, TaskState::Completed);
}

#[tokio::test]
async fn s8_3_a_body_waits_until_the_last_of_its_waits_elsewhere_is_over() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    let gate = Gate::new();
    let lead = session.spawn_ephemeral(gate.then(())).await.unwrap();
    let first = lead.external_wait().await.unwrap();
    let second = lead.external_wait().await.unwrap();
    drop(first);
    settle_down().await;
    assert_eq!(state(&lead).await, FOR_TASKS);
    let passing = Gate::new();
    let busy = session.spawn_ephemeral(passing.then(())).await.unwrap();
    let new = session.spawn_ephemeral(gate.then(())).await.unwrap();
    passing.arrived().await;
    drop(second);
    settle_down().await;
    assert_eq!(state(&lead).await, FOR_TASKS, "the slot is taken");
    assert_eq!(lead.why().await.unwrap().reasons, [WhyReason::Queue(0)]);
    passing.open();
    until_state(&lead, TaskState::Running).await;
    assert_eq!(state(&new).await, TaskState::Queued, "who resumes goes before who starts");
    gate.open();
    for task in [&lead, &busy, &new] {
        assert_eq!(end_of(task).await.state, TaskState::Completed);
    }
}

#[tokio::test]
async fn a_body_ends_in_the_middle_of_a_wait_elsewhere_and_leaves_its_slot_to_others() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    let gate = Gate::new();
    let lead = session.spawn_ephemeral(gate.then(())).await.unwrap();
    let wait = lead.external_wait().await.unwrap();
    gate.open();
    assert_eq!(end_of(&lead).await.state, TaskState::Completed);
    drop(wait);
    assert!(lead.external_wait().await.unwrap().is_none(), "it has ended");
    for _ in 0..3 {
        let next = session.spawn_ephemeral(returns(())).await.unwrap();
        assert_eq!(end_of(&next).await.state, TaskState::Completed);
    }
}

#[tokio::test]
async fn a_body_that_waits_elsewhere_is_asked_to_stop_as_any_other() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    let lead = session.spawn_ephemeral(obedient).await.unwrap();
    let wait = lead.external_wait().await.unwrap();
    lead.cancel("enough").await.unwrap();
    assert_eq!(end_of(&lead).await.state, TaskState::Cancelled);
    drop(wait);
    let next = session.spawn_ephemeral(returns(())).await.unwrap();
    assert_eq!(end_of(&next).await.state, TaskState::Completed);
}

#[tokio::test]
async fn a_task_that_has_not_begun_does_not_wait_elsewhere() {
    let runtime = capped(one_slot()).await;
    let session = runtime.session("main").await.unwrap();
    let gate = Gate::new();
    let busy = session.spawn_ephemeral(gate.then(())).await.unwrap();
    let queued = session.spawn_ephemeral(|_| async { Done::Ok(()) }).await.unwrap();
    assert!(queued.external_wait().await.unwrap().is_none());
    assert_eq!(state(&queued).await, TaskState::Queued);
    gate.open();
    for task in [&busy, &queued] {
        assert_eq!(end_of(task).await.state, TaskState::Completed);
    }
}
