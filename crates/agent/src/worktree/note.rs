//! What is known of a worktree, and the note that is kept beside it.

use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use offshoot_core::TaskId;
use serde::{Deserialize, Serialize};

use super::blocking::{blocking, read_file};
use super::{NoTree, Worktree, WorktreeState, Worktrees};

/// How the name of a note ends, and that of a draft of one.
pub(super) const NOTE: &str = "json";
pub(super) const DRAFT: &str = "new";

/// The longest note.
const LONGEST: u64 = 64 << 10;

/// A worktree, as it is to be and stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tree {
    /// Where the repository keeps what all its worktrees share.
    pub(super) repository: PathBuf,
    /// Where it is.
    pub(super) path: PathBuf,
    /// Where the agent works in it.
    pub(super) prefix: PathBuf,
    pub(super) branch: String,
    /// The commit at which the branch begins.
    pub(super) base: String,
    /// Whether there are submodules, which are empty in it.
    #[serde(default)]
    pub(super) submodules: bool,
    /// What was under way where it was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) underway: Option<String>,
    #[serde(default)]
    pub(super) origin: Origin,
}

/// Where an agent has its worktree from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Origin {
    /// It is new.
    #[default]
    New,
    /// From the task that it goes on for.
    Inherited,
    /// It is new, because that of the task that it goes on for is gone.
    Anew,
}

/// How far a worktree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Standing {
    /// It is being made: whatever there is of it has nothing of value in it.
    Making,
    /// Its agent works in it, or has left something in it.
    Made,
    /// It is being removed, because there is nothing of value in it.
    Removing,
    /// It is gone. Whoever goes on for its agent begins at the same commit.
    Removed,
}

/// What is written beside a worktree. Whose note it is has the worktree: one task
/// at a time, and whoever goes on for it takes the note over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Note {
    pub(super) tree: Tree,
    pub(super) standing: Standing,
}

impl Tree {
    /// Where git keeps the head and the index of it. Git names that after the
    /// last part of its path, which no other worktree has.
    pub(super) fn admin(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default();
        self.repository.join("worktrees").join(name)
    }

    pub(super) fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// The folder in which the agent works.
    pub(crate) fn folder(&self) -> PathBuf {
        let folder = self.path.join(&self.prefix);
        // A link that is committed may lead anywhere.
        match std::fs::canonicalize(&folder) {
            Ok(real) if real.starts_with(&self.path) => folder,
            _ => self.path.clone(),
        }
    }

    /// As its agent's report shows it, before anything in it is counted.
    pub(crate) fn shown(&self, state: WorktreeState) -> Worktree {
        let Self { path, branch, base, .. } = self.clone();
        Worktree { path, branch, base, state, files: None, commits: None, abandoned: 0 }
    }

    /// What its agent is told of it.
    pub(crate) fn told(&self) -> String {
        let mut told = format!(
            "You work in a git worktree of your own: {}, on the branch {}, which begins at commit \
             {}. Change files there and nowhere else. What was not committed where the worktree \
             was taken from is not in it. Commit what is to be kept: when you end, a worktree \
             without changes and without commits is removed; otherwise it stays, and whoever sent \
             you off is told where it is.\n",
            self.folder().display(),
            self.branch,
            self.base,
        );
        if let Some(underway) = &self.underway {
            told.push_str(&format!(
                "Where it was taken from {underway} was under way: only what had been committed \
                 before is in it.\n"
            ));
        }
        if self.submodules {
            told.push_str("Submodules are empty in it.\n");
        }
        told.push_str(match self.origin {
            Origin::New => "",
            Origin::Inherited => {
                "It is the one of the task that you go on for, with all that was left in it.\n"
            }
            Origin::Anew => {
                "The one of the task that you go on for is gone, because nothing was left in it: \
                 this one is new.\n"
            }
        });
        told
    }
}

impl Note {
    /// Notes that the worktree is so far now.
    pub(super) async fn put(&mut self, place: &Path, standing: Standing) -> Result<(), NoTree> {
        self.standing = standing;
        let (path, note) = (place.to_owned(), self.clone());
        let written = blocking(move || -> std::io::Result<()> {
            let json = serde_json::to_vec(&note)?;
            if let Some(folder) = path.parent() {
                std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            }
            let draft = Self::draft(&path);
            let mut file = std::fs::File::create(&draft)?;
            file.write_all(&json)?;
            file.sync_all()?;
            std::fs::rename(&draft, &path)
        });
        written.await.flatten().map_err(NoTree::disk(place))
    }

    /// Where the note at this place is written before it is whole.
    pub(super) fn draft(place: &Path) -> PathBuf {
        place.with_extension(DRAFT)
    }

    /// The note at this place, if there is one.
    pub(super) fn read(place: &Path) -> Option<Self> {
        serde_json::from_str(&read_file(place, LONGEST).ok()?).ok()
    }
}

impl Worktrees {
    /// Where the worktree of a task is, unless it has inherited one.
    pub(super) fn path(&self, task: TaskId) -> PathBuf {
        self.0.folder.join(task.to_string())
    }

    /// Where the note of a task is.
    pub(super) fn note(&self, task: TaskId) -> PathBuf {
        self.0.folder.join(format!("{task}.{NOTE}"))
    }
}
