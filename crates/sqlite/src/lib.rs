//! Offshoot's records in a SQLite file.
//!
//! # How a commit travels
//! ```text
//!  callers ──► queue ──► writer thread: one transaction for all that waits
//!                          check each batch, write it    (a conflict skips it)
//!                          COMMIT, one fsync
//!                          image changed                 (reads see it now)
//!                          each caller answered
//!  readers ◄── image (live tasks, names, counts, the end of the log)
//!          ◄── reader threads on connections of their own (all the rest)
//! ```
//! A caller is answered after its batch is on the disk and visible to every
//! read; nothing is answered earlier, and nothing waits for company. A
//! thousand concurrent callers share an fsync because they arrive while the
//! one before is under way.
//!
//! # What is where
//! A data folder holds `offshoot.db` (and SQLite's files beside it), `blobs/`
//! with the values too large for a record, `lock`, and `store.json`, which says
//! that a database belongs here. One process at a time holds the folder; a second
//! one gets an error that names the first.
//!
//! A file that is damaged, newer or not ours is never written to. A folder that
//! is moved, removed or replaced while it is open is noticed before anything
//! more is answered, and so is damage once it is read. A database that is missing
//! is not replaced by an empty one. [`Folder::repair`] saves what can be read.
//!
//! ```
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use offshoot_sqlite::Sqlite;
//! use offshoot_store::OpenStore;
//!
//! let folder = tempfile::tempdir()?;
//! let store = Sqlite::at(folder.path()).open_store().await?;
//! assert!(store.sessions(None, 10).await?.items.is_empty());
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
//! ```

mod blobs;
mod check;
mod codec;
mod connection;
mod error;
mod folder;
mod image;
mod inspect;
mod load;
mod lock;
mod marker;
mod migrate;
mod open;
mod presence;
mod queue;
mod read;
mod reader;
mod record;
mod repair;
mod shared;
mod store;
mod tables;
mod wal;
mod write;
mod writer;

pub use folder::Folder;
pub use repair::{Loss, Rebuilt, Repaired, TableRepair};
pub use store::Sqlite;
