//! Profiles in the format of Offshoot, which refuses unknown fields.

use offshoot_agent::built_in_tools::{self, ActionClass};
use offshoot_agent::{Isolation, Profile};
use offshoot_core::Name;
use offshoot_core::permissions::{Approver, PermissionMode, Rule, Verdict};
use offshoot_dialects::Dialect;
use offshoot_models::ModelName;

use crate::error::{Wrong, quoted};
use crate::fields::{self, ProfileFields, text, texts, word};
use crate::front;
use crate::yaml::{self, Field, Node};

/// The known fields.
const FIELDS: [&str; 15] = [
    "name",
    "description",
    "extends",
    "model",
    "tools",
    "mode",
    "allow",
    "ask",
    "deny",
    "asks",
    "budget",
    "isolation",
    "agents",
    "config",
    "dialect",
];

/// The largest number of unknown fields that an error names.
const NAMED: usize = 8;

/// The modes.
const MODES: [(&str, PermissionMode); 3] =
    [("plan", PermissionMode::Plan), ("ask", PermissionMode::Ask), ("auto", PermissionMode::Auto)];

/// The approvers.
const ASKS: [(&str, Approver); 3] =
    [("owner", Approver::Owner), ("person", Approver::Person), ("nobody", Approver::None)];

/// The kinds of isolation.
const ISOLATIONS: [(&str, Isolation); 2] =
    [("none", Isolation::None), ("worktree", Isolation::Worktree)];

/// The longest description or budget, in characters.
const LINE: usize = 2_000;

/// Reads the profile in a file of this name.
pub(crate) fn read(written: &str, stem: &str) -> Result<ProfileFields, Wrong> {
    let parts = front::parts(written)?;
    let fields = yaml::fields(parts.front, parts.first)?;
    let said =
        |name: &str| fields.iter().find(|field| field.name == name).map(|field| &field.value);
    let mut unknown = fields.iter().filter(|field| !FIELDS.contains(&field.name.as_str()));
    if let Some(Field { name, at, .. }) = unknown.next() {
        let mut names = vec![quoted(name)];
        names.extend(
            unknown
                .by_ref()
                .take(NAMED - 1)
                .map(|field| format!("{} (line {})", quoted(&field.name), field.at.line)),
        );
        let more = match unknown.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (names, known) = (names.join(", ") + &more, FIELDS.join(", "));
        return Err(Wrong::at(*at, format!("there is no field {names}; the fields are {known}")));
    }
    let mut profile =
        ProfileFields { name: fields::name(said("name"), stem)?, ..ProfileFields::default() };
    profile.prompt = parts.prompt.to_owned();
    profile.description = said("description").map(|node| line(node, "description")).transpose()?;
    profile.extends = said("extends").map(|node| reference(node, "extends")).transpose()?;
    profile.model = said("model").map(model).transpose()?.flatten();
    if let Some(node) = said("tools") {
        let tools: Result<Vec<_>, _> =
            texts(node, "tools")?.into_iter().map(|(tool, node)| named(tool, node)).collect();
        profile.layer = Profile::offering(tools?.into_iter().map(|rule| rule.tool));
    }
    if let Some(node) = said("mode") {
        profile.layer.mode = word(node, "mode", &MODES)?;
    }
    for (field, verdict) in
        [("allow", Verdict::Allow), ("ask", Verdict::Ask), ("deny", Verdict::Deny)]
    {
        for (rule, node) in
            said(field).map(|node| texts(node, field)).transpose()?.unwrap_or_default()
        {
            profile.layer = profile.layer.rule(about(rule, node)?, verdict);
        }
    }
    profile.asks = said("asks").map(|node| word(node, "asks", &ASKS)).transpose()?;
    if let Some(node) = said("budget") {
        let written = line(node, "budget")?;
        profile.budget =
            written.parse().map_err(|error| Wrong::at(node.at, format!("budget: {error}")))?;
    }
    profile.isolation =
        said("isolation").map(|node| word(node, "isolation", &ISOLATIONS)).transpose()?;
    profile.dialect =
        said("dialect").map(|node| word(node, "dialect", &Dialect::ALL)).transpose()?;
    profile.config = said("config").map(fields::schema).transpose()?;
    if let Some(node) = said("agents") {
        let all = texts(node, "agents")?.into_iter().map(|(name, node)| profile_name(name, node));
        profile.agents = Some(all.collect::<Result<_, _>>()?);
    }
    Ok(profile)
}

/// Whether a tool is built in and runs no commands: a rule about it names no command.
fn runs_no_commands(tool: &str) -> bool {
    built_in_tools::find(tool).is_some_and(|tool| tool.class != ActionClass::Run)
}

/// Parses a rule, which must be able to match.
fn about(rule: &str, node: &Node) -> Result<Rule, Wrong> {
    let rule = rule.parse::<Rule>().map_err(|error| Wrong::at(node.at, error.to_string()))?;
    if rule.command.is_some() && runs_no_commands(&rule.tool) {
        let (rule, tool) = (quoted(&rule.to_string()), &rule.tool);
        let why = format!(
            "{rule} is no rule: {tool} runs no commands, so write {tool}; what it may reach \
             cannot be said by a rule"
        );
        return Err(Wrong::at(node.at, why));
    }
    Ok(rule)
}

/// Parses the name of a tool, without a command.
fn named(tool: &str, node: &Node) -> Result<Rule, Wrong> {
    match tool.parse::<Rule>() {
        Ok(rule) if rule.command.is_none() && &*rule.tool != "*" => Ok(rule),
        _ => Err(Wrong::at(
            node.at,
            format!(
                "{} is no name of a tool; what a tool may run is said by allow, ask and deny",
                quoted(tool)
            ),
        )),
    }
}

/// Parses a model. Returns `None` for that of the spawning agent.
pub(crate) fn model(node: &Node) -> Result<Option<ModelName>, Wrong> {
    match text(node, "model")? {
        "inherit" => Ok(None),
        said => {
            said.parse().map(Some).map_err(|error| Wrong::at(node.at, format!("model: {error}")))
        }
    }
}

fn line(node: &Node, field: &str) -> Result<String, Wrong> {
    let said = text(node, field)?;
    match said.chars().count() {
        length if length > LINE => {
            let why = format!("{field} has {length} characters and may have {LINE}");
            Err(Wrong::at(node.at, why))
        }
        _ => Ok(said.to_owned()),
    }
}

fn reference(node: &Node, field: &str) -> Result<String, Wrong> {
    profile_name(text(node, field)?, node)
}

fn profile_name(name: &str, node: &Node) -> Result<String, Wrong> {
    match Name::new(name) {
        Ok(name) => Ok(name.as_str().to_owned()),
        Err(error) => {
            let why = format!("{} cannot name a profile: {error}", quoted(name));
            Err(Wrong::at(node.at, why))
        }
    }
}

#[cfg(test)]
mod tests;
