//! Stores that older versions wrote.

use std::path::Path;
use std::sync::Arc;

use offshoot_core::{Caller, Cursor, DeliveryMode, InboxMessage, MessageId, Owner};
use offshoot_store::{CommitError, Conflict, Store, StoreError, TaskQuery, TaskScope, Write};

use crate::support::{Scribe, contents, open, refused};

/// The stores of older versions: one session, a live task `live`, and an ended task `ended`
/// with an unread result. In format 2 `live` has also read a message with the key `once`.
const OLDER: [(u32, &str); 4] = [
    (1, include_str!("../fixtures/format-1.sql")),
    (2, include_str!("../fixtures/format-2.sql")),
    (3, include_str!("../fixtures/format-3.sql")),
    (4, include_str!("../fixtures/format-4.sql")),
];

fn restore(sql: &str, dir: &Path) {
    let file = rusqlite::Connection::open(dir.join("offshoot.db")).unwrap();
    file.execute_batch(sql).unwrap();
    file.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).unwrap();
}

async fn everything(store: &dyn Store) -> Vec<(String, bool)> {
    let tasks = store.tasks(TaskQuery::new(TaskScope::Everything)).await.unwrap();
    tasks.items.iter().map(|task| (task.handle().to_owned(), task.is_live())).collect()
}

#[tokio::test]
async fn a_store_of_every_older_format_is_opened_and_used() {
    for (format, sql) in OLDER {
        let dir = tempfile::tempdir().unwrap();
        restore(sql, dir.path());
        for _ in 0..2 {
            let store = open(dir.path()).await;
            let stored = everything(&*store).await;
            let wanted = [("live".to_owned(), true), ("ended".to_owned(), false)];
            assert_eq!(stored, wanted, "format {format}");
            let sessions = store.sessions(None, 10).await.unwrap().items;
            assert_eq!(sessions[0].name.as_str(), "main-1");
            let owner = Owner::Session(sessions[0].id);
            assert_eq!(store.inbox(owner, 0, 10).await.unwrap().len(), 1);
            for (name, owned) in [("live", 1), ("ended", 1), ("nobody", 0)] {
                let name = Some(name.into());
                let called = TaskQuery { name, ..TaskQuery::new(TaskScope::Everything) };
                assert_eq!(store.tasks(called).await.unwrap().items.len(), owned);
            }
            let log = store.events(None, Cursor::START, 10).await.unwrap().unwrap();
            assert_eq!(log.events.len(), 4);
        }
        let store = open(dir.path()).await;
        let scribe = Scribe::at(1_000);
        let live = store.named(scribe.owner(), "live").await.unwrap().unwrap();
        let blob = store.put_blob(live.id(), "[1]".into()).await.unwrap();
        let (ended, batch) = scribe.settling(&live, blob.into());
        store.commit(batch).await.unwrap();
        drop(store);
        let store = open(dir.path()).await;
        assert_eq!(store.task(live.id()).await.unwrap(), Some(ended));
        assert_eq!(store.blob(blob).await.unwrap().as_deref(), Some("[1]"));
    }
}

#[tokio::test]
async fn a_damaged_store_of_an_older_format_is_left_unchanged() {
    for (_, sql) in OLDER {
        let dir = tempfile::tempdir().unwrap();
        restore(sql, dir.path());
        let path = dir.path().join("offshoot.db");
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2 / 4_096 * 4_096;
        bytes[middle..middle + 4_096].fill(0xa5);
        std::fs::write(&path, bytes).unwrap();
        let before = contents(dir.path());
        let error = refused(dir.path()).await;
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        assert_eq!(contents(dir.path()), before);
    }
}

#[tokio::test]
async fn a_migrated_store_has_its_format_in_the_file_itself() {
    for (_, sql) in OLDER {
        let dir = tempfile::tempdir().unwrap();
        restore(sql, dir.path());
        let store = open(dir.path()).await;
        // An older version reads these bytes before it opens the file.
        let file = std::fs::read(dir.path().join("offshoot.db")).unwrap();
        assert_eq!(u32::from_be_bytes(file[60..64].try_into().unwrap()), 5);
        drop(store);
    }
}

#[tokio::test]
async fn s5_3_a_key_from_before_keys_had_senders_is_still_used() {
    let dir = tempfile::tempdir().unwrap();
    restore(OLDER[1].1, dir.path());
    let store = open(dir.path()).await;
    let scribe = Scribe::at(2_000);
    let live = store.named(Scribe::at(1_000).owner(), "live").await.unwrap().unwrap();
    let send = |from, key: &str, text: &str| {
        let at = scribe.now();
        let id = MessageId::mint(at, at.as_micros().unsigned_abs().into());
        let (text, mode, key) = (text.into(), DeliveryMode::Steer, Some(key.into()));
        let message = Arc::new(InboxMessage { id, from, text, mode, key, at });
        Write::Send { message, to: Owner::Task(live.id()), room: 9 }
    };
    // The sender and the text are no longer known.
    for (from, text) in [(Caller::Host, "one"), (Caller::Task(live.id()), "other")] {
        let refused = scribe.write(&*store, send(from, "once", text)).await.unwrap_err();
        assert!(matches!(refused, CommitError::Conflict(Conflict::MessageKeyUsed(_))), "{refused}");
        scribe.write(&*store, send(from, "new", text)).await.unwrap();
    }
    let refused = scribe.write(&*store, send(Caller::Host, "new", "another")).await.unwrap_err();
    assert!(matches!(refused, CommitError::Conflict(Conflict::MessageKeyReused(_))), "{refused}");
    assert_eq!(store.inbox(Owner::Task(live.id()), 0, 9).await.unwrap().len(), 2);
}
