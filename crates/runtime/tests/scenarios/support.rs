//! Shared parts of the scenarios: stores that fail or answer late, an environment whose
//! clocks a test sets, bodies that a test controls, and ways to read what happened.

mod bodies;
mod commit_faults;
mod disk;
mod gate;
mod late_store;
mod log;
mod opened;
mod polling;
mod reads;
mod record;
mod rows;
mod world;

pub(crate) use bodies::{Done, Polls, hanging, never, obedient, returns};
pub(crate) use commit_faults::{CommitFaults, CommitFilter};
pub(crate) use disk::{Disk, OnMemory, OnSqlite, on_every_store, reopen};
pub(crate) use gate::{Flag, Gate};
pub(crate) use late_store::{LateAnswer, LateStore};
pub(crate) use log::{changes_of, events_so_far, events_until};
pub(crate) use opened::{capped, crash, later, one_slot, open, open_on, session};
pub(crate) use polling::{poll_once, settle_down};
pub(crate) use reads::Reads;
pub(crate) use record::{all_tasks, cancelled, end_of, failure, until, until_in, until_state};
pub(crate) use rows::{block, ended_handles, message_texts, notices, read_all, texts};
pub(crate) use world::VirtualWorld;

/// The result of a scenario whose steps may all fail.
pub(crate) type Test = Result<(), offshoot_runtime::Error>;

/// Asserts that an error contains all of these words.
pub(crate) fn assert_says(error: &impl std::fmt::Display, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
}
