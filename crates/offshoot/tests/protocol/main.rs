//! How a client and a daemon meet: greetings, hand-overs, strangers at the
//! door, and input on its way. The daemon is the real program.

// A test that cannot go on is one that fails: a panic is how it says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod crowd;
mod door;
mod following;
mod input;
mod run;
mod support;
mod taking_over;
