//! Standing grants, by working directory, in a file of the data directory.
//!
//! The daemon reads the file once and is its only writer. A file that cannot be read grants
//! nothing. The daemon renames it before it writes a new one.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_core::Stamp;
use offshoot_core::permissions::{Access, Rule};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::json_file;
use super::now;

/// The name of the file.
const NAME: &str = "grants.json";

/// The most grants in the file.
const MOST: usize = 10_000;

/// A rule that is allowed in one working directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grant {
    pub(crate) folder: PathBuf,
    pub(crate) rule: Rule,
    pub(crate) since: Stamp,
}

/// Every grant. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Grants(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    all: Mutex<Vec<Grant>>,
}

impl Grants {
    /// The grants in this data directory.
    pub(super) fn in_directory(data: &Path) -> Self {
        let path = data.join(NAME);
        let all = match json_file::read(&path) {
            Ok(all) => all,
            Err(error) => {
                let aside = data.join(format!("{NAME}.unread"));
                tracing::error!(%error, aside = %aside.display(), "the standing grants cannot be read");
                std::fs::rename(&path, aside).ok();
                Vec::new()
            }
        };
        Self(Arc::new(Inner { path, all: Mutex::new(all) }))
    }

    /// Every grant, the oldest first.
    pub(crate) fn all(&self) -> Vec<Grant> {
        self.0.all.lock().clone()
    }

    /// The rules that are granted in a directory.
    pub(crate) fn rules(&self, folder: &Path) -> Vec<Rule> {
        let folder = real(folder);
        let all = self.0.all.lock();
        all.iter().filter(|grant| grant.folder == folder).map(|grant| grant.rule.clone()).collect()
    }

    /// Adds a grant of a rule in a directory. It is on disk when this returns.
    pub(crate) fn give(&self, folder: &Path, rule: &Rule) -> io::Result<()> {
        let folder = real(folder);
        if folder.to_str().is_none() {
            let text = "a grant needs a directory whose path is UTF-8";
            return Err(io::Error::new(ErrorKind::InvalidInput, text));
        }
        let mut all = self.0.all.lock();
        if all.iter().any(|grant| grant.folder == folder && grant.rule == *rule) {
            return Ok(());
        }
        if all.len() >= MOST {
            return Err(io::Error::other(format!("{MOST} rules are kept already: revoke some")));
        }
        let mut next = all.clone();
        next.push(Grant { folder, rule: rule.clone(), since: now() });
        json_file::write(&self.0.path, next.as_slice())?;
        *all = next;
        Ok(())
    }

    /// Revokes one grant in a directory, or all of them, and returns those.
    pub(crate) fn revoke(&self, folder: &Path, rule: Option<&Rule>) -> io::Result<Vec<Grant>> {
        let folder = real(folder);
        let mut all = self.0.all.lock();
        let goes =
            |grant: &Grant| grant.folder == folder && rule.is_none_or(|rule| grant.rule == *rule);
        let (gone, rest): (Vec<_>, Vec<_>) = all.iter().cloned().partition(goes);
        if !gone.is_empty() {
            json_file::write(&self.0.path, rest.as_slice())?;
            *all = rest;
        }
        Ok(gone)
    }
}

impl offshoot_agent::GrantStore for Grants {
    fn is_granted(&self, directory: Option<&Path>, access: &Access) -> bool {
        directory.is_some_and(|directory| offshoot_agent::covers(&self.rules(directory), access))
    }

    fn grant(&self, folder: Option<&Path>, rule: &Rule) -> io::Result<()> {
        match folder {
            Some(folder) => self.give(folder, rule),
            None => Err(io::Error::other(
                "a grant belongs to a working directory, and the agent has none",
            )),
        }
    }
}

/// The real path of a directory, so that a grant does not move with a link of its name.
fn real(folder: &Path) -> PathBuf {
    std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn rule(text: &str) -> Rule {
        text.parse().unwrap()
    }

    #[test]
    fn a_grant_outlives_the_process_and_can_be_revoked() {
        let data = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let grants = Grants::in_directory(data.path());
        grants.give(work.path(), &rule("write")).unwrap();
        grants.give(&work.path().join("."), &rule("write")).unwrap();
        grants.give(work.path(), &rule("run_command(cargo test)")).unwrap();
        let mode = data.path().join(NAME).metadata().unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
        let next = Grants::in_directory(data.path());
        assert_eq!(next.all(), grants.all());
        assert_eq!(next.rules(work.path()), [rule("write"), rule("run_command(cargo test)")]);
        assert!(next.rules(data.path()).is_empty());
        assert_eq!(next.revoke(work.path(), Some(&rule("write"))).unwrap().len(), 1);
        assert_eq!(next.revoke(work.path(), Some(&rule("write"))).unwrap(), []);
        assert_eq!(next.revoke(work.path(), None).unwrap().len(), 1);
        assert!(Grants::in_directory(data.path()).all().is_empty());
    }

    #[test]
    fn a_link_in_place_of_a_directory_has_none_of_its_grants() {
        let (data, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let [one, other] = ["one", "other"].map(|name| work.path().join(name));
        std::fs::create_dir(&one).unwrap();
        let grants = Grants::in_directory(data.path());
        grants.give(&one, &rule("write")).unwrap();
        std::fs::rename(&one, &other).unwrap();
        std::os::unix::fs::symlink(&other, &one).unwrap();
        assert!(grants.rules(&one).is_empty());
    }

    #[test]
    fn a_file_that_cannot_be_read_grants_nothing_and_is_kept() {
        let data = tempfile::tempdir().unwrap();
        std::fs::write(data.path().join(NAME), "[{]").unwrap();
        let grants = Grants::in_directory(data.path());
        assert!(grants.all().is_empty());
        grants.give(data.path(), &rule("write")).unwrap();
        assert_eq!(std::fs::read(data.path().join("grants.json.unread")).unwrap(), b"[{]");
    }
}
