//! A small workspace that a test plants in a directory of its own.

use std::fs;

use tempfile::TempDir;

use super::{Rule, RuleViolation, SourceTree};
use crate::repository::Repository;

/// A workspace under construction. Its directory is removed with it.
pub(crate) struct PlantedWorkspace {
    directory: TempDir,
}

impl PlantedWorkspace {
    /// A workspace without crates.
    pub(crate) fn new() -> Self {
        let planted = Self { directory: tempfile::tempdir().unwrap() };
        planted.file("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n")
    }

    /// Adds a file, and the directories it needs.
    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Adds a crate with this root file and no dependencies.
    pub(crate) fn member(self, name: &str, root: &str) -> Self {
        self.member_with(name, "", root)
    }

    /// Adds a crate whose manifest has these sections after its first.
    pub(crate) fn member_with(self, name: &str, sections: &str, root: &str) -> Self {
        let manifest =
            format!("[package]\nname = \"planted-{name}\"\nedition = \"2024\"\n\n{sections}");
        self.file(&format!("crates/{name}/Cargo.toml"), &manifest)
            .file(&format!("crates/{name}/src/lib.rs"), root)
    }

    /// Adds an `ARCHITECTURE.md` with one layer, which has these crates.
    pub(crate) fn order(self, crates: &str) -> Self {
        let table = format!(
            "<!-- crate order: begin -->\n\
             | layer | crates |\n|---|---|\n| all | {crates} |\n\
             <!-- crate order: end -->\n"
        );
        self.file("ARCHITECTURE.md", &table)
    }

    /// Reads the workspace.
    pub(crate) fn read(&self) -> SourceTree {
        SourceTree::read(&self.repository()).unwrap()
    }

    /// The workspace as a repository.
    pub(crate) fn repository(&self) -> Repository {
        Repository::at(self.directory.path()).unwrap()
    }

    /// The violations of one rule in the workspace, as they are shown.
    pub(super) fn violations(&self, rule: &Rule) -> Vec<String> {
        (rule.check)(&self.read()).iter().map(RuleViolation::to_string).collect()
    }
}
