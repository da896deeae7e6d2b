//! The changes in a worktree that would be lost with it.

use super::note::WorktreeSpec;
use crate::blocking::{blocking, read_file};
use crate::error::WorktreeError;
use crate::git::{Git, GitConfinement, GitError, GitOutput};
use crate::obstacle;

/// The most entries of a head's log that are read. A longer log is taken as a change.
const HEADS: usize = 1_000;

/// The most bytes of the file that leads from a worktree to its repository.
const LINK: u64 = 8 << 10;

/// The changes in a worktree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorktreeContents {
    /// The changed or new files that are not committed.
    uncommitted: u64,
    /// The files that differ from the base commit.
    pub(crate) files: u64,
    /// The commits on its branch or at its head that the base commit lacks.
    pub(crate) commits: u64,
    /// The commits that its head was at and that nothing else leads to.
    pub(crate) abandoned: u64,
    /// Whether submodules were checked out in it. Their repositories are removed with it.
    submodules: bool,
}

impl WorktreeContents {
    /// Whether nothing would be lost.
    pub(crate) fn is_empty(self) -> bool {
        self.has_no_counted_changes() && !self.submodules
    }

    /// Whether its only changes may be in submodules, which are not counted.
    pub(crate) fn has_only_submodules(self) -> bool {
        self.has_no_counted_changes() && self.submodules
    }

    fn has_no_counted_changes(self) -> bool {
        self.uncommitted + self.commits + self.abandoned == 0
    }
}

impl WorktreeSpec {
    fn git(&self) -> Git {
        Git::of_tree(&self.repository, &self.admin(), &self.path).marked(&self.path)
    }

    /// Measures the changes. Ignored files are not counted, because they are made from others.
    pub(crate) async fn measure(
        &self,
        confinement: &GitConfinement,
    ) -> Result<WorktreeContents, WorktreeError> {
        let tree = self.clone();
        blocking(move || tree.check_measurable())
            .await
            .map_err(WorktreeError::disk(&self.path))??;
        let status = ["status", "--porcelain=v1", "-z", "--no-renames"];
        let status = self.git().args(status).args(["-uall", "--ignore-submodules=none"]);
        let uncommitted = status.filtering(confinement).await?.run().await?.succeeded()?.records;
        let (commits, abandoned) = (self.commits().await?, self.abandoned().await?);
        let modules = self.admin().join("modules");
        let submodules = blocking(move || modules.exists()).await;
        let submodules = submodules.map_err(WorktreeError::disk(&self.path))?;
        let found = WorktreeContents { uncommitted, commits, abandoned, submodules, files: 0 };
        if found.is_empty() {
            return Ok(found);
        }
        let differ = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", &self.base];
        let differ = self.git().args(differ).arg("--").filtering(confinement).await?;
        let differ = differ.run().await?.succeeded()?.records;
        let others = ["ls-files", "--others", "--exclude-standard", "-z"];
        let others = self.git().args(others).run().await?.succeeded()?.records;
        Ok(WorktreeContents { files: differ + others, ..found })
    }

    /// Measures the branch at this commit after the files are gone.
    pub(crate) async fn measure_branch(&self, tip: &str) -> Result<WorktreeContents, GitError> {
        let git = || Git::of(&self.repository);
        let count = ["rev-list", "--count", tip, "--not", &self.base, "--"];
        let commits = number(&git().args(count).run().await?.succeeded()?)?;
        let differ = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff"];
        let differ = git().args(differ).args([&self.base, tip, "--"]).run().await?.succeeded()?;
        Ok(WorktreeContents { files: differ.records, commits, ..WorktreeContents::default() })
    }

    /// Fails if git would measure another repository or wait for ever.
    fn check_measurable(&self) -> Result<(), WorktreeError> {
        if self.leads_elsewhere() {
            return Err(WorktreeError::Elsewhere(self.path.clone()));
        }
        let obstacle = obstacle::find_in(&self.admin(), &self.repository)
            .or_else(|| obstacle::find_at_top(&self.path));
        obstacle.map_or(Ok(()), |file| Err(WorktreeError::Obstacle(file)))
    }

    /// Whether its `.git` is or leads to another repository.
    fn leads_elsewhere(&self) -> bool {
        let place = self.path.join(".git");
        let Ok(found) = std::fs::symlink_metadata(&place) else { return false };
        if !found.is_file() {
            return true;
        }
        let Ok(link) = read_file(&place, LINK) else { return true };
        let leads = link.trim_end().strip_prefix("gitdir: ");
        let leads = leads.and_then(|leads| std::fs::canonicalize(self.path.join(leads)).ok());
        leads.is_none() || leads != std::fs::canonicalize(self.admin()).ok()
    }

    /// The number of commits on its branch or at its head that the base commit lacks.
    async fn commits(&self) -> Result<u64, GitError> {
        let mut heads = vec!["HEAD".to_owned()];
        heads.extend(self.tip().await?);
        self.count(&heads, &[]).await
    }

    /// The number of commits its head was at that nothing else leads to: made on no branch, or reset.
    async fn abandoned(&self) -> Result<u64, GitError> {
        let most = format!("--max-count={HEADS}");
        let log = ["rev-list", "--walk-reflogs", &most, "HEAD"];
        let log = self.git().args(log).run().await?.succeeded()?;
        let heads: Vec<_> = log.line().unwrap_or_default().lines().map(str::to_owned).collect();
        match heads.len() {
            0 => Ok(0),
            many if many >= HEADS => Ok(many as u64),
            _ => self.count(&heads, &["--all"]).await,
        }
    }

    /// The number of commits that lead to these heads, and neither to the base commit nor to the
    /// others.
    async fn count(&self, heads: &[String], others: &[&str]) -> Result<u64, GitError> {
        let count = self.git().args(["rev-list", "--count", "--ignore-missing"]).args(heads);
        let count = count.args(["--not", &self.base]).args(others).arg("--").run().await?;
        number(&count.succeeded()?)
    }

    /// The commit of its branch, if the branch exists.
    pub(crate) async fn tip(&self) -> Result<Option<String>, GitError> {
        let tip = ["rev-parse", "--verify", "--quiet", &self.reference()];
        let tip = Git::of(&self.repository).args(tip).run().await?;
        // Git reports a missing branch without a message.
        if !tip.success && tip.err.contains("fatal: ") {
            return Err(tip.error());
        }
        Ok(tip.line().filter(|tip| tip.len() >= 40).map(str::to_owned))
    }
}

/// The number in the output of git.
fn number(said: &GitOutput) -> Result<u64, GitError> {
    let number = said.line().and_then(|said| said.parse().ok());
    number.ok_or_else(|| GitError::Reported("something that is no number".to_owned()))
}
