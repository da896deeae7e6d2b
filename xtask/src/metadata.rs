//! The packages of the workspace and their dependencies, from `cargo metadata`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::repository::Repository;

/// A set of packages.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    /// The packages, in cargo's order.
    pub(crate) packages: Vec<Package>,
    /// The target directory of the workspace.
    pub(crate) target_directory: PathBuf,
}

/// One package, as its manifest describes it.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// Its licence expression, if it has one.
    pub(crate) license: Option<String>,
    /// The path of its manifest.
    pub(crate) manifest_path: PathBuf,
    /// The packages its manifest names.
    pub(crate) dependencies: Vec<Dependency>,
    /// Its libraries, binaries, examples and tests.
    pub(crate) targets: Vec<Target>,
}

/// A package that a manifest names.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    /// Its name.
    pub(crate) name: String,
    /// `dev` or `build`; none for a normal dependency.
    pub(crate) kind: Option<String>,
}

/// Something that can be built from a package.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    /// Its name.
    pub(crate) name: String,
    /// Its kind: `lib`, `bin`, `example` and so on.
    pub(crate) kind: Vec<String>,
    /// The path of its root file.
    pub(crate) src_path: PathBuf,
}

impl Metadata {
    /// The members of the workspace alone.
    pub(crate) fn of_members(repository: &Repository) -> Result<Self> {
        Self::read(repository, &["--no-deps"])
    }

    /// The members and everything they depend on, on any platform and with any feature.
    pub(crate) fn of_everything(repository: &Repository) -> Result<Self> {
        Self::read(repository, &["--all-features"])
    }

    /// As [`Metadata::of_everything`], but only the packages that this machine builds, which
    /// needs no network once the workspace has been built.
    pub(crate) fn of_this_platform(repository: &Repository) -> Result<Self> {
        let host = host(repository)?;
        let args = ["--all-features", "--offline", "--filter-platform", &host];
        Self::read(repository, &args)
    }

    /// Whether the package has an example of this name.
    pub(crate) fn has_example(&self, package: &str, example: &str) -> bool {
        let is_example = |target: &Target| {
            target.name == example && target.kind.iter().any(|kind| kind == "example")
        };
        self.packages
            .iter()
            .any(|found| found.name == package && found.targets.iter().any(is_example))
    }

    fn read(repository: &Repository, args: &[&str]) -> Result<Self> {
        let json = repository.cargo(["metadata", "--format-version", "1"]).args(args).read()?;
        serde_json::from_str(&json).context("cargo metadata is not in the expected format")
    }
}

fn host(repository: &Repository) -> Result<String> {
    let version = repository.program("rustc", ["-vV"]).read()?;
    version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .context("`rustc -vV` names no host")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_found_by_package_name_and_kind() {
        let metadata: Metadata = serde_json::from_str(
            r#"{"packages": [{
                "name": "offshoot", "version": "0.1.0", "license": null,
                "manifest_path": "/Cargo.toml", "dependencies": [], "targets": [
                    {"name": "tour", "kind": ["example"], "src_path": "/examples/tour.rs"},
                    {"name": "offshoot", "kind": ["lib"], "src_path": "/src/lib.rs"}
                ]
            }], "target_directory": "/target"}"#,
        )
        .unwrap();
        assert!(metadata.has_example("offshoot", "tour"));
        assert!(!metadata.has_example("offshoot", "offshoot"));
        assert!(!metadata.has_example("xtask", "tour"));
    }

    #[test]
    fn the_members_of_this_workspace_can_be_read() {
        let metadata = Metadata::of_members(&Repository::discover().unwrap()).unwrap();
        assert!(metadata.packages.iter().any(|found| found.name == "xtask"));
    }
}
