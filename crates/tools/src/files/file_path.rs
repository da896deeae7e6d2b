//! A path that a model wrote, unresolved.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use offshoot_agent::ToolError;
use offshoot_core::text;

use super::name;

/// A path relative to the working directory.
///
/// It is unresolved: its `..` may lead out, and its names may be links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FilePath {
    path: PathBuf,
}

impl FilePath {
    /// Parses a path that a model wrote. An absolute path must be within the directory.
    pub(super) fn of(folder: &Path, written: &str) -> Result<Self, ToolError> {
        let path = name::read(written);
        if written.contains('\0') || path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(ToolError::new("No path holds a zero byte."));
        }
        let within = match path.is_absolute() {
            true => path.strip_prefix(folder).map_err(|_| outside(written))?,
            false => &path,
        };
        let mut path = PathBuf::new();
        for part in within.components() {
            match part {
                Component::Normal(name) => path.push(name),
                Component::ParentDir => path.push(".."),
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => return Err(outside(written)),
            }
        }
        Ok(Self { path })
    }

    /// Returns the path of the working directory itself.
    pub(super) fn top() -> Self {
        Self { path: PathBuf::new() }
    }

    /// Returns the path, which is empty for the working directory itself.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its parent and its name, if it names a file.
    pub(super) fn split(&self) -> Option<(Self, &OsStr)> {
        match self.path.components().next_back()? {
            Component::Normal(name) => {
                let path = self.path.parent().map(Path::to_owned).unwrap_or_default();
                Some((Self { path }, name))
            }
            _ => None,
        }
    }

    /// Whether its `..` alone lead out of the working directory.
    pub(super) fn leads_out(&self) -> bool {
        let mut depth = 0_usize;
        for part in self.path.components() {
            match (part, depth) {
                (Component::ParentDir, 0) => return true,
                (Component::ParentDir, _) => depth -= 1,
                _ => depth += 1,
            }
        }
        false
    }

    /// Formats the path for a model.
    pub(super) fn shown(&self) -> String {
        match self.path.as_os_str().is_empty() {
            true => ".".to_owned(),
            false => shown(&self.path),
        }
    }
}

/// Formats a path for a model, with a bounded length.
pub(super) fn shown(path: &Path) -> String {
    text::cut(&name::written(path), 500).into_owned()
}

fn outside(written: &str) -> ToolError {
    ToolError::new(format!(
        "{:?} is outside of the folder you work in. Name paths as seen from that folder.",
        text::cut(written, 200)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_path_is_one_within_the_folder() {
        let of = |written: &str| FilePath::of(Path::new("/home/me/work"), written);
        assert_eq!(of("/home/me/work/src/a.rs").unwrap(), of("src//./a.rs").unwrap());
        assert_eq!(of("/home/me/work").unwrap(), FilePath::top());
        assert_eq!(of("").unwrap().shown(), ".");
        for out in ["/", "/etc/passwd", "/home/me/worker/a"] {
            assert!(of(out).unwrap_err().to_string().contains("outside"), "{out}");
        }
        assert!(of("a\0b").is_err() && of("a\\x00b").is_err());
    }

    #[test]
    fn what_leads_out_by_its_dots_is_known_before_anything_is_looked_at() {
        let leads_out = |written| FilePath::of(Path::new("/w"), written).unwrap().leads_out();
        assert!(leads_out("q/../..") && leads_out("..") && leads_out("../w/a"));
        assert!(!leads_out("q/..") && !leads_out("a/b/../c") && !leads_out("."));
    }

    #[test]
    fn only_what_has_a_name_is_a_file() {
        let split = |written: &str| {
            let place = FilePath::of(Path::new("/w"), written).unwrap();
            place.split().map(|(folder, name)| (folder.shown(), name.to_owned()))
        };
        assert_eq!(split("a/b"), Some(("a".to_owned(), "b".into())));
        assert_eq!(split("b"), Some((".".to_owned(), "b".into())));
        assert_eq!(split("a/.."), None);
        assert_eq!(split("."), None);
    }
}
