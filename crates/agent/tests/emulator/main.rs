//! Agents against a third-party emulator of the providers. The emulator must be installed:
//! `cargo xtask test --only emulator` installs it and runs these tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod faults;
mod support;
