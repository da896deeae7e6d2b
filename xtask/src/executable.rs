//! The executables that commands and stages build and then run.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::repository::Repository;

/// The benchmark, which is a workspace of its own.
pub(crate) const BENCH_MANIFEST: &str = "bench/Cargo.toml";

/// The executable of the benchmark's SQLite workloads, a workspace of its own.
pub(crate) const DURABLE_BENCH_MANIFEST: &str = "bench/durable/Cargo.toml";

/// Cargo's messages as JSON, one a line.
const MESSAGES: &str = "--message-format=json-render-diagnostics";

/// Builds the program in release mode and returns its path.
pub(crate) fn program(repository: &Repository) -> Result<PathBuf> {
    let messages = repository
        .cargo(["build", "--release", "-p", "offshoot", "--bin", "offshoot", MESSAGES])
        .read()?;
    executable(&messages).context("the package `offshoot` builds no executable")
}

/// Builds the executable for the SQLite workloads in release mode and returns its
/// path.
pub(crate) fn durable_bench(repository: &Repository) -> Result<PathBuf> {
    let messages = repository
        .cargo(["build", "--release", "--manifest-path", DURABLE_BENCH_MANIFEST, MESSAGES])
        .read()?;
    executable(&messages).with_context(|| format!("{DURABLE_BENCH_MANIFEST} builds no executable"))
}

/// The executable that Cargo's messages name.
fn executable(messages: &str) -> Option<PathBuf> {
    let mut messages = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
    messages.find_map(|message: Value| message["executable"].as_str().map(PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_found_among_the_messages_of_cargo() {
        let messages = "not json\n\
            {\"reason\":\"compiler-artifact\",\"executable\":null}\n\
            {\"reason\":\"compiler-artifact\",\"executable\":\"directory/program\"}\n\
            {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(messages), Some(PathBuf::from("directory/program")));
        assert_eq!(executable("{\"reason\":\"build-finished\"}"), None);
    }
}
