//! `run_command` through real agents, on a scripted model, real processes and
//! SQLite.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod background;
mod confined;
mod crash;
mod denied;
mod detours;
mod dialects;
mod ends;
mod environment;
mod grants;
mod interrupted;
mod output;
mod support;
mod wishes;
