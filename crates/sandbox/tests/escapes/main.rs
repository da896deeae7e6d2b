//! Operations that a confined program tries in vain.
//!
//! An unconfined process performs each operation first, to show that it works.

#![cfg(target_os = "linux")]
// A test that cannot go on is one that fails: a panic is how it says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod attributes;
mod calls;
mod endings;
mod entering;
mod hidden;
mod ipc;
mod limits;
mod namespaces;
mod outside;
mod processes;
mod scheduling;
mod support;
mod work;
