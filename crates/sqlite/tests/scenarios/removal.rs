//! The removal of sessions from the file.

use std::path::Path;

use offshoot_core::{
    Block, BlockKind, Change, Cursor, Name, Owner, SessionId, SessionRecord, Space,
};
use offshoot_store::{Batch, Guard, Store, TaskQuery, TaskScope, Write};

use crate::support::{Scribe, contents, open};

async fn remove(scribe: &Scribe, store: &dyn Store, session: &SessionRecord) {
    let now = scribe.now();
    let put = Write::PutSession(Box::new(session.remove(0, now).unwrap()), Change::RemovalBegan);
    store.commit(Batch::new(now).guard(Guard::Idle(session.id)).write(put)).await.unwrap();
    while store.remove(session.id, 3).await.unwrap() > 0 {}
}

/// The non-empty tables of a store.
fn tables(dir: &Path) -> Vec<String> {
    let file = rusqlite::Connection::open(dir.join("offshoot.db")).unwrap();
    let mut names = file.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let names = names.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let rows = |name: &String| {
        file.query_row(&format!("SELECT count(*) FROM {name}"), [], |row| row.get::<_, i64>(0))
    };
    let names = names.map(Result::unwrap).filter(|name| !name.starts_with("sqlite_"));
    names.filter(|name| rows(name).unwrap() > 0).collect()
}

#[tokio::test]
async fn no_row_and_no_file_of_a_removed_session_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    for number in 0..20 {
        let task = scribe.spawn(&*store, &format!("task {number}")).await;
        let blob = store.put_blob(task.id(), "[1]".into()).await.unwrap();
        let block = Block::new(BlockKind::User, "x".repeat(3_000).as_str(), scribe.now());
        for owner in [scribe.owner(), Owner::Task(task.id())] {
            let append = Write::Append { owner, blocks: vec![block.clone()] };
            scribe.write(&*store, append).await.unwrap();
        }
        let (ended, batch) = scribe.settling(&task, blob.into());
        store.commit(batch).await.unwrap();
        if number % 2 == 0 {
            scribe.ack(&*store, &ended).await;
        }
    }
    remove(&scribe, &*store, &scribe.session).await;
    drop(store);
    assert_eq!(tables(dir.path()), ["clock"]);
    let files = contents(dir.path());
    assert!(files.keys().all(|path| !path.contains("blobs")), "{:?}", files.keys());
}

#[tokio::test]
async fn a_session_opened_after_a_removal_has_a_new_number() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    let mut last = scribe.session.clone();
    for round in 1..6u32 {
        let id = SessionId::mint(scribe.now(), u128::from(round) + 9);
        let name = Name::numbered("other", u64::from(round));
        let next = SessionRecord::new(id, Space::default(), name, scribe.now());
        scribe.write(&*store, Write::OpenSession(Box::new(next.clone()))).await.unwrap();
        remove(&scribe, &*store, &last).await;
        last = next;
    }
    drop(store);
    let store = open(dir.path()).await;
    assert_eq!(store.sessions(None, 9).await.unwrap().items, std::slice::from_ref(&last));
    assert_eq!(store.events(None, Cursor::START, 9).await.unwrap().unwrap().events.len(), 1);
}

/// The list reads a snapshot of the file while the session is removed from the file and
/// from memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_during_a_removal_shows_the_whole_session_or_none() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let scribe = Scribe::opened(&*store).await;
    let stays = scribe.spawn(&*store, "stays").await;
    for round in 0..30u32 {
        let id = SessionId::mint(scribe.now(), u128::from(round) + 9);
        let name = Name::numbered("passing", u64::from(round) + 1);
        let passing = SessionRecord::new(id, Space::default(), name, scribe.now());
        scribe.write(&*store, Write::OpenSession(Box::new(passing.clone()))).await.unwrap();
        for number in 0..5 {
            let mut spec = scribe.spec(&format!("task {number}"));
            spec.lineage.session = id;
            let task = scribe.task(spec);
            scribe.write(&*store, scribe.spawning(&task)).await.unwrap();
            scribe.settle(&*store, &task).await;
        }
        let lister = store.clone();
        let listing = tokio::spawn(async move {
            let mut sizes = Vec::new();
            for _ in 0..20 {
                let page = lister.tasks(TaskQuery::new(TaskScope::Everything)).await.unwrap();
                lister.events(None, Cursor::START, 500).await.unwrap().unwrap();
                sizes.push(page.items.len());
            }
            sizes
        });
        remove(&scribe, &*store, &passing).await;
        let sizes = listing.await.unwrap();
        assert!(sizes.is_sorted_by(|one, other| one >= other), "{sizes:?}");
    }
    let left = store.tasks(TaskQuery::new(TaskScope::Everything)).await.unwrap().items;
    assert_eq!(left, [stays]);
}
