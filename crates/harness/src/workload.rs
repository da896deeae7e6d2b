//! The programs that use the simulated runtime: hosts, their actors, and the bodies of their
//! tasks. Each acts at random and compares every acknowledgement with the model.

pub mod body;
pub mod cancelling;
pub mod delivering;
pub mod following;
pub mod host;
pub mod keeping;
pub mod looking;
pub mod messaging;
pub mod reading;
pub mod remote_backend;
pub mod removing;
pub mod spawning;
pub mod waiting;
