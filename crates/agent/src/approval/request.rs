//! Approval requests and the decisions about them.

use std::sync::Arc;

use offshoot_core::permissions::{Access, Action, Rule};
use offshoot_core::{Addressee, Phase, Question, QuestionKind, Stamp, TaskId, TaskState, text};
use offshoot_runtime::{Error, Runtime, TaskRef};
use serde::{Deserialize, Serialize};

use crate::KIND;

/// A request to approve one tool call, exactly as the call will be made.
///
/// The request is the matter of a question that wants an approval. A decision about it is for
/// this call only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The tool.
    pub tool: Arc<str>,
    /// The arguments, as the model wrote them.
    pub arguments: Arc<str>,
    /// The action of the call.
    #[serde(alias = "deed")]
    pub action: Action,
    /// Why the call needs an approval, if its permission mode is not the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Arc<str>>,
    /// The rule that a standing grant would add, if a standing grant is possible.
    #[serde(default, alias = "lasting", skip_serializing_if = "Option::is_none")]
    pub grant: Option<Rule>,
    /// Facts for the approver, each a clause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Arc<str>>,
    /// Commands that the call implies beyond its line. See [`Access::implied`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub implied: Vec<Vec<String>>,
}

/// The decision about an approval request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "verdict")]
pub enum Decision {
    /// Allows this call.
    Once,
    /// Allows this call and adds a standing grant for the rule of the request.
    Always,
    /// Denies the call.
    Denied {
        /// The reason, in words for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl ApprovalRequest {
    /// The request for a call with these arguments.
    pub(crate) fn new(access: Access, arguments: &str) -> Self {
        let Access { tool, action, guarded, lasting, notes, implied, .. } = access;
        // A guarded call needs an approval each time, so no standing grant is offered.
        let grant = lasting.filter(|_| guarded.is_none());
        Self { tool, arguments: arguments.into(), action, why: guarded, grant, notes, implied }
    }

    /// The approval request in a question, if the question is one.
    pub fn of(question: &Question) -> Option<Self> {
        match question.wants {
            QuestionKind::Approval => question.about.decode().ok(),
            QuestionKind::Input => None,
        }
    }

    /// The access of the call.
    pub fn access(&self) -> Access {
        let Self { tool, action, why, grant, notes, implied, .. } = self.clone();
        Access { tool, action, guarded: why, lasting: grant, paths: None, notes, implied }
    }

    /// Whether a decision about this request holds for `call`.
    ///
    /// A request from before the call was guarded, such as one for a sandboxed command, does not
    /// cover the guarded call.
    pub(crate) fn covers(&self, call: &Self) -> bool {
        let guards = self.why.is_some() || call.why.is_none();
        guards && (&self.tool, &self.arguments) == (&call.tool, &call.arguments)
    }

    /// Why the call needs an approval and the notes for the approver, as one line.
    pub fn reasons(&self) -> Option<String> {
        let reasons: Vec<&str> = self.why.iter().chain(&self.notes).map(|one| &**one).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    /// The call as text, with at most this many Unicode scalar values of its arguments.
    pub(crate) fn call_text(&self, longest: usize) -> String {
        let call = format!("{} {}", self.tool, text::cut(&self.arguments, longest));
        match self.reasons() {
            Some(why) => format!("{call}\n({why})"),
            None => call,
        }
    }
}

/// An approval request without a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingApproval {
    /// The agent that would make the call.
    pub task: TaskId,
    /// The agent's handle.
    pub handle: String,
    /// The number of the agent's question.
    pub number: u32,
    /// The approver. A person may decide in any case.
    pub addressee: Addressee,
    /// When the agent asked.
    pub at: Stamp,
    /// The request.
    pub request: ApprovalRequest,
}

/// The error for a decision that is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum ApprovalError {
    /// The agent has no question of this number.
    #[error("{handle} has no approval request {number}: list its requests")]
    NotFound {
        /// The agent's handle.
        handle: String,
        /// The number.
        number: u32,
    },
    /// The question wants an answer in words.
    #[error(
        "question {number} of {handle} wants an answer in words, not an approval: answer the \
         question"
    )]
    WantsWords {
        /// The agent's handle.
        handle: String,
        /// The number.
        number: u32,
    },
    /// The runtime refused the decision: the request already has one, or the agent has withdrawn
    /// the request or ended.
    #[error(transparent)]
    Refused(#[from] Error),
}

impl PendingApproval {
    /// Lists the requests of an agent that have no decision.
    pub async fn of_task(task: &TaskRef) -> Result<Vec<Self>, Error> {
        let open = task.questions().await?.into_iter().filter(|asked| asked.closed.is_none());
        let pending = open.filter_map(|question| {
            let request = ApprovalRequest::of(&question)?;
            let Question { task: id, number, addressee, at, .. } = question;
            let handle = task.handle().to_owned();
            Some(Self { task: id, handle, number, addressee, at, request })
        });
        Ok(pending.collect())
    }

    /// Lists the requests of all live agents that have no decision, queued agents included.
    pub async fn list(runtime: &Runtime) -> Result<Vec<Self>, Error> {
        let live = || {
            let tasks = runtime.tasks().kind(KIND).phase(Phase::Waiting);
            tasks.phase(Phase::Queued).phase(Phase::Running)
        };
        let mut pending = Vec::new();
        let mut page = live().await?;
        loop {
            for task in &page.items {
                // An earlier attempt may have asked, whatever the state of the task is now.
                let may_ask = match task.state {
                    TaskState::Queued => task.attempts > 0,
                    TaskState::Running => task.attempts > 1,
                    state => state.question().is_some(),
                };
                if !may_ask {
                    continue;
                }
                match runtime.task(&task.id().to_string()).await {
                    Ok(task) => pending.extend(Self::of_task(&task).await?),
                    Err(Error::NotFound { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            match page.next {
                Some(next) => page = live().after(next).await?,
                None => return Ok(pending),
            }
        }
    }

    /// Decides a request. The first decision is final; later ones are refused.
    pub async fn decide(
        task: &TaskRef,
        number: u32,
        decision: &Decision,
    ) -> Result<(), ApprovalError> {
        let questions = task.questions().await?;
        let handle = || task.handle().to_owned();
        match questions.iter().find(|question| question.number == number) {
            None => Err(ApprovalError::NotFound { handle: handle(), number }),
            Some(question) if question.wants == QuestionKind::Input => {
                Err(ApprovalError::WantsWords { handle: handle(), number })
            }
            Some(_) => Ok(task.answer(number, decision).await?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_covers_its_own_call_and_not_one_that_was_guarded_since() {
        let access = || Access::new("run_command", Action::Change);
        let request = ApprovalRequest::new(access(), "{}");
        assert!(request.covers(&ApprovalRequest::new(access(), "{}")));
        assert!(!request.covers(&ApprovalRequest::new(access(), "{ }")));
        let other = ApprovalRequest::new(Access::new("write", Action::Change), "{}");
        assert!(!request.covers(&other));
        let guarded = ApprovalRequest::new(access().guarded("commands are not confined"), "{}");
        assert!(!request.covers(&guarded) && guarded.covers(&request));
    }

    #[test]
    fn requests_that_earlier_versions_stored_are_read() {
        let stored = r#"{"tool":"write","arguments":"{}","deed":"change","lasting":"write"}"#;
        let request: ApprovalRequest = serde_json::from_str(stored).unwrap();
        let access = Access::new("write", Action::Change).lasting(Rule::tool("write"));
        assert_eq!(request, ApprovalRequest::new(access, "{}"));
        let stored = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<ApprovalRequest>(&stored).unwrap(), request);
    }
}
