//! Whole scenarios, through the public API and a scripted model.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod calls;
mod children;
mod mail;
mod offline;
mod resume;
mod summary;
mod support;
mod turns;
