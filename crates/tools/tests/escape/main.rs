//! Ways out of the folder that an agent works in, and other bad input, through
//! the agent that a model drives. Each must fail to get out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod disk;
mod editing;
mod fetching;
mod listing;
mod reading;
mod searching;
mod server;
mod support;
mod writing;
