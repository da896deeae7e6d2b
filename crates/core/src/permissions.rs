//! Permissions of an agent: which tool calls are allowed, denied, or need an approval.
//!
//! Permissions are a stack of policy layers, from the top-level agent's down to the agent's
//! own. Every layer judges each access, and the strictest verdict applies. A child has all
//! layers of its owner and adds its own, so it can never do more than its owner.

mod access;
mod line;
mod policy;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use self::access::{Access, Action, NamedPaths};
pub use self::line::LineAnalysis;
pub use self::policy::{BadRule, PermissionMode, PolicyLayer, Rule, Verdict};

/// The permissions of an agent. Without layers every call of an offered tool is allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    /// From the top-level agent's layer down to the agent's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    layers: Vec<PolicyLayer>,
    /// The party that decides about approval requests.
    #[serde(default, rename = "asks")]
    approver: Approver,
}

/// The party that decides about an agent's approval requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approver {
    /// The agent that spawned it. It can approve only what it may do itself without
    /// approval. Where no owner can approve, a person is asked.
    Owner,
    /// A person.
    #[default]
    Person,
    /// No approver: a call that needs an approval is denied.
    #[serde(rename = "nobody")]
    None,
}

impl Permissions {
    /// Permissions with one layer.
    pub fn of(layer: PolicyLayer) -> Self {
        Self::default().under(layer)
    }

    /// Sets the approver. For the permissions at the top of a tree; permissions of a child
    /// come from [`Permissions::under`].
    #[must_use]
    pub fn with_approver(mut self, approver: Approver) -> Self {
        self.approver = approver;
        self
    }

    /// Adds a layer, which can only narrow the permissions. A layer that is already in the
    /// stack is not added twice.
    #[must_use]
    pub fn under(mut self, layer: PolicyLayer) -> Self {
        if layer != PolicyLayer::default() && !self.layers.contains(&layer) {
            self.layers.push(layer);
        }
        self
    }

    /// Sets the approver of a child. Stays [`Approver::None`] if the owner has no approver.
    #[must_use]
    pub fn narrow_approver(mut self, approver: Approver) -> Self {
        if self.approver != Approver::None {
            self.approver = approver;
        }
        self
    }

    /// The party that decides about approval requests.
    pub fn approver(&self) -> Approver {
        self.approver
    }

    /// The layers, from the top-level agent's down to the agent's own.
    pub fn layers(&self) -> &[PolicyLayer] {
        &self.layers
    }

    /// The permission mode: the strictest one of all layers.
    pub fn mode(&self) -> PermissionMode {
        self.layers.iter().map(|layer| layer.mode).min().unwrap_or(PermissionMode::Auto)
    }

    /// Whether every layer offers the tool.
    pub fn offers(&self, tool: &str) -> bool {
        self.layers.iter().all(|layer| layer.offers(tool))
    }

    /// The strictest verdict of all layers. A guarded access is at least asked about.
    pub fn judge(&self, access: &Access) -> Verdict {
        let strictest = self.layers.iter().map(|layer| layer.judge(access)).max();
        let verdict = strictest.unwrap_or(Verdict::Allow);
        match &access.guarded {
            Some(_) => verdict.max(Verdict::Ask),
            None => verdict,
        }
    }

    /// The first deny or ask rule that an access may break through a command that its line
    /// does not name, because a program in the line may run it.
    pub fn possibly_broken(&self, access: &Access) -> Option<&Rule> {
        self.layers.iter().find_map(|layer| layer.possibly_broken(access))
    }
}
