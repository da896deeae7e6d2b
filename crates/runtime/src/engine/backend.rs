//! Backends: what executes a kind of task.

use std::fmt;
use std::sync::Arc;

use offshoot_core::{Capabilities, InboxMessage, Recovery, Task};

use super::body::BodyResult;
use super::handle::Context;
use crate::environment::BoxFuture;

/// The executor of a kind of task. One is registered for each kind before the
/// runtime opens.
pub trait Backend: Send + Sync + fmt::Debug + 'static {
    /// The capabilities of tasks of this kind. A spawn that needs more is refused.
    fn capabilities(&self) -> Capabilities;

    /// A one-line description of the agents of this kind, if tasks of this kind are
    /// agents that other agents can spawn.
    ///
    /// The input of such a task is the brief of an agent. The backend enforces the
    /// permissions and the budget in it.
    fn agent_description(&self) -> Option<&str> {
        None
    }

    /// The recovery of a task of this kind after its worker dies.
    fn recovery(&self) -> Recovery;

    /// Executes one attempt. If the body does not stop in time, its future is
    /// dropped.
    fn start(&self, cx: Context) -> BoxFuture<BodyResult>;

    /// How many tasks of this kind may be spawned below one root task, at any depth
    /// and counting those that have ended. The default is no limit. A limit ends
    /// trees that grow as fast as they finish.
    fn tree_limit(&self) -> Option<u64> {
        None
    }

    /// Clears what a dropped body has left outside this process. The end of the
    /// task is written after this resolves. A body without such effects needs
    /// nothing.
    fn clear(&self, _cx: &Context, _why: ClearReason) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }

    /// Stops at once what still executes outside this process: the runtime is
    /// closed and calls no `clear` any more.
    fn close(&self) {}

    /// Whether a task still reads messages. If it does not, further messages are
    /// refused.
    fn input_status(&self, _task: &Task) -> InputStatus {
        InputStatus::Open
    }

    /// Called when a message was queued for a task. Bodies that read their inbox
    /// need nothing.
    fn deliver(&self, _task: &Task, _message: &InboxMessage) {}

    /// Called when a task that executes here was cancelled. Bodies that watch their
    /// token need nothing.
    fn cancel(&self, _task: &Task) {}

    /// The missing requirement for a task of an earlier process, as a
    /// description: for example a key, because keys are not stored.
    ///
    /// The task stays queued until it is [`ready`](Self::ready), and `why` returns
    /// the description. A finished task that lacks something is not continued.
    fn lacks(&self, _task: &Task) -> Option<String> {
        None
    }

    /// The operation outside the runtime that a live task waits for, as a
    /// description. `why` returns it.
    fn pending(&self, _task: &Task) -> Option<String> {
        None
    }

    /// The text of a finished task of this kind for its owner, with at most `allowance`
    /// scalars of the result. The default is [`digest`](offshoot_core::digest).
    fn digest(&self, _task: &Task, _allowance: usize) -> Option<String> {
        None
    }

    /// Resolves once the task lacks nothing.
    fn ready(&self, _task: &Task) -> BoxFuture<()> {
        Box::pin(std::future::ready(()))
    }

    /// Finds out what happened to a task that was executing when the runtime died,
    /// and clears what is left of its old body.
    ///
    /// Without a finding the task ends if it was cancelled; otherwise the kind's
    /// [`recovery`](Self::recovery) decides.
    fn reconcile(&self, _task: &Task) -> BoxFuture<ReconcileResult> {
        Box::pin(std::future::ready(ReconcileResult::ByPolicy))
    }
}

/// A kind of task whose backend declares itself an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentKind {
    /// The kind.
    pub kind: Arc<str>,
    /// The backend's [`Backend::agent_description`].
    pub description: String,
    /// The backend's [`Backend::capabilities`].
    pub capabilities: Capabilities,
}

/// Whether a task still reads messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputStatus {
    /// It reads messages.
    Open,
    /// Its last message was sent.
    Ended,
}

/// Why a body was dropped before it returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClearReason {
    /// Its task was cancelled, and the grace is over.
    Aborted,
    /// The timeout of its task is over.
    Expired,
    /// The runtime shuts down and gives the task back to the queue.
    Released,
}

/// The finding of a backend about a task that was executing when the runtime died.
#[derive(Debug)]
pub enum ReconcileResult {
    /// Nothing. The kind's recovery policy decides.
    ByPolicy,
    /// The body had ended with this result.
    Ended(BodyResult),
    /// The task is lost, for this reason.
    Lost(String),
}
