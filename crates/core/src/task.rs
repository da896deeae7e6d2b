//! The record of a task: what never changes, and what does.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cancel::Cancel;
use crate::id::{TaskId, WorkerId};
use crate::lineage::{Lineage, Owner};
use crate::name::Name;
use crate::outcome::Outcome;
use crate::payload::Payload;
use crate::seldom::{Seldom, Unsaid};
use crate::state::State;
use crate::time::Stamp;

/// What was asked for: fixed at the spawn, shared by every copy of the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// Its id.
    pub id: TaskId,
    /// Where it comes from.
    pub lineage: Lineage,
    /// What executes it.
    pub kind: Arc<str>,
    /// What people and models call it.
    pub handle: Name,
    /// Whether the handle was given or counted.
    pub naming: Naming,
    /// Whether it ends with its parent.
    pub tie: Tie,
    /// What happens to it when its worker dies.
    pub recovery: Recovery,
    /// Whether its end wakes its owner.
    pub wake: Wake,
    /// What it may see.
    pub visibility: Visibility,
    /// What it was asked to do.
    pub input: Payload,
    /// What its kind can do.
    pub can: Capabilities,
    /// When it was spawned.
    pub spawned_at: Stamp,
    /// What was said beyond that.
    #[serde(flatten)]
    pub terms: Seldom<Terms>,
}

/// What only some spawns say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// The agent definition it follows, if it is an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Arc<str>>,
    /// How long it may run, counted from its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// How long it may take to stop when cancelled, unless the cancel says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace: Option<Duration>,
    /// The finished task whose history it goes on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<TaskId>,
    /// The key under which a repeated spawn finds this task again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Arc<str>>,
}

impl Unsaid for Terms {
    const UNSAID: &'static Self =
        &Self { profile: None, timeout: None, grace: None, continues: None, key: None };
}

/// Whether a handle was given or counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Naming {
    /// The spawn named it.
    Given,
    /// The runtime counted it: `<kind>-<n>`.
    Counted,
}

/// Whether a task ends with its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tie {
    /// It ends no later than its owner.
    Owned,
    /// Its session owns it, whoever spawned it.
    Detached,
}

/// What happens to an unfinished task whose worker died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// It goes on from its last committed step.
    Resume,
    /// It starts again; the kind declares itself idempotent.
    Restart,
    /// It is lost, and its owner is told.
    Lose,
}

/// When a task's doings wake an owner that is idle between two turns. Whoever
/// waits for the task itself, or reads its inbox, is not concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wake {
    /// When it asks. Its end is read when the owner wakes for something else.
    Silent,
    /// When it ends or asks.
    #[default]
    OnTerminal,
    /// When it ends, asks or reports.
    OnActivity,
}

/// How far a task may look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Itself and the tasks it owns.
    #[default]
    Children,
    /// Itself and all its descendants.
    Subtree,
}

/// What a kind of task can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Capabilities(u8);

impl Capabilities {
    /// Nothing but to run.
    pub const NONE: Self = Self(0);
    /// Stops when asked.
    pub const CANCEL: Self = Self(1);
    /// Goes on from its journal.
    pub const RESUME: Self = Self(1 << 1);
    /// Takes messages.
    pub const MESSAGES: Self = Self(1 << 2);
    /// Asks for approval.
    pub const APPROVALS: Self = Self(1 << 3);
    /// Answers in a wanted shape.
    pub const STRUCTURED_OUTPUT: Self = Self(1 << 4);
    /// Keeps a history that can be looked into.
    pub const TRANSCRIPT: Self = Self(1 << 5);

    /// These and `others`.
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// These, but not `others`.
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether all of `wanted` are among these.
    pub const fn has(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    /// The words for those of `wanted` that are missing here.
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

/// A task as it was at some moment. Cloning it copies a pointer; a change makes
/// a new one.
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

/// What a [`Task`] points to: state, payload and sequence number, which change
/// together or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// What was asked for.
    pub spec: Arc<Spec>,
    /// How often the record has changed; 1 when it is spawned.
    pub seq: u64,
    /// Where it stands.
    pub state: State,
    /// Since when it stands there.
    pub since: Stamp,
    /// Who executes it.
    pub lease: Lease,
    /// How many attempts have started.
    pub attempts: u32,
    /// How many attempts have crashed since one last got further.
    pub crashes: u32,
    /// When the current or last attempt started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Stamp>,
    /// The request to stop it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<Arc<Cancel>>,
    /// What it is doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<Arc<Activity>>,
    /// What it last reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Arc<Progress>>,
    /// How it ended; while it waits for its children, how it will have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Arc<Outcome>>,
}

/// The right to execute a task. Each new holder gets a higher epoch, and a
/// write under an older one is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The process that holds it; nobody while the task is queued or ended.
    pub worker: Option<WorkerId>,
    /// Which holder this is, counted from 1; 0 before the first.
    pub epoch: u32,
}

/// What a running task is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// The step it is in.
    pub step: u64,
    /// What it does there.
    pub doing: Doing,
    /// Since when.
    pub since: Stamp,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    /// Nothing that it tells.
    Idle,
    /// It waits for a model.
    Model,
    /// It runs the tool of this name.
    Tool(Arc<str>),
}

/// What a task last reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The report.
    pub value: Payload,
    /// When it was made.
    pub at: Stamp,
}

impl Spec {
    /// The task that it ends no later than, if there is one.
    pub fn ends_with(&self) -> Option<TaskId> {
        self.lineage.parent.filter(|_| self.tie == Tie::Owned)
    }

    /// Who is told of its end.
    pub fn owner(&self) -> Owner {
        match (self.tie, self.lineage.parent) {
            (Tie::Owned, Some(parent)) => Owner::Task(parent),
            _ => Owner::Session(self.lineage.session),
        }
    }

    /// What its handle is counted of if nobody gives it one.
    pub fn stem(&self) -> &Arc<str> {
        self.terms.profile.as_ref().unwrap_or(&self.kind)
    }

    /// Whether `other` asks for the same thing: what a repeated key must do.
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
    /// The record of a task that was just asked for.
    pub(crate) fn queued(spec: Arc<Spec>) -> Self {
        let since = spec.spawned_at;
        Self {
            spec,
            seq: 1,
            state: State::Queued,
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
    /// A task that was just asked for.
    pub fn new(spec: Arc<Spec>) -> Self {
        Record::queued(spec).into()
    }

    /// The record as a value of one's own, to be changed.
    pub fn to_record(&self) -> Record {
        (*self.0).clone()
    }

    /// Its id.
    pub fn id(&self) -> TaskId {
        self.spec.id
    }

    /// What people and models call it.
    pub fn handle(&self) -> &str {
        self.spec.handle.as_str()
    }

    /// Who is told of its end.
    pub fn owner(&self) -> Owner {
        self.spec.owner()
    }

    /// Whether it has not ended.
    pub fn is_live(&self) -> bool {
        !self.state.is_terminal()
    }

    /// Whether its body has returned and it only waits for its children.
    pub fn is_held(&self) -> bool {
        self.is_live() && self.outcome.is_some()
    }

    /// How it ended, once it has.
    pub fn ended(&self) -> Option<&Outcome> {
        self.outcome.as_deref().filter(|_| !self.is_live())
    }
}
