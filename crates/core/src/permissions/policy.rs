//! One layer of permissions: the rules of a person, a profile or an owner.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::access::{Access, Action};
use super::line::LineAnalysis;

/// One layer of permissions. The default layer narrows nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyLayer {
    /// The freedom of agents under this layer.
    pub mode: PermissionMode,
    /// The tools that the layer offers; `None` offers all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Arc<str>>>,
    /// Rules about tools and commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<(Rule, Verdict)>,
}

impl Default for PolicyLayer {
    fn default() -> Self {
        Self { mode: PermissionMode::Auto, tools: None, rules: Vec::new() }
    }
}

/// The freedom of an agent, from the strictest mode to the freest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionMode {
    /// The agent reads and plans, and changes nothing.
    Plan,
    /// Every change needs an approval.
    Ask,
    /// Everything that is not guarded runs. A guarded access needs an approval.
    Auto,
}

/// The decision about an access, from the mildest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The call runs.
    Allow,
    /// The call needs an approval.
    Ask,
    /// The call is refused.
    Deny,
}

/// The matches of a rule: all calls of a tool, or the commands that begin with certain words.
/// Written as `write`, `*` or `run_command(cargo test)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The tool's name; `*` matches every tool.
    pub tool: Arc<str>,
    /// The first words of the command.
    pub command: Option<Arc<[String]>>,
}

/// A text that is not a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no rule: write a tool, or a tool and how its command begins, word for word and \
     without quotes or patterns, as in run_command(cargo test)"
)]
pub struct BadRule(pub String);

impl Rule {
    /// A rule that matches every call of a tool.
    pub fn tool(tool: &str) -> Self {
        Self { tool: tool.into(), command: None }
    }

    fn is_about(&self, tool: &str) -> bool {
        &*self.tool == "*" || &*self.tool == tool
    }

    fn begins(&self, command: &[String]) -> bool {
        self.command.as_deref().is_some_and(|prefix| command.starts_with(prefix))
    }

    /// Parses a stored rule.
    fn read(text: &str) -> Result<Self, BadRule> {
        let bad = || BadRule(crate::text::cut(text, 200).into_owned());
        let name = |name: &str| match name.trim() {
            "*" => Some("*".into()),
            name if !name.is_empty() && name.chars().all(is_of_name) => Some(name.into()),
            _ => None,
        };
        let Some((tool, rest)) = text.split_once('(') else {
            return Ok(Self { tool: name(text).ok_or_else(bad)?, command: None });
        };
        let prefix = rest.trim_end().strip_suffix(')').ok_or_else(bad)?;
        let words: Vec<String> = prefix.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            return Err(bad());
        }
        Ok(Self { tool: name(tool).ok_or_else(bad)?, command: Some(words.into()) })
    }
}

impl FromStr for Rule {
    type Err = BadRule;

    /// Parses a rule and refuses one that can match no command.
    fn from_str(text: &str) -> Result<Self, BadRule> {
        let rule = Self::read(text)?;
        match rule.command.iter().flat_map(|words| words.iter()).all(|word| is_plain(word)) {
            true => Ok(rule),
            false => Err(BadRule(crate::text::cut(text, 200).into_owned())),
        }
    }
}

/// Whether a command can begin with this word.
///
/// Rules compare words letter for letter. Shell quotes and patterns (`"git push"`, `git
/// push:*`, `rm *`) would match no command, so a deny rule that contains them would have no
/// effect.
fn is_plain(word: &str) -> bool {
    // A redirection is listed as a command of its own that begins with `>`.
    word == ">" || !word.contains(|letter: char| "*?[]{}()'\"`$\\;|&<>!~".contains(letter))
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | ':')
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.command {
            Some(words) => write!(f, "{}({})", self.tool, words.join(" ")),
            None => f.write_str(&self.tool),
        }
    }
}

impl Serialize for Rule {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::read(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

impl PolicyLayer {
    /// A layer with this mode and no rules.
    pub fn mode(mode: PermissionMode) -> Self {
        Self { mode, ..Self::default() }
    }

    /// Offers only these tools.
    #[must_use]
    pub fn tools<T: Into<Arc<str>>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.tools = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// Adds a rule.
    #[must_use]
    pub fn rule(mut self, rule: Rule, verdict: Verdict) -> Self {
        self.rules.push((rule, verdict));
        self
    }

    /// Whether the tool is listed and no rule denies it entirely.
    pub fn offers(&self, tool: &str) -> bool {
        let listed = |tools: &Vec<Arc<str>>| tools.iter().any(|one| &**one == tool);
        let denied = self
            .rules_with(Verdict::Deny)
            .any(|rule| rule.command.is_none() && rule.is_about(tool));
        !denied && self.tools.as_ref().is_none_or(listed)
    }

    /// The verdict of this layer on an access: deny beats ask, ask beats allow, and without
    /// a matching rule the mode decides.
    pub fn judge(&self, access: &Access) -> Verdict {
        if !self.offers(&access.tool)
            || (self.mode == PermissionMode::Plan && access.action.changes())
        {
            return Verdict::Deny;
        }
        let strict = [Verdict::Deny, Verdict::Ask].into_iter().filter_map(|verdict| {
            let rules = self.rules_with(verdict).filter(|rule| rule.is_about(&access.tool));
            rules.filter_map(|rule| self.concerns(rule, access, verdict)).max()
        });
        if let Some(verdict) = strict.max() {
            return verdict;
        }
        if self.allows(access) {
            return Verdict::Allow;
        }
        match (self.mode, access.action.changes()) {
            (PermissionMode::Auto, _) | (_, false) => Verdict::Allow,
            _ => Verdict::Ask,
        }
    }

    fn rules_with(&self, verdict: Verdict) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |(_, says)| *says == verdict).map(|(rule, _)| rule)
    }

    /// The first deny or ask rule that an access may break through a command that its line
    /// does not name.
    pub(super) fn possibly_broken(&self, access: &Access) -> Option<&Rule> {
        let Action::Run(line) = &access.action else { return None };
        [Verdict::Deny, Verdict::Ask].into_iter().find_map(|verdict| {
            self.rules_with(verdict).filter(|rule| rule.is_about(&access.tool)).find(|rule| {
                let mut named = line.commands().iter().chain(&access.implied);
                let is_named = named.any(|command| rule.begins(command));
                let is_concerned = self.concerns(rule, access, verdict).is_some();
                rule.command.is_some() && !is_named && is_concerned
            })
        })
    }

    fn allows(&self, access: &Access) -> bool {
        let mut about = self.rules_with(Verdict::Allow).filter(|rule| rule.is_about(&access.tool));
        if about.any(|rule| rule.command.is_none()) {
            return true;
        }
        match &access.action {
            Action::Run(
                LineAnalysis::Clear(commands) | LineAnalysis::Launching { commands, .. },
            ) => !commands.is_empty() && self.names_all(&access.tool, commands),
            _ => false,
        }
    }

    /// Whether allow rules of this layer match every one of these commands.
    fn names_all(&self, tool: &str, commands: &[Vec<String>]) -> bool {
        let about = || self.rules_with(Verdict::Allow).filter(|rule| rule.is_about(tool));
        commands.iter().all(|command| about().any(|rule| rule.begins(command)))
    }

    /// The verdict of a deny or ask rule on an access.
    ///
    /// A line that cannot be analysed, or that contains a program that runs others, may run
    /// a command that the rule matches: it needs an approval. An allow rule that names such
    /// a program covers what the program runs, too.
    fn concerns(&self, rule: &Rule, access: &Access, verdict: Verdict) -> Option<Verdict> {
        let Some(_) = &rule.command else { return Some(verdict) };
        let Action::Run(line) = &access.action else { return None };
        if line.commands().iter().chain(&access.implied).any(|command| rule.begins(command)) {
            return Some(verdict);
        }
        match line {
            LineAnalysis::Clear(_) => None,
            LineAnalysis::Launching { launchers, .. }
                if self.names_all(&access.tool, launchers) =>
            {
                None
            }
            LineAnalysis::Launching { .. } | LineAnalysis::Partly(_) | LineAnalysis::Unclear => {
                Some(Verdict::Ask)
            }
        }
    }
}
