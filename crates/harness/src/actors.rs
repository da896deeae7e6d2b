//! Who uses the runtime: each actor does what a program would, at random, and
//! holds the runtime to what it acknowledges.

pub mod cancelling;
pub mod delivering;
pub mod following;
pub mod host;
pub mod keeping;
pub mod looking;
pub mod messaging;
pub mod reading;
pub mod removing;
pub mod spawning;
pub mod waiting;
