//! Briefs from profiles.

use std::sync::Arc;

use offshoot_core::permissions::{Permissions, PolicyLayer};
use offshoot_core::text;
use serde_json::{Map, Value};

use super::{Profile, ProfileError, ProfileTrust};
use crate::brief::{Brief, Isolation};
use crate::built_in_tools::{self, ToolRole, with_role};
use crate::notice::envelope;

/// The most bytes of a configuration.
const CONFIG: usize = 16 << 10;

/// The most errors that are reported for a configuration.
const REPORTED: usize = 4;

impl Profile {
    /// A layer that offers these tools, the tools that report to the owner, and, if one
    /// of them starts tasks, the tools that manage tasks.
    pub fn offering<T: Into<Arc<str>>>(tools: impl IntoIterator<Item = T>) -> PolicyLayer {
        let mut all: Vec<Arc<str>> = tools.into_iter().map(Into::into).collect();
        let starts = |name: &Arc<str>| {
            built_in_tools::find(name).is_some_and(|tool| tool.role == ToolRole::Starts)
        };
        let tasks = all.iter().any(starts).then(|| with_role(ToolRole::Tasks));
        let more = with_role(ToolRole::Owner).chain(tasks.into_iter().flatten());
        all.extend(more.map(|tool| Arc::from(tool.name)));
        let mut seen = std::collections::BTreeSet::new();
        all.retain(|tool| seen.insert(tool.clone()));
        PolicyLayer::default().tools(all)
    }

    /// The same brief for an agent of this profile.
    ///
    /// The profile narrows the permissions of the brief and never widens them. The
    /// approver of the brief counts as its owner's choice: if that is
    /// [`Approver::None`](offshoot_core::permissions::Approver::None), it stays so.
    #[must_use]
    pub fn applied_to(&self, mut brief: Brief) -> Brief {
        if let Some(model) = &self.model {
            if !model.provider().shares_access_with(brief.model.provider()) {
                brief.endpoint = None;
            }
            brief.model = model.clone();
        }
        brief.system = match (self.words(), brief.system.as_str()) {
            (None, _) => brief.system,
            (Some(words), "") => words,
            (Some(words), more) => format!("{words}\n{more}"),
        };
        brief.authority = self.narrows(brief.authority);
        brief.agents = self.may_spawn(brief.agents);
        if self.isolation == Isolation::Worktree {
            brief.isolation = Isolation::Worktree;
        }
        if !self.dialect.is_default() {
            brief.dialect = self.dialect.clone();
        }
        brief.profile = Some(self.name.as_str().into());
        brief.budget = brief.budget.within(self.budget).into();
        brief
    }

    /// The system prompt of its agents.
    ///
    /// Text from an untrusted project is labelled as such.
    fn words(&self) -> Option<String> {
        let prompt = Some(self.prompt.as_str()).filter(|prompt| !prompt.is_empty())?;
        Some(match self.trust {
            ProfileTrust::Trusted => prompt.to_owned(),
            ProfileTrust::Untrusted => {
                envelope("profile", &[("name", &self.name), ("from", "project")], prompt)
            }
        })
    }

    /// The text for an agent about its configuration, which must fit the schema.
    pub(crate) fn configured(
        &self,
        config: Option<&Value>,
    ) -> Result<Option<String>, ProfileError> {
        let Some(schema) = &self.config else {
            return match config {
                None => Ok(None),
                Some(_) => Err(ProfileError::NotConfigurable(self.name.clone())),
            };
        };
        let misfit = |wrong: String| ProfileError::Misfit { name: self.name.clone(), wrong };
        let validator = jsonschema::validator_for(schema).map_err(|error| {
            misfit(format!("what it says it takes is not a JSON Schema: {error}"))
        })?;
        let none = Value::Object(Map::new());
        let given = config.unwrap_or(&none);
        let wrong: Vec<_> = validator
            .iter_errors(given)
            .take(REPORTED)
            .map(|error| {
                let path = format!("config{}", error.instance_path());
                format!("at {}: {}", text::cut(&path, 200), text::cut(&error.to_string(), 400))
            })
            .collect();
        if !wrong.is_empty() {
            return Err(misfit(wrong.join("; ")));
        }
        let Some(config) = config else { return Ok(None) };
        let written = format!("{config:#}");
        if written.len() > CONFIG {
            let length = written.len();
            return Err(misfit(format!("it has {length} bytes and may have {CONFIG}")));
        }
        let body = format!("You are configured so:\n{written}");
        Ok(Some(envelope("config", &[("profile", &self.name)], &body)))
    }

    /// The owner's permissions, narrowed for an agent of this profile.
    fn narrows(&self, owner: Option<Arc<Permissions>>) -> Option<Arc<Permissions>> {
        let layers = || self.under.iter().chain([&self.layer]);
        if self.asks.is_none() && layers().all(|layer| *layer == PolicyLayer::default()) {
            return owner;
        }
        let mut authority = owner.map(Arc::unwrap_or_clone).unwrap_or_default();
        for layer in layers() {
            authority = authority.under(layer.clone());
        }
        if let Some(asks) = self.asks {
            authority = authority.narrow_approver(asks);
        }
        Some(Arc::new(authority))
    }

    /// The profiles that an agent of this profile may spawn.
    ///
    /// An untrusted profile can only name profiles that its owner may spawn.
    fn may_spawn(&self, owner: Option<Box<[String]>>) -> Option<Box<[String]>> {
        match (&self.agents, owner) {
            (None, owner) => owner,
            (Some(own), Some(owner)) if self.trust == ProfileTrust::Untrusted => {
                let both = |name: &&String| owner.iter().any(|other| is_name(other, name));
                Some(own.iter().filter(both).cloned().collect())
            }
            (Some(own), _) => Some(own.clone().into()),
        }
    }
}

/// Whether two names are equal, as the runtime compares names.
pub(crate) fn is_name(one: &str, other: &str) -> bool {
    offshoot_core::Name::key_of(one) == offshoot_core::Name::key_of(other)
}
