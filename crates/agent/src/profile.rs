//! Profiles: named definitions of agents, and the sources that find them.

mod applied;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_core::permissions::{Approver, PolicyLayer};
use offshoot_models::ModelName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::brief::Isolation;
use crate::budget::Budget;
use crate::dialect::DialectName;

pub(crate) use self::applied::is_name;

/// A named definition of an agent.
///
/// The brief of each agent stores a copy of the profile's values, so later changes of the
/// profile do not change existing agents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// The name.
    pub name: String,
    /// The purpose, for agents and people that choose a profile.
    pub description: String,
    /// The system prompt of its agents.
    pub prompt: String,
    /// The model of its agents. The default is the parent's model.
    pub model: Option<ModelName>,
    /// The policy that narrows the permissions of its agents.
    pub layer: PolicyLayer,
    /// Further policies: those of the profiles that it extends or replaces.
    pub under: Vec<PolicyLayer>,
    /// The approver, if the profile names one.
    pub asks: Option<Approver>,
    /// The budget of each agent.
    pub budget: Budget,
    /// The isolation of its agents.
    pub isolation: Isolation,
    /// The JSON Schema of the configuration. Without one, the profile takes none.
    pub config: Option<Value>,
    /// The profiles that its agents may spawn. The default is any.
    pub agents: Option<Vec<String>>,
    /// The tool set that its agents have.
    pub dialect: DialectName,
    /// The origin of the profile.
    pub origin: ProfileOrigin,
    /// Whether a person trusts it.
    #[serde(alias = "standing")]
    pub trust: ProfileTrust,
    /// The parts that have no effect, as texts for a person.
    pub notes: Vec<String>,
}

/// Whether a person trusts a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileTrust {
    /// It is built in, the user's own, or from a directory that a person trusts.
    #[default]
    Trusted,
    /// It is from a directory that no person has trusted. It gives an agent no permission
    /// that the agent would lack without it.
    Untrusted,
}

/// The origin of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileOrigin {
    /// It is built in.
    #[default]
    BuiltIn,
    /// The person's own configuration.
    User(PathBuf),
    /// The working directory of agents. A profile of an untrusted directory can only
    /// narrow permissions.
    Project(PathBuf),
}

/// The error for a profile that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileUnavailable {
    /// No profile has this name.
    #[error("there is no profile {name:?}; there are: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The names of the known profiles.
        known: String,
    },
    /// The profile cannot be read, or contradicts itself.
    #[error("{0}")]
    Broken(String),
}

/// The error for a request that no agent can be made from.
///
/// The variants are in the order of the checks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// The profile cannot be used.
    #[error(transparent)]
    Unavailable(#[from] ProfileUnavailable),
    /// The agent may not spawn agents of this profile.
    #[error("the profile {name:?} may not be spawned from here; {allowed}")]
    NotAllowed {
        /// The name.
        name: String,
        /// The profiles that it may use.
        allowed: String,
    },
    /// The agent may not spawn agents without a profile.
    #[error("an agent without a profile may not be spawned from here; {allowed}")]
    NoneChosen {
        /// The profiles that it may use.
        allowed: String,
    },
    /// A configuration was given without a profile.
    #[error("a configuration goes with a profile, and no profile is named")]
    NoProfileToConfigure,
    /// The profile takes no configuration.
    #[error("the profile {0:?} takes no configuration")]
    NotConfigurable(String),
    /// The configuration does not fit the schema of the profile.
    #[error("the configuration does not fit the profile {name:?}: {wrong}")]
    Misfit {
        /// The name.
        name: String,
        /// The errors and their positions.
        wrong: String,
    },
}

/// Finds profiles.
pub trait ProfileSource: Send + Sync + fmt::Debug + 'static {
    /// The profile of this name for agents with this working directory.
    fn find(&self, name: &str, folder: Option<&Path>) -> Result<Arc<Profile>, ProfileUnavailable>;

    /// All profiles for that directory, and the errors of those that cannot be used.
    fn all(&self, folder: Option<&Path>) -> (Vec<Arc<Profile>>, Vec<ProfileUnavailable>);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_untrusted_profile_of_an_older_version_stays_untrusted() {
        let stored = r#"{"name": "work", "standing": "untrusted"}"#;
        let profile: Profile = serde_json::from_str(stored).unwrap();
        assert_eq!(profile.trust, ProfileTrust::Untrusted);
        let stored = serde_json::to_string(&profile).unwrap();
        assert_eq!(serde_json::from_str::<Profile>(&stored).unwrap(), profile);
    }
}
