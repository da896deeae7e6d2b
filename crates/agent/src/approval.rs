//! Asking for leave: what is asked, and what may be answered.

use std::sync::Arc;

use offshoot_core::permissions::{Access, Action, Rule};
use offshoot_core::{Addressee, Phase, Question, QuestionKind, Stamp, TaskId, TaskState, text};
use offshoot_runtime::{Error, Runtime, TaskRef};
use serde::{Deserialize, Serialize};

use crate::KIND;

/// What somebody is asked leave for: one call, exactly as it will be made. It is
/// the matter of a question that wants an approval, so an answer is for this call
/// and for no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The tool.
    pub tool: Arc<str>,
    /// Its arguments, as the model wrote them.
    pub arguments: Arc<str>,
    /// What the call would do.
    pub deed: Action,
    /// Why somebody is asked, if that is not just what the mode says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Arc<str>>,
    /// What leave for ever would be given for, if it can be given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasting: Option<Rule>,
    /// Further facts for the person who is asked, each a clause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Arc<str>>,
    /// Further commands that the call comes to: see [`Access::implied`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub implied: Vec<Vec<String>>,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum Leave {
    /// The call may be made.
    Once,
    /// It may, and so may all that fit the rule it was asked with.
    Always,
    /// It may not.
    Denied {
        /// Why, in words for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl Approval {
    /// Leave for a call with these arguments, which wishes this.
    pub(crate) fn new(wish: Access, arguments: &str) -> Self {
        let Access { tool, action: deed, guarded, lasting, notes, implied, .. } = wish;
        // What is guarded is asked for each time, whatever leave there is.
        let lasting = lasting.filter(|_| guarded.is_none());
        Self { tool, arguments: arguments.into(), deed, why: guarded, lasting, notes, implied }
    }

    /// What a question asks leave for, if it asks for leave.
    pub fn of(question: &Question) -> Option<Self> {
        match question.wants {
            QuestionKind::Approval => question.about.decode().ok(),
            QuestionKind::Input => None,
        }
    }

    /// What the call wishes.
    pub fn wish(&self) -> Access {
        let Self { tool, deed, why, lasting, notes, implied, .. } = self.clone();
        Access { tool, action: deed, guarded: why, lasting, paths: None, notes, implied }
    }

    /// Whether it is for the same call. One that was asked for before there was
    /// anything to guard, such as a command while commands were confined, is not
    /// for what is guarded now.
    pub(crate) fn is_for(&self, other: &Self) -> bool {
        let covers = self.why.is_some() || other.why.is_none();
        covers && (&self.tool, &self.arguments) == (&other.tool, &other.arguments)
    }

    /// Why it is asked, and what the person who is asked should know, as one line.
    pub fn reasons(&self) -> Option<String> {
        let reasons: Vec<&str> = self.why.iter().chain(&self.notes).map(|one| &**one).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    /// The call, with so many Unicode scalars of its arguments.
    pub(crate) fn shown(&self, longest: usize) -> String {
        let call = format!("{} {}", self.tool, text::cut(&self.arguments, longest));
        match self.reasons() {
            Some(why) => format!("{call}\n({why})"),
            None => call,
        }
    }
}

/// A call that waits for leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The agent that would make it.
    pub task: TaskId,
    /// What people call that agent.
    pub handle: String,
    /// Which of the agent's questions it is.
    pub number: u32,
    /// Who is asked. A person may answer in any case.
    pub addressee: Addressee,
    /// Since when.
    pub at: Stamp,
    /// What leave is asked for.
    pub approval: Approval,
}

/// Why leave was neither given nor denied.
#[derive(Debug, thiserror::Error)]
pub enum NotAnswered {
    /// There is no such request.
    #[error("{handle} has not asked for leave under number {number}: see what it asks")]
    NotAsked {
        /// What people call the agent.
        handle: String,
        /// The number.
        number: u32,
    },
    /// It asks for words, not for leave.
    #[error("{handle} asks for an answer in words, not for leave: answer question {number}")]
    WantsWords {
        /// What people call the agent.
        handle: String,
        /// The number.
        number: u32,
    },
    /// The runtime refuses: somebody has answered before, the agent has withdrawn
    /// it or has ended.
    #[error(transparent)]
    Refused(#[from] Error),
}

impl Asked {
    /// What an agent asks leave for and nobody has answered yet.
    pub async fn by(task: &TaskRef) -> Result<Vec<Self>, Error> {
        let open = task.questions().await?.into_iter().filter(|asked| asked.closed.is_none());
        let asked = open.filter_map(|question| {
            let approval = Approval::of(&question)?;
            let Question { task: id, number, addressee, at, .. } = question;
            let handle = task.handle().to_owned();
            Some(Self { task: id, handle, number, addressee, at, approval })
        });
        Ok(asked.collect())
    }

    /// The same of all live agents, those included that go on only later.
    pub async fn by_all(runtime: &Runtime) -> Result<Vec<Self>, Error> {
        let live = || {
            let tasks = runtime.tasks().kind(KIND).phase(Phase::Waiting);
            tasks.phase(Phase::Queued).phase(Phase::Running)
        };
        let mut asked = Vec::new();
        let mut page = live().await?;
        loop {
            for task in &page.items {
                // One that an attempt has left may have asked, whatever its record
                // says now.
                let may_ask = match task.state {
                    TaskState::Queued => task.attempts > 0,
                    TaskState::Running => task.attempts > 1,
                    state => state.question().is_some(),
                };
                if !may_ask {
                    continue;
                }
                match runtime.task(&task.id().to_string()).await {
                    Ok(task) => asked.extend(Self::by(&task).await?),
                    Err(Error::NotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            match page.next {
                Some(next) => page = live().after(next).await?,
                None => return Ok(asked),
            }
        }
    }

    /// Answers a request. The first answer stands; any later one is refused.
    pub async fn answer(task: &TaskRef, number: u32, leave: &Leave) -> Result<(), NotAnswered> {
        let asked = task.questions().await?;
        let handle = || task.handle().to_owned();
        match asked.iter().find(|asked| asked.number == number) {
            None => Err(NotAnswered::NotAsked { handle: handle(), number }),
            Some(asked) if asked.wants == QuestionKind::Input => {
                Err(NotAnswered::WantsWords { handle: handle(), number })
            }
            Some(_) => Ok(task.answer(number, leave).await?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leave_for_a_call_is_for_it_alone_and_not_for_what_is_guarded_since() {
        let wish = || Access::new("run_command", Action::Change);
        let asked = Approval::new(wish(), "{}");
        assert!(asked.is_for(&Approval::new(wish(), "{}")));
        assert!(!asked.is_for(&Approval::new(wish(), "{ }")));
        assert!(!asked.is_for(&Approval::new(Access::new("write", Action::Change), "{}")));
        let guarded = Approval::new(wish().guarded("commands are not confined"), "{}");
        assert!(!asked.is_for(&guarded) && guarded.is_for(&asked));
    }
}
