//! Records: stored and read back completely, changed by one decision at a time.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{
    Activity, ActivityKind, Capabilities, Change, Failure, FailureKind, Intent, LiveChildren,
    Outcome, Payload, Phase, Progress, Record, Recovery, RequeueReason, Spec, Stamp, Task,
    TaskState, Terms, Tie, Visibility, WaitingOn, Wake,
};

use super::world::{StoreWorld, cancel, record, spawn, value};
use crate::batch::Write;
use crate::error::Conflict;
use crate::query::TaskScope;

pub(super) async fn s2_1_every_state_is_read_back_unchanged(world: StoreWorld) {
    let session = world.session("main").await;
    let mut task = world.spawn(world.spec(&session)).await;
    let after = world.store().cursor();
    let at = world.now();
    let activity = Activity { step: 3, doing: ActivityKind::Tool("grep".into()), since: at };
    let progress = Progress { value: Payload::encode("half").unwrap(), at };
    let start = || Intent::Start(world.worker);
    let intents = [
        start(),
        Intent::Activity(Arc::new(activity)),
        Intent::Progress(Arc::new(progress)),
        Intent::Park(WaitingOn::Input(1)),
        Intent::Resume,
        Intent::Park(WaitingOn::Approval(2)),
        Intent::Resume,
        Intent::Park(WaitingOn::RateGate(None)),
        Intent::Resume,
        Intent::Park(WaitingOn::Timer(Stamp::from_millis(77))),
        Intent::Requeue(RequeueReason::Released),
        start(),
        Intent::Park(WaitingOn::Message),
        Intent::Requeue(RequeueReason::Crashed),
        start(),
        Intent::Cancel(cancel(at)),
        Intent::Finish(value(), LiveChildren::Some),
        Intent::Release,
    ];
    let mut expected = Vec::new();
    for intent in intents {
        let decision = offshoot_core::decide(&task, intent, world.now()).unwrap();
        expected.push(decision.change.clone());
        world.write(Write::Put(decision.task.clone(), decision.change)).await;
        assert_eq!(world.task(task.id()).await.as_ref(), Some(&decision.task));
        assert_eq!(
            world.tasks(TaskScope::Session(session.id)).await,
            std::slice::from_ref(&decision.task)
        );
        task = decision.task;
    }
    assert_eq!(task.state, TaskState::Completed);
    assert_eq!(world.changes(&session, after).await, expected);
}

pub(super) async fn s2_6_every_end_is_read_back_with_its_outcome(world: StoreWorld) {
    let session = world.session("main").await;
    let failure = Failure {
        kind: FailureKind::Panic,
        message: "it broke".into(),
        causes: vec!["a cause".into(), "its cause".into()],
        location: Some("src/main.rs:1:2".into()),
    };
    let stop = (*cancel(world.now())).clone();
    let outcomes = [
        Outcome::value(Payload::Null),
        Outcome::value(Payload::from_json(r#"{"größe": [1, 2.5, "\u0000", "😀"]}"#).unwrap()),
        Outcome::from(failure),
        Outcome::from(Failure::new(FailureKind::Exit(-3), "exit")),
        Outcome::Cancelled { cancel: stop.into(), forced: true },
        Outcome::Lost { reason: "the runtime stopped while it ran".into() },
    ];
    for outcome in outcomes {
        let task = world.running(&session).await;
        let finish = Intent::Finish(outcome.clone(), LiveChildren::None);
        let after = world.store().cursor();
        let ended = world.put(&task, finish).await;
        let stored = world.task(task.id()).await.unwrap();
        assert_eq!(stored, ended);
        assert_eq!(stored.ended(), Some(&outcome));
        let phase = stored.state.phase();
        assert_eq!(world.changes(&session, after).await, [Change::Ended(phase)]);
    }
}

pub(super) async fn s1_6_a_spec_is_read_back_whole(world: StoreWorld) {
    let session = world.session("main").await;
    let parent = world.running(&session).await;
    let mut spec = world.child_spec(&parent);
    spec.lineage.origin.run = Some(world.run_id());
    spec.lineage.origin.tool_call = Some("call-1".into());
    spec.lineage.origin.agent = Some("lead".into());
    let spec = Spec {
        kind: "agent".into(),
        tie: Tie::Detached,
        recovery: Recovery::Resume,
        wake: Wake::OnActivity,
        visibility: Visibility::Subtree,
        input: Payload::encode(&("text", 7)).unwrap(),
        terms: Terms {
            profile: Some("researcher".into()),
            timeout: Some(Duration::new(5, 3)),
            grace: Some(Duration::MAX),
            continues: Some(parent.id()),
            key: Some("key / with ' odd \" signs".into()),
        }
        .into(),
        can: Capabilities::RESUME.with(Capabilities::TRANSCRIPT),
        ..super::world::called(spec, "Größe 😀")
    };
    let task = world.spawn(spec).await;
    let stored = world.task(task.id()).await.unwrap();
    assert_eq!(stored, task);
    assert_eq!(stored.handle(), "Größe 😀");
}

pub(super) async fn s2_2_a_record_replaces_only_its_predecessor(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let (_, late) = world.decide(&task, Intent::Park(WaitingOn::Message));
    let done = world.settle(&task).await;
    let conflict = world.refused_write(late).await;
    assert_eq!(conflict, Conflict::Stale(task.id()));
    // Neither the same record again nor one that skips a sequence number is accepted.
    let again = Write::Put(done.clone(), Change::Ended(Phase::Completed));
    assert_eq!(world.refused_write(again).await, Conflict::Stale(task.id()));
    let ahead = Task::from(Record { seq: done.seq + 2, ..done.to_record() });
    let ahead = Write::Put(ahead, Change::Ended(Phase::Completed));
    assert_eq!(world.refused_write(ahead).await, Conflict::Stale(task.id()));
}

pub(super) async fn a_record_that_was_never_spawned_cannot_change(world: StoreWorld) {
    let session = world.session("main").await;
    let unknown = record(world.spec(&session));
    let (_, put) = world.decide(&unknown, Intent::Start(world.worker));
    assert_eq!(world.refused_write(put).await, Conflict::NoTask(unknown.id()));
    assert_eq!(world.task(unknown.id()).await, None);
}

pub(super) async fn several_records_change_in_one_commit(world: StoreWorld) {
    let session = world.session("main").await;
    let one = record(world.spec(&session));
    let other = record(world.spec(&session));
    world.commit(world.batch().write(spawn(&one)).write(spawn(&other))).await.unwrap();
    let (one, put_one) = world.decide(&one, Intent::Start(world.worker));
    let (other, put_other) = world.decide(&other, Intent::Start(world.worker));
    world.commit(world.batch().write(put_one).write(put_other)).await.unwrap();
    assert_eq!(world.tasks(TaskScope::Session(session.id)).await, [one, other]);
}

pub(super) async fn s9_5_of_two_decisions_on_one_record_one_is_refused(world: StoreWorld) {
    let session = world.session("main").await;
    let task = world.running(&session).await;
    let lost = Outcome::Lost { reason: "its worker died".into() };
    let (_, first) = world.decide(&task, Intent::Requeue(RequeueReason::Crashed));
    let (_, second) = world.decide(&task, Intent::Finish(lost, LiveChildren::None));
    world.write(first).await;
    assert_eq!(world.refused_write(second).await, Conflict::Stale(task.id()));
}
