//! Variables that a user passes to the commands of a session, although their names
//! look like credentials.
//!
//! The values are in memory alone. The names are in a file of the data directory, so that
//! the next daemon passes the variables of its own environment.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_client::wire::Sealed;
use offshoot_core::SessionId;
use parking_lot::Mutex;

use super::json_file::{read, write};

/// The name of the file.
const NAME: &str = "passed-env.json";

/// The names of each session.
type Names = BTreeMap<String, BTreeSet<String>>;

/// The passed variables of all sessions. Cheap to clone.
#[derive(Clone)]
pub(crate) struct PassedEnv(Arc<Inner>);

struct Inner {
    path: PathBuf,
    passed: Mutex<Passed>,
}

#[derive(Default)]
struct Passed {
    names: Names,
    values: BTreeMap<(String, String), String>,
}

impl std::fmt::Debug for PassedEnv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PassedEnv").field(&self.0.passed.lock().names).finish()
    }
}

impl PassedEnv {
    /// The names in this data directory.
    pub(crate) fn in_directory(data: &Path) -> Self {
        let path = data.join(NAME);
        let names = read(&path).unwrap_or_else(|error| {
            let aside = data.join(format!("{NAME}.unread"));
            tracing::error!(%error, aside = %aside.display(), "the names of passed variables cannot be read");
            std::fs::rename(&path, aside).ok();
            Names::default()
        });
        let passed = Mutex::new(Passed { names, values: BTreeMap::new() });
        Self(Arc::new(Inner { path, passed }))
    }

    /// Passes these variables to the commands of a session from now on. The names
    /// are on disk when this returns.
    pub(crate) fn give(&self, session: SessionId, variables: &Sealed) -> io::Result<()> {
        if variables.is_empty() {
            return Ok(());
        }
        let session = session.to_string();
        let mut passed = self.0.passed.lock();
        let mut names = passed.names.clone();
        names.entry(session.clone()).or_default().extend(variables.0.keys().cloned());
        if names != passed.names {
            write(&self.0.path, &names)?;
            passed.names = names;
        }
        for (name, value) in &variables.0 {
            passed.values.insert((session.clone(), name.clone()), value.clone());
        }
        Ok(())
    }

    /// The variables of a session. One that was passed to an earlier daemon has the value of
    /// this daemon's environment, if it is set there.
    pub(crate) fn variables(&self, session: SessionId) -> Vec<(OsString, OsString)> {
        let session = session.to_string();
        let passed = self.0.passed.lock();
        let names = passed.names.get(&session).into_iter().flatten();
        let variables = names.filter_map(|name| {
            let value = passed.values.get(&(session.clone(), name.clone()));
            let value = value.map(OsString::from).or_else(|| std::env::var_os(name))?;
            Some((name.into(), value))
        });
        variables.collect()
    }

    /// Forgets the variables of a session.
    pub(crate) fn forget(&self, session: SessionId) {
        let session = session.to_string();
        let mut passed = self.0.passed.lock();
        passed.values.retain(|(of, _), _| *of != session);
        if passed.names.remove(&session).is_some()
            && let Err(error) = write(&self.0.path, &passed.names)
        {
            tracing::warn!(%error, "the names of passed variables could not be written");
        }
    }
}

#[cfg(test)]
mod tests {
    use offshoot_core::Stamp;

    use super::*;

    fn session(number: u64) -> SessionId {
        SessionId::mint(Stamp::from_millis(1), number.into())
    }

    #[test]
    fn names_outlive_the_daemon_and_values_do_not() {
        let data = tempfile::tempdir().unwrap();
        let passed = PassedEnv::in_directory(data.path());
        let given =
            [("A_TOKEN".to_owned(), "hush".to_owned()), ("PATH".to_owned(), "/x".to_owned())];
        passed.give(session(1), &Sealed(given.into())).unwrap();
        let values: Vec<_> =
            passed.variables(session(1)).into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, ["hush", "/x"]);
        assert_eq!(passed.variables(session(2)), []);
        let stored = std::fs::read_to_string(data.path().join(NAME)).unwrap();
        assert!(stored.contains("A_TOKEN") && !stored.contains("hush"), "{stored}");
        assert!(!format!("{passed:?}").contains("hush"));
        // The next daemon has a PATH of its own, and no A_TOKEN.
        let next = PassedEnv::in_directory(data.path());
        let path = std::env::var_os("PATH").unwrap();
        assert_eq!(next.variables(session(1)), [("PATH".into(), path)]);
        next.forget(session(1));
        assert_eq!(PassedEnv::in_directory(data.path()).variables(session(1)), []);
    }
}
