//! Cleanup: the worktree of an agent that ends, and those of agents that ended without cleanup.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use offshoot_core::TaskId;

use super::Worktrees;
use crate::blocking::blocking;
use crate::error::WorktreeError;
use crate::git::GitError;
use crate::worktree::{DRAFT, NOTE, Worktree, WorktreeNote, WorktreePhase, WorktreeState};

/// The state of the task that has a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerState {
    /// It is live, or its state is not known.
    Live,
    /// It has ended.
    Ended,
    /// It has ended, and its record was removed.
    Gone,
}

impl Worktrees {
    /// The note of a task's worktree, if the task has one.
    pub fn note(&self, task: TaskId) -> Option<WorktreeNote> {
        WorktreeNote::read(&self.note_path(task))
    }

    /// Removes a worktree if nothing would be lost, unless `late` resolves before. A worktree that
    /// was about to be removed then is measured again by the next cleanup.
    pub async fn tidy_up(
        &self,
        task: TaskId,
        note: &mut WorktreeNote,
        late: impl Future<Output = Duration>,
    ) -> Result<Worktree, WorktreeError> {
        let (path, before) = (self.note_path(task), note.phase());
        let what = format!("git measures its worktree {}", note.spec().path().display());
        let work = note.tidy_up(&path, &self.0.confinement);
        let state = self.limited((task, what), late, work).await;
        let late = matches!(&state, Err(WorktreeError::Git(GitError::Late(_))));
        if late && before == WorktreePhase::Made && note.phase() == WorktreePhase::Removing {
            note.put(&path, WorktreePhase::Made).await?;
        }
        state
    }

    /// Removes the worktrees of ended agents where nothing would be lost, and returns how many.
    /// `state_of` returns the state of a task.
    ///
    /// Call it after recovery, and from time to time.
    pub async fn sweep<F, S>(&self, mut state_of: F) -> io::Result<usize>
    where
        F: FnMut(TaskId) -> S,
        S: Future<Output = OwnerState>,
    {
        let mut swept = 0;
        for task in self.noted_tasks().await? {
            // No other task takes it over meanwhile.
            let _turn = self.0.leftovers.lock().await;
            match state_of(task).await {
                OwnerState::Live => {}
                owner => swept += usize::from(self.sweep_task(task, owner).await),
            }
        }
        Ok(swept)
    }

    /// Removes the worktree of an ended task. Returns whether it was removed.
    async fn sweep_task(&self, task: TaskId, owner: OwnerState) -> bool {
        let path = self.note_path(task);
        // A process that died while it wrote the note has left a draft.
        std::fs::remove_file(WorktreeNote::draft(&path)).ok();
        let Some(mut note) = WorktreeNote::read(&path) else {
            if owner == OwnerState::Gone && !self.path(task).exists() {
                // The note cannot be read, and there is no worktree.
                std::fs::remove_file(&path).ok();
            }
            return false;
        };
        let before = note.phase();
        let state = match self.tidy_up(task, &mut note, self.late()).await {
            Ok(worktree) => worktree.state,
            Err(error) => {
                let path = note.spec().path().display();
                tracing::warn!(%task, %path, %error, "a worktree could not be swept");
                return false;
            }
        };
        if note.phase() == WorktreePhase::Removed && owner == OwnerState::Gone {
            // No task continues it any more. If the process dies before this, the next sweep finds
            // the note of a removed worktree.
            std::fs::remove_file(&path).ok();
        }
        state == WorktreeState::Removed && before != WorktreePhase::Removed
    }

    /// The tasks that have a note, or a draft of one.
    async fn noted_tasks(&self) -> io::Result<BTreeSet<TaskId>> {
        let directory = self.0.directory.clone();
        let noted = blocking(move || -> io::Result<BTreeSet<TaskId>> {
            let mut tasks = BTreeSet::new();
            for entry in std::fs::read_dir(directory)? {
                let path = PathBuf::from(entry?.file_name());
                let noted = path.extension().is_some_and(|kind| kind == NOTE || kind == DRAFT);
                let task = path.file_stem().filter(|_| noted);
                tasks.extend(task.and_then(|task| task.to_str()?.parse::<TaskId>().ok()));
            }
            Ok(tasks)
        });
        match noted.await.flatten() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
            noted => noted,
        }
    }
}
