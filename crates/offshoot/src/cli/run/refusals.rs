//! Calls of agents that were not made because of what they may do. Nobody was
//! asked, so nobody would see it.

use std::collections::HashMap;

use offshoot_client::Followed;
use offshoot_client::wire::{Block, Following, Named, Reading, Reply, Request, Tail, Task};

use crate::cli::desk::Desk;

/// How what is told to an agent begins whose call was not made.
const NOT_MADE: &str = "The call was not made: ";

/// How it begins if somebody was asked, which is told where that was.
const ASKED: &str = "leave for it was asked";

/// How far the conversations of agents were read.
#[derive(Debug, Default)]
pub(super) struct Refusals(HashMap<String, u64>);

/// A call that was not made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The tool that would have been called.
    pub(super) tool: String,
    /// Why it was not.
    pub(super) why: String,
}

impl Refusals {
    /// Of an agent with so many blocks in its conversation only what comes after.
    pub(super) fn after(task: &str, blocks: u64) -> Self {
        Self(HashMap::from([(task.to_owned(), blocks)]))
    }

    /// What an agent was refused since it was last looked at. What cannot be read
    /// is left out: it is in the conversation.
    pub(super) async fn look(&mut self, desk: &Desk, task: &Task) -> Vec<Refusal> {
        let reading = Reading::From(self.0.get(&task.id).copied().unwrap_or_default());
        let named = Named { session: task.session.clone(), task: task.id.clone() };
        let tail = Tail { task: named, reading, following: Following::Stop };
        let Ok(mut stream) = desk.client.follow(&Request::Tail(tail)).await else {
            return Vec::new();
        };
        let mut found = Vec::new();
        while let Ok(Some(said)) = stream.next().await {
            match said {
                Followed::Said(Reply::Block(block)) => {
                    found.extend(refusal(&block));
                    self.0.insert(task.id.clone(), block.position + 1);
                }
                Followed::Said(Reply::Place { at }) => {
                    self.0.insert(task.id.clone(), at);
                }
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

fn refusal(block: &Block) -> Option<Refusal> {
    let told = (block.kind == "tool_result").then_some(block.text.trim())?;
    let why = told.strip_prefix(NOT_MADE).filter(|why| !why.starts_with(ASKED))?;
    let tool = block.name.clone().unwrap_or_default();
    // What follows is advice to the agent.
    let why = why.split_once(". ").map_or(why, |(why, _)| why);
    Some(Refusal { tool, why: why.trim_end_matches('.').to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(kind: &str, text: &str) -> Option<String> {
        let (kind, name) = (kind.to_owned(), Some("write".to_owned()));
        refusal(&Block { position: 0, kind, name, text: text.into() }).map(|found| found.why)
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
}
