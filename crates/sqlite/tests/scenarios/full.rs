//! A full disk: the caller gets an error, and no acknowledged data is lost.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use offshoot_core::{Block, BlockKind, Task};
use offshoot_sqlite::Sqlite;
use offshoot_store::{CommitError, OpenStore, Store, StoreError, Write};

use crate::support::{Scribe, open};

const TEXT: usize = 8 << 10;

/// Appends to a history until the disk is full. Returns the number of acknowledged blocks.
async fn fill(store: &dyn Store, scribe: &Scribe, most: u64) -> u64 {
    let text: Arc<str> = "x".repeat(TEXT).into();
    for kept in 0..most {
        let block = Block::new(BlockKind::User, text.clone(), scribe.now());
        let append = Write::Append { owner: scribe.owner(), blocks: vec![block] };
        match scribe.write(store, append).await {
            Ok(_) => {}
            Err(CommitError::Store(StoreError::Full { .. })) => return kept,
            Err(error) => panic!("after {kept} blocks: {error}"),
        }
    }
    panic!("the disk did not fill up");
}

async fn blocks(store: &dyn Store, scribe: &Scribe) -> u64 {
    store.history(scribe.owner(), 0, 0).await.unwrap().total
}

async fn settled(store: &dyn Store, scribe: &Scribe, task: &Task) {
    let ended = scribe.settle(store, task).await;
    assert_eq!(store.task(task.id()).await.unwrap(), Some(ended));
}

#[tokio::test]
async fn a_store_at_its_limit_refuses_and_works_again_with_space() {
    let dir = tempfile::tempdir().unwrap();
    let small = Sqlite::at(dir.path()).max_pages(200).open_store().await.unwrap();
    let scribe = Scribe::opened(&*small).await;
    let task = scribe.spawn(&*small, "docs").await;
    let kept = fill(&*small, &scribe, 1_000).await;
    assert!(kept > 0);
    assert_eq!(blocks(&*small, &scribe).await, kept);
    assert_eq!(small.task(task.id()).await.unwrap().as_ref(), Some(&task));
    drop(small);
    let store = open(dir.path()).await;
    assert_eq!(blocks(&*store, &scribe).await, kept);
    settled(&*store, &scribe, &task).await;
}

/// A small file system that is unmounted on drop.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(bytes: usize) -> Result<Self, String> {
        let at = tempfile::tempdir().map_err(|error| error.to_string())?;
        let size = format!("size={bytes}");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(at.path())
            .output()
            .map_err(|error| error.to_string())?;
        match mounted.status.success() {
            true => Ok(Self(at)),
            false => Err(String::from_utf8_lossy(&mounted.stderr).trim().to_owned()),
        }
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(self.0.path()).status().ok();
    }
}

#[tokio::test]
async fn a_full_disk_refuses_and_works_again_when_there_is_space() {
    let disk = match SmallDisk::mount(3 << 20) {
        Ok(disk) => disk,
        Err(reason) => {
            println!("skipped: no small file system can be mounted here: {reason}");
            return;
        }
    };
    let ballast = disk.path().join("ballast");
    std::fs::write(&ballast, vec![0; 1 << 20]).unwrap();
    let dir = disk.path().join("data");
    let store = open(&dir).await;
    let scribe = Scribe::opened(&*store).await;
    let task = scribe.spawn(&*store, "docs").await;
    let kept = fill(&*store, &scribe, 1_000).await;
    assert!(kept > 0);
    // There is no space for a blob either.
    let blob = store.put_blob(task.id(), "x".repeat(2 << 20).into()).await;
    assert!(matches!(blob, Err(StoreError::Full { .. })), "{blob:?}");
    assert_eq!(blocks(&*store, &scribe).await, kept);
    assert_eq!(store.task(task.id()).await.unwrap().as_ref(), Some(&task));
    std::fs::remove_file(&ballast).unwrap();
    settled(&*store, &scribe, &task).await;
    let more = fill(&*store, &scribe, 1_000).await;
    drop(store);
    // Acknowledged data is there after the next opening, on a full disk or not.
    let again = open(&dir).await;
    assert_eq!(blocks(&*again, &scribe).await, kept + more);
    assert!(!again.task(task.id()).await.unwrap().unwrap().is_live());
}
