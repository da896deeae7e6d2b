//! Formats output: text that fits the terminal, and JSON for scripts.

pub(crate) mod approval;
pub(crate) mod colour;
pub(crate) mod error;
pub(crate) mod exact;
#[cfg(test)]
pub(crate) mod example;
pub(crate) mod fields;
pub(crate) mod screen;
pub(crate) mod size;
pub(crate) mod table;
pub(crate) mod task;
pub(crate) mod text;
pub(crate) mod time;
pub(crate) mod tree;

pub(crate) use colour::{Colour, Part};
pub(crate) use screen::{Format, Screen};
