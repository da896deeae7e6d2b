//! Agents on real sockets: every request is held against what its provider
//! demands, and one that breaks a rule fails the test.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod hostile;
mod random;
mod support;
mod trees;
