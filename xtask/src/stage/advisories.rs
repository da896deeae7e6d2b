//! Stage `advisories`.
//!
//! The advisory database is downloaded from a host that a build machine need not reach, and its
//! contents change without a change to the code. So this stage never downloads it: the stage
//! uses the copy that `cargo audit` or `cargo deny` has left on the machine, and reports when
//! there is none.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Stage, Verdict};
use crate::repository::Repository;

pub(crate) const STAGE: Stage =
    Stage { name: "advisories", about: "no dependency has a known vulnerability", run };

/// A program that checks the lock file against a database in cargo's home directory.
struct Tool {
    subcommand: &'static str,
    database: &'static str,
    args: &'static [&'static str],
}

/// Both fail only on vulnerabilities: an unmaintained package is only shown.
const TOOLS: [Tool; 2] = [
    Tool { subcommand: "audit", database: "advisory-db", args: &["--no-fetch", "--no-yanked"] },
    Tool {
        subcommand: "deny",
        database: "advisory-dbs",
        args: &[
            "--all-features",
            "check",
            "--disable-fetch",
            "--warn=unmaintained",
            "--warn=unsound",
            "advisories",
        ],
    },
];

fn run(repository: &Repository) -> Result<Verdict> {
    let home = cargo_home();
    let usable = |tool: &&Tool| {
        home.as_deref().is_some_and(|home| tool.has_database(home))
            && repository.cargo([tool.subcommand, "--version"]).succeeds()
    };
    let Some(tool) = TOOLS.iter().find(usable) else {
        return Ok(Verdict::Skipped("no advisory database offline"));
    };
    repository.cargo([tool.subcommand]).args(tool.args).run()?;
    Ok(Verdict::Passed)
}

impl Tool {
    fn has_database(&self, cargo_home: &Path) -> bool {
        fs::read_dir(cargo_home.join(self.database)).is_ok_and(|mut found| found.next().is_some())
    }
}

fn cargo_home() -> Option<PathBuf> {
    env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")))
}
