//! Profiles in the format of Claude Code, in `.claude/agents`.
//!
//! The files are read unchanged. Fields without a counterpart are skipped, and tools
//! without one are left out, which narrows the permissions.

use std::collections::BTreeMap;

use offshoot_agent::Profile;
use offshoot_agent::built_in_tools;
use offshoot_core::permissions::{PermissionMode, Rule, Verdict};
use offshoot_models::ModelName;

use crate::error::{Position, Wrong, quoted};
use crate::fields::{self, ProfileFields, texts};
use crate::front::{self, Parts};
use crate::yaml::{self, Field, Is, Node};

/// The tools of Claude Code, with their names in Offshoot.
const TOOLS: [(&str, &str); 14] = [
    ("Read", built_in_tools::READ.name),
    ("NotebookRead", built_in_tools::READ.name),
    ("Grep", built_in_tools::SEARCH.name),
    ("Glob", built_in_tools::LIST.name),
    ("LS", built_in_tools::LIST.name),
    ("Edit", built_in_tools::EDIT.name),
    ("MultiEdit", built_in_tools::EDIT.name),
    ("Write", built_in_tools::WRITE.name),
    ("Bash", built_in_tools::RUN_COMMAND.name),
    ("BashOutput", built_in_tools::COMMAND_OUTPUT.name),
    ("KillShell", built_in_tools::CANCEL_TASK.name),
    ("WebFetch", built_in_tools::FETCH.name),
    ("Task", built_in_tools::SPAWN_AGENT.name),
    ("Agent", built_in_tools::SPAWN_AGENT.name),
];

/// Reads the profile in a file of this name. The caller passes the aliases of its models.
pub(crate) fn read(
    written: &str,
    stem: &str,
    aliases: &BTreeMap<String, ModelName>,
) -> Result<ProfileFields, Wrong> {
    let parts = front::parts(written)?;
    // Descriptions often have colons that are invalid in YAML.
    let fields =
        yaml::fields(parts.front, parts.first).or_else(|wrong| loose(&parts).ok_or(wrong))?;
    let said = |name: &str| {
        let field = fields.iter().find(|field| field.name == name);
        field.map(|field| &field.value).filter(|node| node.kind() != "nothing")
    };
    let mut profile =
        ProfileFields { name: fields::name(said("name"), stem)?, ..ProfileFields::default() };
    profile.prompt = parts.prompt.to_owned();
    profile.description =
        said("description").and_then(Node::text).map(|text| text.trim().to_owned());
    if let Some(node) = said("model") {
        profile.model = model(node, aliases, &mut profile.notes);
    }
    if let Some(node) = said("tools") {
        let listed = texts(node, "tools")?;
        let mut tools = Vec::new();
        for (tool, _) in &listed {
            match known(tool) {
                Some(ours) => tools.push(ours),
                None if *tool == "*" => {}
                None => profile.notes.push(unknown(tool)),
            }
        }
        if !listed.iter().any(|(tool, _)| *tool == "*") {
            profile.layer = Profile::offering(tools);
        }
    }
    if let Some(node) = said("disallowedTools") {
        for (tool, node) in texts(node, "disallowedTools")? {
            // A rule about a part of a tool denies the whole tool.
            let whole = tool.split_once('(').map_or(tool, |(tool, _)| tool.trim());
            match known(whole) {
                Some(ours) => profile.layer = profile.layer.rule(Rule::tool(ours), Verdict::Deny),
                // A denial that cannot be read must not be guessed.
                None if !is_tool(whole) => {
                    let why = format!("disallowedTools: {} is no name of a tool", quoted(tool));
                    return Err(Wrong::at(node.at, why));
                }
                None => profile.notes.push(format!(
                    "the tool {} is not forbidden: there is none like it here",
                    quoted(tool)
                )),
            }
        }
    }
    match said("permissionMode").and_then(Node::text) {
        Some("plan") => profile.layer.mode = PermissionMode::Plan,
        Some("default") | None => {}
        Some(mode) => {
            let mode = quoted(mode);
            profile
                .notes
                .push(format!("permissionMode {mode} gives nothing here: it is passed over"));
        }
    }
    Ok(profile)
}

/// Whether a word can be the name of a tool, or a pattern of such names.
fn is_tool(word: &str) -> bool {
    let of_name = |c: char| c.is_alphanumeric() || "_-.:*".contains(c);
    !word.is_empty() && word.chars().all(of_name)
}

/// Returns the name of one of its tools in Offshoot.
fn known(tool: &str) -> Option<&'static str> {
    TOOLS.iter().find(|(theirs, _)| *theirs == tool).map(|(_, ours)| *ours)
}

fn unknown(tool: &str) -> String {
    let whole = tool.split_once('(').map(|(tool, _)| tool.trim());
    match whole.and_then(known) {
        Some(_) => format!(
            "the tool {} is left out: a list of tools cannot say which commands one may run",
            quoted(tool)
        ),
        None => format!("the tool {} is left out: there is none like it here", quoted(tool)),
    }
}

/// Returns the model of a field. An unknown model is replaced by that of the spawning agent.
fn model(
    node: &Node,
    aliases: &BTreeMap<String, ModelName>,
    notes: &mut Vec<String>,
) -> Option<ModelName> {
    let said = node.text().unwrap_or_default().trim();
    if said.is_empty() || said == "inherit" {
        return None;
    }
    let found = aliases.get(said).cloned().or_else(|| said.parse().ok());
    if found.is_none() {
        let said = quoted(said);
        notes.push(format!(
            "the model {said} is not known here: it has that of the agent that spawns it"
        ));
    }
    found
}

/// Reads the fields of front matter that is invalid as YAML.
///
/// A field is a line that begins with a name and a colon, with the indented or listed
/// lines below it. Each field that is valid YAML by itself is read as YAML, so that an
/// error in one field does not lose another.
fn loose(parts: &Parts<'_>) -> Option<Vec<Field>> {
    let mut found: Vec<Loose<'_>> = Vec::new();
    for (number, line) in parts.front.lines().enumerate() {
        let is_name = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        };
        match line.split_once(':').filter(|(name, _)| is_name(name)) {
            Some((name, _)) if found.iter().any(|field| field.name == name) => return None,
            Some((name, _)) => {
                found.push(Loose { name, line: parts.first + number, lines: vec![line] });
            }
            None if line.trim().is_empty() || line.starts_with('#') => {}
            None => found.last_mut()?.lines.push(line),
        }
    }
    (!found.is_empty()).then(|| found.into_iter().map(Loose::field).collect())
}

/// A field of such front matter, unparsed.
struct Loose<'a> {
    name: &'a str,
    line: usize,
    lines: Vec<&'a str>,
}

impl Loose<'_> {
    fn field(self) -> Field {
        let Self { name, line, lines } = self;
        let read = yaml::fields(&lines.join("\n"), line).unwrap_or_default();
        if let Ok([field]) = <[Field; 1]>::try_from(read) {
            return field;
        }
        let at = Position { line, column: 1 };
        let mut text = String::new();
        for (number, line) in lines.into_iter().enumerate() {
            let line = if number == 0 { unquoted(&line[name.len() + 1..]) } else { line.trim() };
            let item = line.strip_prefix("- ").filter(|_| number > 0);
            if !text.is_empty() {
                text.push_str(if item.is_some() { ", " } else { "\n" });
            }
            text.push_str(item.unwrap_or(line));
        }
        Field { name: name.to_owned(), at, value: Node { at, is: Is::Plain(text) } }
    }
}

fn unquoted(value: &str) -> &str {
    let value = value.trim();
    let inner = |mark: char| value.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests;
