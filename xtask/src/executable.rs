//! The executables that commands and stages build and then run.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::invocation::Invocation;
use crate::repository::Repository;

/// The benchmark, which is a workspace of its own.
pub(crate) const BENCH_MANIFEST: &str = "bench/Cargo.toml";

/// The executable of the benchmark's SQLite workloads, a workspace of its own.
pub(crate) const DURABLE_BENCH_MANIFEST: &str = "bench/durable/Cargo.toml";

/// Cargo's messages as JSON, one a line.
const MESSAGES: &str = "--message-format=json-render-diagnostics";

/// The arguments of every release build of the stages. Cargo chooses the features of a dependency
/// for all targets of a build together, and an example has those of the development dependencies
/// too. So builds of one target each would compile most dependencies, and all crates above them,
/// once for each target.
const SHARED_BUILD: [&str; 10] = [
    "build",
    "--release",
    "--workspace",
    "--all-features",
    "--bin",
    "offshoot",
    "--bin",
    "offshoot-harness",
    "--example",
    "tour",
];

/// An executable of the workspace that stages run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Executable {
    /// The program.
    Offshoot,
    /// The fault harness.
    Harness,
    /// The example that shows the library.
    Tour,
}

impl Executable {
    /// The name of its target.
    fn target(self) -> &'static str {
        match self {
            Self::Offshoot => "offshoot",
            Self::Harness => "offshoot-harness",
            Self::Tour => "tour",
        }
    }

    /// Builds it in release mode, with the other executables of the stages, and returns its path.
    pub(crate) fn build(self, repository: &Repository) -> Result<PathBuf> {
        built(repository.cargo(SHARED_BUILD).args([MESSAGES]), self.target())
    }

    /// Builds it and returns a call of it.
    pub(crate) fn invocation(self, repository: &Repository) -> Result<Invocation> {
        let path = self.build(repository)?;
        Ok(repository.program(&path.to_string_lossy(), [""; 0]))
    }
}

/// Builds the program as a user does, with the features of its package alone, and returns its path.
pub(crate) fn program(repository: &Repository) -> Result<PathBuf> {
    let flags = ["build", "--release", "-p", "offshoot", "--bin", "offshoot", MESSAGES];
    built(repository.cargo(flags), "offshoot")
}

/// Builds the executable for the SQLite workloads in release mode and returns its path.
pub(crate) fn durable_bench(repository: &Repository) -> Result<PathBuf> {
    let messages = repository
        .cargo(["build", "--release", "--manifest-path", DURABLE_BENCH_MANIFEST, MESSAGES])
        .read()?;
    executable(&messages, |_| true)
        .with_context(|| format!("{DURABLE_BENCH_MANIFEST} builds no executable"))
}

/// The path of the target of this name after this build.
fn built(build: Invocation, name: &str) -> Result<PathBuf> {
    let messages = build.read()?;
    executable(&messages, |target| target == name)
        .with_context(|| format!("the workspace builds no executable `{name}`"))
}

/// The first executable of a matching target in Cargo's messages.
fn executable(messages: &str, matches: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let mut messages = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
    messages.find_map(|message: Value| {
        let name = message["target"]["name"].as_str().unwrap_or_default();
        let path = message["executable"].as_str().map(PathBuf::from)?;
        matches(name).then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_found_among_the_messages_of_cargo() {
        let messages = "not json\n\
            {\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"a\"},\"executable\":null}\n\
            {\"reason\":\"compiler-artifact\",\"target\":{\"name\":\"b\"},\"executable\":\"dir/b\"}\n\
            {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(messages, |_| true), Some(PathBuf::from("dir/b")));
        assert_eq!(executable(messages, |name| name == "b"), Some(PathBuf::from("dir/b")));
        assert_eq!(executable(messages, |name| name == "a"), None);
    }
}
