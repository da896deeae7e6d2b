//! The record of a task: the fixed spec and the changing state.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::boxed_default::{BoxedDefault, ConstDefault};
use crate::cancel::Cancel;
use crate::id::{TaskId, WorkerId};
use crate::lineage::{Lineage, Owner};
use crate::name::Name;
use crate::outcome::Outcome;
use crate::payload::Payload;
use crate::state::TaskState;
use crate::time::Stamp;

/// The fixed part of a task's record. All copies of the record share it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// Its id.
    pub id: TaskId,
    /// Its origin.
    pub lineage: Lineage,
    /// The kind: which backend executes it.
    pub kind: Arc<str>,
    /// The name that people and models use.
    pub handle: Name,
    /// Whether the handle was chosen or generated.
    pub naming: Naming,
    /// Whether it ends with its parent.
    pub tie: Tie,
    /// The recovery after its worker dies.
    pub recovery: Recovery,
    /// When it wakes its owner.
    pub wake: Wake,
    /// The tasks it has access to.
    pub visibility: Visibility,
    /// The input of its body.
    pub input: Payload,
    /// The capabilities of its kind.
    pub can: Capabilities,
    /// When it was spawned.
    pub spawned_at: Stamp,
    /// Rarely used options.
    #[serde(flatten)]
    pub terms: BoxedDefault<Terms>,
}

/// Options that few spawns set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// The agent profile, if it is an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Arc<str>>,
    /// The time limit of its run, counted from its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// The time limit of its stop after a cancel, unless the cancel has its own grace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace: Option<Duration>,
    /// The finished task whose history it continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<TaskId>,
    /// The idempotency key: a repeated spawn with this key finds this task again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Arc<str>>,
}

impl ConstDefault for Terms {
    const DEFAULT: &'static Self =
        &Self { profile: None, timeout: None, grace: None, continues: None, key: None };
}

/// Whether a handle was chosen or generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Naming {
    /// The spawn chose it.
    Given,
    /// The runtime generated it: `<kind>-<n>`.
    Counted,
}

/// Whether a task ends with its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tie {
    /// The parent owns it, and it ends no later than its parent.
    Owned,
    /// The session owns it, independently of its parent.
    Detached,
}

/// The recovery of an unfinished task after its worker died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// It resumes after its last committed step.
    Resume,
    /// It starts again. The kind declares itself idempotent.
    Restart,
    /// It is lost, and its owner is notified.
    Lose,
}

/// When a task wakes an owner that is idle between two turns. Explicit waits and inbox
/// reads work in every case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wake {
    /// When it asks a question. Its result is read when the owner wakes for another reason.
    Silent,
    /// When it ends or asks a question.
    #[default]
    OnTerminal,
    /// When it ends, asks a question or reports progress.
    OnActivity,
}

/// The tasks that a task has access to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Itself and the tasks it owns.
    #[default]
    Children,
    /// Itself and all its descendants.
    Subtree,
}

/// The capabilities of a task kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Capabilities(u8);

impl Capabilities {
    /// No capabilities.
    pub const NONE: Self = Self(0);
    /// Stops on request.
    pub const CANCEL: Self = Self(1);
    /// Resumes from its journal.
    pub const RESUME: Self = Self(1 << 1);
    /// Reads messages.
    pub const MESSAGES: Self = Self(1 << 2);
    /// Asks for approval.
    pub const APPROVALS: Self = Self(1 << 3);
    /// Returns output that matches a schema.
    pub const STRUCTURED_OUTPUT: Self = Self(1 << 4);
    /// Has a history that can be read.
    pub const TRANSCRIPT: Self = Self(1 << 5);

    /// The union with `others`.
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// These without `others`.
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether all of `wanted` are included.
    pub const fn has(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    /// The names of the capabilities in `wanted` that are missing.
    pub fn missing(self, wanted: Self) -> Vec<&'static str> {
        const WORDS: [(Capabilities, &str); 6] = [
            (Capabilities::CANCEL, "cancel"),
            (Capabilities::RESUME, "resume"),
            (Capabilities::MESSAGES, "messages"),
            (Capabilities::APPROVALS, "approvals"),
            (Capabilities::STRUCTURED_OUTPUT, "structured output"),
            (Capabilities::TRANSCRIPT, "transcript"),
        ];
        WORDS
            .iter()
            .filter(|(one, _)| wanted.has(*one) && !self.has(*one))
            .map(|(_, word)| *word)
            .collect()
    }
}

/// An immutable record of a task. Cloning it copies a pointer, and every change creates a
/// new one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Task(Arc<Record>);

impl Deref for Task {
    type Target = Record;

    fn deref(&self) -> &Record {
        &self.0
    }
}

impl From<Record> for Task {
    fn from(record: Record) -> Self {
        Self(Arc::new(record))
    }
}

/// The data of a [`Task`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The fixed part.
    pub spec: Arc<Spec>,
    /// The number of changes of the record; 1 when it is spawned.
    pub seq: u64,
    /// Its state.
    pub state: TaskState,
    /// When it entered this state.
    pub since: Stamp,
    /// The worker that executes it.
    pub lease: Lease,
    /// The number of attempts that have started.
    pub attempts: u32,
    /// The number of attempts that have crashed since one last got further.
    pub crashes: u32,
    /// When the current or last attempt started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Stamp>,
    /// The cancel request, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<Arc<Cancel>>,
    /// Its current activity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<Arc<Activity>>,
    /// Its last progress report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Arc<Progress>>,
    /// The outcome. A task that waits for its children has its future outcome here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Arc<Outcome>>,
}

/// The right to execute a task. Each new holder gets a higher epoch, and writes with an
/// older epoch are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The process that holds it; `None` while the task is queued or ended.
    pub worker: Option<WorkerId>,
    /// The number of the holder, counted from 1; 0 before the first.
    pub epoch: u32,
}

/// The activity of a running task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// The number of its current step.
    pub step: u64,
    /// The activity of the step.
    pub doing: ActivityKind,
    /// Since when.
    pub since: Stamp,
}

/// The activity of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivityKind {
    /// Nothing specific.
    Idle,
    /// Waits for a model.
    Model,
    /// Runs the tool with this name.
    Tool(Arc<str>),
}

/// A progress report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The report.
    pub value: Payload,
    /// When it was reported.
    pub at: Stamp,
}

impl Spec {
    /// The parent that the task ends no later than, if there is one.
    pub fn ends_with(&self) -> Option<TaskId> {
        self.lineage.parent.filter(|_| self.tie == Tie::Owned)
    }

    /// The owner, which receives the result.
    pub fn owner(&self) -> Owner {
        match (self.tie, self.lineage.parent) {
            (Tie::Owned, Some(parent)) => Owner::Task(parent),
            _ => Owner::Session(self.lineage.session),
        }
    }

    /// The first part of a generated handle.
    pub fn stem(&self) -> &Arc<str> {
        self.terms.profile.as_ref().unwrap_or(&self.kind)
    }

    /// Whether `other` requests the same task, as a repeated spawn with the same key must.
    pub fn asks_the_same(&self, other: &Spec) -> bool {
        self.kind == other.kind
            && self.input == other.input
            && self.terms.profile == other.terms.profile
            && self.tie == other.tie
            && self.terms.continues == other.terms.continues
            && self.naming == other.naming
            && (self.naming == Naming::Counted || self.handle == other.handle)
    }
}

impl Record {
    /// The record of a task that was just requested.
    pub(crate) fn queued(spec: Arc<Spec>) -> Self {
        let since = spec.spawned_at;
        Self {
            spec,
            seq: 1,
            state: TaskState::Queued,
            since,
            lease: Lease::default(),
            attempts: 0,
            crashes: 0,
            started_at: None,
            cancel: None,
            activity: None,
            progress: None,
            outcome: None,
        }
    }
}

impl Task {
    /// A task that was just requested.
    pub fn new(spec: Arc<Spec>) -> Self {
        Record::queued(spec).into()
    }

    /// A copy of the record, to be changed.
    pub fn to_record(&self) -> Record {
        (*self.0).clone()
    }

    /// Its id.
    pub fn id(&self) -> TaskId {
        self.spec.id
    }

    /// The name that people and models use.
    pub fn handle(&self) -> &str {
        self.spec.handle.as_str()
    }

    /// The owner, which receives the result.
    pub fn owner(&self) -> Owner {
        self.spec.owner()
    }

    /// Whether the task has not ended.
    pub fn is_live(&self) -> bool {
        !self.state.is_terminal()
    }

    /// Whether the body has returned and the task waits for its children.
    pub fn is_held(&self) -> bool {
        self.is_live() && self.outcome.is_some()
    }

    /// The outcome of an ended task.
    pub fn ended(&self) -> Option<&Outcome> {
        self.outcome.as_deref().filter(|_| !self.is_live())
    }
}
