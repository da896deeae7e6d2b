//! Profiles in directories.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod finding;
mod hostile;
mod instructions;
mod narrowing;
mod references;
mod support;
mod trusting;
