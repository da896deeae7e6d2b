//! Scenarios of a data directory, through the public API.

// A scenario fails by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod blobs;
mod crash;
mod damage;
mod data_dir;
mod formats;
mod full;
mod group;
mod killed;
mod lost_log;
mod memory;
mod removal;
mod removed;
mod repair;
mod retention;
mod support;
