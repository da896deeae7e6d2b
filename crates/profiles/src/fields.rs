//! The fields of a profile as its file gives them, without the profiles it refers to.

use offshoot_agent::{Budget, Isolation, Profile, ProfileOrigin, ProfileTrust};
use offshoot_core::Name;
use offshoot_core::permissions::{Approver, PolicyLayer};
use offshoot_dialects::Dialect;
use offshoot_models::ModelName;
use serde_json::Value;

use crate::error::{Wrong, quoted};
use crate::yaml::{Is, Node};

/// The largest number of names or rules in a list.
const LISTED: usize = 200;

/// The fields of a profile file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ProfileFields {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) prompt: String,
    pub(crate) model: Option<ModelName>,
    pub(crate) layer: PolicyLayer,
    pub(crate) asks: Option<Approver>,
    pub(crate) budget: Budget,
    pub(crate) isolation: Option<Isolation>,
    pub(crate) config: Option<Value>,
    pub(crate) agents: Option<Vec<String>>,
    pub(crate) dialect: Option<Dialect>,
    /// The profile whose fields are the defaults.
    pub(crate) extends: Option<String>,
    pub(crate) notes: Vec<String>,
}

impl ProfileFields {
    /// Builds the profile, with missing fields from the profile that it extends.
    ///
    /// The rules of the extended profile apply as well.
    pub(crate) fn profile(
        &self,
        base: Option<&Profile>,
        from: (ProfileOrigin, ProfileTrust),
    ) -> Profile {
        let own = self.clone();
        let base = base.cloned().unwrap_or_default();
        let mut under = base.under;
        under.push(base.layer);
        under.retain(|layer| *layer != PolicyLayer::default());
        let prompt = if own.prompt.is_empty() { base.prompt } else { own.prompt };
        Profile {
            name: own.name,
            description: own.description.unwrap_or(base.description),
            prompt,
            model: own.model.or(base.model),
            layer: own.layer,
            under,
            asks: own.asks.or(base.asks),
            budget: own.budget.within(base.budget),
            isolation: own.isolation.unwrap_or(base.isolation),
            config: own.config.or(base.config),
            agents: own.agents.or(base.agents),
            dialect: own.dialect.map_or(base.dialect, Into::into),
            origin: from.0,
            trust: from.1,
            notes: own.notes,
        }
    }
}

/// Returns the name of a profile: its field, or the name of its file.
pub(crate) fn name(said: Option<&Node>, stem: &str) -> Result<String, Wrong> {
    let bad = |name: &str, error: &dyn std::fmt::Display| {
        format!("{} cannot name a profile: {error}", quoted(name))
    };
    match said {
        None => match Name::new(stem) {
            Ok(name) => Ok(name.as_str().to_owned()),
            Err(error) => Err(Wrong::all(bad(stem, &error))),
        },
        Some(node) => {
            let said = text(node, "name")?;
            let name = Name::new(said).map_err(|error| Wrong::at(node.at, bad(said, &error)))?;
            Ok(name.as_str().to_owned())
        }
    }
}

/// Returns the text of a field.
pub(crate) fn text<'a>(node: &'a Node, field: &str) -> Result<&'a str, Wrong> {
    let text = node.text().map(str::trim).filter(|text| !text.is_empty());
    text.ok_or_else(|| {
        let kind = if node.text().is_some() { "an empty one" } else { node.kind() };
        Wrong::at(
            node.at,
            format!("{field} must be a text, not {kind}; leave it out if there is none"),
        )
    })
}

/// Returns the texts of a field: a list, or one text with commas.
pub(crate) fn texts<'a>(node: &'a Node, field: &str) -> Result<Vec<(&'a str, &'a Node)>, Wrong> {
    let all: Vec<_> = match &node.is {
        Is::List(all) => {
            let one =
                |node: &'a Node| match node.text().map(str::trim).filter(|one| !one.is_empty()) {
                    Some(one) => Ok((one, node)),
                    None => {
                        let why = format!("each of {field} must be a text, not {}", node.kind());
                        Err(Wrong::at(node.at, why))
                    }
                };
            all.iter().map(one).collect::<Result<_, _>>()?
        }
        Is::Map(_) => {
            let why = format!("{field} must be a list, or a text with commas, not a mapping");
            return Err(Wrong::at(node.at, why));
        }
        _ => {
            let said = node.text().unwrap_or_default();
            split(said).into_iter().map(|one| (one, node)).collect()
        }
    };
    if all.len() > LISTED {
        let why = format!("{field} lists {} and may list {LISTED}", all.len());
        return Err(Wrong::at(node.at, why));
    }
    Ok(all)
}

/// Splits a text at the commas outside parentheses.
fn split(said: &str) -> Vec<&str> {
    let mut deep = 0_usize;
    let parts = said.split(|c: char| {
        match c {
            '(' => deep += 1,
            ')' => deep = deep.saturating_sub(1),
            _ => {}
        }
        c == ',' && deep == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Returns the value of one of a few words.
pub(crate) fn word<T: Copy>(node: &Node, field: &str, words: &[(&str, T)]) -> Result<T, Wrong> {
    let said = text(node, field)?;
    let found = words.iter().find(|(word, _)| *word == said.replace('-', "_"));
    found.map(|(_, meant)| *meant).ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        let why = format!("{field} must be one of {}, not {}", words.join(", "), quoted(said));
        Wrong::at(node.at, why)
    })
}

/// Returns a valid JSON Schema.
pub(crate) fn schema(node: &Node) -> Result<Value, Wrong> {
    let Is::Map(_) = node.is else {
        let why = format!("config must be a JSON Schema, a mapping, not {}", node.kind());
        return Err(Wrong::at(node.at, why));
    };
    let schema = node.to_json();
    match jsonschema::validator_for(&schema) {
        Ok(_) => Ok(schema),
        Err(error) => {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { String::new() } else { format!(" at {place}") };
            Err(Wrong::at(node.at, format!("config is no JSON Schema{place}: {error}")))
        }
    }
}
