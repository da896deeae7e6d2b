//! Dialects: how tools are called to a model that knows those of another system.
//!
//! A model that was taught the tools of another system calls them by the names
//! and in the shapes it knows. A dialect is a table of such tools, each of which
//! says an operation of ours in other words: there is one way to send a task off,
//! to wait for it and to stop it, and what holds for it holds in every dialect.
//! Nothing is told twice or lost, ids are ours, and a rule is written for our
//! tools alone: which tool of ours stands behind a word decides what is offered
//! and what is allowed.

mod awaken;
mod claude_code;
mod codex;
mod codex_v2;
mod deeds;
mod defect;
mod everruns;
mod goal;
mod instead;
mod koda;
mod naming;
mod phrase;
mod standing;

use std::sync::Arc;

use offshoot_core::Task;
use serde::{Deserialize, Serialize};

use crate::agents::AgentShared;
use crate::control::is_brought;
use crate::finish_tool::FINISH;
use crate::profile::Profile;
use crate::tool::{Tool, Toolbox};

pub(crate) use goal::Goal;
use phrase::{Phrase, Words};

/// How tools for tasks are called, and what shapes they take and give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// Our own.
    #[default]
    Offshoot,
    /// As everruns calls them.
    Everruns,
    /// As koda calls them.
    Koda,
    /// As defect calls them.
    Defect,
    /// As awaken calls them.
    Awaken,
    /// As Codex calls them.
    Codex,
    /// As Codex calls them in its second set of tools.
    CodexV2,
    /// As Claude Code calls them.
    ClaudeCode,
}

/// What a dialect says instead of ours.
struct Lexicon {
    /// What our tools are called in it, for texts that name them.
    words: Words,
    /// Those of ours that it has no word for and that nothing works without.
    keeps: &'static [&'static str],
    /// Its tools, each with the one of ours that stands behind it.
    phrases: Vec<Said>,
}

/// A tool of a dialect, and the one of ours that it is.
type Said = (&'static str, Arc<dyn Tool>);

/// What there is to say.
pub(crate) struct Scene {
    /// The tools that the user brings. None of them is ever replaced.
    brought: Vec<Arc<dyn Tool>>,
    /// Ours, as far as they are offered.
    ours: Vec<Arc<dyn Tool>>,
    /// The profiles to choose from, for a dialect that makes a tool of each.
    profiles: Vec<Arc<Profile>>,
}

impl Scene {
    /// The tools that an agent is offered, the user's and ours, and the profiles
    /// that it can choose from.
    pub(crate) fn of(
        shared: &AgentShared,
        tools: Vec<Arc<dyn Tool>>,
        profiles: Vec<Arc<Profile>>,
    ) -> Self {
        let is_brought = |tool: &Arc<dyn Tool>| is_brought(shared, &tool.spec().name);
        let (brought, ours) = tools.into_iter().partition(is_brought);
        Self { brought, ours, profiles }
    }
}

/// What every agent keeps unless its dialect has a word for it.
const KEPT: [&str; 4] = ["read_output", "answer_request", "report_progress", "ask"];

impl Dialect {
    /// All there are, with the words for them.
    pub const ALL: [(&'static str, Self); 8] = [
        ("offshoot", Self::Offshoot),
        ("everruns", Self::Everruns),
        ("koda", Self::Koda),
        ("defect", Self::Defect),
        ("awaken", Self::Awaken),
        ("codex", Self::Codex),
        ("codex_v2", Self::CodexV2),
        ("claude_code", Self::ClaudeCode),
    ];

    pub(crate) fn is_own(&self) -> bool {
        *self == Self::Offshoot
    }

    /// Which one it is, counted from zero.
    pub(crate) fn number(self) -> usize {
        self as usize
    }

    /// Whether its tools depend on which profiles there are.
    pub(crate) fn names_profiles(self) -> bool {
        self == Self::Awaken
    }

    /// The tools of an agent that speaks it: the user's first.
    pub(crate) fn tools(self, scene: Scene) -> Vec<Arc<dyn Tool>> {
        let Some(lexicon) = self.lexicon(&scene) else {
            return scene.brought.into_iter().chain(scene.ours).collect();
        };
        let Scene { brought, ours, .. } = scene;
        let named = |tools: &[Arc<dyn Tool>], name: &str| {
            tools.iter().any(|tool| &*tool.spec().name == name)
        };
        // Those that come with the user are said only where they are.
        let is_offered = |own: &str| match own {
            instead::COMMAND | instead::WRITTEN => true,
            own => named(&ours, own),
        };
        let (words, mut phrases) = (lexicon.words, lexicon.phrases);
        let taken = phrases.iter().filter(|(_, tool)| named(&brought, &tool.spec().name));
        let taken: Vec<_> = taken.map(|(own, _)| *own).collect();
        phrases.retain(|(own, tool)| is_offered(own) && !named(&brought, &tool.spec().name));
        let is_said = |name: &str| phrases.iter().any(|(own, _)| *own == name);
        // Where a tool of the user's has taken the word for it, ours stays.
        let is_kept = |name: &str| {
            let kept = KEPT.contains(&name) || lexicon.keeps.contains(&name);
            kept && !is_said(name) || taken.contains(&name)
        };
        let keeps = |name: &str| lexicon.keeps.contains(&name) || taken.contains(&name);
        let stays = |name: &str| name != instead::COMMAND || !is_said(name) || keeps(name);
        let brought = brought.iter().filter(|tool| stays(&tool.spec().name));
        let mut tools: Vec<_> = brought.cloned().collect();
        let kept = ours.into_iter().filter(|tool| is_kept(&tool.spec().name));
        let said = phrases.iter().map(|(own, tool)| Phrase::of(own, tool.clone(), words));
        tools.extend(said.map(|phrase| Arc::new(phrase) as Arc<dyn Tool>));
        tools.extend(kept);
        tools
    }

    /// A text of ours with our tools called as they are in it.
    pub(crate) fn reword(self, text: &str) -> String {
        phrase::reword(text, self.words())
    }

    /// What a model that speaks it calls a task, if not by its handle.
    pub(crate) fn id(self, task: &Task) -> Option<String> {
        Some(match self {
            // Its id stands in the notice as it is.
            Self::Offshoot | Self::Codex => return None,
            Self::Everruns => everruns::id(task),
            Self::Koda => koda::id(task),
            Self::Defect => defect::id(task),
            Self::Awaken => awaken::id(task),
            Self::CodexV2 => codex_v2::id(task),
            Self::ClaudeCode => claude_code::id(task),
        })
    }

    fn lexicon(self, scene: &Scene) -> Option<Lexicon> {
        let (keeps, phrases): (&[&str], _) = match self {
            Self::Offshoot => return None,
            Self::Everruns => (everruns::KEEPS, everruns::phrases(scene)),
            Self::Koda => (koda::KEEPS, koda::phrases(scene)),
            Self::Defect => (defect::KEEPS, defect::phrases()),
            Self::Awaken => (awaken::KEEPS, awaken::phrases(scene)),
            Self::Codex => (codex::KEEPS, codex::phrases(scene)),
            Self::CodexV2 => (codex_v2::KEEPS, codex_v2::phrases(scene)),
            Self::ClaudeCode => (claude_code::KEEPS, claude_code::phrases(scene)),
        };
        Some(Lexicon { words: self.words(), keeps, phrases })
    }

    /// What `finish` is called in it, among these tools.
    pub(crate) fn finish(self, tools: &Toolbox) -> &'static str {
        let said = self.goal().map(|goal| goal.word);
        let is_ours = |word: &&str| tools.find(word).is_some_and(|tool| tool.known_as() == FINISH);
        said.filter(is_ours).unwrap_or(FINISH)
    }

    /// Its word for `finish`, if it has one.
    pub(crate) fn goal(self) -> Option<&'static Goal> {
        match self {
            Self::Defect => Some(&defect::GOAL),
            Self::Codex | Self::CodexV2 => Some(&codex::GOAL),
            _ => None,
        }
    }

    fn words(self) -> Words {
        match self {
            Self::Offshoot => &[],
            Self::Everruns => everruns::WORDS,
            Self::Koda => koda::WORDS,
            Self::Defect => defect::WORDS,
            Self::Awaken => awaken::WORDS,
            Self::Codex => codex::WORDS,
            Self::CodexV2 => codex_v2::WORDS,
            Self::ClaudeCode => claude_code::WORDS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s11_7_a_dialect_is_written_as_it_is_listed_and_counted_in_that_order() {
        for (at, (word, dialect)) in Dialect::ALL.into_iter().enumerate() {
            assert_eq!(serde_json::to_value(dialect).unwrap(), word);
            assert_eq!(dialect.number(), at);
        }
    }
}
