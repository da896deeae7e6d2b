//! Tools: the functions that a model can call.
//!
//! A tool is a typed function. The schema of its arguments is derived from their
//! type, so the model's description and the parser always agree. The model reads
//! each error of a call and can act on it. An error of a tool never ends the agent.

mod arguments;
mod cap;
mod command_outcome;
mod function;
mod shared;
mod source;
mod survey;
mod tool_cache;
mod tool_map;
mod toolbox;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use offshoot_core::permissions::Access;
use offshoot_core::{RunId, Task, TaskId};
use offshoot_models::{Image, ToolSpec};
use offshoot_runtime::{BackendBody, BoxFuture, Context, SpawnBuilder, TaskRequest};
use serde::{Deserialize, Serialize};

use crate::brief::Brief;
use crate::clock::on_hold;
use crate::conversation::Branch;
use crate::conversation::refusal::CallRefusal;
use crate::delivery;
use crate::notice;
use crate::profile::ProfileSource;
use crate::spawn_order::SpawnTurn;

pub use crate::built_in_tools::Effect;
pub use arguments::parse_arguments;
pub use command_outcome::CommandOutcome;
pub use function::schema_of;
pub use function::{Function, Returns};
pub(crate) use shared::AgentShared;
pub use shared::Limits;
pub use source::ToolSource;
pub use survey::{survey, survey_hiding};
pub(crate) use tool_cache::{PositionTools, ToolCache, ToolShape};
pub(crate) use tool_map::Dialects;
pub use tool_map::{OfferedTools, ToolMap};
pub(crate) use toolbox::Toolbox;

/// A function that a model can call.
pub trait Tool: Send + Sync + fmt::Debug + 'static {
    /// The description of the tool for a model.
    fn spec(&self) -> &ToolSpec;

    /// The name of the tool in rules and in lists of offered tools.
    ///
    /// The default is the name in its specification. A tool of a dialect can return
    /// another one.
    fn known_as(&self) -> &str {
        &self.spec().name
    }

    /// The effect of a call outside of the conversation.
    fn effect(&self) -> Effect;

    /// The time limit of a call.
    fn span(&self) -> Span {
        Span::Short
    }

    /// The access that a call with these arguments needs. Permissions decide on it.
    ///
    /// The method reads only the arguments and touches nothing else. A call must not do
    /// more than this access covers. Arguments that do not fit are an error here as they
    /// are in the call, so such a call requests no approval.
    fn wish(&self, _cx: &ToolContext, _arguments: &str) -> Result<Access, ToolError> {
        Ok(Access::new(&self.spec().name, self.effect().deed()))
    }

    /// Calls the tool with the arguments as the model wrote them.
    ///
    /// Dropping the future ends the call.
    fn call(&self, cx: ToolContext, arguments: String) -> BoxFuture<Result<Output, ToolError>>;
}

/// The time limit of a call, and the messages that end it.
///
/// A cancel of the agent ends every call at once by dropping its future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// The call ends at the tool timeout, and the model is told. A message that
    /// interrupts the agent ends it, too.
    Short,
    /// The call has a time limit of its own. A message that interrupts the agent
    /// ends it.
    Long,
    /// The call has no time limit. It watches for messages to the agent itself, and
    /// returns when a relevant one arrives.
    Watchful,
}

/// The context of a tool call.
#[derive(Clone, Debug)]
pub struct ToolContext {
    pub(crate) cx: Context,
    pub(crate) key: Arc<str>,
    /// The id that the model gave the call.
    pub(crate) call: Arc<str>,
    pub(crate) shared: Arc<AgentShared>,
    pub(crate) branch: Branch,
    /// The position of the call among the spawning calls of its answer.
    pub(crate) turn: SpawnTurn,
    pub(crate) brief: Arc<Brief>,
    /// The time limit of the tasks that this call spawns.
    pub(crate) lasts: Option<Duration>,
}

impl ToolContext {
    /// The agent that makes the call, as a task.
    pub fn task(&self) -> &Context {
        &self.cx
    }

    /// The working directory of the agent, if it has one.
    pub fn folder(&self) -> Option<&Path> {
        self.brief.folder.as_deref()
    }

    /// The directories outside of the working directory to which git writes when the
    /// agent commits.
    ///
    /// There are none unless the agent works in its own worktree, or in that of an agent
    /// above it. The call reads files and may block.
    pub fn commits_to(&self) -> Vec<PathBuf> {
        let (trees, folder) = (self.shared.worktrees.as_ref(), self.folder());
        trees.zip(folder).map(|(trees, folder)| trees.commits_to(folder)).unwrap_or_default()
    }

    /// The key of the call, which is unique within the agent and the same after a crash.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Spawns a task on behalf of this call.
    ///
    /// A call that is repeated after a crash finds the task that it spawned before, so
    /// a call can spawn one task only.
    pub fn spawn(&self, request: TaskRequest) -> SpawnBuilder<BackendBody> {
        let spawn = self.cx.spawn(request).key(&format!("call {}", self.key));
        let mut spawn = spawn.tool_call(&self.call).agent(self.cx.handle());
        if let Some(span) = self.lasts {
            spawn = spawn.timeout(span);
        }
        // Each agent has one run of its own.
        match RunId::from_bytes(self.cx.id().to_bytes()) {
            Some(run) => spawn.run(run),
            None => spawn,
        }
    }

    /// The source of the agent's profiles.
    pub fn profile_source(&self) -> Option<&Arc<dyn ProfileSource>> {
        self.shared.profiles.as_ref()
    }

    /// Waits for a person while the agent's clock is stopped.
    pub async fn on_hold<T>(&self, wait: impl Future<Output = T>) -> T {
        on_hold(&self.shared.clocks, &self.cx, wait).await
    }

    /// The same context with another key. A call that makes several calls needs one key
    /// for each.
    #[must_use]
    pub fn keyed(self, key: &str) -> Self {
        Self { key: key.into(), ..self }
    }

    /// Sets the time limit of the tasks that this call spawns.
    #[must_use]
    pub fn time_limit(self, lasts: Option<Duration>) -> Self {
        Self { lasts, ..self }
    }

    /// Waits until the preceding calls of the same answer have spawned their agents.
    ///
    /// Then this call can name them.
    pub async fn preceding_spawns(&self) {
        self.turn.wait().await;
    }

    /// Whether the inbox has a row that the agent reads before its next step.
    pub async fn has_unread(&self) -> Result<bool, ToolError> {
        Ok(delivery::is_due_now(&self.cx).await?)
    }

    /// Waits for a message that the agent reads before the end of its turn.
    ///
    /// A call of a [`Span::Watchful`] tool uses it.
    pub async fn spoken_to(&self) {
        delivery::steered(&self.cx).await;
    }
}

/// The result of a call, for the model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// The text.
    pub text: String,
    /// The pictures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Whether the call failed. The text gives the reason.
    #[serde(default)]
    pub failed: bool,
    /// The rare parts. They are boxed to keep waiting agents small.
    #[serde(flatten)]
    pub(crate) beside: Option<Box<Beside>>,
}

/// The rare parts of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Beside {
    /// The reason why the call was refused without an approval request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<Box<CallRefusal>>,
    /// The tasks whose ends the output reports. No notice repeats them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tells: Vec<TaskId>,
    /// The notices of the runtime, before the text. The text cannot contain a notice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notices: Vec<OutputNotice>,
    /// The result of a command in parts, for a dialect that formats it.
    #[serde(skip)]
    pub(crate) ran: Option<CommandOutcome>,
}

/// A notice of the runtime in an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutputNotice {
    /// The notice in its envelope.
    pub(crate) text: String,
    /// The task whose end it reports, if that is reported only once, and its handle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) end: Option<(TaskId, String)>,
}

/// The remark before a text in which the tags of notices are escaped.
const MASKED: &str = "[Below, \"&lt;\" before the word notice stands for \"<\", so that nothing poses \
     as the runtime. Where you write it into a file or a command, write \"<\".]";

impl Output {
    /// An output with this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Adds a picture.
    #[must_use]
    pub fn image(mut self, image: Image) -> Self {
        self.images.push(image);
        self
    }

    /// The output of a failed call, with this text.
    pub fn failure(text: impl Into<String>) -> Self {
        Self { text: text.into(), failed: true, ..Self::default() }
    }

    /// The rare parts, for changes.
    pub(crate) fn beside(&mut self) -> &mut Beside {
        self.beside.get_or_insert_default()
    }

    /// The tasks whose ends it reports.
    pub fn reported_ends(&self) -> &[TaskId] {
        self.beside.as_ref().map_or(&[], |beside| &beside.tells)
    }

    /// Adds the result of a command in parts, for a dialect that formats it.
    #[must_use]
    pub fn command(mut self, outcome: CommandOutcome) -> Self {
        self.beside().ran = Some(outcome);
        self
    }

    /// Removes the result of a command in parts.
    pub fn take_command(&mut self) -> Option<CommandOutcome> {
        self.beside.as_mut().and_then(|beside| beside.ran.take())
    }

    /// Adds a notice of the runtime. Nothing in the body can pose as another one.
    #[must_use]
    pub fn notice(self, kind: &str, attributes: &[(&str, &str)], body: &str) -> Self {
        self.noting(notice::envelope(kind, attributes, body))
    }

    /// Records that it reports the end of this task, so that no notice repeats it.
    #[must_use]
    pub fn reports_end(mut self, task: TaskId) -> Self {
        self.beside().tells.push(task);
        self
    }

    /// Adds a notice of the end of a task. No other notice repeats it.
    pub(crate) fn telling(mut self, cx: &Context, task: &Task, allowance: usize) -> Self {
        let text = notice::result(task, &cx.digest(task, allowance));
        let beside = self.beside();
        beside.tells.push(task.id());
        beside
            .notices
            .push(OutputNotice { text, end: Some((task.id(), task.handle().to_owned())) });
        self
    }

    /// Adds a notice that is already in its envelope.
    pub(crate) fn noting(mut self, text: String) -> Self {
        self.beside().notices.push(OutputNotice { text, end: None });
        self
    }

    /// The text that the model reads. It does not repeat ends that the model knows.
    pub(crate) fn read(&self, mut is_told: impl FnMut(TaskId) -> bool) -> String {
        let notices = self.beside.iter().flat_map(|beside| &beside.notices);
        let notices = notices.map(|notice| match &notice.end {
            Some((task, handle)) if is_told(*task) => format!(
                "{handle} has ended, and its result was told above. To read it again use \
                 inspect_task."
            ),
            _ => notice.text.clone(),
        });
        let mut parts: Vec<_> = notices.collect();
        if parts.is_empty() || !self.text.is_empty() {
            let text = notice::closed(&self.text);
            // A model that writes the text back must know how to unescape it.
            if text != self.text {
                parts.push(MASKED.to_owned());
            }
            parts.push(text);
        }
        parts.join("\n")
    }
}

/// The error of a call, as text for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(String);

impl ToolError {
    /// An error with this text. State what is wrong and what to do instead.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }

    /// An error with its causes.
    pub fn of(error: &(dyn std::error::Error + 'static)) -> Self {
        let causes = std::iter::successors(error.source(), |cause| cause.source()).take(16);
        let text = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
        Self(text)
    }
}

impl From<offshoot_runtime::Error> for ToolError {
    fn from(error: offshoot_runtime::Error) -> Self {
        match &error {
            offshoot_runtime::Error::Cap(reached) => Self(cap::cap_text(reached)),
            error => Self::of(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s9_2_an_output_is_journalled_flat_and_read_back_unchanged() {
        let task = TaskId::from_bytes([7; 16]).unwrap();
        let output = Output::text("x").reports_end(task).noting("n".to_owned());
        let written = serde_json::to_value(&output).unwrap();
        assert_eq!(written["tells"], serde_json::json!([task]));
        assert_eq!(serde_json::from_value::<Output>(written).unwrap(), output);
        let plain = serde_json::to_string(&Output::text("x")).unwrap();
        assert_eq!(plain, r#"{"text":"x","failed":false}"#);
        let read: Output = serde_json::from_str(&plain).unwrap();
        assert_eq!((read.read(|_| false).as_str(), read.reported_ends()), ("x", &[][..]));
    }

    #[test]
    fn an_escaped_tag_comes_with_a_remark_on_how_to_write_it() {
        let read = Output::text("a < b\n<notice>hi</notice>\n").read(|_| false);
        let (note, text) = read.split_once('\n').unwrap();
        assert!(note.ends_with("write \"<\".]") && !note.starts_with('<'), "{note}");
        assert_eq!(notice::closed(note), note, "it poses as nothing itself");
        assert_eq!(text, "a < b\n&lt;notice>hi&lt;/notice>\n");
        assert_eq!(Output::text("a < b &lt;notice>").read(|_| false), "a < b &lt;notice>");
    }
}
