//! What is measured against what. A system is one file: it implements the traits of
//! [`crate::workloads`] it can, and maps each workload to a loop or to the reason why not.
//!
//! To add one: write `systems/<name>.rs` with a `SYSTEM`, name it in the two lists below.

use std::future::Future;
use std::pin::Pin;

use anyhow::Result;

use crate::figure::{Metric, Outcome};
use crate::workload::Workload;

#[cfg(feature = "awaken")]
mod awaken;
#[cfg(feature = "defect")]
mod defect;
mod floor;
#[cfg(feature = "koda")]
mod koda;
#[cfg(feature = "offshoot")]
mod offshoot;

/// Every system compiled in, in the order of the report.
pub const ALL: &[System] = &[
    #[cfg(feature = "offshoot")]
    offshoot::SYSTEM,
    floor::SYSTEM,
    #[cfg(feature = "awaken")]
    awaken::SYSTEM,
    #[cfg(feature = "koda")]
    koda::SYSTEM,
    #[cfg(feature = "defect")]
    defect::SYSTEM,
];

/// The system whose numbers the targets are about.
pub const SUBJECT: &str = "offshoot";
/// The system that does the least that does the job.
pub const FLOOR: &str = "floor";

/// A cell's work, ready to be spawned.
pub type Running = Pin<Box<dyn Future<Output = Result<Outcome>> + Send>>;

/// One measured system.
pub struct System {
    /// Its name on the command line and in the report.
    pub name: &'static str,
    /// What it is, with its version.
    pub about: &'static str,
    /// What a reader must know about how a metric is measured on this system.
    pub notes: &'static [(Metric, &'static str)],
    /// Runs one workload at one size.
    pub run: fn(Workload, usize) -> Running,
}

/// The system of this name, or an error that lists the names there are.
pub fn find(name: &str) -> Result<&'static System, String> {
    ALL.iter().find(|system| system.name == name).ok_or_else(|| {
        let known: Vec<&str> = ALL.iter().map(|system| system.name).collect();
        format!("no system `{name}`; compiled in: {}", known.join(", "))
    })
}
