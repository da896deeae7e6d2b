//! The providers, against a strict server on a real socket.

// A test that cannot go on is one that fails: a panic is how it says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod aside;
mod documented;
mod faults;
mod histories;
mod requests;
mod support;
mod switching;
