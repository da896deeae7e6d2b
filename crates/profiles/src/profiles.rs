//! The lookup of profiles: the project's first, then the user's, then the built-in ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_agent::{Profile, ProfileOrigin, ProfileSource, ProfileTrust, ProfileUnavailable};
use offshoot_core::{Name, text};
use offshoot_models::ModelName;

use crate::built_in;
use crate::gathered::{Entry, Gathered, Rank, Seeker};
use crate::project::{Brings, Brought, Project, own};
use crate::trust::Trust;
use crate::user_dirs::user_dir;

/// The largest number of profiles that the error for a missing one names.
const NAMED: usize = 40;

/// The source of all profiles.
///
/// ```
/// use offshoot_agent::ProfileSource;
/// use offshoot_profiles::Profiles;
///
/// let explore = Profiles::built_in().find("explore", None)?;
/// assert!(explore.layer.offers("read") && !explore.layer.offers("write"));
/// # Ok::<(), offshoot_agent::ProfileUnavailable>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Profiles {
    user: Option<PathBuf>,
    trust: Option<Trust>,
    aliases: BTreeMap<String, ModelName>,
}

impl Profiles {
    /// Uses the built-in profiles and those of projects. No project is trusted.
    pub fn built_in() -> Self {
        Self::default()
    }

    /// Also uses the profiles of the user of this process, in
    /// `$XDG_CONFIG_HOME/offshoot/agents`, and the directories that this user trusts.
    pub fn own() -> Self {
        Self { user: Self::own_folder(), trust: Trust::own(), aliases: BTreeMap::new() }
    }

    /// Returns the directory of the profiles of the user of this process.
    pub fn own_folder() -> Option<PathBuf> {
        Some(user_dir("XDG_CONFIG_HOME", ".config")?.join("offshoot/agents"))
    }

    /// Sets the directory of the user's profiles.
    #[must_use]
    pub fn user(mut self, folder: impl Into<PathBuf>) -> Self {
        self.user = Some(folder.into());
        self
    }

    /// Sets the list of trusted directories.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = Some(trust);
        self
    }

    /// Sets the model for a name that Claude Code uses, such as `sonnet`.
    #[must_use]
    pub fn alias(mut self, theirs: &str, model: ModelName) -> Self {
        self.aliases.insert(theirs.to_owned(), model);
        self
    }

    /// Collects all profiles that apply in a directory.
    fn gather(&self, folder: Option<&Path>) -> Gathered {
        let mut all = Gathered::default();
        if let Some(folder) = folder {
            self.gather_project(folder, &mut all);
        }
        for found in self.user.as_deref().map(own).unwrap_or_default() {
            let origin = ProfileOrigin::User(found.path.clone());
            all.take(found, (Rank::User, origin, ProfileTrust::Trusted), &self.aliases);
        }
        all.begin();
        for fields in built_in::all() {
            let (rank, origin, standing) =
                (Rank::BuiltIn, ProfileOrigin::BuiltIn, ProfileTrust::Trusted);
            all.entries.push(Entry {
                key: Name::key_of(&fields.name),
                fields,
                rank,
                origin,
                standing,
            });
        }
        all
    }

    fn gather_project(&self, folder: &Path, all: &mut Gathered) {
        let Ok(project) = Project::of(folder) else { return };
        for folder in project.folders() {
            let brought = Brought::read(folder);
            if brought.brings == Brings::Nothing {
                continue;
            }
            let covers = self.trust.as_ref().map(|trust| trust.covers(folder, &brought));
            let standing = match covers {
                Some(Ok(true)) => ProfileTrust::Trusted,
                Some(Ok(false)) | None => ProfileTrust::Untrusted,
                Some(Err(error)) => {
                    all.remarks.push(error.to_string());
                    ProfileTrust::Untrusted
                }
            };
            for found in brought.found {
                let origin = ProfileOrigin::Project(found.path.clone());
                all.take(found, (Rank::Project, origin, standing), &self.aliases);
            }
            all.begin();
        }
    }
}

impl ProfileSource for Profiles {
    fn find(&self, name: &str, folder: Option<&Path>) -> Result<Arc<Profile>, ProfileUnavailable> {
        let all = self.gather(folder);
        let key = Name::key_of(name);
        match all.resolve(&key, Seeker::ANY, &mut Vec::new()) {
            Ok(Some(profile)) => Ok(Arc::new(profile)),
            Ok(None) => {
                let mut known: Vec<_> =
                    all.entries.iter().map(|entry| &*entry.fields.name).collect();
                known.sort_unstable();
                known.dedup();
                let more = known.len().saturating_sub(NAMED);
                known.truncate(NAMED);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                let name = text::cut(name, 80).into_owned();
                Err(ProfileUnavailable::Unknown { name, known: known.join(", ") + &more })
            }
            Err(stuck) => Err(ProfileUnavailable::Broken(stuck.told().to_string())),
        }
    }

    fn all(&self, folder: Option<&Path>) -> (Vec<Arc<Profile>>, Vec<ProfileUnavailable>) {
        let all = self.gather(folder);
        let broken = all.broken.iter().map(|broken| broken.error.to_string());
        let mut broken: Vec<_> = all.remarks.iter().cloned().chain(broken).collect();
        let mut keys: Vec<_> = all.entries.iter().map(|entry| &entry.key).collect();
        keys.sort_unstable();
        keys.dedup();
        let refers =
            all.entries.iter().filter_map(|entry| all.finish(entry, &mut Vec::new()).err());
        broken.extend(refers.map(|stuck| stuck.told().to_string()));
        let mut found = Vec::new();
        for key in keys {
            match all.resolve(key, Seeker::ANY, &mut Vec::new()) {
                Ok(profile) => found.extend(profile.map(Arc::new)),
                Err(stuck) => broken.push(stuck.told().to_string()),
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        broken.retain(|told| seen.insert(told.clone()));
        (found, broken.into_iter().map(ProfileUnavailable::Broken).collect())
    }
}
