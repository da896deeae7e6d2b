//! A task, as it is shown.

use serde::{Deserialize, Serialize};

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub handle: String,
    /// The name it was given, if it was given one.
    pub name: Option<String>,
    /// What executes it.
    pub kind: String,
    /// Its session's name.
    pub session: String,
    /// Where it stands.
    pub state: State,
    /// What it waits on, in a word, if it waits.
    pub waiting_on: Option<String>,
    /// What it lacks to go on, in words: a key, say, that is never stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
    /// What it asks, if it waits for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// The approval that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalSummary>,
    /// How it ended, once it has.
    pub outcome: Option<Outcome>,
    /// Where it comes from.
    pub lineage: Lineage,
    /// When it was spawned.
    pub spawned_at: String,
    /// When its current or last attempt started.
    pub started_at: Option<String>,
    /// When it ended.
    pub ended_at: Option<String>,
    /// How long it has lived, or did, in milliseconds. It never decreases.
    pub age_ms: u64,
    /// How many attempts have started.
    pub attempts: u32,
    /// The request to stop it, if there is one.
    pub cancel: Option<Cancel>,
    /// What it last reported.
    pub progress: Option<Progress>,
    /// What it is doing, if it tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
    /// What it executes, if it is a command.
    pub command: Option<CommandLine>,
    /// What it was asked to do, if it is an agent.
    #[serde(default)]
    pub agent: Option<AgentBrief>,
    /// What it and all below it have spent of its budget, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<BudgetUse>,
    /// It has ended, and its end could not be written yet.
    pub settling: bool,
    /// It was stopped by force and is still there.
    pub unresponsive: bool,
}

/// What an agent was asked to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentBrief {
    /// In words.
    pub task: String,
    /// The model that does it.
    pub model: String,
    /// The profile of which it was made, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// How freely it acts, if that is limited: `plan`, `ask` or `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The approver, if its permissions are limited: `owner`, `person` or
    /// `nobody`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
}

/// What an agent and all below it have spent of its budget. Of what is not limited
/// nothing is counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetUse {
    /// What may be spent, as it is written.
    pub budget: String,
    /// How many tokens were read and written.
    pub tokens: u64,
    /// What that has cost, in billionths of a dollar.
    pub nanodollars: u64,
    /// How many answers there were.
    pub steps: u64,
    /// How long the agent has taken itself, in milliseconds.
    pub time_ms: u64,
    /// The same in words.
    pub text: String,
}

/// An approval request in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalSummary {
    /// What it is called when it is answered.
    pub id: String,
    /// The tool that would be called.
    pub tool: String,
}

/// What a task asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Which of its questions it is, counted from 1.
    pub number: u32,
    /// The question; of a long one the beginning.
    pub text: String,
    /// When it was asked.
    pub at: String,
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It waits for a slot.
    Queued,
    /// It executes.
    Running,
    /// It waits for something else.
    Waiting,
    /// It returned a value.
    Completed,
    /// It failed.
    Failed,
    /// It was stopped.
    Cancelled,
    /// Its worker died.
    Lost,
}

impl State {
    /// Every state, in the order in which a task goes through them.
    pub const ALL: [Self; 7] = [
        Self::Queued,
        Self::Running,
        Self::Waiting,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::Lost,
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
        }
    }

    /// The state of this word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }

    /// Whether a task stays there for ever.
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Queued | Self::Running | Self::Waiting)
    }
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The state in which it ended.
    pub is: State,
    /// The value it returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<serde_json::Value>,
    /// How many bytes a value has that is too long to stand here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_bytes: Option<u64>,
    /// Whether a cancel had been asked for before the value came.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancel_requested: bool,
    /// What sort of failure: `error`, `panic`, `timeout`, `exit`, `signal`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What is said of a failure or a loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What is behind a failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// Who stopped it, why and when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<Cancel>,
    /// Whether it was stopped by force.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
    /// The exit code of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<i32>,
    /// The signal that ended a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Why a command could not be started, in a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_error: Option<String>,
    /// How long a command ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// How much processor time a command took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// The most memory a command held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
}

impl Outcome {
    /// The outcome of a task that ended in this state, and no more.
    pub fn new(is: State) -> Self {
        Self {
            is,
            value: None,
            value_bytes: None,
            cancel_requested: false,
            failure: None,
            message: None,
            causes: Vec::new(),
            cancelled: None,
            forced: false,
            exit: None,
            signal: None,
            start_error: None,
            duration_ms: None,
            cpu_ms: None,
            peak_bytes: None,
        }
    }
}

/// A request to stop a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancel {
    /// Who asked.
    pub by: String,
    /// Why.
    pub reason: String,
    /// When.
    pub at: String,
}

/// Where a task comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lineage {
    /// The id of its session.
    pub session: String,
    /// The task that spawned it.
    pub parent: Option<String>,
    /// The task at the top.
    pub root: String,
    /// The run in which it was spawned.
    pub run: Option<String>,
    /// The tool call that spawned it.
    pub tool_call: Option<String>,
    /// The agent that spawned it.
    pub agent: Option<String>,
    /// How many tasks stand above it.
    pub depth: u32,
    /// Whether it outlives its parent.
    pub detached: bool,
}

/// What a task last reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The report.
    pub value: serde_json::Value,
    /// When it was made.
    pub at: String,
}

/// What a task is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// The step it is in.
    pub step: u64,
    /// In a word: `model`, `tool` or `idle`.
    pub doing: String,
    /// Which tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Since when.
    pub since: String,
}

/// What a command executes. The values of its variables are not in here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// The command and its arguments.
    pub argv: Vec<String>,
    /// Where it runs.
    pub cwd: String,
    /// The names of the variables that were set for it.
    pub env: Vec<String>,
    /// What becomes of it if the daemon dies: `never` or `on_crash`.
    pub restart: super::Restart,
}

/// A page of tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tasks {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// What a task waits on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskWhy {
    /// The task.
    pub id: String,
    /// Its handle.
    pub handle: String,
    /// Where it stands.
    pub state: State,
    /// Since when.
    pub since: String,
    /// What holds it up, most telling first.
    pub reasons: Vec<Reason>,
}

/// What holds a task up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// In a word.
    pub is: String,
    /// For people.
    pub text: String,
}
