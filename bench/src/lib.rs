//! Side-by-side measurements of background-task runtimes, next to the floor that tokio itself sets.
//!
//! Data flows one way: [`schedule`] decides the order of the cells, [`process`] runs each in a
//! child process, the child drives a [`workloads`] loop over one of the [`systems`] and prints
//! [`figure`]s, [`results`] collects them, [`targets`] judges them, [`report`] writes them
//! down.
//!
//! A system never times itself. It supplies calls through the small traits in [`workloads`], and
//! the loop around those calls is the same code for every system.

#![warn(missing_docs)]

pub mod args;
pub mod figure;
pub mod machine;
pub mod measure;
pub mod process;
pub mod report;
pub mod results;
pub mod schedule;
pub mod systems;
pub mod targets;
pub mod verdict;
pub mod workload;
pub mod workloads;
