//! The protocol between client and daemon: greetings, hand-overs, malformed requests and
//! input. The daemon is the real program.

// A test that cannot go on is one that fails: a panic is how it says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod crowd;
mod door;
mod following;
mod input;
mod run;
mod support;
mod taking_over;
