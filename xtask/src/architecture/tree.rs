//! The repository, read and parsed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::member::{WorkspaceMember, relative};
use super::module::{self, Module};
use super::rust_file::RustFile;
use super::text_file::TextFile;
use crate::metadata::Metadata;
use crate::repository::Repository;

/// Endings of the files that are read as text: documents, manifests, SQL and shell code.
const TEXT_ENDINGS: &[&str] = &["md", "toml", "sql", "sh", "bash", "zsh", "fish"];

/// The crates and files of a repository. Build output and hidden directories are not part of it.
pub(crate) struct SourceTree {
    members: Vec<WorkspaceMember>,
    rust_files: BTreeMap<String, RustFile>,
    text_files: Vec<TextFile>,
}

impl SourceTree {
    /// Reads and parses a repository; an error names the file that cannot be read.
    pub(crate) fn read(repository: &Repository) -> Result<Self> {
        let root = repository.root().canonicalize().context("the root directory is gone")?;
        let packages = Metadata::of_members(repository)?.packages;
        let members = packages.into_iter().map(|package| WorkspaceMember::new(package, &root));
        let mut tree = Self {
            members: members.collect::<Result<_>>()?,
            rust_files: BTreeMap::new(),
            text_files: Vec::new(),
        };
        tree.add_directory(&root, &root)?;
        Ok(tree)
    }

    /// The crates of the workspace.
    pub(crate) fn members(&self) -> &[WorkspaceMember] {
        &self.members
    }

    /// Every Rust file by its path, those outside of the workspace too.
    pub(crate) fn rust_files(&self) -> &BTreeMap<String, RustFile> {
        &self.rust_files
    }

    /// Every document, manifest, SQL file and shell file.
    pub(crate) fn text_files(&self) -> &[TextFile] {
        &self.text_files
    }

    /// Every file of either sort.
    pub(crate) fn all_files(&self) -> impl Iterator<Item = &TextFile> {
        self.rust_files.values().map(|file| &**file).chain(&self.text_files)
    }

    /// The modules of the crate with this root file, those for tests excepted.
    pub(crate) fn modules_of(&self, root: &str) -> Vec<Module<'_>> {
        module::modules_of(&self.rust_files, root)
    }

    fn add_directory(&mut self, directory: &Path, root: &Path) -> Result<()> {
        let unreadable = || format!("cannot read {}", directory.display());
        for entry in fs::read_dir(directory).with_context(unreadable)? {
            let entry = entry.with_context(unreadable)?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let kind = entry.file_type().with_context(unreadable)?;
            let is_output = name == "target" && directory.join("Cargo.toml").exists();
            if name.starts_with('.') || kind.is_dir() && is_output {
                continue;
            }
            if kind.is_dir() {
                self.add_directory(&entry.path(), root)?;
            } else if kind.is_file() {
                self.add_file(&entry.path(), root)?;
            }
        }
        Ok(())
    }

    fn add_file(&mut self, path: &Path, root: &Path) -> Result<()> {
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        let is_rust = ending == "rs";
        if !is_rust && !TEXT_ENDINGS.contains(&ending.as_ref()) {
            return Ok(());
        }
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let file = TextFile::new(relative(path, root)?, text);
        if is_rust {
            self.rust_files.insert(file.path.clone(), RustFile::parse(file)?);
        } else {
            self.text_files.push(file);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::architecture::planted::PlantedWorkspace;

    #[test]
    fn hidden_directories_and_build_output_are_not_read() {
        let tree = PlantedWorkspace::new()
            .member("low", "")
            .file("target/debug/out.rs", "fn {")
            .file(".hidden/a.rs", "fn {")
            .file("docs/a.md", "A page.\n")
            .read();
        let rust: Vec<_> = tree.rust_files().keys().map(String::as_str).collect();
        assert_eq!(rust, ["crates/low/src/lib.rs"]);
        assert!(tree.text_files().iter().any(|file| file.path == "docs/a.md"));
    }

    #[test]
    fn a_member_is_named_after_its_directory() {
        let tree = PlantedWorkspace::new().member("low", "").read();
        let [member] = tree.members() else { panic!("{:?}", tree.members()) };
        assert_eq!((member.name.as_str(), member.package.as_str()), ("low", "planted-low"));
        assert_eq!(member.roots, ["crates/low/src/lib.rs"]);
    }
}
