//! Whole scenarios, through the public API and a scripted model.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod authority;
mod bad_models;
mod calls;
mod children;
mod continuing;
mod delivery;
mod dialect_awaken;
mod dialect_claude_code;
mod dialect_codex;
mod dialect_defect;
mod dialect_everruns;
mod dialect_koda;
mod dialects;
mod finishing;
mod gate;
mod hitch;
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
