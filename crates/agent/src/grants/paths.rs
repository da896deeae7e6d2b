//! Paths that lead outside the working directory. No standing grant covers a call that names one.

use std::path::{Component, Path};

use offshoot_core::permissions::NamedPaths;

/// The first of the paths that leads outside the directory. Blocks on the file system.
pub(crate) fn first_outside(named: &NamedPaths) -> Option<&str> {
    let real = std::fs::canonicalize(&named.directory).ok();
    let leads = |path: &&String| real.as_ref().is_none_or(|real| leads_outside(real, path));
    named.paths.iter().find(leads).map(String::as_str)
}

/// Whether a path leads outside a directory, which is given by its real path.
///
/// Symbolic links are followed, including the last component. A path that cannot be resolved
/// leads outside, unless it names a file inside that does not exist.
fn leads_outside(directory: &Path, path: &str) -> bool {
    let path = Path::new(path);
    let is_below =
        path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let joined = directory.join(path);
    for known in joined.ancestors() {
        match std::fs::canonicalize(known) {
            Ok(real) => return !real.starts_with(directory),
            Err(_) if !is_below || known.symlink_metadata().is_ok() => return true,
            Err(_) => {}
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_and_dots_are_followed_before_a_path_is_inside() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap().join("work");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::create_dir(root.with_file_name("work2")).unwrap();
        std::fs::write(root.join("a/file"), "").unwrap();
        for (target, link) in
            [("../work2", "out"), ("a", "in"), ("../none", "gone"), ("loop", "loop")]
        {
            symlink(target, root.join(link)).unwrap();
        }
        let at = |path: &str| root.join(path).display().to_string();
        for path in
            ["", ".", "a", "a/file", "a/../a", "in/file", "none", "none/x", "a/file/x", "\0"]
                .map(str::to_owned)
                .into_iter()
                .chain([at(""), at("a"), at("in/file")])
        {
            assert!(!leads_outside(&root, &path), "{path:?}");
        }
        for path in [
            "..",
            "../work2",
            "a/../..",
            "none/../..",
            "out",
            "out/x",
            "gone",
            "gone/x",
            "loop",
            "/",
            "/none",
        ]
        .map(str::to_owned)
        .into_iter()
        .chain([at("../work2"), at("out"), format!("{}2", root.display())])
        {
            assert!(leads_outside(&root, &path), "{path:?}");
        }
        let paths = vec!["a".to_owned(), "out/x".to_owned()];
        let named = NamedPaths { directory: root.clone(), paths };
        assert_eq!(first_outside(&named), Some("out/x"));
        assert_eq!(first_outside(&NamedPaths { directory: root.join("gone"), ..named }), Some("a"));
    }
}
