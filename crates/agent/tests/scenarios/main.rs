//! Whole scenarios, through the public API and a scripted model.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod authority;
mod calls;
mod children;
mod delivery;
mod mail;
mod offline;
mod patience;
mod resume;
mod summary;
mod support;
mod turns;
