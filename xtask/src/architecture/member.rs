//! A crate of the workspace, as `cargo metadata` describes it.

use std::path::Path;

use anyhow::{Context, Result};

use crate::metadata::{Dependency, Package};

/// A member of the workspace.
#[derive(Debug)]
pub(crate) struct WorkspaceMember {
    /// The name of its directory, which the documents call it by.
    pub(crate) name: String,
    /// The name of its package.
    pub(crate) package: String,
    /// The path of its manifest, relative to the root of the tree.
    pub(crate) manifest: String,
    /// The root files of its library and its programs.
    pub(crate) roots: Vec<String>,
    /// The packages its manifest names.
    pub(crate) dependencies: Vec<Dependency>,
}

impl WorkspaceMember {
    /// The member that a package is, in the tree at `root`.
    pub(crate) fn new(package: Package, root: &Path) -> Result<Self> {
        let manifest = relative(&package.manifest_path, root)?;
        let directory = package.manifest_path.parent().and_then(Path::file_name);
        let name = directory.with_context(|| format!("{manifest} is in no directory"))?;
        let is_crate = |kind: &String| matches!(kind.as_str(), "lib" | "bin" | "proc-macro");
        let roots = package
            .targets
            .iter()
            .filter(|target| target.kind.iter().any(is_crate))
            .map(|target| relative(&target.src_path, root))
            .collect::<Result<_>>()?;
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            package: package.name,
            manifest,
            roots,
            dependencies: package.dependencies,
        })
    }
}

/// The path below `root`, with `/` between its parts.
pub(crate) fn relative(path: &Path, root: &Path) -> Result<String> {
    let below = path
        .strip_prefix(root)
        .with_context(|| format!("{} is outside of {}", path.display(), root.display()))?;
    let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
    Ok(parts.join("/"))
}
