//! Tasks, as clients see them.

use serde::{Deserialize, Serialize};

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// Its handle, which people use.
    pub handle: String,
    /// Its name, if it was spawned with one.
    pub name: Option<String>,
    /// The kind of its backend.
    pub kind: String,
    /// The name of its session.
    pub session: String,
    /// Its state.
    pub state: State,
    /// What it waits on, if it waits, such as `input`.
    pub waiting_on: Option<String>,
    /// What it lacks to go on, such as a key, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacks: Option<String>,
    /// Its question, if it waits for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// The approval that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalSummary>,
    /// Its outcome, once it has ended.
    pub outcome: Option<Outcome>,
    /// Its origin.
    pub lineage: Lineage,
    /// The time at which it was spawned.
    pub spawned_at: String,
    /// The time at which its last attempt started.
    pub started_at: Option<String>,
    /// The time at which it ended.
    pub ended_at: Option<String>,
    /// Its age in milliseconds, up to its end. It never decreases.
    pub age_ms: u64,
    /// The number of attempts that have started.
    pub attempts: u32,
    /// The cancel, if it was cancelled.
    pub cancel: Option<Cancel>,
    /// Its last progress report.
    pub progress: Option<Progress>,
    /// Its current activity, if it reports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
    /// Its command line, if it is a command.
    pub command: Option<CommandLine>,
    /// Its brief, if it is an agent.
    #[serde(default)]
    pub agent: Option<AgentBrief>,
    /// The use of its budget, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<BudgetUse>,
    /// Whether it has ended and its end is not written yet.
    pub settling: bool,
    /// Whether it was stopped by force and is still there.
    pub unresponsive: bool,
}

/// The brief of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentBrief {
    /// Its task, in words.
    pub task: String,
    /// Its model.
    pub model: String,
    /// Its profile, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Its permission mode, if its permissions are limited: `plan`, `ask` or `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The approver, if its permissions are limited: `owner`, `person` or
    /// `nobody`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
}

/// The use of an agent's budget by the agent and all agents below it. Only limited
/// resources are counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetUse {
    /// The budget, as it is written.
    pub budget: String,
    /// The tokens read and written.
    pub tokens: u64,
    /// Their cost, in billionths of a dollar.
    pub nanodollars: u64,
    /// The number of model answers.
    pub steps: u64,
    /// The time of the agent itself, in milliseconds.
    pub time_ms: u64,
    /// The use, in words.
    pub text: String,
}

/// An approval request in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalSummary {
    /// Its id, which names it in an answer.
    pub id: String,
    /// The tool of the call.
    pub tool: String,
}

/// A question of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Its number among the questions of the task, counted from 1.
    pub number: u32,
    /// The text, cut if it is long.
    pub text: String,
    /// The time of the question.
    pub at: String,
}

/// The state of a task.
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
    /// Every state, in the order of a task's life.
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

    /// Whether a task stays in this state for ever.
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Queued | Self::Running | Self::Waiting)
    }
}

/// The outcome of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The state in which it ended.
    pub is: State,
    /// The value it returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<serde_json::Value>,
    /// The bytes of a value that is too long for this reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_bytes: Option<u64>,
    /// Whether the task was cancelled before it returned the value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancel_requested: bool,
    /// The sort of failure: `error`, `panic`, `timeout`, `exit`, `signal`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The message of a failure or a loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The causes of a failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// The cancel that ended it.
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
    /// The reason for which a command could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_error: Option<String>,
    /// The run time of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The processor time of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// The peak memory of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
}

impl Outcome {
    /// The outcome of a task that ended in this state, without details.
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

/// A cancel of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancel {
    /// Its caller.
    pub by: String,
    /// Its reason.
    pub reason: String,
    /// Its time.
    pub at: String,
}

/// The origin of a task.
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
    /// The number of tasks above it.
    pub depth: u32,
    /// Whether it outlives its parent.
    pub detached: bool,
}

/// The progress report of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The report.
    pub value: serde_json::Value,
    /// The time of the report.
    pub at: String,
}

/// The activity of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// The step it is in.
    pub step: u64,
    /// The activity: `model`, `tool` or `idle`.
    pub doing: String,
    /// The tool that it calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The time at which it began.
    pub since: String,
}

/// A command line. The values of its variables are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// The command and its arguments.
    pub argv: Vec<String>,
    /// The working directory.
    pub cwd: String,
    /// The names of the variables that were set for it.
    pub env: Vec<String>,
    /// What to do with the command if the daemon dies: `never` or `on_crash`.
    pub restart: super::Restart,
}

/// A page of tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tasks {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// The cursor of the next page, if there is one.
    pub next: Option<String>,
}

/// The reasons for which a task waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskWhy {
    /// The task.
    pub id: String,
    /// Its handle.
    pub handle: String,
    /// Its state.
    pub state: State,
    /// The time at which it entered the state.
    pub since: String,
    /// The reasons, the most important first.
    pub reasons: Vec<Reason>,
}

/// One reason for which a task waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Its kind, such as `queue`.
    pub is: String,
    /// Its text, for people.
    pub text: String,
}
