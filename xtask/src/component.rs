//! Parts of a Rust toolchain that a minimal installation leaves out.

use anyhow::{Result, ensure};

use crate::repository::Repository;

/// A toolchain component that a stage needs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Component {
    /// `cargo fmt`
    Rustfmt,
    /// `cargo clippy`
    Clippy,
}

impl Component {
    /// Installs the component with `rustup` if it is missing.
    pub(crate) fn ensure(self, repository: &Repository) -> Result<()> {
        let (name, subcommand) = match self {
            Self::Rustfmt => ("rustfmt", "fmt"),
            Self::Clippy => ("clippy", "clippy"),
        };
        let present = || repository.cargo([subcommand, "--version"]).succeeds();
        if present() {
            return Ok(());
        }
        let added = repository.program("rustup", ["component", "add", name]).run();
        ensure!(
            added.is_ok() && present(),
            "`cargo {subcommand}` is missing and rustup could not add it; \
             install the `{name}` package of your Rust toolchain"
        );
        Ok(())
    }
}
