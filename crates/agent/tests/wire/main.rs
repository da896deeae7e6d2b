//! Agents on real sockets: the server checks every request against the rules of its provider,
//! and a broken rule fails the test.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod hostile;
mod random;
mod support;
mod trees;
