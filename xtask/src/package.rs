//! Programs that a fresh machine lacks, installed by its package manager.

use anyhow::{Result, ensure};

use crate::repository::Repository;

/// An external program that a stage needs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Package {
    /// `npm`, and with it a Node.
    Npm,
    /// `python3`, with which tests make system calls that a confined program may not make.
    Python,
}

impl Package {
    /// Installs the program with the system's package manager if it is missing.
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

/// Installs the program with the first known package manager on this machine.
fn install(repository: &Repository, name: &str) -> Result<()> {
    if repository.program("apt-get", ["--version"]).succeeds() {
        // A fresh machine has no list of packages before its first update.
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

/// Runs the command with the rights that an installation needs; never asks for a password.
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
