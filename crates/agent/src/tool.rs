//! Tools: what a model may do.
//!
//! A tool is a typed function: its arguments have a schema that is made of
//! their type, so what a model is told and what is taken cannot drift apart.
//! What goes wrong is told to the model in words that it can act on; nothing a
//! tool does ends the agent.

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

/// A tool.
pub trait Tool: Send + Sync + fmt::Debug + 'static {
    /// How a model sees it.
    fn spec(&self) -> &ToolSpec;

    /// What rules call it, and lists of the tools that are offered. It is the name
    /// by which a model calls it, unless the model is told another.
    fn known_as(&self) -> &str {
        &self.spec().name
    }

    /// What a call of it does to the world.
    fn effect(&self) -> Effect;

    /// How long a call may take.
    fn span(&self) -> Span {
        Span::Short
    }

    /// What a call with these arguments wants to do: whether it is made depends on
    /// that. It goes by the text alone and touches nothing; a call that finds that
    /// it would do more than it said must not do it. Arguments that do not fit are
    /// an error here as they are in the call: no approval is asked for it.
    fn wish(&self, _cx: &ToolContext, _arguments: &str) -> Result<Access, ToolError> {
        Ok(Access::new(&self.spec().name, self.effect().deed()))
    }

    /// Calls it with what the model wrote for arguments. Dropping the future
    /// ends the call.
    fn call(&self, cx: ToolContext, arguments: String) -> BoxFuture<Result<Output, ToolError>>;
}

/// How long a call may take, and what ends it before. A cancel of the agent ends
/// every call at once: its future is dropped, and so is what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// A while; then it is ended, and the model is told. So does a message that
    /// interrupts the agent.
    Short,
    /// As long as it takes: it has a bound of its own. A message that interrupts
    /// the agent ends it.
    Long,
    /// As long as it takes. It looks out for messages to the agent itself, and
    /// returns when one comes that it heeds.
    Watchful,
}

/// What a tool has in hand.
#[derive(Clone, Debug)]
pub struct ToolContext {
    pub(crate) cx: Context,
    pub(crate) key: Arc<str>,
    /// What the model calls the call.
    pub(crate) call: Arc<str>,
    pub(crate) shared: Arc<AgentShared>,
    pub(crate) branch: Branch,
    /// Where it stands among the calls of its answer that send agents off.
    pub(crate) turn: SpawnTurn,
    pub(crate) brief: Arc<Brief>,
    /// How long what this call sends off may run, if that is said.
    pub(crate) lasts: Option<Duration>,
}

impl ToolContext {
    /// The agent that calls it, as a task.
    pub fn task(&self) -> &Context {
        &self.cx
    }

    /// The folder in which the agent works, if it has one.
    pub fn folder(&self) -> Option<&Path> {
        self.brief.folder.as_deref()
    }

    /// The folders outside of its own to which git writes when the agent commits:
    /// none unless it works in a worktree of its own, or of one that sent it off.
    /// Blocks as files do.
    pub fn commits_to(&self) -> Vec<PathBuf> {
        let (trees, folder) = (self.shared.worktrees.as_ref(), self.folder());
        trees.zip(folder).map(|(trees, folder)| trees.commits_to(folder)).unwrap_or_default()
    }

    /// What tells this call from any other of the agent's, also after a crash.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// A task that this call sends off. A call that is repeated after a crash
    /// finds the task that it has sent off before, so it may send off one.
    pub fn spawn(&self, request: TaskRequest) -> SpawnBuilder<BackendBody> {
        let spawn = self.cx.spawn(request).key(&format!("call {}", self.key));
        let mut spawn = spawn.tool_call(&self.call).agent(self.cx.handle());
        if let Some(span) = self.lasts {
            spawn = spawn.timeout(span);
        }
        // An agent's life is one run, and its own.
        match RunId::from_bytes(self.cx.id().to_bytes()) {
            Some(run) => spawn.run(run),
            None => spawn,
        }
    }

    /// Where the agent finds profiles.
    pub fn profile_source(&self) -> Option<&Arc<dyn ProfileSource>> {
        self.shared.profiles.as_ref()
    }

    /// Waits for a person, with the agent's clock stopped.
    pub async fn on_hold<T>(&self, wait: impl Future<Output = T>) -> T {
        on_hold(&self.shared.clocks, &self.cx, wait).await
    }

    /// The same context for a call of another key: a call that makes several needs
    /// one for each.
    #[must_use]
    pub fn keyed(self, key: &str) -> Self {
        Self { key: key.into(), ..self }
    }

    /// Limits how long a task runs that this call spawns.
    #[must_use]
    pub fn time_limit(self, lasts: Option<Duration>) -> Self {
        Self { lasts, ..self }
    }

    /// Waits until the calls before this one in the same answer have spawned their
    /// agents, so that this call can name them.
    pub async fn preceding_spawns(&self) {
        self.turn.comes().await;
    }

    /// Whether the inbox has a row that the agent reads before its next step.
    pub async fn has_unread(&self) -> Result<bool, ToolError> {
        Ok(delivery::is_due_now(&self.cx).await?)
    }

    /// Resolves when there is a message for the agent that is not meant for the
    /// end of its turn: for a call that looks out for messages itself.
    pub async fn spoken_to(&self) {
        delivery::steered(&self.cx).await;
    }
}

/// What a call returns to the model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// What it says.
    pub text: String,
    /// Pictures that belong to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Whether it says why the call did not do what was asked.
    #[serde(default)]
    pub failed: bool,
    /// What few have, and an agent that waits need not keep room for.
    #[serde(flatten)]
    pub(crate) beside: Option<Box<Beside>>,
}

/// What else there is to an output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Beside {
    /// Why the call was not made, if nobody was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<Box<CallRefusal>>,
    /// Tasks whose ends it tells, so that they are not told again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tells: Vec<TaskId>,
    /// What the runtime says in it, before the rest. In all that is not in here
    /// nothing can pose as the runtime.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notices: Vec<OutputNotice>,
    /// The same of a command in parts, for whoever tells it in other words.
    #[serde(skip)]
    pub(crate) ran: Option<CommandOutcome>,
}

/// What the runtime says in an output, in its envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutputNotice {
    /// What it says.
    pub(crate) text: String,
    /// The task whose end it tells, if that is told once, and its handle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) end: Option<(TaskId, String)>,
}

/// What is said of a text in which tags were kept from posing as the runtime's.
const MASKED: &str = "[Below, \"&lt;\" before the word notice stands for \"<\", so that nothing poses \
     as the runtime. Where you write it into a file or a command, write \"<\".]";

impl Output {
    /// This text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// With this picture.
    #[must_use]
    pub fn image(mut self, image: Image) -> Self {
        self.images.push(image);
        self
    }

    /// The text of a call that failed.
    pub fn failure(text: impl Into<String>) -> Self {
        Self { text: text.into(), failed: true, ..Self::default() }
    }

    /// What else there is to it, to be changed.
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

    /// With the end of a task, which is not told again.
    pub(crate) fn telling(mut self, cx: &Context, task: &Task, allowance: usize) -> Self {
        let text = notice::result(task, &cx.digest(task, allowance));
        let beside = self.beside();
        beside.tells.push(task.id());
        beside
            .notices
            .push(OutputNotice { text, end: Some((task.id(), task.handle().to_owned())) });
        self
    }

    /// With something that the runtime says, in its envelope.
    pub(crate) fn noting(mut self, text: String) -> Self {
        self.beside().notices.push(OutputNotice { text, end: None });
        self
    }

    /// All that the model reads of it. Ends that it was told before are not told
    /// again.
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
            // Who writes back what was read would else write something else.
            if text != self.text {
                parts.push(MASKED.to_owned());
            }
            parts.push(text);
        }
        parts.join("\n")
    }
}

/// Why a call did not do what was asked: words for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(String);

impl ToolError {
    /// In these words. Say what is wrong and what to do instead.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }

    /// An error with its causes.
    pub fn of(error: &(dyn std::error::Error + 'static)) -> Self {
        let causes = std::iter::successors(error.source(), |cause| cause.source()).take(16);
        let told = causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"));
        Self(told)
    }
}

impl From<offshoot_runtime::Error> for ToolError {
    fn from(error: offshoot_runtime::Error) -> Self {
        match &error {
            offshoot_runtime::Error::Cap(reached) => Self(cap::told(reached)),
            error => Self::of(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s9_2_an_output_is_journalled_flat_and_read_back_as_it_was() {
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
    fn whoever_reads_a_tag_that_is_kept_from_posing_is_told_how_to_write_it() {
        let read = Output::text("a < b\n<notice>hi</notice>\n").read(|_| false);
        let (note, text) = read.split_once('\n').unwrap();
        assert!(note.ends_with("write \"<\".]") && !note.starts_with('<'), "{note}");
        assert_eq!(notice::closed(note), note, "it poses as nothing itself");
        assert_eq!(text, "a < b\n&lt;notice>hi&lt;/notice>\n");
        assert_eq!(Output::text("a < b &lt;notice>").read(|_| false), "a < b &lt;notice>");
    }
}
