//! The check that `docs/dependencies.md` has one line for each direct dependency.

use std::collections::BTreeSet;
use std::path::Path;

/// The names of the crates in the table of the page.
fn documented(page: &str) -> Vec<String> {
    let name = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    page.lines().filter_map(name).collect()
}

/// The dependencies of a manifest that come from a registry.
///
/// Those of the workspace itself have a path, or a name of ours.
fn registry_dependencies(manifest: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut is_list = false;
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            is_list = section.trim_end_matches(']').ends_with("dependencies");
        } else if is_list && let Some((key, _)) = line.split_once('=') {
            let name = key.trim().split('.').next().unwrap_or_default();
            let is_key = name.starts_with(|c: char| c.is_ascii_alphabetic());
            if is_key && name != "offshoot" && !name.starts_with("offshoot-") {
                names.insert(name.to_owned());
            }
        }
    }
    names
}

#[test]
fn every_direct_dependency_has_one_line_that_says_why() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let mut names = registry_dependencies(&read("xtask/Cargo.toml"));
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        let manifest = entry.unwrap().path().join("Cargo.toml");
        if let Ok(manifest) = std::fs::read_to_string(manifest) {
            names.extend(registry_dependencies(&manifest));
        }
    }
    let lines = documented(&read("docs/dependencies.md"));
    assert_eq!(lines, names.into_iter().collect::<Vec<_>>());
}

#[test]
fn dependencies_are_read_from_every_list_of_a_manifest() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\noffshoot-core.workspace = true\n\
                    serde = \"1\"\n[target.'cfg(unix)'.dev-dependencies]\nnix.workspace = true\n\
                    [features]\nlong = []\n";
    let names: Vec<_> = registry_dependencies(manifest).into_iter().collect();
    assert_eq!(names, ["nix", "serde"]);
}
