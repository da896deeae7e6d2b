//! The crash harness over the whole thing: the real binary, driven as a script
//! drives it, while its daemon is killed.
//!
//! Drivers spawn real commands (`sh -c …`) through the command line and
//! steer them; a killer kills the daemon whenever it likes. A ledger in this
//! process, which is never killed, holds the acknowledgements. When everything
//! has come to rest, the auditor compares three worlds: the ledger, what the
//! binary says, and what the commands really did, which each of them wrote
//! into a file of its own.

pub mod audit;
pub mod binary;
pub mod bystander;
pub mod command_task;
pub mod draw;
pub mod driver;
pub mod effects;
pub mod gate;
pub mod killer;
pub mod ledger;
pub mod lines;
pub mod output;
pub mod processes;
pub mod report;
pub mod settling;
pub mod snapshot;
pub mod trial;
pub mod trial_dir;
