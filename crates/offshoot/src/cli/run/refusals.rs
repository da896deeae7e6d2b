//! What conversations of agents tell that nobody would see otherwise: calls that
//! were not made because of what an agent may do, where nobody was asked, and what
//! was still running when it ended its turn.

use std::collections::{HashMap, VecDeque};

use offshoot_client::Followed;
use offshoot_client::wire::{Block, Following, Named, Reading, Reply, Request, Tail, Task};

use crate::cli::desk::Desk;
use crate::cli::show::approval;

/// How what is told to an agent begins whose call was not made.
const NOT_MADE: &str = "The call was not made: ";

/// How it begins if somebody was asked, which is told where that was.
const ASKED: &str = "leave for it was asked";

/// What an answer of a model ends with.
const ANSWERED: &str = "answered";

/// What tells what was still running when a turn ended.
const RUNNING: &str = "running";

/// What is in it if there was nobody to ask.
const NOBODY: &str = "there is nobody to give it";

/// How far the conversations of agents were read.
#[derive(Debug, Default)]
pub(super) struct Refusals(HashMap<String, Read>);

/// How far a conversation was read, and the calls in it without a result.
#[derive(Debug, Default)]
struct Read {
    next: u64,
    calls: VecDeque<String>,
    /// Whether these are all calls of their answer.
    is_whole: bool,
}

/// What a conversation tells.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A call was not made.
    Refusal(Refusal),
    /// The turn has ended, and this is still running, in words.
    Running(String),
}

/// A call that was not made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The tool that would have been called.
    pub(super) tool: String,
    /// With what, on one line, if that is known.
    pub(super) what: Option<String>,
    /// Why it was not, in words for a person.
    pub(super) why: String,
}

impl Refusal {
    /// Whether only somebody who could be asked was missing.
    pub(super) fn lacks_a_person(&self) -> bool {
        self.why.contains(NOBODY)
    }
}

impl Refusals {
    /// Of an agent with so many blocks in its conversation only what comes after.
    pub(super) fn after(task: &str, blocks: u64) -> Self {
        let read = Read { next: blocks, ..Read::default() };
        Self(HashMap::from([(task.to_owned(), read)]))
    }

    /// What an agent's conversation tells since it was last looked at. What cannot
    /// be read is left out: it is in the conversation.
    pub(super) async fn look(&mut self, desk: &Desk, task: &Task) -> Vec<Found> {
        let read = self.0.entry(task.id.clone()).or_default();
        let reading = Reading::From(read.next);
        let named = Named { session: task.session.clone(), task: task.id.clone() };
        let tail = Tail { task: named, reading, following: Following::Stop };
        let Ok(mut stream) = desk.client.follow(&Request::Tail(tail)).await else {
            return Vec::new();
        };
        let mut found = Vec::new();
        while let Ok(Some(said)) = stream.next().await {
            match said {
                Followed::Said(Reply::Block(block)) => {
                    read.next = block.position + 1;
                    found.extend(read.take(*block));
                }
                Followed::Said(Reply::Place { at }) => read.next = at,
                _ => {}
            }
        }
        found
    }

    /// Forgets an agent that has ended.
    pub(super) fn forget(&mut self, task: &Task) {
        self.0.remove(&task.id);
    }
}

impl Read {
    /// What a block tells. Results stand in the order of their calls.
    fn take(&mut self, block: Block) -> Option<Found> {
        match block.kind.as_str() {
            "tool_use" => {
                if std::mem::take(&mut self.is_whole) {
                    self.calls.clear();
                }
                self.calls.push_back(block.text);
                None
            }
            "tool_result" => refusal(block, self.calls.pop_front().as_deref()).map(Found::Refusal),
            "other" if block.name.as_deref() == Some(RUNNING) => Some(Found::Running(block.text)),
            _ => {
                self.is_whole |= block.name.as_deref() == Some(ANSWERED);
                None
            }
        }
    }
}

fn refusal(block: Block, call: Option<&str>) -> Option<Refusal> {
    let told = block.text.trim().strip_prefix(NOT_MADE);
    let why = told.filter(|why| !why.starts_with(ASKED))?;
    // What follows is advice to the agent.
    let why = why.split_once(". ").map_or(why, |(why, _)| why).trim_end_matches('.');
    let why = why.replace("you only look and plan", "it only looks and plans");
    let why = why.replace("that you may use", "that it may use");
    let what = call.map(approval::shortest).filter(|what| what != "{}");
    Some(Refusal { tool: block.name.unwrap_or_default(), what, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(kind: &str, text: &str) -> Block {
        Block { position: 0, kind: kind.into(), name: Some("write".into()), text: text.into() }
    }

    fn answered() -> Block {
        Block { name: Some(ANSWERED.into()), ..block("other", "") }
    }

    fn refused(found: Found) -> Refusal {
        match found {
            Found::Refusal(refusal) => refusal,
            Found::Running(_) => unreachable!("{found:?}"),
        }
    }

    fn told(kind: &str, text: &str) -> Option<String> {
        Read::default().take(block(kind, text)).map(|found| refused(found).why)
    }

    #[test]
    fn only_what_was_refused_without_asking_is_told() {
        let nobody = "The call was not made: write needs leave for this, and there is nobody to \
                      give it, so it is denied. Go on without it, or say what you could not do.";
        let why = "write needs leave for this, and there is nobody to give it, so it is denied";
        assert_eq!(told("tool_result", nobody).as_deref(), Some(why));
        assert_eq!(told("user", nobody), None, "words pose as nothing");
        let asked = "The call was not made: leave for it was asked and denied. No reason.";
        assert_eq!(told("tool_result", asked), None);
        assert_eq!(told("tool_result", "3 files"), None);
    }

    #[test]
    fn a_person_reads_of_the_agent_and_of_what_it_would_have_done() {
        let plan = "The call was not made: you only look and plan here, and write would do more.";
        let mut read = Read::default();
        let said =
            ["a.txt", "b.txt"].map(|path| format!(r#"{{"content": "x", "path": "{path}"}}"#));
        for call in &said {
            assert_eq!(read.take(block("tool_use", call)), None);
        }
        read.take(answered());
        assert_eq!(read.take(block("tool_result", "a.txt was made")), None);
        let refusal = refused(read.take(block("tool_result", plan)).unwrap());
        assert_eq!(refusal.what.as_deref(), Some("b.txt"));
        assert_eq!(refusal.why, "it only looks and plans here, and write would do more");
        assert!(!refusal.lacks_a_person());

        // Of a call that was made before anybody looked nothing is guessed.
        assert_eq!(refused(read.take(block("tool_result", plan)).unwrap()).what, None);

        // What a cut answer called for has no result.
        read.take(block("tool_use", &said[1]));
        read.take(answered());
        read.take(block("tool_use", &said[0]));
        let refusal = refused(read.take(block("tool_result", plan)).unwrap());
        assert_eq!(refusal.what.as_deref(), Some("a.txt"));
    }
}
