//! The permissions of a program.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::limits::ResourceLimits;

/// The exit code of a shell for a program that exists and was not executed.
pub(crate) const NOT_EXECUTED: i32 = 126;

/// The writable directories of a program, and the paths hidden from it.
///
/// The program may read and execute all other files.
///
/// ```
/// use offshoot_sandbox::{Confinement, ConfinementError};
///
/// // A working directory may be below a hidden directory.
/// Confinement::new(["/data/worktrees/one"], ["/data"])?;
/// // A hidden path below a writable directory would stay visible.
/// let refused = Confinement::new(["/home/me"], ["/home/me/.keys"]);
/// assert!(matches!(refused, Err(ConfinementError::Uncovered { .. })));
/// # Ok::<_, ConfinementError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confinement {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    writable: Vec<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hidden: Vec<PathBuf>,
    #[serde(default, skip_serializing_if = "ResourceLimits::is_default")]
    limits: ResourceLimits,
}

/// An error in a confinement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfinementError {
    /// A path is not absolute.
    #[error("the path {0:?} is not absolute: say where it is from the root on")]
    Relative(PathBuf),
    /// A path contains `..`.
    #[error("the path {0:?} holds `..`: say where it is without")]
    Upwards(PathBuf),
    /// A path is not UTF-8, which records require.
    #[error("the path {0:?} is not UTF-8: rename it")]
    NotUtf8(PathBuf),
    /// A path contains a NUL byte.
    #[error("the path {0:?} holds a zero byte, which no path can")]
    Nul(PathBuf),
    /// A hidden path is below a writable directory.
    #[error(
        "the folder {writable:?} cannot be written to while {hidden:?} is hidden: what lies in a \
         writable folder cannot be hidden"
    )]
    Uncovered {
        /// The writable directory.
        writable: PathBuf,
        /// The hidden path below it.
        hidden: PathBuf,
    },
    /// The writable directory belongs to the system.
    #[error("the folder {0:?} cannot be written to by a confined program: it is the system's own")]
    System(PathBuf),
    /// Every program is below the hidden path, so none could be executed.
    #[error("{0:?} cannot be hidden: no program could be executed without it")]
    Needed(PathBuf),
}

/// Directories in which a write changes the system, not a file.
const SYSTEM: [&str; 3] = ["/dev", "/proc", "/sys"];

impl Confinement {
    /// Allows writes to these directories, given by their real paths, and hides paths.
    ///
    /// A hidden path may not exist yet; it is hidden once it does.
    pub fn new<W: Into<PathBuf>, H: Into<PathBuf>>(
        writable: impl IntoIterator<Item = W>,
        hidden: impl IntoIterator<Item = H>,
    ) -> Result<Self, ConfinementError> {
        let writable = writable.into_iter().map(Into::into).collect();
        let hidden = hidden.into_iter().map(Into::into).collect();
        let confinement = Self { writable, hidden, limits: ResourceLimits::default() };
        confinement.check()?;
        Ok(confinement)
    }

    /// Sets the resource limits of the program.
    #[must_use]
    pub fn limited(mut self, limits: ResourceLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the resource limits of the program.
    pub fn limits(&self) -> &ResourceLimits {
        &self.limits
    }

    /// Returns the writable directories.
    pub fn writable(&self) -> &[PathBuf] {
        &self.writable
    }

    /// Returns the hidden paths.
    pub fn hidden(&self) -> &[PathBuf] {
        &self.hidden
    }

    /// Returns the confinement with the real paths of hidden paths.
    #[cfg(target_os = "linux")]
    pub(crate) fn resolved(&self, hidden: Vec<PathBuf>) -> Self {
        Self { hidden, ..self.clone() }
    }

    /// Checks a confinement from another process.
    pub fn check(&self) -> Result<(), ConfinementError> {
        for path in self.writable.iter().chain(&self.hidden) {
            check_path(path)?;
        }
        for folder in &self.writable {
            let shared = folder.starts_with("/dev/shm");
            let system = SYSTEM.iter().any(|system| folder.starts_with(system));
            if folder == Path::new("/") || (system && !shared) {
                return Err(ConfinementError::System(folder.clone()));
            }
        }
        if let Some(root) = self.hidden.iter().find(|path| *path == Path::new("/")) {
            return Err(ConfinementError::Needed(root.clone()));
        }
        self.check_covered(&self.hidden)
    }

    /// Checks that no hidden path is below a writable directory.
    pub(crate) fn check_covered(&self, hidden: &[PathBuf]) -> Result<(), ConfinementError> {
        for writable in &self.writable {
            if let Some(hidden) = hidden.iter().find(|path| path.starts_with(writable)) {
                let (writable, hidden) = (writable.clone(), hidden.clone());
                return Err(ConfinementError::Uncovered { writable, hidden });
            }
        }
        Ok(())
    }
}

fn check_path(path: &Path) -> Result<(), ConfinementError> {
    let Some(text) = path.to_str() else {
        return Err(ConfinementError::NotUtf8(path.to_owned()));
    };
    if text.contains('\0') {
        return Err(ConfinementError::Nul(path.to_owned()));
    }
    if !path.is_absolute() {
        return Err(ConfinementError::Relative(path.to_owned()));
    }
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(ConfinementError::Upwards(path.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    const NOTHING: [&str; 0] = [];

    #[test]
    fn a_confinement_reads_as_json_that_people_can_write() {
        let json = r#"{"writable":["/src"],"hidden":["/data"]}"#;
        let confinement: Confinement = serde_json::from_str(json).unwrap();
        assert_eq!(confinement, Confinement::new(["/src"], ["/data"]).unwrap());
        assert_eq!(serde_json::to_string(&confinement).unwrap(), json);
        assert_eq!(serde_json::from_str::<Confinement>("{}").unwrap(), Confinement::default());
        assert!(serde_json::from_str::<Confinement>(r#"{"readable":[]}"#).is_err());
    }

    #[test]
    fn what_lies_in_a_writable_folder_cannot_be_hidden() {
        let uncovered = |writable: &str, hidden: &str| ConfinementError::Uncovered {
            writable: writable.into(),
            hidden: hidden.into(),
        };
        assert_eq!(Confinement::new(["/a"], ["/a"]), Err(uncovered("/a", "/a")));
        assert_eq!(Confinement::new(["/b", "/a/"], ["/a/b"]), Err(uncovered("/a/", "/a/b")));
        assert!(Confinement::new(["/a/b"], ["/a"]).is_ok());
        assert!(Confinement::new(["/a"], ["/ab"]).is_ok(), "a name that begins alike is another");
    }

    #[test]
    fn a_path_that_says_too_little_is_refused() {
        let new = |path: &str| Confinement::new([path], NOTHING);
        assert_eq!(new("a"), Err(ConfinementError::Relative("a".into())));
        assert_eq!(new(""), Err(ConfinementError::Relative("".into())));
        assert_eq!(new("/a/../b"), Err(ConfinementError::Upwards("/a/../b".into())));
        assert_eq!(new("/a\0"), Err(ConfinementError::Nul("/a\0".into())));
        let odd = Path::new(OsStr::from_bytes(b"/\xff"));
        let refused = Confinement::new(NOTHING, [odd]);
        assert_eq!(refused, Err(ConfinementError::NotUtf8(odd.into())));
        for name in ["/a/b\nc", "/ü", "/a b", "/.."] {
            assert_eq!(new(name).is_ok(), !name.contains(".."), "{name}");
        }
    }

    #[test]
    fn the_system_is_not_given_away() {
        for folder in ["/", "/proc", "/sys/fs", "/dev", "/dev/disk"] {
            let refused = Confinement::new([folder], NOTHING);
            assert_eq!(refused, Err(ConfinementError::System(folder.into())));
        }
        assert!(Confinement::new(["/dev/shm", "/devices"], NOTHING).is_ok());
        assert_eq!(Confinement::new(NOTHING, ["/"]), Err(ConfinementError::Needed("/".into())));
    }
}
