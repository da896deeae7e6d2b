//! Making a worktree, also one that was half made when the process died.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use offshoot_core::TaskId;
use offshoot_runtime::{BodyError, Context, StepError};

use super::blocking::blocking;
use super::confines::Confines;
use super::git::Git;
use super::ground::{has_submodules, nearest};
use super::limit::{CANCEL_LIMIT, after};
use super::note::{Note, Origin, Standing, Tree};
use super::removal::exists;
use super::{NoTree, WorktreeState, Worktrees};
use crate::brief::Brief;
use crate::loop_exit::LoopExit;
use crate::report::AgentReport;
use crate::tool::AgentShared;

/// The most bytes that the path of a worktree may have: it is told in reports,
/// which are short.
const LONGEST: usize = 512;

/// The most characters of an agent's handle that its branch is called by.
const CALLED: usize = 40;

/// What is known of an agent before it has its worktree.
#[derive(Clone, Debug)]
struct Wanted {
    task: TaskId,
    handle: String,
    continues: Option<TaskId>,
    folder: Option<PathBuf>,
    base: Option<String>,
}

/// Gives an agent its worktree before it does anything, and has its brief say
/// that it works there.
pub(crate) async fn settle_in(
    shared: &AgentShared,
    cx: &Context,
    brief: &mut Brief,
) -> Result<Arc<Tree>, BodyError> {
    let trees = shared.worktrees.as_ref().ok_or(NoTree::NoPlace)?;
    let wanted = Wanted {
        task: cx.id(),
        handle: cx.handle().to_owned(),
        continues: cx.continues(),
        folder: brief.folder.clone(),
        base: brief.base.clone(),
    };
    let mut failures = 0;
    loop {
        match try_settle_in(trees, cx, wanted.clone()).await {
            Ok(tree) => {
                brief.folder = Some(tree.folder());
                return Ok(Arc::new(tree));
            }
            Err(LoopExit::End(error)) => return Err(error),
            Err(LoopExit::Store(error)) => {
                tracing::warn!(task = %cx.id(), %error, "a worktree could not be noted");
                failures += 1;
                cx.back_off(failures).await?;
            }
        }
    }
}

async fn try_settle_in(trees: &Worktrees, cx: &Context, wanted: Wanted) -> Result<Tree, LoopExit> {
    // Git is gone with the future that runs it, before anything is cleared away.
    let made = {
        let (made, cancelled) = (pin!(plan_and_make(trees, cx, wanted)), pin!(cx.cancelled()));
        match select(made, cancelled).await {
            Either::Left((made, _)) => made,
            Either::Right(_) => Err(LoopExit::End(BodyError::Cancelled)),
        }
    };
    if made.is_err() {
        trees.give_up(cx.id()).await;
    }
    let tree = made?;
    let report = cx.reported::<AgentReport>().await?.unwrap_or_default();
    let worktree = Some(tree.shown(WorktreeState::InUse));
    cx.progress(&AgentReport { worktree, ..report }).await?;
    Ok(tree)
}

async fn plan_and_make(trees: &Worktrees, cx: &Context, wanted: Wanted) -> Result<Tree, LoopExit> {
    let plan = {
        let trees = trees.clone();
        cx.step("worktree", move || async move { trees.plan(wanted).await })
    };
    let tree: Tree = plan.value().await.map_err(|error| match error {
        StepError::Journal(error) => error.into(),
        error => LoopExit::End(error.into()),
    })?;
    let what = format!("git makes its worktree {}", tree.path.display());
    let made = trees.limited((cx.id(), what), trees.late(), trees.ensure(cx.id(), &tree)).await;
    made.map_err(|error| LoopExit::End(error.into()))?;
    Ok(tree)
}

impl Worktrees {
    /// What the worktree of an agent is to be: the one of the task that it goes
    /// on for if there is one, else a new one.
    async fn plan(&self, wanted: Wanted) -> Result<Tree, NoTree> {
        // A sweep may hold the lock as long as its own limit says.
        if let Some(note) = self.take_over(wanted.task, wanted.continues).await? {
            return Ok(note.tree);
        }
        let folder = wanted.folder.clone().ok_or(NoTree::NoFolder)?;
        let what = format!("git looks for the repository of {}", folder.display());
        self.limited((wanted.task, what), self.late(), self.plan_of(&folder, wanted)).await
    }

    /// A new worktree of the repository of this folder.
    async fn plan_of(&self, folder: &Path, wanted: Wanted) -> Result<Tree, NoTree> {
        let Wanted { task, handle, continues, base, .. } = wanted;
        let ground = match self.ground_of(folder) {
            // A worktree that it was taken from may go at any moment.
            Some(ground) if base.is_some() || !exists(folder).await? => ground,
            _ => self.survey(folder).await?,
        };
        let path = nearest(&self.path(task));
        match path.to_str() {
            Some(said) if said.len() <= LONGEST => {}
            Some(_) => return Err(NoTree::TooLong(path)),
            None => return Err(NoTree::Unreadable(path)),
        }
        let base = base.unwrap_or(ground.head);
        let origin = continues.map_or(Origin::New, |_| Origin::Anew);
        let submodules = has_submodules(&ground.repository, &base).await?;
        let underway = ground.underway.map(str::to_owned);
        let mut tree = Tree {
            repository: ground.repository,
            path,
            prefix: ground.prefix,
            branch: branch("offshoot/", &handle, task),
            base,
            submodules,
            underway,
            origin,
        };
        // A branch of that name leaves no room for others below it.
        let taken = ["for-each-ref", "--format=%(refname)", "refs/heads/offshoot"];
        let taken = Git::of(&tree.repository).args(taken).run().await?.succeeded()?;
        if taken.line().is_some_and(|refs| refs.lines().any(|one| one == "refs/heads/offshoot")) {
            tree.branch = branch("offshoot-", &handle, task);
        }
        Ok(tree)
    }

    /// The note of a task; if it has none, that of the task that it goes on for,
    /// which is its own from now on.
    async fn take_over(
        &self,
        task: TaskId,
        continues: Option<TaskId>,
    ) -> Result<Option<Note>, NoTree> {
        let place = self.note(task);
        if let Some(before) = continues {
            // Nobody else takes it over or removes it meanwhile.
            let _turn = self.0.leftovers.lock().await;
            if !place.exists() {
                // If it has none there is nothing to take over.
                std::fs::rename(self.note(before), &place).ok();
            }
        }
        let Some(mut note) = Note::read(&place) else { return Ok(None) };
        if note.tree.path.file_name() != self.path(task).file_name() {
            note.tree.origin = match note.standing {
                Standing::Made => Origin::Inherited,
                _ => Origin::Anew,
            };
        }
        Ok(Some(note))
    }

    /// Sees to it that a worktree is there, however far an earlier attempt came.
    async fn ensure(&self, task: TaskId, tree: &Tree) -> Result<(), NoTree> {
        let place = self.note(task);
        let standing = match Note::read(&place) {
            Some(note) => note.standing,
            None if exists(&tree.path).await? => Standing::Made,
            None => Standing::Removed,
        };
        let mut note = Note { tree: tree.clone(), standing };
        match standing {
            Standing::Made if exists(&tree.path).await? => {
                tree.repair().await?;
                return note.put(&place, Standing::Made).await;
            }
            // Somebody has deleted its folder. What was committed is on its branch.
            Standing::Made => tree.forget().await?,
            Standing::Making | Standing::Removing | Standing::Removed => tree.discard().await?,
        }
        note.put(&place, Standing::Making).await?;
        tree.make(&self.0.confines).await?;
        note.put(&place, Standing::Made).await
    }

    /// Clears away what there is of a worktree that was not made to its end.
    pub(super) async fn give_up(&self, task: TaskId) {
        let place = self.note(task);
        let Some(mut note) = Note::read(&place) else { return };
        if note.standing != Standing::Making {
            return;
        }
        let what = format!("git removes its half-made worktree {}", note.tree.path.display());
        let gone = async {
            note.tree.clone().discard().await?;
            note.put(&place, Standing::Removed).await
        };
        let gone = self.limited((task, what), after(CANCEL_LIMIT), gone).await;
        if let Err(error) = gone {
            tracing::warn!(%task, %error, "a half-made worktree is left to be swept");
        }
    }
}

impl Tree {
    /// Makes it. Its branch is made, too, unless it is there already.
    async fn make(&self, confines: &Confines) -> Result<(), NoTree> {
        let add = Git::of(&self.repository).args(["worktree", "add", "--quiet"]);
        // It is made before, so that git need not write to the folder of all others.
        std::fs::create_dir_all(&self.path).map_err(NoTree::disk(&self.path))?;
        let add = add.writing(&self.path);
        let path = self.path.as_os_str();
        let add = match self.tip().await? {
            Some(_) => add.args([path, self.branch.as_ref()]),
            None => add.args(["-b".as_ref(), self.branch.as_ref(), path, self.base.as_ref()]),
        };
        add.filtering(confines).await?.run().await?.succeeded()?;
        let tree = self.clone();
        let made = blocking(move || tree.make_folder()).await.flatten();
        made.map_err(NoTree::disk(&self.path))
    }

    /// Makes the folder in which the agent works, if it is not committed. Nothing
    /// is made beyond a link.
    fn make_folder(&self) -> std::io::Result<()> {
        let mut folder = self.path.clone();
        for part in self.prefix.components() {
            folder.push(part);
            match std::fs::symlink_metadata(&folder) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => break,
                Err(_) => std::fs::create_dir(&folder)?,
            }
        }
        Ok(())
    }

    /// Whether its folder and the repository know each other.
    async fn is_whole(&self) -> Result<bool, NoTree> {
        let files = [self.path.join(".git"), self.admin().join("HEAD")];
        let whole = blocking(move || files.iter().all(|file| file.is_file())).await;
        whole.map_err(NoTree::disk(&self.path))
    }

    /// Sees to it that its folder and the repository know each other.
    async fn repair(&self) -> Result<(), NoTree> {
        if self.is_whole().await? {
            return Ok(());
        }
        if exists(&self.repository).await? {
            let repair = Git::of(&self.repository).args(["worktree", "repair"]);
            repair.args([&self.path]).run().await?;
        }
        if self.is_whole().await? { Ok(()) } else { Err(NoTree::Broken(self.path.clone())) }
    }
}

/// What the branch of an agent is called: a name that git takes, whatever the
/// agent is called.
fn branch(room: &str, handle: &str, task: TaskId) -> String {
    let plain = |c: char| if c.is_alphanumeric() || c == '_' { c } else { '-' };
    let called: String = handle.chars().take(CALLED).map(plain).collect();
    let parts: Vec<_> = called.split('-').filter(|part| !part.is_empty()).collect();
    let called = if parts.is_empty() { "agent".to_owned() } else { parts.join("-") };
    // The last digits of an id are random.
    let id = task.to_string();
    let short = id.rsplit('-').next().unwrap_or(&id);
    format!("{room}{called}-{short}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn task() -> TaskId {
        "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap()
    }

    #[test]
    fn a_branch_is_called_like_its_agent() {
        let called = |handle| branch("offshoot/", handle, task());
        assert_eq!(called("docs"), "offshoot/docs-b302099a8057");
        assert_eq!(called("fix the docs"), "offshoot/fix-the-docs-b302099a8057");
        assert_eq!(called("größe ✓"), "offshoot/größe-b302099a8057");
        assert_eq!(called("..~^:?*[\\"), "offshoot/agent-b302099a8057");
    }

    proptest! {
        #[test]
        fn whatever_an_agent_is_called_its_branch_is_one(handle in "\\PC{1,64}") {
            let branch = branch("offshoot/", &handle, task());
            let bad = [' ', '~', '^', ':', '?', '*', '[', '\\', '.', '@', '\u{7f}'];
            prop_assert!(!branch.contains(bad) && !branch.contains("//"), "{}", branch);
            prop_assert!(!branch.contains(char::is_control) && branch.len() < 255, "{}", branch);
        }
    }
}
