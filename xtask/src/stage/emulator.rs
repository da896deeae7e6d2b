//! Stage `emulator`.

use anyhow::Result;

use super::{Stage, Verdict};
use crate::aimock::Aimock;
use crate::repository::Repository;

pub(crate) const STAGE: Stage = Stage {
    name: "emulator",
    about: "the providers' languages are understood as others understand them",
    run,
};

fn run(repository: &Repository) -> Result<Verdict> {
    let aimock = Aimock::ensure(repository)?;
    repository
        // The flags of the stage `test`, so that nothing is compiled a second time.
        .cargo(["test", "--workspace", "--all-features", "--test", "emulator"])
        .args(["--", "--ignored"])
        .env("OFFSHOOT_NODE", &aimock.node)
        .env("OFFSHOOT_AIMOCK", &aimock.program)
        .run()?;
    Ok(Verdict::Passed)
}
