//! Whole scenarios, through the public API and a scripted model.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod approvals;
mod approvals_crashes;
mod approvals_ended;
mod approvals_owner;
mod authority;
mod bad_models;
mod calls;
mod children;
mod continuing;
mod delivery;
mod finishing;
mod gate;
mod hitch;
mod injection;
mod interrupting;
mod isolation;
mod isolation_kept;
mod isolation_worktree;
mod knowing;
mod limits;
mod mail;
mod offline;
mod patience;
mod postures;
mod replay;
mod repository;
mod resume;
mod spawning;
mod summary;
mod support;
mod telling;
mod tools;
mod turns;
mod waiting;
mod wakes;
mod worktree_crashes;
