//! The crash harness: real processes on a real disk, killed.
//!
//! A child runs the runtime on SQLite under mixed load and writes down, in a
//! ledger outside the store, what was acknowledged to it. The parent kills it,
//! at a random moment or at a commit, and compares what the disk holds with
//! what the ledger says. Then it starts the child on the same folder again.

pub mod audit;
pub mod child;
pub mod host;
pub mod job;
pub mod kill_switch;
pub mod ledger;
pub mod parent;
pub mod passing;
pub mod stuck;
