//! Finding profiles: those of the project before those of the person, and these
//! before what is built in.
//!
//! What a project brings that nobody trusts may only narrow. So a profile of it has
//! no model and nobody to be asked of its own, and if it is called as one that a
//! person stands behind, that one's layers lie under its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_agent::{Isolation, NoProfile, Origin, Profile, Roster, Standing};
use offshoot_core::{Name, text};
use offshoot_models::ModelName;

use crate::draft::Draft;
use crate::error::{BadProfile, Wrong, shown};
use crate::project::{Brings, Brought, Found, Hand, Project, own};
use crate::trust::Trust;
use crate::{built_in, claude, front};

/// How many profiles may extend one another in a row.
const CHAIN: usize = 16;

/// How many profiles are named where one is missing.
const NAMED: usize = 40;

/// The profiles that there are.
///
/// ```
/// use offshoot_agent::Roster;
/// use offshoot_profiles::Profiles;
///
/// let explore = Profiles::built_in().find("explore", None)?;
/// assert!(explore.layer.offers("read") && !explore.layer.offers("write"));
/// # Ok::<(), offshoot_agent::NoProfile>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Profiles {
    user: Option<PathBuf>,
    trust: Option<Trust>,
    aliases: BTreeMap<String, ModelName>,
}

impl Profiles {
    /// What is built in, and what projects bring. No project is trusted.
    pub fn built_in() -> Self {
        Self::default()
    }

    /// Those of the person who runs this process as well, in
    /// `$XDG_CONFIG_HOME/offshoot/agents`, and the folders that this person trusts.
    pub fn own() -> Self {
        let config = home("XDG_CONFIG_HOME", ".config");
        let user = config.map(|config| config.join("offshoot/agents"));
        Self { user, trust: Trust::own(), aliases: BTreeMap::new() }
    }

    /// With the person's profiles in this folder.
    #[must_use]
    pub fn user(mut self, folder: impl Into<PathBuf>) -> Self {
        self.user = Some(folder.into());
        self
    }

    /// With the folders that are trusted on this list.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = Some(trust);
        self
    }

    /// With a model that Claude Code calls so, such as `sonnet`.
    #[must_use]
    pub fn alias(mut self, theirs: &str, model: ModelName) -> Self {
        self.aliases.insert(theirs.to_owned(), model);
        self
    }

    /// All that can be found from this folder.
    fn gather(&self, folder: Option<&Path>) -> Gathered {
        let mut all = Gathered::default();
        if let Some(folder) = folder {
            self.gather_project(folder, &mut all);
        }
        for found in self.user.as_deref().map(own).unwrap_or_default() {
            let origin = Origin::User(found.path.clone());
            all.take(found, (Rank::User, origin, Standing::Trusted), &self.aliases);
        }
        all.begin();
        for draft in built_in::all() {
            let (rank, origin, standing) = (Rank::BuiltIn, Origin::BuiltIn, Standing::Trusted);
            all.entries.push(Entry {
                key: Name::key_of(&draft.name),
                draft,
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
                Some(Ok(true)) => Standing::Trusted,
                Some(Ok(false)) | None => Standing::Untrusted,
                Some(Err(error)) => {
                    all.remarks.push(error.to_string());
                    Standing::Untrusted
                }
            };
            for found in brought.found {
                let origin = Origin::Project(found.path.clone());
                all.take(found, (Rank::Project, origin, standing), &self.aliases);
            }
            all.begin();
        }
    }
}

impl Roster for Profiles {
    fn find(&self, name: &str, folder: Option<&Path>) -> Result<Arc<Profile>, NoProfile> {
        let all = self.gather(folder);
        let key = Name::key_of(name);
        match all.resolve(&key, Seeker::ANYBODY, &mut Vec::new()) {
            Ok(Some(profile)) => Ok(Arc::new(profile)),
            Ok(None) => {
                let mut known: Vec<_> =
                    all.entries.iter().map(|entry| &*entry.draft.name).collect();
                known.sort_unstable();
                known.dedup();
                let more = known.len().saturating_sub(NAMED);
                known.truncate(NAMED);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                let name = text::cut(name, 80).into_owned();
                Err(NoProfile::Unknown { name, known: known.join(", ") + &more })
            }
            Err(error) => Err(NoProfile::Broken(error.to_string())),
        }
    }

    fn all(&self, folder: Option<&Path>) -> (Vec<Arc<Profile>>, Vec<NoProfile>) {
        let all = self.gather(folder);
        let broken = all.broken.iter().map(|broken| broken.error.to_string());
        let mut broken: Vec<_> = all.remarks.iter().cloned().chain(broken).collect();
        let mut keys: Vec<_> = all.entries.iter().map(|entry| &entry.key).collect();
        keys.sort_unstable();
        keys.dedup();
        let refers =
            all.entries.iter().filter_map(|entry| all.finish(entry, &mut Vec::new()).err());
        broken.extend(refers.map(|error| error.to_string()));
        let mut found = Vec::new();
        for key in keys {
            match all.resolve(key, Seeker::ANYBODY, &mut Vec::new()) {
                Ok(profile) => found.extend(profile.map(Arc::new)),
                Err(error) => broken.push(error.to_string()),
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        broken.retain(|told| seen.insert(told.clone()));
        (found, broken.into_iter().map(NoProfile::Broken).collect())
    }
}

/// Where a profile stands among others, the first first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Project,
    User,
    BuiltIn,
}

/// A profile that was read.
#[derive(Debug)]
struct Entry {
    key: String,
    draft: Draft,
    rank: Rank,
    origin: Origin,
    standing: Standing,
}

/// A file that could not be read as one.
#[derive(Debug)]
struct Broken {
    key: String,
    /// How many profiles come before it.
    after: usize,
    rank: Rank,
    standing: Standing,
    error: BadProfile,
}

/// Who looks for a profile. The person's own profiles extend nothing that a project
/// brings, and what is trusted nothing that is not.
#[derive(Clone, Copy, Debug)]
struct Seeker {
    rank: Rank,
    standing: Standing,
}

impl Seeker {
    const ANYBODY: Self = Self { rank: Rank::Project, standing: Standing::Untrusted };

    fn sees(self, rank: Rank, standing: Standing) -> bool {
        rank >= self.rank && (self.standing == Standing::Untrusted || standing == Standing::Trusted)
    }
}

/// All that was found, the nearest first.
#[derive(Debug, Default)]
struct Gathered {
    entries: Vec<Entry>,
    broken: Vec<Broken>,
    remarks: Vec<String>,
    /// Where the folder begins that is read now.
    begins: usize,
}

impl Gathered {
    /// Begins with another folder.
    fn begin(&mut self) {
        self.begins = self.entries.len();
    }

    fn take(
        &mut self,
        found: Found,
        (rank, origin, standing): (Rank, Origin, Standing),
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
        let read = read.and_then(|draft| {
            let key = Name::key_of(&draft.name);
            let twin = here.iter().find(|entry| entry.key == key).map(|entry| &entry.origin);
            match twin {
                // The same agent for two programs, side by side.
                Some(Origin::Project(twin))
                    if found.hand == Hand::Claude && twin.parent() != found.path.parent() =>
                {
                    Ok(None)
                }
                Some(Origin::Project(twin) | Origin::User(twin)) => {
                    let (name, twin) = (&draft.name, shown(twin));
                    Err(Wrong::all(format!(
                        "it is called {name:?}, and so is {twin}, which counts"
                    )))
                }
                _ => Ok(Some(Entry { key, draft, rank, origin, standing })),
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

    /// The profile of this name, with all that it refers to.
    fn resolve(
        &self,
        key: &str,
        seeker: Seeker,
        path: &mut Vec<String>,
    ) -> Result<Option<Profile>, BadProfile> {
        let sees = |entry: &&Entry| entry.key == key && seeker.sees(entry.rank, entry.standing);
        let found = self.entries.iter().position(|entry| sees(&entry));
        // One that is broken does not let another take its place, which may allow
        // more. Only what nobody stands behind is passed over.
        let broken = self.broken.iter().find(|broken| {
            let comes_first = found.is_none_or(|found| broken.after <= found);
            let counts = broken.standing == Standing::Trusted || found.is_none();
            broken.key == key && seeker.sees(broken.rank, broken.standing) && comes_first && counts
        });
        if let Some(broken) = broken {
            return Err(broken.error.clone());
        }
        let Some(found) = found else { return Ok(None) };
        let entry = &self.entries[found];
        if entry.standing == Standing::Trusted {
            return self.finish(entry, path).map(Some);
        }
        let stands = |other: &&Entry| other.key == key && other.standing == Standing::Trusted;
        let before = self.entries[found..].iter().find(stands);
        let before = before.map(|before| self.finish(before, &mut Vec::new())).transpose()?;
        match (self.finish(entry, path), before) {
            (Ok(profile), before) => Ok(Some(narrowed(profile, before.as_ref()))),
            // What nobody stands behind cannot take away what somebody does.
            (Err(_), Some(before)) => Ok(Some(before)),
            (Err(error), None) => Err(error),
        }
    }

    /// A profile with what it extends.
    fn finish(&self, entry: &Entry, path: &mut Vec<String>) -> Result<Profile, BadProfile> {
        let from = (entry.origin.clone(), entry.standing);
        let Some(extends) = &entry.draft.extends else {
            return Ok(entry.draft.profile(None, from));
        };
        let file = match &entry.origin {
            Origin::Project(file) | Origin::User(file) => file.as_path(),
            Origin::BuiltIn => Path::new(""),
        };
        let wrong = |why: String| Wrong::all(why).of_file(file);
        path.push(entry.draft.name.clone());
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
                Ok(entry.draft.profile(Some(&base), from))
            }
            Ok(None) => Err(wrong(format!("it extends {extends:?}, and there is no such profile"))),
            Err(error) if error.to_string().contains("in a loop") => Err(error),
            Err(error) => {
                Err(wrong(format!("it extends {extends:?}, which cannot be used: {error}")))
            }
        }
    }
}

/// What is left of a profile behind which nobody stands: with it an agent has
/// nothing that it would lack without, nor anything that the profile lacks whose
/// name it bears.
fn narrowed(mut profile: Profile, before: Option<&Profile>) -> Profile {
    let mut note = |what: &str| {
        profile.notes.push(format!(
            "{what} does not count, because nobody trusts the folder: `offshoot trust` does"
        ));
    };
    if profile.model.is_some() {
        note("its model");
    }
    if profile.asks.is_some() {
        note("who it says is asked");
    }
    profile.standing = Standing::Untrusted;
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

/// A folder of the person who runs this process: as a variable says, or below its
/// home.
pub(crate) fn home(variable: &str, below: &str) -> Option<PathBuf> {
    let set =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    set(variable).or_else(|| Some(set("HOME")?.join(below)))
}
