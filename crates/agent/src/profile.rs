//! Profiles: named definitions of agents, and where they are found.

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

/// Where a profile comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileOrigin {
    /// It is built in.
    #[default]
    BuiltIn,
    /// The person's own configuration.
    User(PathBuf),
    /// The folder in which agents work. Unless a person trusts that folder, it can
    /// only narrow.
    Project(PathBuf),
}

/// Why there is no profile of a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileUnavailable {
    /// No profile has this name.
    #[error("there is no profile {name:?}; there are: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// It cannot be read, or contradicts itself.
    #[error("{0}")]
    Broken(String),
}

/// Why no agent can be made as it is asked for, in the order in which that is
/// looked at.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// There is no such profile.
    #[error(transparent)]
    Unavailable(#[from] ProfileUnavailable),
    /// Nobody may send it off from there.
    #[error("the profile {name:?} may not be sent off from here; {allowed}")]
    NotAllowed {
        /// The name.
        name: String,
        /// Those that may.
        allowed: String,
    },
    /// An agent without a profile may not be sent off from there.
    #[error("an agent without a profile may not be sent off from here; {allowed}")]
    NoneChosen {
        /// The profiles that may.
        allowed: String,
    },
    /// There is a configuration, and nothing that it is for.
    #[error("a configuration goes with a profile, and no profile is named")]
    NoProfileToConfigure,
    /// The profile cannot be configured.
    #[error("the profile {0:?} takes no configuration")]
    NotConfigurable(String),
    /// The configuration is not what the profile takes.
    #[error("the configuration does not fit the profile {name:?}: {wrong}")]
    Misfit {
        /// The name.
        name: String,
        /// What is wrong with it, and where.
        wrong: String,
    },
}

/// Finds profiles.
pub trait ProfileSource: Send + Sync + fmt::Debug + 'static {
    /// The profile of this name for agents that work in this folder.
    fn find(&self, name: &str, folder: Option<&Path>) -> Result<Arc<Profile>, ProfileUnavailable>;

    /// All that can be chosen there, and what could not be read.
    fn all(&self, folder: Option<&Path>) -> (Vec<Arc<Profile>>, Vec<ProfileUnavailable>);
}
