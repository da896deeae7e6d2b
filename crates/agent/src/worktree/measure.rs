//! Measuring a worktree: what is in it that would be lost with it.

use super::git::{Git, GitError};
use super::note::Tree;

/// How many entries of a log of heads are looked at. One that is longer may have
/// anything in it.
const HEADS: usize = 1_000;

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
    abandoned: u64,
    /// Whether there are submodules in it that somebody has filled: what is in
    /// their own repositories goes with it.
    submodules: bool,
}

impl Found {
    /// Whether nothing would be lost.
    pub(super) fn is_nothing(self) -> bool {
        self.uncommitted + self.commits + self.abandoned == 0 && !self.submodules
    }
}

impl Tree {
    fn git(&self) -> Git {
        Git::of_tree(&self.admin(), &self.path).long()
    }

    /// What is in it. Files that git is told to ignore count for nothing: they
    /// are made of others.
    pub(super) async fn measure(&self) -> Result<Found, GitError> {
        let status = ["status", "--porcelain=v1", "-z", "--no-renames"];
        let status = self.git().args(status).args(["-uall", "--ignore-submodules=none"]);
        let uncommitted = status.run().await?.succeeded()?.records;
        let (commits, abandoned) = (self.commits().await?, self.abandoned().await?);
        let submodules = self.admin().join("modules").exists();
        let found = Found { uncommitted, commits, abandoned, submodules, files: 0 };
        if found.is_nothing() {
            return Ok(found);
        }
        let differ = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", &self.base];
        let differ = self.git().args(differ).arg("--").run().await?.succeeded()?.records;
        let others = ["ls-files", "--others", "--exclude-standard", "-z"];
        let others = self.git().args(others).run().await?.succeeded()?.records;
        Ok(Found { files: differ + others, ..found })
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
        let count = count.succeeded()?;
        let said = count.line().and_then(|count| count.parse().ok());
        said.ok_or_else(|| GitError::Said("something that is no number".to_owned()))
    }

    /// The commit that its branch is at, if it has one.
    pub(super) async fn tip(&self) -> Result<Option<String>, GitError> {
        let tip = ["rev-parse", "--verify", "--quiet", &self.reference()];
        let tip = Git::of(&self.repository).args(tip).run().await?;
        Ok(tip.line().filter(|tip| tip.len() >= 40).map(str::to_owned))
    }
}
