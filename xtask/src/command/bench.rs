//! `cargo xtask bench`: the benchmark, which is a workspace of its own, and the executable for its
//! SQLite workloads, which is another.

use std::ffi::OsString;

use anyhow::{Result, ensure};
use clap::Args;

use crate::executable::{BENCH_MANIFEST, DURABLE_BENCH_MANIFEST, durable_bench};
use crate::repository::Repository;

/// The SQLite flags of `.cargo/config.toml`, unless they are set already.
const SQLITE_FLAGS: &str = "LIBSQLITE3_FLAGS";

/// Arguments of `cargo xtask bench`.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Arguments for the benchmark
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
}

impl Bench {
    /// Builds both in release mode and runs the benchmark from the root of the repository.
    pub(crate) fn run(&self, repository: &Repository) -> Result<()> {
        for manifest in [BENCH_MANIFEST, DURABLE_BENCH_MANIFEST] {
            ensure!(repository.holds(manifest), "there is no {manifest} in this repository");
        }
        let mut run =
            repository.cargo(["run", "--release", "--manifest-path", BENCH_MANIFEST, "--"]);
        // The macros of a peer link SQLite and need the parts that the program leaves out.
        run = run.env(SQLITE_FLAGS, "");
        if self.wants_durable() {
            run = run.args([OsString::from("--durable"), durable_bench(repository)?.into()]);
        }
        run.args(&self.args).run()
    }

    /// Whether an executable can be added to the arguments: they name none, and select more
    /// than a single cell.
    fn wants_durable(&self) -> bool {
        let named = |arg: &OsString| {
            arg == "--durable" || arg.as_encoded_bytes().starts_with(b"--durable=")
        };
        !self.args.iter().any(named) && self.args.first().is_none_or(|arg| arg != "cell")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench(line: &str) -> Bench {
        Bench { args: line.split_whitespace().map(OsString::from).collect() }
    }

    #[test]
    fn an_executable_is_passed_unless_one_is_named_or_a_cell_is_asked_for() {
        assert!(bench("").wants_durable());
        assert!(bench("--work d1 --runs 1").wants_durable());
        assert!(!bench("--work d1 --durable other").wants_durable());
        assert!(!bench("--durable=other").wants_durable());
        assert!(!bench("cell floor w1 10").wants_durable());
    }
}
