//! Stage `bench`.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Stage, Verdict};
use crate::component::Component;
use crate::executable::{BENCH_MANIFEST, DURABLE_BENCH_MANIFEST};
use crate::metadata::Metadata;
use crate::repository::Repository;

/// The peers take minutes to build, and no change in this repository can break them.
const WITHOUT_PEERS: &[&str] = &["--no-default-features", "--features", "offshoot"];

pub(crate) const STAGE: Stage =
    Stage { name: "bench", about: "the benchmarks compile against the crates as they are", run };

fn run(repository: &Repository) -> Result<Verdict> {
    if !repository.holds(BENCH_MANIFEST) {
        return Ok(Verdict::Skipped("there is no benchmark"));
    }
    Component::Clippy.ensure(repository)?;
    // Both share their dependencies, and a clean of the workspace cleans them.
    let target = Metadata::of_members(repository)?.target_directory.join("bench");
    for (manifest, features) in [(BENCH_MANIFEST, WITHOUT_PEERS), (DURABLE_BENCH_MANIFEST, &[])] {
        check(repository, manifest, features, &target)?;
    }
    Ok(Verdict::Passed)
}

/// Runs clippy, which compiles as far as a check does.
fn check(repository: &Repository, manifest: &str, features: &[&str], target: &Path) -> Result<()> {
    repository
        .cargo(["clippy", "--locked", "--all-targets", "--manifest-path", manifest])
        .args(features)
        .args([OsStr::new("--target-dir"), target.as_os_str()])
        .args(["--", "-D", "warnings"])
        .run()
        .with_context(|| {
            format!(
                "the benchmark does not keep up with the crates; if only its lock file does not, \
                 `cargo check --manifest-path {manifest}` brings it up to date"
            )
        })
}
