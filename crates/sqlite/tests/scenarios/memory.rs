//! Data in memory and on disk gives the same answers.

use offshoot_core::{Phase, Retention};
use offshoot_store::{TaskQuery, TaskScope};

use crate::support::{Scribe, open};

#[tokio::test]
async fn s10_4_finished_tasks_are_evicted_and_stay_readable() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.set_retention(Retention { in_memory: 2, ..Retention::default() });
    let scribe = Scribe::opened(&*store).await;
    let mut ended = Vec::new();
    for number in 0..5 {
        let task = scribe.spawn(&*store, &format!("task-{}", number % 2)).await;
        ended.push(scribe.settle(&*store, &task).await);
    }
    let in_memory: Vec<_> =
        ended.iter().map(|task| store.task(task.id()).try_now().is_ok()).collect();
    assert_eq!(in_memory, [false, false, false, true, true]);
    for task in &ended {
        assert_eq!(store.task(task.id()).await.unwrap().as_ref(), Some(task));
        let row = store.result_row(task.id()).await.unwrap().unwrap();
        assert_eq!(row.task.as_ref(), Some(task));
    }
    for (name, last) in [("task-0", 4), ("task-1", 3)] {
        let named = store.named(scribe.owner(), name).await.unwrap();
        assert_eq!(named.as_ref(), Some(&ended[last]));
    }
    let rows = store.inbox(scribe.owner(), 0, 10).await.unwrap();
    let told: Vec<_> = rows.into_iter().filter_map(|row| row.task).collect();
    assert_eq!(told, ended);
    let query =
        TaskQuery { phases: vec![Phase::Completed], ..TaskQuery::new(TaskScope::Everything) };
    assert_eq!(store.tasks(query).await.unwrap().items, ended);
    // The name of an evicted task is free, and its key is not.
    scribe.spawn(&*store, "task-0").await;
}

#[tokio::test]
async fn a_repeated_spawn_of_an_evicted_task_reports_that_it_exists() {
    use offshoot_store::{CommitError, Conflict};
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.set_retention(Retention { in_memory: 0, ..Retention::default() });
    let scribe = Scribe::opened(&*store).await;
    let task = scribe.spawn(&*store, "docs").await;
    scribe.settle(&*store, &task).await;
    let exists = |result| match result {
        Err(CommitError::Conflict(Conflict::TaskExists(id))) => id == task.id(),
        _ => false,
    };
    assert!(exists(scribe.write(&*store, scribe.spawning(&task)).await));
    // Also after its name has been taken again.
    scribe.spawn(&*store, "docs").await;
    assert!(exists(scribe.write(&*store, scribe.spawning(&task)).await));
}

#[tokio::test]
async fn a_large_input_is_stored_separately_and_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    let mut spec = scribe.spec("docs");
    let input = format!("\"{}\"", "x".repeat(100_000));
    spec.input = offshoot_core::Payload::from_json(input).unwrap();
    let task = scribe.task(spec);
    scribe.write(&*store, scribe.spawning(&task)).await.unwrap();
    drop(store);
    let again = open(dir.path()).await;
    assert_eq!(again.task(task.id()).await.unwrap().as_ref(), Some(&task));
    let ended = scribe.settle(&*again, &task).await;
    drop(again);
    let again = open(dir.path()).await;
    assert_eq!(again.task(task.id()).await.unwrap(), Some(ended));
}
