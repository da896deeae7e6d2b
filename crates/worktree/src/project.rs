//! Directories that all users share, such as `/tmp`.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The mode of a directory in which every user can make files, and remove only their
/// own.
const SHARED: u32 = 0o1002;

/// A directory and those above it that can belong to the same project, the nearest
/// first. They end below a directory that all users share: any user could have put a
/// repository or instructions there.
pub fn project_ancestors(folder: &Path) -> impl Iterator<Item = &Path> {
    let is_shared =
        |above: &Path| std::fs::metadata(above).is_ok_and(|found| found.mode() & SHARED == SHARED);
    let below = folder.ancestors().position(is_shared).unwrap_or(usize::MAX);
    folder.ancestors().take(below.max(1))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_project_ends_below_a_directory_that_all_users_share() {
        let home = tempfile::tempdir().unwrap();
        let shared = home.path().join("shared");
        let folder = shared.join("a/b");
        std::fs::create_dir_all(&folder).unwrap();
        let mode = |mode| std::fs::set_permissions(&shared, PermissionsExt::from_mode(mode));
        // Some file systems show every directory as open to all.
        mode(0o777).unwrap();
        assert!(project_ancestors(&folder).any(|above| above == shared));
        mode(0o1777).unwrap();
        assert!(project_ancestors(&folder).eq([&*folder, &*shared.join("a")]));
        assert!(project_ancestors(&shared).eq([&*shared]), "it can be a project itself");
    }
}
