//! Tests of the memory store's own behaviour: it bounds what it keeps.

// A test helper fails by panicking.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use offshoot_core::{
    Intent, LiveChildren, Name, Outcome, Owner, Payload, Retention, Row, SessionId, SessionRecord,
    Space, Stamp, Task, TaskId, WorkerId, decide, doc, spawn,
};
use offshoot_store::{
    Ack, Batch, Memory, OpenStore, PendingRow, SpawnWrite, Store, Strictness, TaskQuery, TaskScope,
    Write,
};

const AT: Stamp = Stamp::from_millis(1);

async fn commit(store: &Memory, writes: Vec<Write>) {
    let batch = writes.into_iter().fold(Batch::new(AT), Batch::write);
    store.commit(batch).await.unwrap();
}

async fn opened() -> (Memory, Owner) {
    let store = Memory::new();
    let id = SessionId::mint(AT, 1);
    let session = SessionRecord::new(id, Space::default(), Name::new("main").unwrap(), AT);
    commit(&store, vec![Write::OpenSession(Box::new(session))]).await;
    (store, Owner::Session(id))
}

/// Spawns, runs and ends the task with this number; its owner gets the row.
async fn finished(store: &Memory, number: u128) -> TaskId {
    let mut spec = doc::spec("task");
    spec.id = TaskId::mint(AT, number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
    spec.handle = Name::numbered("task", number as u64);
    let task = spawn(Arc::new(spec), Some(WorkerId::mint(AT, 1)), AT);
    let first = SpawnWrite { task: task.clone(), caps: Arc::default() };
    commit(store, vec![Write::Spawn(first)]).await;
    let finish = Intent::Finish(Outcome::value(Payload::Null), LiveChildren::None);
    let ended = decide(&task, finish, AT).unwrap();
    let row = Row::result(task.id(), task.owner(), AT);
    commit(store, vec![Write::Put(ended.task, ended.change), Write::Deliver(Box::new(row))]).await;
    task.id()
}

async fn acknowledge(store: &Memory, owner: Owner, rows: &[PendingRow]) {
    let rows = rows.iter().map(PendingRow::reference).collect();
    let strictness = Strictness::MustBePending;
    commit(store, vec![Write::Ack(Ack { owner, rows, strictness })]).await;
}

async fn kept(store: &Memory) -> Vec<TaskId> {
    let query = TaskQuery { limit: 1_000, ..TaskQuery::new(TaskScope::Everything) };
    store.tasks(query).await.unwrap().items.iter().map(Task::id).collect()
}

#[tokio::test]
async fn s10_4_the_newest_64_acknowledged_tasks_of_a_session_are_kept() {
    let (store, owner) = opened().await;
    let mut ids = Vec::new();
    for number in 1..=200 {
        ids.push(finished(&store, number).await);
        let rows = store.inbox(owner, 0, 10).await.unwrap();
        acknowledge(&store, owner, &rows).await;
    }
    assert_eq!(kept(&store).await, ids[136..]);
    let counts = store.counts_within(None).await.unwrap();
    assert_eq!(counts.spawned(), 200, "what is forgotten was spawned all the same");
}

#[tokio::test]
async fn s10_4_unread_tasks_are_kept_while_later_ones_are_read() {
    let (store, owner) = opened().await;
    let first = finished(&store, 1).await;
    for number in 2..=300 {
        finished(&store, number).await;
        let rows = store.inbox(owner, 0, 10).await.unwrap();
        acknowledge(&store, owner, &rows[1..]).await;
    }
    assert_eq!(kept(&store).await.len(), 65);
    let rows = store.inbox(owner, 0, 10).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].task.as_ref().map(Task::id), Some(first));
}

#[tokio::test]
async fn s10_4_the_number_of_kept_tasks_is_configurable() {
    let (store, owner) = opened().await;
    store.set_retention(Retention { in_memory: 0, ..Retention::default() });
    finished(&store, 1).await;
    let unread = finished(&store, 2).await;
    let rows = store.inbox(owner, 0, 1).await.unwrap();
    acknowledge(&store, owner, &rows).await;
    assert_eq!(kept(&store).await, [unread]);
}

#[tokio::test]
async fn clones_share_their_contents() {
    let (store, _) = opened().await;
    let id = finished(&store, 1).await;
    let opened = store.clone().open_store().await.unwrap();
    drop(store);
    assert_eq!(opened.task(id).await.unwrap().map(|task| task.id()), Some(id));
}
