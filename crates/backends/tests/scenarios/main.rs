//! Commands as tasks, through a real runtime and with real processes.

#![cfg(target_os = "linux")]
// A scenario that cannot go on is one that fails: a panic is how it says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cgroups;
mod confined;
mod ends;
mod escaped;
mod exhausted;
mod fugitives;
mod input;
mod killed;
mod many;
mod output;
mod passed_on;
mod readers;
mod reopened;
mod stopping;
mod support;
