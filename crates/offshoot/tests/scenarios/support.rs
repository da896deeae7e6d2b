//! What the scenarios share: stores that behave or do not, a world whose
//! clocks a test owns, bodies that a test holds in its hand, and ways to read
//! what happened.

mod bodies;
mod disk;
mod gate;
mod late;
mod log;
mod opened;
mod polling;
mod reads;
mod record;
mod rows;
mod trouble;
mod world;

pub(crate) use bodies::{Done, Polls, hanging, never, obedient, returns};
pub(crate) use disk::{Disk, OnMemory, OnSqlite, on_every_store, reopen};
pub(crate) use gate::{Flag, Gate};
pub(crate) use late::{Late, Says};
pub(crate) use log::{changes_of, events_so_far, events_until};
pub(crate) use opened::{capped, crash, later, one_slot, open, open_on, session};
pub(crate) use polling::{poll_once, settle_down};
pub(crate) use reads::Reads;
pub(crate) use record::{all_tasks, cancelled, end_of, failure, until, until_in, until_state};
pub(crate) use rows::{block, notices, read_all, said, texts, told};
pub(crate) use trouble::{Of, Trouble};
pub(crate) use world::VirtualWorld;

/// How a scenario ends whose steps may all fail.
pub(crate) type Test = Result<(), offshoot::Error>;

/// Asserts that an error tells its reader all of this.
pub(crate) fn assert_says(error: &impl std::fmt::Display, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
}
