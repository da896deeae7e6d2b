//! The description of a worktree, and the note beside it.

use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Worktree, WorktreeState};
use crate::blocking::{blocking, read_file};
use crate::error::WorktreeError;

/// The extension of a note, and that of a note that is being written.
pub(crate) const NOTE: &str = "json";
pub(crate) const DRAFT: &str = "new";

/// The most bytes of a note.
const LONGEST: u64 = 64 << 10;

/// The description of a worktree. It is decided once, before the worktree is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreeSpec {
    /// The git directory that all worktrees of the repository share.
    pub(crate) repository: PathBuf,
    /// The directory of the worktree.
    pub(crate) path: PathBuf,
    /// The working directory of the agent, relative to `path`.
    pub(crate) prefix: PathBuf,
    /// The branch of the worktree.
    pub(crate) branch: String,
    /// The commit at which the branch begins.
    pub(crate) base: String,
    /// Whether the repository has submodules. They are empty in the worktree.
    #[serde(default)]
    pub(crate) submodules: bool,
    /// The operation in progress in the directory it was made from, such as a merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) underway: Option<String>,
    /// Where it comes from.
    #[serde(default)]
    pub(crate) origin: WorktreeOrigin,
}

/// Where a worktree comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorktreeOrigin {
    /// It is new.
    #[default]
    New,
    /// The task that the agent continues had it.
    Inherited,
    /// It is new, because that of the continued task is gone.
    Anew,
}

/// The phase of a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorktreePhase {
    /// It is being made. There is nothing of value in it.
    Making,
    /// Its agent works in it, or left changes in it.
    Made,
    /// It is being removed. There is nothing of value in it.
    Removing,
    /// It is gone. A task that continues its agent begins at the same commit.
    Removed,
}

/// The note beside a worktree. The task whose note it is has the worktree. A task that continues
/// it takes the note over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorktreeNote {
    pub(crate) tree: WorktreeSpec,
    #[serde(alias = "standing")]
    pub(crate) phase: WorktreePhase,
}

impl WorktreeSpec {
    /// The git directory that all worktrees of the repository share.
    pub fn repository(&self) -> &Path {
        &self.repository
    }

    /// The directory of the worktree.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The branch of the worktree.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// The commit at which the branch begins.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The git directory of the worktree, with its head and index. Git names it after the last part
    /// of its path, which no other worktree has.
    pub(crate) fn admin(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default();
        self.repository.join("worktrees").join(name)
    }

    /// The full name of the branch.
    pub(crate) fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// The working directory of the agent.
    pub fn directory(&self) -> PathBuf {
        let folder = self.path.join(&self.prefix);
        // A link that is committed may lead anywhere.
        match std::fs::canonicalize(&folder) {
            Ok(real) if real.starts_with(&self.path) => folder,
            _ => self.path.clone(),
        }
    }

    /// The worktree in this state, as a report shows it before it is measured.
    pub fn shown(&self, state: WorktreeState) -> Worktree {
        let Self { path, branch, base, .. } = self.clone();
        Worktree { path, branch, base, state, files: None, commits: None, abandoned: 0 }
    }

    /// The text about the worktree for its agent.
    pub fn instructions(&self) -> String {
        let mut text = format!(
            "You work in a git worktree of your own: {}, on the branch {}, which begins at commit \
             {}. Change files there and nowhere else. What was not committed where the worktree \
             was made from is not in it. Commit what is to be kept: when you end, a worktree \
             without changes and without commits is removed; otherwise it stays, and the \
             agent that spawned you is told where it is.\n",
            self.directory().display(),
            self.branch,
            self.base,
        );
        if let Some(underway) = &self.underway {
            text.push_str(&format!(
                "Where it was made from, {underway} was in progress: only what had been committed \
                 before is in it.\n"
            ));
        }
        if self.submodules {
            text.push_str("Submodules are empty in it.\n");
        }
        text.push_str(match self.origin {
            WorktreeOrigin::New => "",
            WorktreeOrigin::Inherited => {
                "It is the one of the task that you continue, with all that was left in it.\n"
            }
            WorktreeOrigin::Anew => {
                "The one of the task that you continue is gone, because nothing was left in it: \
                 this one is new.\n"
            }
        });
        text
    }
}

impl WorktreeNote {
    pub(crate) fn new(tree: WorktreeSpec, phase: WorktreePhase) -> Self {
        Self { tree, phase }
    }

    pub(crate) fn phase(&self) -> WorktreePhase {
        self.phase
    }

    /// The description of the worktree.
    pub fn spec(&self) -> &WorktreeSpec {
        &self.tree
    }

    /// Writes the note with this phase.
    pub(crate) async fn put(
        &mut self,
        path: &Path,
        phase: WorktreePhase,
    ) -> Result<(), WorktreeError> {
        self.phase = phase;
        let (target, note) = (path.to_owned(), self.clone());
        let written = blocking(move || -> std::io::Result<()> {
            let json = serde_json::to_vec(&note)?;
            if let Some(directory) = target.parent() {
                std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
            }
            let draft = Self::draft(&target);
            let mut file = std::fs::File::create(&draft)?;
            file.write_all(&json)?;
            file.sync_all()?;
            std::fs::rename(&draft, &target)
        });
        written.await.flatten().map_err(WorktreeError::disk(path))
    }

    /// The path at which the note is written before it replaces the former one.
    pub(crate) fn draft(path: &Path) -> PathBuf {
        path.with_extension(DRAFT)
    }

    /// Reads the note at this path, if there is one.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        serde_json::from_str(&read_file(path, LONGEST).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_of_an_earlier_version_is_read() {
        let stored = r#"{"tree":{"repository":"/r/.git","path":"/w/1","prefix":"","branch":"b","base":"c"},
            "standing":"made"}"#;
        let note: WorktreeNote = serde_json::from_str(stored).unwrap();
        assert_eq!((note.phase, note.tree.origin), (WorktreePhase::Made, WorktreeOrigin::New));
        let stored = serde_json::to_string(&note).unwrap();
        assert_eq!(serde_json::from_str::<WorktreeNote>(&stored).unwrap().phase, note.phase);
    }
}
