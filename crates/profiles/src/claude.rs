//! Profiles as Claude Code writes them, in `.claude/agents`. They are read as they
//! are: fields that mean nothing here are passed over, and a tool that is not here
//! is left out, which narrows.

use std::collections::BTreeMap;

use offshoot_agent::Profile;
use offshoot_core::authority::{Mode, Rule, Verdict};
use offshoot_models::ModelName;

use crate::draft::{self, Draft, texts};
use crate::error::{Place, Wrong, quoted};
use crate::front::{self, Parts};
use crate::yaml::{self, Field, Is, Node};

/// Its tools, and what they are called here.
const TOOLS: [(&str, &str); 14] = [
    ("Read", "read"),
    ("NotebookRead", "read"),
    ("Grep", "search"),
    ("Glob", "list"),
    ("LS", "list"),
    ("Edit", "edit"),
    ("MultiEdit", "edit"),
    ("Write", "write"),
    ("Bash", "run_command"),
    ("BashOutput", "command_output"),
    ("KillShell", "cancel_task"),
    ("WebFetch", "fetch"),
    ("Task", "spawn_agent"),
    ("Agent", "spawn_agent"),
];

/// The profile in a file that is called so. What its models are called here,
/// somebody else says.
pub(crate) fn read(
    written: &str,
    stem: &str,
    aliases: &BTreeMap<String, ModelName>,
) -> Result<Draft, Wrong> {
    let parts = front::parts(written)?;
    // Its descriptions often hold colons that YAML does not take.
    let fields =
        yaml::fields(parts.front, parts.first).or_else(|wrong| loose(&parts).ok_or(wrong))?;
    let said = |name: &str| {
        let field = fields.iter().find(|field| field.name == name);
        field.map(|field| &field.value).filter(|node| node.kind() != "nothing")
    };
    let mut draft = Draft { name: draft::name(said("name"), stem)?, ..Draft::default() };
    draft.prompt = parts.prompt.to_owned();
    draft.description = said("description").and_then(Node::text).map(|text| text.trim().to_owned());
    if let Some(node) = said("model") {
        draft.model = model(node, aliases, &mut draft.notes);
    }
    if let Some(node) = said("tools") {
        let listed = texts(node, "tools")?;
        let mut tools = Vec::new();
        for (tool, _) in &listed {
            match known(tool) {
                Some(ours) => tools.push(ours),
                None if *tool == "*" => {}
                None => draft.notes.push(unknown(tool)),
            }
        }
        if !listed.iter().any(|(tool, _)| *tool == "*") {
            draft.layer = Profile::offering(tools);
        }
    }
    if let Some(node) = said("disallowedTools") {
        for (tool, _) in texts(node, "disallowedTools")? {
            // A part of a tool cannot be told from the rest, so all of it goes.
            let whole = tool.split_once('(').map_or(tool, |(tool, _)| tool.trim());
            if let Some(ours) = known(whole) {
                draft.layer = draft.layer.rule(Rule::tool(ours), Verdict::Deny);
            }
        }
    }
    match said("permissionMode").and_then(Node::text) {
        Some("plan") => draft.layer.mode = Mode::Plan,
        Some("default") | None => {}
        Some(mode) => {
            let mode = quoted(mode);
            draft
                .notes
                .push(format!("permissionMode {mode} gives nothing here: it is passed over"));
        }
    }
    Ok(draft)
}

/// What one of its tools is called here.
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

/// What a model is called here. One that is not known is that of whoever sends the
/// agent off.
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
            "the model {said} is not known here: it has that of whoever sends it off"
        ));
    }
    found
}

/// The fields of front matter that is no YAML: what begins a line with a name and a
/// colon, and the lines below that are set in or listed.
fn loose(parts: &Parts<'_>) -> Option<Vec<Field>> {
    let mut fields: Vec<Field> = Vec::new();
    for (number, line) in parts.front.lines().enumerate() {
        let at = Place { line: parts.first + number, column: 1 };
        let is_name = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        };
        match line.split_once(':').filter(|(name, _)| is_name(name)) {
            Some((name, value)) => {
                if fields.iter().any(|field| field.name == name) {
                    return None;
                }
                let value = Node { at, is: Is::Plain(unquoted(value).to_owned()) };
                fields.push(Field { name: name.to_owned(), at, value });
            }
            None if line.trim().is_empty() || line.starts_with('#') => {}
            None => match &mut fields.last_mut()?.value.is {
                Is::Plain(text) => {
                    let item = line.trim().strip_prefix("- ");
                    let separator = if item.is_some() { ", " } else { "\n" };
                    if !text.is_empty() {
                        text.push_str(separator);
                    }
                    text.push_str(item.unwrap_or(line.trim()));
                }
                _ => return None,
            },
        }
    }
    (!fields.is_empty()).then_some(fields)
}

fn unquoted(value: &str) -> &str {
    let value = value.trim();
    let inner = |mark: char| value.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests;
