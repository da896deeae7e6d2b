//! The SQLite store.
//!
//! # The path of a commit
//! ```text
//!  callers ──► queue ──► writer thread: one transaction for all pending batches
//!                          check each batch, write it    (a conflict skips it)
//!                          COMMIT, one fsync
//!                          update the image              (reads see it now)
//!                          answer each caller
//!  readers ◄── image (live tasks, names, counts, the end of the log)
//!          ◄── reader threads with their own connections (everything else)
//! ```
//! A commit is answered when it is on the disk and visible to every read. Nothing
//! is answered earlier, and the writer does not wait to form larger groups. Many
//! concurrent callers share an fsync because they arrive during the previous one.
//!
//! # Files
//! A data directory contains `offshoot.db` with SQLite's files beside it,
//! `blobs/` with the values too large for a record, `lock`, and the marker
//! `store.json`. One process at a time holds the directory. A second one gets an
//! error that names the first.
//!
//! A file that is damaged, newer or foreign is never written to. The store
//! notices before its next answer if the directory is moved, removed or replaced
//! while it is open, and it notices damage when it reads the damaged page. A
//! missing database is not replaced with an empty one. [`DataDir::repair`] saves
//! what can be read.
//!
//! ```
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use offshoot_sqlite::Sqlite;
//! use offshoot_store::OpenStore;
//!
//! let dir = tempfile::tempdir()?;
//! let store = Sqlite::at(dir.path()).open_store().await?;
//! assert!(store.sessions(None, 10).await?.items.is_empty());
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
//! ```

// From the bottom up: formats, files, memory, threads, and the public handles.
mod codec;
mod error;
mod options;
mod record;
mod tables;

mod files;

mod image;

mod check;

mod shared;

mod read;
mod write;

mod store;

mod open;

mod repair;

mod data_dir;

pub use data_dir::DataDir;
pub use repair::{Loss, RepairReport, RepairResult, TableRepair};
pub use store::Sqlite;
