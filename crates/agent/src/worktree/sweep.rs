//! Removing the worktrees of agents that ended without a body: after a crash,
//! say, nobody tidies up for one that had been asked to stop.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use offshoot_core::TaskId;

use super::blocking::blocking;
use super::note::{DRAFT, NOTE, Note, Standing};
use super::{WorktreeState, Worktrees};
use crate::agents::Agents;

/// What has become of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It lives, or nobody knows.
    Live,
    /// It has ended.
    Ended,
    /// It has ended, and its record is no longer kept.
    Gone,
}

impl Agents {
    /// Removes the worktrees of agents that have ended, where there is nothing in
    /// them that would be lost; how many. `fate` says what has become of a task.
    ///
    /// Call it when recovery is over, and now and then.
    pub async fn sweep_worktrees<F, Told>(&self, mut fate: F) -> io::Result<usize>
    where
        F: FnMut(TaskId) -> Told,
        Told: Future<Output = Fate>,
    {
        let Some(trees) = &self.0.worktrees else { return Ok(0) };
        let mut swept = 0;
        for task in trees.noted().await? {
            // Nobody takes it over meanwhile.
            let _turn = trees.0.leftovers.lock().await;
            match fate(task).await {
                Fate::Live => {}
                fate => swept += usize::from(trees.sweep(task, fate).await),
            }
        }
        Ok(swept)
    }
}

impl Worktrees {
    /// Removes the worktree of a task that has ended; whether it did.
    async fn sweep(&self, task: TaskId, fate: Fate) -> bool {
        let place = self.note(task);
        // Whoever died while it wrote the note has left a draft.
        std::fs::remove_file(Note::draft(&place)).ok();
        let Some(mut note) = Note::read(&place) else {
            if fate == Fate::Gone && !self.path(task).exists() {
                // Nobody can read it, and there is nothing that it is about.
                std::fs::remove_file(&place).ok();
            }
            return false;
        };
        let before = note.standing;
        let state = match self.tidy_up(task, &mut note, self.late()).await {
            Ok(worktree) => worktree.state,
            Err(error) => {
                let path = note.tree.path.display();
                tracing::warn!(%task, %path, %error, "a worktree could not be swept");
                return false;
            }
        };
        if note.standing == Standing::Removed && fate == Fate::Gone {
            // Nobody goes on for it any more. Should we die before this, the next
            // sweep finds a note of what is removed.
            std::fs::remove_file(&place).ok();
        }
        state == WorktreeState::Removed && before != Standing::Removed
    }

    /// The tasks that have a note, or a draft of one.
    async fn noted(&self) -> io::Result<BTreeSet<TaskId>> {
        let folder = self.0.folder.clone();
        let noted = blocking(move || -> io::Result<BTreeSet<TaskId>> {
            let mut tasks = BTreeSet::new();
            for entry in std::fs::read_dir(folder)? {
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
