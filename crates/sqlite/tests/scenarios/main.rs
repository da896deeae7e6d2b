//! What a data folder promises, each through the public door.

// A scenario that cannot go on is one that fails: a panic is how it says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod blobs;
mod crash;
mod damage;
mod folder;
mod formats;
mod full;
mod group;
mod killed;
mod memory;
mod removal;
mod removed;
mod repair;
mod retention;
mod support;
