//! The tools with which agents work in a folder.

mod run;

pub use run::{Runs, lasting, read};
