//! Agents against an emulator of the providers that others have written. These
//! tests need it installed: `cargo xtask test --only emulator` does that and runs
//! them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod faults;
mod support;
