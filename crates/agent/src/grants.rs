//! Lasting leave: what a person has allowed once and for all.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_core::permissions::{Access, Action, PermissionMode, PolicyLayer, Rule, Verdict};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::spawn_blocking;

use crate::leave::{can_last, first_outside};

/// What people have given lasting leave for, folder by folder. It spares a
/// question; it never allows what is denied or guarded.
pub trait Grants: Send + Sync + fmt::Debug + 'static {
    /// Whether there is leave for this wish of an agent that works in this folder.
    fn granted(&self, folder: Option<&Path>, wish: &Access) -> bool;

    /// Keeps that there is leave, in this folder, for all that fits the rule. To
    /// keep it twice changes nothing.
    fn grant(&self, folder: Option<&Path>, rule: &Rule) -> io::Result<()>;
}

/// Whether these rules together allow a wish: each of its commands if it runs any.
pub fn covers<'a>(rules: impl IntoIterator<Item = &'a Rule>, wish: &Access) -> bool {
    let fits = |rule: &&Rule| {
        let is_about = &*rule.tool == "*" || rule.tool == wish.tool;
        is_about && (rule.command.is_none() || matches!(wish.action, Action::Run(_)))
    };
    let about: Vec<_> = rules.into_iter().filter(fits).collect();
    if about.is_empty() {
        return false;
    }
    let layer = PolicyLayer::mode(PermissionMode::Ask);
    let layer =
        about.into_iter().fold(layer, |layer, rule| layer.rule(rule.clone(), Verdict::Allow));
    layer.judge(wish) == Verdict::Allow
}

/// Lasting leave that lasts as long as the process.
#[derive(Clone, Debug, Default)]
pub struct GrantsInMemory(Arc<Mutex<Vec<Grant>>>);

/// A rule, and the folder in which it allows what fits it.
type Grant = (Option<PathBuf>, Rule);

impl Grants for GrantsInMemory {
    fn granted(&self, folder: Option<&Path>, wish: &Access) -> bool {
        let granted = self.0.lock();
        let here = granted.iter().filter(|(of, _)| of.as_deref() == folder);
        covers(here.map(|(_, rule)| rule), wish)
    }

    fn grant(&self, folder: Option<&Path>, rule: &Rule) -> io::Result<()> {
        let grant = (folder.map(Path::to_owned), rule.clone());
        let mut granted = self.0.lock();
        if !granted.contains(&grant) {
            granted.push(grant);
        }
        Ok(())
    }
}

/// The lasting leave that agents go by, and the news that there is more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Granting {
    grants: Option<Arc<dyn Grants>>,
    changed: Arc<Notify>,
}

impl Granting {
    pub(crate) fn by(grants: impl Grants) -> Self {
        Self { grants: Some(Arc::new(grants)), changed: Arc::default() }
    }

    /// Whether there is lasting leave for a wish. Where the folder really is may
    /// take long to tell, so a thread is asked. A path that leads outside the directory
    /// is covered by no grant.
    pub(crate) async fn has(&self, folder: Option<&Path>, wish: &Access) -> bool {
        let Some(grants) = self.grants.clone().filter(|_| can_last(wish)) else { return false };
        let (folder, wish) = (folder.map(Path::to_owned), wish.clone());
        let found = spawn_blocking(move || {
            let stays = wish.paths.as_ref().is_none_or(|named| first_outside(named).is_none());
            stays && grants.granted(folder.as_deref(), &wish)
        });
        found.await.unwrap_or(false)
    }

    /// Resolves when there is.
    pub(crate) async fn comes(&self, folder: Option<&Path>, wish: &Access) {
        loop {
            let changed = self.changed.notified();
            if self.has(folder, wish).await {
                return;
            }
            changed.await;
        }
    }

    /// Gives it, if it can be kept anywhere.
    pub(crate) async fn give(&self, folder: Option<&Path>, rule: &Rule) {
        let Some(grants) = self.grants.clone() else { return };
        let (folder, given) = (folder.map(Path::to_owned), rule.clone());
        let kept = spawn_blocking(move || grants.grant(folder.as_deref(), &given)).await;
        match kept.unwrap_or_else(|error| Err(io::Error::other(error))) {
            Ok(()) => self.changed.notify_waiters(),
            // The call that it was given with is made all the same.
            Err(error) => tracing::warn!(%rule, %error, "lasting leave could not be kept"),
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
    fn what_is_granted_covers_what_begins_so_and_nothing_else() {
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

    /// Leave in a folder of which nobody tells where it is.
    #[derive(Debug)]
    struct Stuck(std::sync::Mutex<std::sync::mpsc::Receiver<()>>);

    impl Grants for Stuck {
        fn granted(&self, _: Option<&Path>, _: &Access) -> bool {
            self.0.lock().unwrap().recv().is_err()
        }

        fn grant(&self, _: Option<&Path>, _: &Rule) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_folder_that_does_not_answer_holds_up_nobody_else() {
        let (answers, stuck) = std::sync::mpsc::channel();
        let granting = Granting::by(Stuck(stuck.into()));
        let wish = Access::new("write", Action::Change).lasting(rule("write"));
        let asked = tokio::spawn(async move { granting.has(None, &wish).await });
        // This thread is the only one, and goes on.
        tokio::task::yield_now().await;
        assert!(!asked.is_finished());
        drop(answers);
        assert!(asked.await.unwrap());
    }

    #[tokio::test]
    async fn what_is_guarded_or_cannot_last_is_never_granted() {
        let grants = GrantsInMemory::default();
        let granting = Granting::by(grants.clone());
        let folder = Path::new("/work");
        grants.grant(Some(folder), &rule("*")).unwrap();
        let wish = Access::new("write", Action::Change);
        assert!(!granting.has(Some(folder), &wish).await);
        let wish = wish.lasting(rule("write"));
        assert!(granting.has(Some(folder), &wish).await);
        for other in [Some(Path::new("/elsewhere")), None] {
            assert!(!granting.has(other, &wish).await, "{other:?}");
        }
        assert!(!granting.has(Some(folder), &wish.guarded("it is .git")).await);
    }
}
