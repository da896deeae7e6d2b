//! Measuring a worktree: what is in it that would be lost with it.

use super::NoTree;
use super::blocking::{blocking, read_file};
use super::confines::Confines;
use super::git::{Git, GitError, Said};
use super::note::Tree;
use super::obstacle;

/// How many entries of a log of heads are looked at. One that is longer may have
/// anything in it.
const HEADS: usize = 1_000;

/// How much is read of the file that leads from a worktree to its repository.
const LINK: u64 = 8 << 10;

/// What is in a worktree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Files that are changed or new and not committed.
    uncommitted: u64,
    /// Files that differ from the commit at which it began.
    pub(super) files: u64,
    /// Commits on its branch or at its head that the one at which it began lacks.
    pub(super) commits: u64,
    /// Commits that its head was at and that are nowhere else.
    pub(super) abandoned: u64,
    /// Whether there are submodules in it that somebody has filled: what is in
    /// their own repositories goes with it.
    submodules: bool,
}

impl Found {
    /// Whether nothing would be lost.
    pub(super) fn is_nothing(self) -> bool {
        self.counts_nothing() && !self.submodules
    }

    /// Whether there is nothing in it but what is in submodules, which is not
    /// counted.
    pub(super) fn is_uncounted(self) -> bool {
        self.counts_nothing() && self.submodules
    }

    fn counts_nothing(self) -> bool {
        self.uncommitted + self.commits + self.abandoned == 0
    }
}

impl Tree {
    fn git(&self) -> Git {
        Git::of_tree(&self.repository, &self.admin(), &self.path).marked(&self.path)
    }

    /// What is in it. Files that git is told to ignore count for nothing: they
    /// are made of others.
    pub(super) async fn measure(&self, confines: &Confines) -> Result<Found, NoTree> {
        let tree = self.clone();
        blocking(move || tree.check_measurable()).await.map_err(NoTree::disk(&self.path))??;
        let status = ["status", "--porcelain=v1", "-z", "--no-renames"];
        let status = self.git().args(status).args(["-uall", "--ignore-submodules=none"]);
        let uncommitted = status.filtering(confines).await?.run().await?.succeeded()?.records;
        let (commits, abandoned) = (self.commits().await?, self.abandoned().await?);
        let modules = self.admin().join("modules");
        let submodules = blocking(move || modules.exists()).await;
        let submodules = submodules.map_err(NoTree::disk(&self.path))?;
        let found = Found { uncommitted, commits, abandoned, submodules, files: 0 };
        if found.is_nothing() {
            return Ok(found);
        }
        let differ = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", &self.base];
        let differ = self.git().args(differ).arg("--").filtering(confines).await?;
        let differ = differ.run().await?.succeeded()?.records;
        let others = ["ls-files", "--others", "--exclude-standard", "-z"];
        let others = self.git().args(others).run().await?.succeeded()?.records;
        Ok(Found { files: differ + others, ..found })
    }

    /// What is on the branch, which is at this commit, where the files are gone.
    pub(super) async fn measure_branch(&self, tip: &str) -> Result<Found, GitError> {
        let git = || Git::of(&self.repository);
        let count = ["rev-list", "--count", tip, "--not", &self.base, "--"];
        let commits = number(&git().args(count).run().await?.succeeded()?)?;
        let differ = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff"];
        let differ = git().args(differ).args([&self.base, tip, "--"]).run().await?.succeeded()?;
        Ok(Found { files: differ.records, commits, ..Found::default() })
    }

    /// An error if git would measure something else, or wait for ever.
    fn check_measurable(&self) -> Result<(), NoTree> {
        if self.leads_elsewhere() {
            return Err(NoTree::Elsewhere(self.path.clone()));
        }
        let obstacle = obstacle::find_in(&self.admin(), &self.repository)
            .or_else(|| obstacle::find_at_top(&self.path));
        obstacle.map_or(Ok(()), |file| Err(NoTree::Obstacle(file)))
    }

    /// Whether there is another repository in its place, or something that leads
    /// to one: what is committed there is not known here.
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

    /// How many commits there are, on its branch or at its head, that the one at
    /// which it began lacks.
    async fn commits(&self) -> Result<u64, GitError> {
        let mut heads = vec!["HEAD".to_owned()];
        heads.extend(self.tip().await?);
        self.count(&heads, &[]).await
    }

    /// How many commits its head was at that nothing else leads to: those that
    /// were made on no branch, or taken back.
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

    /// How many commits lead to these heads and neither to where it began nor to
    /// the others.
    async fn count(&self, heads: &[String], others: &[&str]) -> Result<u64, GitError> {
        let count = self.git().args(["rev-list", "--count", "--ignore-missing"]).args(heads);
        let count = count.args(["--not", &self.base]).args(others).arg("--").run().await?;
        number(&count.succeeded()?)
    }

    /// The commit that its branch is at, if it has one.
    pub(super) async fn tip(&self) -> Result<Option<String>, GitError> {
        let tip = ["rev-parse", "--verify", "--quiet", &self.reference()];
        let tip = Git::of(&self.repository).args(tip).run().await?;
        // That there is none it says without a word.
        if !tip.success && tip.err.contains("fatal: ") {
            return Err(tip.error());
        }
        Ok(tip.line().filter(|tip| tip.len() >= 40).map(str::to_owned))
    }
}

/// The number that git says.
fn number(said: &Said) -> Result<u64, GitError> {
    let number = said.line().and_then(|said| said.parse().ok());
    number.ok_or_else(|| GitError::Said("something that is no number".to_owned()))
}
