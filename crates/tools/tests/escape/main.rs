//! Ways out of the working directory, and other bad input, from the model of an agent.
//!
//! Each must fail to get out.

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
