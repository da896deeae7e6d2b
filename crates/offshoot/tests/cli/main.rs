//! The program, as it is typed: one file for each command, and for what all of
//! them have in common.

mod bad_input;
mod completions;
mod daemon;
mod death;
mod doctor;
mod interrupt;
mod sessions;
mod spawn;
mod support;
mod tasks_cancel;
mod tasks_ls;
mod tasks_send;
mod tasks_show;
mod tasks_tail;
mod tasks_wait;
mod terminal;
