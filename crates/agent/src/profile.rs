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

/// A named definition of an agent. What of it matters is frozen into the brief of
/// each agent that is made of it, so nothing that changes later changes one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// What it is for, for whoever chooses one.
    pub description: String,
    /// How its agents shall behave.
    pub prompt: String,
    /// Their model, if not that of whoever sends them off.
    pub model: Option<ModelName>,
    /// What narrows what they may do.
    pub layer: PolicyLayer,
    /// What narrows them besides: the layers of the profiles that it extends, or
    /// in whose place it stands.
    pub under: Vec<PolicyLayer>,
    /// The approver, if the profile names one.
    pub asks: Option<Approver>,
    /// What each of them may spend.
    pub budget: Budget,
    /// Where they work.
    pub isolation: Isolation,
    /// What they can be configured with, as a JSON Schema; nothing without one.
    pub config: Option<Value>,
    /// The profiles of agents that they may send off; any if it does not say.
    pub agents: Option<Vec<String>>,
    /// The tool set that its agents have.
    pub dialect: DialectName,
    /// Where it comes from.
    pub origin: ProfileOrigin,
    /// Whether a person stands behind it.
    #[serde(alias = "standing")]
    pub trust: ProfileTrust,
    /// What of it does not count as it is written, in words for a person.
    pub notes: Vec<String>,
}

/// Whether a person stands behind a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileTrust {
    /// It is built in, the person's own, or of a folder that a person trusts.
    #[default]
    Trusted,
    /// It came with a folder that nobody has said to trust. An agent that is made
    /// of it has nothing that it would lack without.
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
    /// Nobody is called so.
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
