//! The crash harness: real processes on a real disk, killed.
//!
//! A child runs the runtime on SQLite under mixed load and records the acknowledged operations
//! in a ledger outside the store. The parent kills it at a random moment or at a commit,
//! compares the disk with the ledger, and starts the child on the same directory again.

pub mod audit;
pub mod child;
pub mod host;
pub mod job;
pub mod kill_switch;
pub mod ledger;
pub mod parent;
pub mod passing;
pub mod stuck;
