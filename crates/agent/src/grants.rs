//! Standing grants: rules that a person has allowed for all later calls.

mod paths;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_core::permissions::{Access, Action, PermissionMode, PolicyLayer, Rule, Verdict};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

pub(crate) use self::paths::first_outside;

/// A store of standing grants, by working directory.
///
/// A grant replaces an approval. It never allows a call that a rule denies or that is guarded.
pub trait GrantStore: Send + Sync + fmt::Debug + 'static {
    /// Whether the grants of this working directory cover an access.
    fn is_granted(&self, directory: Option<&Path>, access: &Access) -> bool;

    /// Stores a grant of this rule for a working directory. Idempotent.
    fn grant(&self, directory: Option<&Path>, rule: &Rule) -> io::Result<()>;
}

/// Whether these rules together allow an access. If it runs commands, each must be allowed.
pub fn covers<'a>(rules: impl IntoIterator<Item = &'a Rule>, access: &Access) -> bool {
    let matches = |rule: &&Rule| {
        let is_about = &*rule.tool == "*" || rule.tool == access.tool;
        is_about && (rule.command.is_none() || matches!(access.action, Action::Run(_)))
    };
    let rules: Vec<_> = rules.into_iter().filter(matches).collect();
    if rules.is_empty() {
        return false;
    }
    let layer = PolicyLayer::mode(PermissionMode::Ask);
    let layer =
        rules.into_iter().fold(layer, |layer, rule| layer.rule(rule.clone(), Verdict::Allow));
    layer.judge(access) == Verdict::Allow
}

/// Whether a standing grant can cover an access.
pub(crate) fn can_grant(access: &Access) -> bool {
    access.guarded.is_none() && access.lasting.is_some()
}

/// A grant store in memory. Its grants last as long as the process.
#[derive(Clone, Debug, Default)]
pub struct MemoryGrants(Arc<Mutex<Vec<Grant>>>);

/// A rule that is allowed in a working directory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Grant {
    directory: Option<PathBuf>,
    rule: Rule,
}

impl GrantStore for MemoryGrants {
    fn is_granted(&self, directory: Option<&Path>, access: &Access) -> bool {
        let grants = self.0.lock();
        let here = grants.iter().filter(|grant| grant.directory.as_deref() == directory);
        covers(here.map(|grant| &grant.rule), access)
    }

    fn grant(&self, directory: Option<&Path>, rule: &Rule) -> io::Result<()> {
        let grant = Grant { directory: directory.map(Path::to_owned), rule: rule.clone() };
        let mut grants = self.0.lock();
        if !grants.contains(&grant) {
            grants.push(grant);
        }
        Ok(())
    }
}

/// The standing grants of a runtime, with a notification when one is added.
#[derive(Clone, Debug, Default)]
pub(crate) struct StandingGrants {
    store: Option<Arc<dyn GrantStore>>,
    added: Arc<Notify>,
}

impl StandingGrants {
    pub(crate) fn new(store: impl GrantStore) -> Self {
        Self { store: Some(Arc::new(store)), added: Arc::default() }
    }

    /// Whether a grant covers an access.
    ///
    /// No grant covers a path that leads outside the working directory. Resolving the paths may
    /// block, so this runs on a blocking thread.
    pub(super) async fn cover(&self, directory: Option<&Path>, access: &Access) -> bool {
        let Some(store) = self.store.clone().filter(|_| can_grant(access)) else { return false };
        let (directory, access) = (directory.map(Path::to_owned), access.clone());
        let covered = spawn_blocking(move || {
            let is_inside =
                access.paths.as_ref().is_none_or(|named| first_outside(named).is_none());
            is_inside && store.is_granted(directory.as_deref(), &access)
        });
        covered.await.unwrap_or(false)
    }

    /// Resolves when a grant covers an access.
    pub(super) async fn covered(&self, directory: Option<&Path>, access: &Access) {
        loop {
            let added = self.added.notified();
            if self.cover(directory, access).await {
                return;
            }
            added.await;
        }
    }

    /// Adds a grant and notifies the calls that wait. A grant that cannot be stored is logged.
    pub(super) async fn add(&self, directory: Option<&Path>, rule: &Rule) {
        let Some(store) = self.store.clone() else { return };
        let (directory, granted) = (directory.map(Path::to_owned), rule.clone());
        let stored = spawn_blocking(move || store.grant(directory.as_deref(), &granted)).await;
        match stored.unwrap_or_else(|error| Err(io::Error::other(error))) {
            Ok(()) => self.added.notify_waiters(),
            // The call that the decision was about is made all the same.
            Err(error) => tracing::warn!(%rule, %error, "a standing grant could not be stored"),
        }
    }
}

#[cfg(test)]
mod tests {
    use offshoot_core::permissions::LineAnalysis;

    use super::*;

    fn rule(text: &str) -> Rule {
        text.parse().unwrap()
    }

    fn runs(commands: &[&str]) -> Access {
        let words = |command: &&str| command.split(' ').map(str::to_owned).collect();
        let line = LineAnalysis::Clear(commands.iter().map(words).collect());
        Access::new("run_command", Action::Run(line))
    }

    #[test]
    fn a_grant_covers_lines_that_begin_with_its_rule_and_no_others() {
        let rules = [rule("run_command(cargo test)"), rule("run_command(ls)")];
        assert!(covers(&rules, &runs(&["cargo test --all"])));
        assert!(covers(&rules, &runs(&["ls", "cargo test"])));
        assert!(!covers(&rules, &runs(&["cargo test", "rm -r x"])));
        assert!(!covers(&rules, &Access::new("run_command", Action::Run(LineAnalysis::Unclear))));
        assert!(!covers(&rules, &Access::new("write", Action::Change)));
        assert!(!covers(&rules, &Access::new("run_command", Action::Read)));
        assert!(covers(&[rule("write")], &Access::new("write", Action::Change)));
        assert!(!covers(&[], &Access::new("write", Action::Read)));
    }

    /// A store that blocks until the sender is dropped.
    #[derive(Debug)]
    struct BlockedStore(std::sync::Mutex<std::sync::mpsc::Receiver<()>>);

    impl GrantStore for BlockedStore {
        fn is_granted(&self, _: Option<&Path>, _: &Access) -> bool {
            self.0.lock().unwrap().recv().is_err()
        }

        fn grant(&self, _: Option<&Path>, _: &Rule) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_store_that_blocks_does_not_block_the_executor() {
        let (answers, blocked) = std::sync::mpsc::channel();
        let grants = StandingGrants::new(BlockedStore(blocked.into()));
        let access = Access::new("write", Action::Change).lasting(rule("write"));
        let covered = tokio::spawn(async move { grants.cover(None, &access).await });
        // This thread is the only one, and goes on.
        tokio::task::yield_now().await;
        assert!(!covered.is_finished());
        drop(answers);
        assert!(covered.await.unwrap());
    }

    #[tokio::test]
    async fn a_grant_never_covers_a_guarded_access() {
        let store = MemoryGrants::default();
        let grants = StandingGrants::new(store.clone());
        let directory = Path::new("/work");
        store.grant(Some(directory), &rule("*")).unwrap();
        let access = Access::new("write", Action::Change);
        assert!(!grants.cover(Some(directory), &access).await);
        let access = access.lasting(rule("write"));
        assert!(grants.cover(Some(directory), &access).await);
        for other in [Some(Path::new("/elsewhere")), None] {
            assert!(!grants.cover(other, &access).await, "{other:?}");
        }
        assert!(!grants.cover(Some(directory), &access.guarded("it is .git")).await);
    }
}
