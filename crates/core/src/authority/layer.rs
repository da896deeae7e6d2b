//! One layer of an authority: what a person, a profile or an owner allows.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::line::Line;
use super::wish::{Deed, Wish};

/// One layer of an authority. The default one narrows nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// How freely it lets agents act.
    pub mode: Mode,
    /// The tools that it offers; all if it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Arc<str>>>,
    /// What it says of tools and commands in particular.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<(Rule, Verdict)>,
}

impl Default for Layer {
    fn default() -> Self {
        Self { mode: Mode::Auto, tools: None, rules: Vec::new() }
    }
}

/// How freely an agent acts, from the strictest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It looks and plans, and changes nothing.
    Plan,
    /// It asks before it changes anything.
    Ask,
    /// It does what is not guarded, and asks for the rest.
    Auto,
}

/// What is said of a wish, from the mildest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may be done.
    Allow,
    /// Somebody is asked.
    Ask,
    /// It may not be done.
    Deny,
}

/// What a rule is about: a tool, or those of its commands that begin so. Written
/// as `write`, `*` or `run_command(cargo test)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The tool; `*` for each.
    pub tool: Arc<str>,
    /// How the command begins, word for word.
    pub command: Option<Arc<[String]>>,
}

/// A rule that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no rule: write a tool, or a tool and how its command begins, word for word and \
     without quotes or patterns, as in run_command(cargo test)"
)]
pub struct BadRule(pub String);

impl Rule {
    /// What a tool does, whatever it is.
    pub fn tool(tool: &str) -> Self {
        Self { tool: tool.into(), command: None }
    }

    fn is_about(&self, tool: &str) -> bool {
        &*self.tool == "*" || &*self.tool == tool
    }

    fn begins(&self, command: &[String]) -> bool {
        self.command.as_deref().is_some_and(|prefix| command.starts_with(prefix))
    }

    /// A rule as one is kept.
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

    /// A rule as somebody writes one, who is told if it would be about nothing.
    fn from_str(text: &str) -> Result<Self, BadRule> {
        let rule = Self::read(text)?;
        match rule.command.iter().flat_map(|words| words.iter()).all(|word| is_plain(word)) {
            true => Ok(rule),
            false => Err(BadRule(crate::text::cut(text, 200).into_owned())),
        }
    }
}

/// Whether a word of a rule is one that a command can begin with. What a shell or
/// another system makes more of (`"git push"`, `git push:*`, `rm *`) would be
/// compared letter for letter: the rule would be about nothing, and what it is to
/// forbid would be done.
fn is_plain(word: &str) -> bool {
    // A redirection is told as a command of its own.
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

impl Layer {
    /// One that only says how freely.
    pub fn mode(mode: Mode) -> Self {
        Self { mode, ..Self::default() }
    }

    /// Offers these tools alone.
    #[must_use]
    pub fn tools<T: Into<Arc<str>>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.tools = Some(tools.into_iter().map(Into::into).collect());
        self
    }

    /// With one more rule.
    #[must_use]
    pub fn rule(mut self, rule: Rule, verdict: Verdict) -> Self {
        self.rules.push((rule, verdict));
        self
    }

    /// Whether a tool is offered.
    pub fn offers(&self, tool: &str) -> bool {
        let listed = |tools: &Vec<Arc<str>>| tools.iter().any(|one| &**one == tool);
        let denied =
            self.says(Verdict::Deny).any(|rule| rule.command.is_none() && rule.is_about(tool));
        !denied && self.tools.as_ref().is_none_or(listed)
    }

    /// What it says of a wish. The strictest rule counts; only where none
    /// forbids or asks, one that allows does, and else the mode.
    pub fn judge(&self, wish: &Wish) -> Verdict {
        if !self.offers(&wish.tool) || (self.mode == Mode::Plan && wish.deed.changes()) {
            return Verdict::Deny;
        }
        let strict = [Verdict::Deny, Verdict::Ask].into_iter().filter_map(|verdict| {
            let rules = self.says(verdict).filter(|rule| rule.is_about(&wish.tool));
            rules.filter_map(|rule| self.concerns(rule, wish, verdict)).max()
        });
        if let Some(verdict) = strict.max() {
            return verdict;
        }
        if self.allows(wish) {
            return Verdict::Allow;
        }
        match (self.mode, wish.deed.changes()) {
            (Mode::Auto, _) | (_, false) => Verdict::Allow,
            _ => Verdict::Ask,
        }
    }

    fn says(&self, verdict: Verdict) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |(_, says)| *says == verdict).map(|(rule, _)| rule)
    }

    /// The rule that a wish may break by way of a command that its line does not name,
    /// if there is one.
    pub(super) fn possibly_broken(&self, wish: &Wish) -> Option<&Rule> {
        let Deed::Run(line) = &wish.deed else { return None };
        [Verdict::Deny, Verdict::Ask].into_iter().find_map(|verdict| {
            self.says(verdict).filter(|rule| rule.is_about(&wish.tool)).find(|rule| {
                let is_named = line.commands().iter().any(|command| rule.begins(command));
                let is_concerned = self.concerns(rule, wish, verdict).is_some();
                rule.command.is_some() && !is_named && is_concerned
            })
        })
    }

    fn allows(&self, wish: &Wish) -> bool {
        let mut about = self.says(Verdict::Allow).filter(|rule| rule.is_about(&wish.tool));
        if about.any(|rule| rule.command.is_none()) {
            return true;
        }
        match &wish.deed {
            Deed::Run(Line::Clear(commands) | Line::Launching { commands, .. }) => {
                !commands.is_empty() && self.names_all(&wish.tool, commands)
            }
            _ => false,
        }
    }

    /// Whether each of these commands begins as an allow rule of this layer says.
    fn names_all(&self, tool: &str, commands: &[Vec<String>]) -> bool {
        let about = || self.says(Verdict::Allow).filter(|rule| rule.is_about(tool));
        commands.iter().all(|command| about().any(|rule| rule.begins(command)))
    }

    /// What a rule that forbids or asks says of a wish. A line that cannot be read, or
    /// that has a program run others, may run what the rule is about. An allow rule that
    /// names such a program settles that: it allows what the program runs, too.
    fn concerns(&self, rule: &Rule, wish: &Wish, verdict: Verdict) -> Option<Verdict> {
        let Some(_) = &rule.command else { return Some(verdict) };
        let Deed::Run(line) = &wish.deed else { return None };
        if line.commands().iter().any(|command| rule.begins(command)) {
            return Some(verdict);
        }
        match line {
            Line::Clear(_) => None,
            Line::Launching { launchers, .. } if self.names_all(&wish.tool, launchers) => None,
            Line::Launching { .. } | Line::Partly(_) | Line::Unclear => Some(Verdict::Ask),
        }
    }
}
