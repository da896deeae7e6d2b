//! Batches in a shared transaction fail independently.

use std::sync::Arc;

use offshoot_core::{Caps, Ceiling, Cursor};
use offshoot_store::{Batch, CommitError, CommitFuture, Conflict, SpawnWrite, Store, Write};

use crate::support::{Scribe, open};

/// Submits all batches before the first is answered.
async fn at_once(store: &dyn Store, batches: Vec<Batch>) -> Vec<Result<Cursor, CommitError>> {
    let commits: Vec<CommitFuture> = batches.into_iter().map(|batch| store.commit(batch)).collect();
    let mut answers = Vec::new();
    for commit in commits {
        answers.push(commit.await);
    }
    answers
}

#[tokio::test]
async fn s1_4_of_many_spawns_of_one_name_exactly_one_wins() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    let tasks: Vec<_> = (0..300).map(|_| scribe.task(scribe.spec("docs"))).collect();
    let batch = |task| Batch::new(scribe.now()).write(scribe.spawning(task));
    let answers = at_once(&*store, tasks.iter().map(batch).collect()).await;
    let winner = store.named(scribe.owner(), "docs").await.unwrap().unwrap();
    for (task, answer) in tasks.iter().zip(answers) {
        match answer {
            Ok(_) => assert_eq!(task, &winner),
            Err(CommitError::Conflict(Conflict::NameTaken(by))) => assert_eq!(by, winner.id()),
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn s8_1_a_cap_holds_for_spawns_that_come_together() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    let live = Ceiling { session: Some(7), ..Ceiling::NONE };
    let caps = Arc::new(Caps { live, ..Caps::default() });
    let batches = (0..100).map(|number| {
        let task = scribe.task(scribe.spec(&format!("task-{number}")));
        let spawn = SpawnWrite { task, caps: caps.clone() };
        Batch::new(scribe.now()).write(Write::Spawn(spawn))
    });
    let answers = at_once(&*store, batches.collect()).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 7);
    assert_eq!(store.counts_within(None).await.unwrap().live(), 7);
}

#[tokio::test]
async fn a_batch_that_the_file_refuses_fails_alone() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    // A batch that spawns the same task twice passes every check and fails when it is
    // written.
    let twice = scribe.task(scribe.spec("twice"));
    let mut batches: Vec<_> = (0..50)
        .map(|number| {
            let task = scribe.task(scribe.spec(&format!("task-{number}")));
            Batch::new(scribe.now()).write(scribe.spawning(&task))
        })
        .collect();
    let bad = Batch::new(scribe.now());
    batches.insert(25, bad.write(scribe.spawning(&twice)).write(scribe.spawning(&twice)));
    let answers = at_once(&*store, batches).await;
    for (number, answer) in answers.iter().enumerate() {
        assert_eq!(answer.is_ok(), number != 25, "{number}: {answer:?}");
    }
    assert_eq!(store.task(twice.id()).await.unwrap(), None);
    let counts = store.counts_within(None).await.unwrap();
    assert_eq!((counts.live(), counts.spawned()), (50, 50));
    let events = store.events(None, Cursor::START, 100).await.unwrap().unwrap();
    assert_eq!(events.events.len(), 51);
    drop(store);
    assert_eq!(open(dir.path()).await.counts_within(None).await.unwrap(), counts);
}

#[tokio::test]
async fn an_answered_commit_is_visible_to_the_next_read() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Arc::new(Scribe::opened(&*store).await);
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..20 {
        let (store, scribe) = (store.clone(), scribe.clone());
        callers.spawn(async move {
            for number in 0..10 {
                let name = format!("task-{caller}-{number}");
                let task = scribe.spawn(&*store, &name).await;
                assert_eq!(store.task(task.id()).await.unwrap().as_ref(), Some(&task));
                let ended = scribe.settle(&*store, &task).await;
                let rows = store.inbox(scribe.owner(), 0, usize::MAX).await.unwrap();
                assert!(rows.iter().any(|row| row.task.as_ref() == Some(&ended)));
                // A reader that saw a result in an inbox never sees its task unfinished
                // again.
                for row in rows {
                    let task = store.task(row.task.unwrap().id()).await.unwrap().unwrap();
                    assert!(!task.is_live());
                }
            }
        });
    }
    while let Some(done) = callers.join_next().await {
        done.unwrap();
    }
}
