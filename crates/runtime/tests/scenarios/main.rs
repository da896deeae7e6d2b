//! The promises of the runtime, one capability a file, each through the public API.

// A scenario that cannot go on fails by a panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod backends;
mod bad_input;
mod cancel;
mod cascade;
mod clearing;
mod crash_loops;
mod delivery;
mod delivery_crash;
mod draining;
mod endings;
mod handles;
mod identity;
mod keys;
mod late_answers;
mod leases;
mod lifecycle;
mod limits;
mod lineage;
mod looking_in;
mod message_keys;
mod message_refusals;
mod messages;
mod owners;
mod panics;
mod peers;
mod questions;
mod recovery;
mod recovery_trouble;
mod retention;
mod scope;
mod sessions;
mod shutdown;
mod sizes;
mod slots;
mod spawning;
mod steps;
mod support;
mod sweeps;
mod taken_over;
mod timers;
mod traces;
mod waiting;
mod waiting_elsewhere;
mod waking;
mod watching;
