//! The measured systems. A system is one file: it implements the supported traits of
//! [`crate::workloads`], and maps each workload to a loop or to the reason for a gap.
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

/// The system that the targets are about.
pub const SUBJECT: &str = "offshoot";
/// The cheapest system that completes each workload.
pub const FLOOR: &str = "floor";

/// A cell's work, ready to be spawned.
pub type Running = Pin<Box<dyn Future<Output = Result<Outcome>> + Send>>;

/// One measured system.
pub struct System {
    /// Its name on the command line and in the report.
    pub name: &'static str,
    /// A description with the version.
    pub about: &'static str,
    /// A note for readers about the measurement of a metric on this system.
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
