//! Programs of the system that a fresh machine lacks, had from its package manager.

use anyhow::{Result, ensure};

use crate::repository::Repository;

/// A program that a stage needs and does not bring.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Package {
    /// `npm`, and with it a Node.
    Npm,
    /// `python3`, with which tests make calls of the system that a confined program may not.
    Python,
}

impl Package {
    /// Makes sure that the program is there, and asks the system's package manager when it is not.
    pub(crate) fn ensure(self, repository: &Repository) -> Result<()> {
        let name = match self {
            Self::Npm => "npm",
            Self::Python => "python3",
        };
        let present = || repository.program(name, ["--version"]).succeeds();
        if present() {
            return Ok(());
        }
        let installed = install(repository, name);
        ensure!(
            installed.is_ok() && present(),
            "`{name}` is missing and could not be installed; install the package that has it{}",
            installed.err().map(|error| format!(" ({error})")).unwrap_or_default()
        );
        Ok(())
    }
}

/// Has it installed by the first package manager that is known here.
fn install(repository: &Repository, name: &str) -> Result<()> {
    if repository.program("apt-get", ["--version"]).succeeds() {
        // A machine that was just set up knows no package before it has asked.
        as_root(repository, &["apt-get", "update"])?;
        let lean = ["apt-get", "install", "--yes", "--no-install-recommends", name];
        return as_root(repository, &lean);
    }
    ensure!(
        repository.program("brew", ["--version"]).succeeds(),
        "neither apt-get nor brew is here"
    );
    repository.program("brew", ["install", name]).run()
}

/// Runs it with the rights that installing takes; never asks for a password.
fn as_root(repository: &Repository, line: &[&str]) -> Result<()> {
    let id = repository.program("id", ["-u"]).read()?;
    let line = if id.trim() == "0" { line.to_vec() } else { [&["sudo", "-n"], line].concat() };
    repository.program(line[0], &line[1..]).env("DEBIAN_FRONTEND", "noninteractive").run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_without_a_package_manager_is_an_error() {
        let repository = Repository::discover().unwrap();
        assert!(as_root(&repository, &["offshoot-no-such-program"]).is_err());
    }
}
