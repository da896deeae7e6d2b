//! Stage `fmt`.

use anyhow::{Context, Result};

use super::{Stage, Verdict};
use crate::component::Component;
use crate::executable::{BENCH_MANIFEST, DURABLE_BENCH_MANIFEST};
use crate::repository::Repository;

pub(crate) const STAGE: Stage =
    Stage { name: "fmt", about: "the code is formatted by rustfmt", run };

fn run(repository: &Repository) -> Result<Verdict> {
    Component::Rustfmt.ensure(repository)?;
    repository
        .cargo(["fmt", "--all", "--check"])
        .run()
        .context("format the code with `cargo fmt --all`")?;
    for bench in
        [BENCH_MANIFEST, DURABLE_BENCH_MANIFEST].into_iter().filter(|bench| repository.holds(bench))
    {
        repository
            .cargo(["fmt", "--manifest-path", bench, "--check"])
            .run()
            .with_context(|| format!("format it with `cargo fmt --manifest-path {bench}`"))?;
    }
    Ok(Verdict::Passed)
}
