//! The directories of a command: where it runs and keeps temporary files.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use offshoot_agent::ToolError;
use offshoot_core::TaskId;
use offshoot_sandbox::remove_tree;

/// The directory with the temporary directories of agents.
#[derive(Clone, Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// Uses a directory, given by its real path, that only this user can access.
    pub(super) fn at(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// Uses a directory of this user below the temporary directory of the system.
    pub(super) fn usual() -> Self {
        let temporary = std::env::temp_dir();
        let temporary = std::fs::canonicalize(&temporary).unwrap_or(temporary);
        Self(temporary.join(format!("offshoot-scratch-{}", rustix::process::getuid().as_raw())))
    }

    /// Returns the temporary directory of an agent.
    pub(super) fn of(&self, agent: TaskId) -> PathBuf {
        self.0.join(agent.to_string())
    }

    /// Creates the temporary directory of an agent.
    fn make(&self, agent: TaskId) -> io::Result<PathBuf> {
        let own = self.of(agent);
        for folder in [&self.0, &own] {
            match std::fs::DirBuilder::new().mode(0o700).create(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            // In a directory that all users write to, another user may own this entry.
            let found = std::fs::symlink_metadata(folder)?;
            let ours = found.is_dir() && found.uid() == rustix::process::getuid().as_raw();
            if !ours || found.mode() & 0o022 != 0 {
                let message = format!("{} is not a folder of this user alone", folder.display());
                return Err(io::Error::other(message));
            }
        }
        Ok(own)
    }

    /// Removes the directories of agents for which `keep` returns false.
    ///
    /// Returns their number. A directory that cannot be removed does not stop the sweep;
    /// its error is returned in the end.
    pub(super) async fn sweep<F, Keep>(&self, mut keep: F) -> io::Result<usize>
    where
        F: FnMut(TaskId) -> Keep,
        Keep: Future<Output = bool>,
    {
        let entries = match std::fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            entries => entries?,
        };
        let (mut swept, mut left) = (0, Ok(()));
        for entry in entries.flatten() {
            let agent = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let Some(agent) = agent else { continue };
            if keep(agent).await {
                continue;
            }
            let folder = entry.path();
            let removed = tokio::task::spawn_blocking(move || remove_tree(&folder));
            match removed.await.map_err(io::Error::other).flatten() {
                Ok(()) => swept += 1,
                Err(error) => left = left.and(Err(error)),
            }
        }
        left.map(|()| swept)
    }
}

/// The directories of a command.
#[derive(Debug)]
pub(super) struct Workspace {
    /// Its working directory.
    pub(super) folder: PathBuf,
    /// Its directory for temporary files.
    pub(super) scratch: PathBuf,
}

impl Workspace {
    /// Finds the directories of a command of this agent. Blocks as file access does.
    pub(super) fn find(
        root: &Path,
        within: Option<&str>,
        scratch: &Scratch,
        agent: TaskId,
    ) -> Result<Self, ToolError> {
        // The sandbox allows a directory, and a path over a link may lead to another one later.
        let real = std::fs::canonicalize(root);
        let real = real.map_err(|error| not_there(&root.display().to_string(), &error))?;
        if real != root {
            return Err(ToolError::new(format!(
                "Nothing was run: the folder you work in, {}, is reached over a link. The \
                 user or agent that started you has to name it by its real path, {}.",
                root.display(),
                real.display()
            )));
        }
        let folder = match within {
            Some(within) => inside(root, within)?,
            None => real,
        };
        let scratch = scratch.make(agent).map_err(|error| {
            ToolError::new(format!(
                "Nothing was run: there is no folder for temporary files: {error}."
            ))
        })?;
        Ok(Self { folder, scratch })
    }
}

/// Returns the directory at a path below another one, over no link.
fn inside(root: &Path, within: &str) -> Result<PathBuf, ToolError> {
    let path = Path::new(within);
    let path = path.strip_prefix(root).unwrap_or(path);
    let plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !path.components().all(plain) {
        return Err(ToolError::new(format!(
            "Nothing was run: the folder {within:?} is not inside of the one you work in. Name it \
             as seen from there, without `..`."
        )));
    }
    let folder: PathBuf =
        root.join(path).components().filter(|part| *part != Component::CurDir).collect();
    let real = std::fs::canonicalize(&folder).map_err(|error| not_there(within, &error))?;
    if real != folder {
        return Err(ToolError::new(format!(
            "Nothing was run: the folder {within:?} is reached over a link. Name it by its real \
             path, inside of the folder you work in."
        )));
    }
    if !real.is_dir() {
        return Err(ToolError::new(format!("Nothing was run: {within:?} is not a folder.")));
    }
    Ok(real)
}

fn not_there(name: &str, error: &io::Error) -> ToolError {
    ToolError::new(format!("Nothing was run: the folder {name} is not there: {error}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_inside_of_the_root_and_not_over_links() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let root = place.join("root");
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::create_dir(place.join("root2")).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        std::os::unix::fs::symlink(place.join("root2"), root.join("out")).unwrap();
        std::os::unix::fs::symlink("a", root.join("in")).unwrap();
        for (name, folder) in [("a/b", "a/b"), ("./a/.", "a"), (".", ""), ("", ""), ("a/b/", "a/b")]
        {
            assert_eq!(
                inside(&root, name).unwrap(),
                root.join(folder).components().collect::<PathBuf>()
            );
        }
        let whole = root.join("a");
        assert_eq!(inside(&root, whole.to_str().unwrap()).unwrap(), whole);
        for name in [
            "..", "a/../..", "/", "/etc", "out", "in", "in/b", "out/x", "file", "none", "../root2",
            "\0",
        ] {
            let refused = inside(&root, name).unwrap_err().to_string();
            assert!(refused.starts_with("Nothing was run"), "{refused}");
        }
        assert!(inside(&root, place.join("root2").to_str().unwrap()).is_err());
    }

    #[test]
    fn a_scratch_folder_that_is_deeper_than_any_stack_is_swept() {
        let place = tempfile::tempdir().unwrap();
        let scratch = Scratch::at(place.path().join("scratch"));
        let agents = [1, 2].map(|n| TaskId::mint(offshoot_core::Stamp::from_micros(1), n));
        for agent in agents {
            // Deeper than the longest path that the system accepts.
            nest(&scratch.make(agent).unwrap(), 2_000);
        }
        // 64 bytes a level.
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.thread_stack_size(128 << 10).build().unwrap();
        let swept = scratch.sweep(|agent| std::future::ready(agent == agents[0]));
        assert_eq!(runtime.block_on(swept).unwrap(), 1);
        assert!(scratch.of(agents[0]).exists() && !scratch.of(agents[1]).exists());
        remove_tree(place.path().join("scratch").as_path()).unwrap();
    }

    /// Creates nested directories.
    fn nest(top: &Path, levels: usize) {
        use rustix::fs::{Mode, OFlags, mkdirat, openat};

        let mut folder = std::fs::File::open(top).unwrap().into();
        for _ in 0..levels {
            mkdirat(&folder, "d", Mode::RWXU).unwrap();
            folder = openat(&folder, "d", OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
    }

    #[test]
    fn a_directory_of_another_user_gets_no_temporary_files() {
        let place = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let agent = TaskId::mint(offshoot_core::Stamp::from_micros(1), 7);
        let base = place.path().join("scratch");
        std::os::unix::fs::symlink(elsewhere.path(), &base).unwrap();
        assert!(Scratch::at(base.clone()).make(agent).is_err(), "a link");
        std::fs::remove_file(&base).unwrap();
        let made = Scratch::at(base.clone()).make(agent).unwrap();
        assert_eq!(std::fs::metadata(&made).unwrap().mode() & 0o777, 0o700);
        assert_eq!(Scratch::at(base).make(agent).unwrap(), made, "a second time");
    }
}
