//! Delivery of a result: one commit, one row, one place in a history.

use std::sync::{Arc, Mutex};

use offshoot_core::{BlockKind, Change, Cursor, Owner, Phase};
use offshoot_runtime::{BodyError, Runtime};
use offshoot_store::{Batch, FaultyStore, InjectedFault, Memory, Store, Write};

use crate::support::{
    CommitFaults, CommitFilter, Done, Gate, block, changes_of, ended_handles, notices, returns,
    session, settle_down, texts, until_in,
};

#[tokio::test]
async fn s4_1_state_result_row_and_wake_up_are_one_commit() {
    let ends: Arc<Mutex<Vec<Batch>>> = Arc::default();
    let seen = ends.clone();
    let store = FaultyStore::new(Arc::new(Memory::new()), move |_, batch: &Batch| {
        if CommitFilter::Ends.holds(batch) {
            seen.lock().unwrap().push(batch.clone());
        }
        None
    });
    let runtime = Runtime::builder(Arc::new(store) as Arc<dyn Store>).open().await.unwrap();
    let session = runtime.session("main").await.unwrap();
    let task = session.spawn_ephemeral(returns(7)).await.unwrap();
    task.wait().await.unwrap();

    let ends = ends.lock().unwrap();
    assert_eq!(ends.len(), 1);
    let [Write::End(end)] = ends[0].writes.as_slice() else { panic!("{:?}", ends[0]) };
    assert_eq!(end.task.id(), task.id());
    assert!(end.task.outcome.is_some(), "the result is in the record");
    assert_eq!(end.recipient, Owner::Session(session.id()), "the row goes to the owner");
}

#[tokio::test(start_paused = true)]
async fn s4_1_an_end_whose_reply_is_lost_wakes_the_owner_all_the_same() {
    for fault in [InjectedFault::After, InjectedFault::LostReply] {
        let runtime = CommitFaults::only(1..=1, CommitFilter::Ends, fault).open().await;
        let session = runtime.session("main").await.unwrap();
        let gate = Gate::new();
        session.spawn_ephemeral(gate.then(7)).name("answer").await.unwrap();
        let reader = session.clone();
        let reader = tokio::spawn(async move { reader.receive(8).await.unwrap() });
        gate.arrived().await;
        gate.admit(1);
        assert_eq!(ended_handles(&reader.await.unwrap()), ["answer"]);
    }
}

#[tokio::test(start_paused = true)]
async fn s4_1_an_end_whose_reply_is_lost_wakes_all_ended_tasks() {
    // The child's end is also its parent's, in one commit.
    let runtime = CommitFaults::only(1..=1, CommitFilter::Ends, InjectedFault::After).open().await;
    let session = runtime.session("main").await.unwrap();
    let gate = Gate::new();
    let body = gate.clone();
    let parent = session
        .spawn_ephemeral(|cx| async move {
            let child = |_| async move {
                body.pass().await;
                Done::Ok(())
            };
            cx.spawn_ephemeral(child).await?;
            Done::Ok(())
        })
        .name("lead")
        .await
        .unwrap();
    let waiter = parent.clone();
    let waiter = tokio::spawn(async move { waiter.wait().await.unwrap() });
    let reader = session.clone();
    let reader = tokio::spawn(async move { reader.receive(8).await.unwrap() });
    gate.arrived().await;
    until_in(&parent, Phase::Waiting).await;
    gate.admit(1);
    assert!(waiter.await.unwrap().is_ended());
    assert_eq!(ended_handles(&reader.await.unwrap()), ["function-1", "lead"]);
}

#[tokio::test]
async fn s4_2_a_row_is_acknowledged_by_the_commit_that_appends_it() {
    let (_runtime, session) = session().await;
    let parent = session
        .spawn_ephemeral(|cx| async move {
            cx.spawn_ephemeral(returns(())).name("child").await?;
            let rows = cx.receive(8).await?;
            cx.append(notices(&rows)).acking(&rows).await?;
            Ok::<_, BodyError>(cx.drain(8).await?.len())
        })
        .await
        .unwrap();
    assert_eq!(parent.wait().await.unwrap().decode::<usize>().unwrap(), 0);
    let peek = parent.peek().await.unwrap();
    assert_eq!(peek.total, 1);
    assert_eq!(peek.blocks[0].text.as_deref(), Some("child"));
    let log = changes_of(&session, &parent).await;
    let acked = log.iter().position(|change| *change == Change::Acknowledged { rows: 1 });
    let grew = log.iter().position(|change| *change == Change::HistoryGrew(1));
    assert!(acked.is_some() && grew.is_some());
}

#[tokio::test]
async fn s4_2_a_turn_that_fails_leaves_the_row_pending_and_it_is_injected_again() {
    let runtime =
        CommitFaults::only(1..=2, CommitFilter::Appends, InjectedFault::Before).open().await;
    let session = runtime.session("main").await.unwrap();
    session.spawn_ephemeral(returns(())).name("child").await.unwrap();
    let mut ids = Vec::new();
    loop {
        let rows = session.receive(8).await.unwrap();
        ids.extend(rows.iter().map(|row| row.id()));
        if session.append(notices(&rows)).acking(&rows).await.is_ok() {
            break;
        }
        assert!(texts(&session).await.is_empty());
    }
    assert_eq!(ids.len(), 3);
    assert!(ids.iter().all(|id| *id == ids[0]), "a row keeps its id");
    assert_eq!(texts(&session).await, ["child"]);
    assert!(session.drain(8).await.unwrap().is_empty());
}

#[tokio::test]
async fn s4_2_a_row_enters_its_owners_own_history_only() {
    let (_runtime, session) = session().await;
    session.spawn_ephemeral(returns(())).name("child").await.unwrap();
    let rows = session.receive(8).await.unwrap();
    let foreign = rows.clone();
    let thief = session
        .spawn_ephemeral(|cx| async move {
            Ok::<_, BodyError>(cx.append(notices(&foreign)).acking(&foreign).await.is_err())
        })
        .await
        .unwrap();
    assert!(thief.wait().await.unwrap().decode::<bool>().unwrap());
    assert_eq!(
        session.drain(1).await.unwrap().iter().next().unwrap().id(),
        rows.iter().next().unwrap().id()
    );
}

#[tokio::test]
async fn s4_7_a_childs_own_work_wakes_that_child_and_not_its_parent() {
    let (_runtime, session) = session().await;
    let (gate, grown) = (Gate::new(), Gate::new());
    let (body, done) = (gate.clone(), grown.clone());
    session
        .spawn_ephemeral(|cx| async move {
            let work = |_| async move {
                body.pass().await;
                Done::Ok(())
            };
            cx.spawn_ephemeral(work).name("grandchild").await?;
            let rows = cx.receive(8).await?;
            assert_eq!(ended_handles(&rows), ["grandchild"]);
            rows.ack().await?;
            done.pass().await;
            Done::Ok(())
        })
        .name("child")
        .await
        .unwrap();
    let reader = session.clone();
    let mut reader = tokio::spawn(async move { reader.receive(8).await.unwrap() });
    gate.arrived().await;
    gate.admit(1);
    grown.arrived().await;
    // The grandchild has been delivered, and the session has no row.
    settle_down().await;
    assert!(!reader.is_finished());
    assert!(session.drain(8).await.unwrap().is_empty());
    grown.admit(1);
    assert_eq!(ended_handles(&(&mut reader).await.unwrap()), ["child"]);
}

#[tokio::test]
async fn s4_7_events_never_cross_sessions() {
    let (runtime, one) = session().await;
    let other = runtime.session("other").await.unwrap();
    for session in [&one, &other, &one, &other] {
        let task = session.spawn_ephemeral(returns(())).await.unwrap();
        task.wait().await.unwrap().ack().await.unwrap();
    }
    one.append([block(BlockKind::User, "over")]).await.unwrap();
    let mut log = one.events(Cursor::START);
    let mut seen = 0;
    loop {
        let event = log.next().await.unwrap();
        assert_eq!(event.session, one.id());
        if let Some(task) = event.task {
            let task = runtime.task(&task.to_string()).await.unwrap();
            assert_eq!(task.spec().lineage.session, one.id());
            seen += 1;
        }
        if matches!(event.change, Change::HistoryGrew(_)) {
            break;
        }
    }
    // Spawned and ended, twice.
    assert_eq!(seen, 4);
}
