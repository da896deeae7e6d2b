//! All profiles that were found, and the resolution of references between them.
//!
//! A profile of an untrusted project may only narrow permissions. It has no model and no approver of
//! its own. If it has the name of a trusted profile, the layers of the trusted one apply as well.

use std::collections::BTreeMap;
use std::path::Path;

use offshoot_agent::{Isolation, Profile, ProfileOrigin, ProfileTrust};
use offshoot_core::Name;
use offshoot_models::ModelName;

use crate::error::{BadProfile, Wrong, shown};
use crate::fields::ProfileFields;
use crate::project::{Found, Hand};
use crate::{claude, front};

/// The longest chain of profiles that extend one another.
const CHAIN: usize = 16;

/// The source of a profile, in the order of the lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    Project,
    User,
    BuiltIn,
}

/// A profile that was read.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) fields: ProfileFields,
    pub(crate) rank: Rank,
    pub(crate) origin: ProfileOrigin,
    pub(crate) standing: ProfileTrust,
}

/// A file that is not a valid profile.
#[derive(Debug)]
pub(crate) struct Broken {
    key: String,
    /// The number of profiles before it.
    after: usize,
    rank: Rank,
    standing: ProfileTrust,
    pub(crate) error: BadProfile,
}

/// The profile that refers to another one.
///
/// A profile of the user extends none of a project, and a trusted one none that is
/// untrusted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeker {
    rank: Rank,
    standing: ProfileTrust,
}

impl Seeker {
    pub(crate) const ANY: Self = Self { rank: Rank::Project, standing: ProfileTrust::Untrusted };

    fn sees(self, rank: Rank, standing: ProfileTrust) -> bool {
        rank >= self.rank
            && (self.standing == ProfileTrust::Untrusted || standing == ProfileTrust::Trusted)
    }
}

/// All profiles that were found, the nearest first.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) entries: Vec<Entry>,
    pub(crate) broken: Vec<Broken>,
    pub(crate) remarks: Vec<String>,
    /// The index of the first entry of the directory that is being read.
    begins: usize,
}

impl Gathered {
    /// Begins another directory.
    pub(crate) fn begin(&mut self) {
        self.begins = self.entries.len();
    }

    pub(crate) fn take(
        &mut self,
        found: Found,
        (rank, origin, standing): (Rank, ProfileOrigin, ProfileTrust),
        aliases: &BTreeMap<String, ModelName>,
    ) {
        let stem = found.stem();
        let read = match &found.bytes {
            Err(error) => Err(Wrong::all(error.to_string())),
            Ok(bytes) => front::text(bytes).and_then(|written| match found.hand {
                Hand::Own => crate::own::read(&written, &stem),
                Hand::Claude => claude::read(&written, &stem, aliases),
            }),
        };
        let here = &self.entries[self.begins..];
        let read = read.and_then(|fields| {
            let key = Name::key_of(&fields.name);
            let twin = here.iter().find(|entry| entry.key == key).map(|entry| &entry.origin);
            match twin {
                // The same agent, written for both programs.
                Some(ProfileOrigin::Project(twin))
                    if found.hand == Hand::Claude && twin.parent() != found.path.parent() =>
                {
                    Ok(None)
                }
                Some(ProfileOrigin::Project(twin) | ProfileOrigin::User(twin)) => {
                    let (name, twin) = (&fields.name, shown(twin));
                    Err(Wrong::all(format!(
                        "it is called {name:?}, and so is {twin}, which counts"
                    )))
                }
                _ => Ok(Some(Entry { key, fields, rank, origin, standing })),
            }
        });
        match read {
            Ok(entry) => self.entries.extend(entry),
            Err(wrong) => {
                let (key, after) = (Name::key_of(&stem), self.entries.len());
                let error = wrong.of_file(&found.path);
                self.broken.push(Broken { key, after, rank, standing, error });
            }
        }
    }

    /// Resolves the profile of a name, with all profiles that it refers to.
    pub(crate) fn resolve(
        &self,
        key: &str,
        seeker: Seeker,
        path: &mut Vec<String>,
    ) -> Result<Option<Profile>, Stuck> {
        let sees = |entry: &&Entry| entry.key == key && seeker.sees(entry.rank, entry.standing);
        let found = self.entries.iter().position(|entry| sees(&entry));
        // A broken profile is not replaced by another one, which may allow more. Only an untrusted
        // broken profile is skipped.
        let broken = self.broken.iter().find(|broken| {
            let comes_first = found.is_none_or(|found| broken.after <= found);
            let counts = broken.standing == ProfileTrust::Trusted || found.is_none();
            broken.key == key && seeker.sees(broken.rank, broken.standing) && comes_first && counts
        });
        if let Some(broken) = broken {
            return Err(Stuck::Here(broken.error.clone()));
        }
        let Some(found) = found else { return Ok(None) };
        let entry = &self.entries[found];
        if entry.standing == ProfileTrust::Trusted {
            return self.finish(entry, path).map(Some);
        }
        let stands = |other: &&Entry| other.key == key && other.standing == ProfileTrust::Trusted;
        let before = self.entries[found..].iter().find(stands);
        let before = before.map(|before| self.finish(before, &mut Vec::new())).transpose()?;
        match (self.finish(entry, path), before) {
            (Ok(profile), before) => Ok(Some(narrowed(profile, before.as_ref()))),
            // An untrusted profile cannot replace a trusted one.
            (Err(_), Some(before)) => Ok(Some(before)),
            (Err(error), None) => Err(error),
        }
    }

    /// Builds a profile with the one that it extends.
    pub(crate) fn finish(&self, entry: &Entry, path: &mut Vec<String>) -> Result<Profile, Stuck> {
        let from = (entry.origin.clone(), entry.standing);
        let Some(extends) = &entry.fields.extends else {
            return Ok(entry.fields.profile(None, from));
        };
        let file = match &entry.origin {
            ProfileOrigin::Project(file) | ProfileOrigin::User(file) => file.as_path(),
            ProfileOrigin::BuiltIn => Path::new(""),
        };
        let wrong = |why: String| Stuck::There(Wrong::all(why).of_file(file));
        path.push(entry.fields.name.clone());
        let key = Name::key_of(extends);
        if let Some(begins) = path.iter().position(|name| Name::key_of(name) == key) {
            let round: Vec<_> =
                path[begins..].iter().chain([&path[begins]]).map(String::as_str).collect();
            let round = round.join(" → ");
            return Err(wrong(format!("profiles extend one another in a loop: {round}")));
        }
        if path.len() > CHAIN {
            return Err(wrong(format!("more than {CHAIN} profiles extend one another in a row")));
        }
        let seeker = Seeker { rank: entry.rank, standing: entry.standing };
        match self.resolve(&key, seeker, path) {
            Ok(Some(base)) => {
                path.pop();
                Ok(entry.fields.profile(Some(&base), from))
            }
            Ok(None) => Err(wrong(format!("it extends {extends:?}, and there is no such profile"))),
            Err(Stuck::Here(error)) => {
                Err(wrong(format!("it extends {extends:?}, which cannot be used: {error}")))
            }
            Err(there) => Err(there),
        }
    }
}

/// An error of resolving a profile.
#[derive(Debug)]
pub(crate) enum Stuck {
    /// Its own file is broken.
    Here(BadProfile),
    /// A profile that it refers to is broken; the error has the whole chain.
    There(BadProfile),
}

impl Stuck {
    pub(crate) fn told(&self) -> &BadProfile {
        match self {
            Self::Here(error) | Self::There(error) => error,
        }
    }
}

/// Narrows an untrusted profile: it gives an agent nothing that the agent would lack without it, and
/// nothing that the trusted profile of its name lacks.
fn narrowed(mut profile: Profile, before: Option<&Profile>) -> Profile {
    let mut note = |what: &str| {
        profile.notes.push(format!(
            "{what} does not count, because the directory is not trusted: `offshoot trust` trusts it"
        ));
    };
    if profile.model.is_some() {
        note("its model");
    }
    if profile.asks.is_some() {
        note("who it says is asked");
    }
    profile.trust = ProfileTrust::Untrusted;
    profile.model = before.and_then(|before| before.model.clone());
    profile.asks = before.and_then(|before| before.asks);
    let Some(before) = before else { return profile };
    let under = before.under.iter().chain([&before.layer]).cloned();
    profile.under = under.chain(profile.under).collect();
    profile.budget = profile.budget.within(before.budget);
    if before.isolation == Isolation::Worktree {
        profile.isolation = Isolation::Worktree;
    }
    profile.agents = match (profile.agents, &before.agents) {
        (Some(own), Some(before)) => Some(
            own.into_iter()
                .filter(|name| before.iter().any(|other| is_name(other, name)))
                .collect(),
        ),
        (own, before) => own.or_else(|| before.clone()),
    };
    profile
}

fn is_name(one: &str, other: &str) -> bool {
    Name::key_of(one) == Name::key_of(other)
}
