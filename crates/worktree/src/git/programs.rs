//! Finding the git program.
//!
//! A search path may lead into a project, such as that of a Python environment. An agent that works
//! there can put a program of any name into it, and this process is not confined as the agent is.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::project::project_ancestors;

/// The directories of the search path in which no agent is likely to write: no relative ones, none
/// in a repository, and none in these directories.
pub(super) fn search_directories(search: OsString, near: &[&Path]) -> Vec<PathBuf> {
    let near: Vec<PathBuf> = near.iter().filter_map(|near| near.canonicalize().ok()).collect();
    let safe = |place: &PathBuf| {
        let Ok(real) = place.canonicalize() else { return false };
        let is_near = near.iter().any(|near| real.starts_with(near));
        let brought =
            |place: &Path| project_ancestors(place).any(|above| above.join(".git").exists());
        place.is_absolute() && !is_near && !brought(&real) && !brought(place)
    };
    std::env::split_paths(&search).filter(safe).collect()
}

/// The program of this name in one of these directories.
pub(super) fn find(places: &[PathBuf], name: &str) -> Option<PathBuf> {
    places.iter().map(|place| place.join(name)).find(|file| {
        let found = std::fs::metadata(file);
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_an_agent_can_put_into_the_search_path_is_not_found() {
        let folder = tempfile::tempdir().unwrap();
        // Directories above it are no part of the project.
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o1777)).unwrap();
        let at = |name: &str| folder.path().join(name);
        for place in ["work/bin", "repository/.venv/bin", "repository/.git", "own/bin"] {
            std::fs::create_dir_all(at(place)).unwrap();
        }
        for place in ["work/bin", "repository/.venv/bin", "own/bin"] {
            std::fs::write(at(place).join("git"), "").unwrap();
            let runs = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(at(place).join("git"), runs).unwrap();
        }
        std::os::unix::fs::symlink(at("work/bin"), at("link")).unwrap();
        let all = ["work/bin", "link", "repository/.venv/bin", "own/none", "own/bin"].map(at);
        let search = all.iter().cloned().chain([PathBuf::from("."), PathBuf::new()]);
        let places = search_directories(std::env::join_paths(search).unwrap(), &[&at("work")]);
        assert_eq!(places, [at("own/bin")]);
        assert_eq!(find(&places, "git"), Some(at("own/bin/git")));
        assert_eq!(find(&places, "other"), None);
    }
}
