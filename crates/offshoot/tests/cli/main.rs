//! The program on the command line: one file for each command, and for their common behaviour.

// A test that cannot go on is one that fails: a panic is how it says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agents;
mod approvals;
mod bad_input;
mod completions;
mod daemon;
mod damage;
mod day;
mod death;
mod demo;
mod doctor;
mod full_disk;
mod grants;
mod guides;
mod interrupt;
mod json;
mod model;
mod models;
mod own_words;
mod read_only;
mod run;
mod run_address;
mod run_behind;
mod run_death;
mod run_fetch;
mod run_joined;
mod run_keys;
mod run_leak;
mod run_model_delay;
mod run_pass_env;
mod run_prompt;
mod run_question;
mod run_talk;
mod run_together;
mod sessions;
mod slots;
mod spawn;
mod spawn_input;
mod support;
mod tasks_cancel;
mod tasks_ls;
mod tasks_send;
mod tasks_show;
mod tasks_tail;
mod tasks_wait;
mod terminal;
mod worktrees;
