//! What tools of all dialects do: our own operations, and nothing beside them.

use std::time::Duration;

use offshoot_core::{Task, text};
use offshoot_runtime::{Error, TaskRef, WaitResult};
use serde_json::{Map, Value};

use super::naming::{Naming, missing};
use super::standing::{self, Standing, is_asking, telling};
use crate::control::{self, Sent, Stand, Stopping, Wait};
use crate::notice;
use crate::profile::ProfileUnavailable;
use crate::tool::{Output, ToolContext, ToolError};

/// A request to send an agent off, as `spawn_agent` takes it.
#[derive(Debug, Default)]
pub(super) struct Sending(Map<String, Value>);

impl Sending {
    /// For this task.
    pub(super) fn of(task: &str) -> Self {
        Self::default().with("task", Some(task))
    }

    /// With this, if it is said.
    pub(super) fn with(mut self, field: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.0.insert(field.to_owned(), value.into());
        }
        self
    }

    /// Sends it off; the one that does the same already if there is one.
    pub(super) async fn sent(self, cx: &ToolContext) -> Result<Off, ToolError> {
        Ok(match control::send_off(cx, Value::Object(self.0)).await? {
            Sent::Off(task, ..) => Off { task, is_new: true },
            Sent::Already(task) => Off { task, is_new: false },
        })
    }

    /// The same for a call that waits for it anyway.
    pub(super) async fn off(self, cx: &ToolContext) -> Result<TaskRef, ToolError> {
        Ok(self.sent(cx).await?.task)
    }
}

/// An agent that does what was asked for.
pub(super) struct Off {
    pub(super) task: TaskRef,
    /// Whether it was sent off by this call.
    is_new: bool,
}

impl Off {
    /// What is said of it, under the name that the model knows.
    pub(super) fn told(&self, id: &str) -> String {
        if self.is_new { open(id) } else { already(id) }
    }
}

/// What is told at once of an agent that was sent off, or what is waited for.
pub(super) enum Begun {
    Told(Output),
    Awaited(Wait),
}

/// What dialects call an agent that is made of no profile.
const GENERAL: [&str; 5] = ["agent", "default", "general-purpose", "task", "worker"];

/// The profile that a role stands for, if it stands for one. Whether it may be
/// sent off here is for `spawn_agent` to say.
pub(super) fn profile_of(cx: &ToolContext, role: &str) -> Result<Option<String>, ToolError> {
    let role = role.trim();
    if GENERAL.contains(&role) {
        return Ok(None);
    }
    let found = match &cx.shared.profiles {
        Some(profiles) => profiles.find(role, cx.folder()).map(|_| ()),
        None => Err(ProfileUnavailable::Unknown { name: role.into(), known: GENERAL[0].into() }),
    };
    match found {
        Ok(()) => Ok(Some(role.to_owned())),
        Err(error) => Err(ToolError::new(format!("Nothing was started: {error}."))),
    }
}

/// How long a call waits for an agent in the foreground where the dialect sets no
/// bound.
pub(super) const ENDLESS: Duration = Duration::MAX;

/// A wait for these.
pub(super) fn waiting(cx: &ToolContext, tasks: Vec<TaskRef>, span: Duration) -> Wait {
    let allowance = cx.shared.limits.allowance;
    Wait { cx: cx.cx.clone(), tasks, any: false, span, allowance }
}

/// The end of an agent in the foreground, for a dialect whose tools return plain
/// text: its answer and nothing else. That it has none is said as a failure.
pub(super) async fn answer(
    (wait, stand): (Wait, Stand),
    naming: Naming,
    answer: &str,
) -> Result<Output, ToolError> {
    let (Some(task), Some(waited)) = (wait.tasks.first(), stand.tasks.first()) else {
        return Err(missing("list of tasks"));
    };
    let id = naming.id(&waited.task);
    let output = match Standing::of(&waited.task) {
        Standing::Completed => Output::text(standing::result(waited).await?.unwrap_or_default()),
        _ if is_asking(waited) => {
            let asked = standing::question(task).await?.map(|asked| asked.text.to_string());
            let asked = text::cut(asked.as_deref().unwrap_or_default(), ASKED).into_owned();
            let attributes = [("task", task.handle()), ("as", &id)];
            let asked = notice::envelope("question", &attributes, &asked);
            Output::text(asks(&id, answer)).noting(asked)
        }
        Standing::Queued | Standing::Running | Standing::Asking => match stand.is_spoken_to {
            true => Output::text(format!("{SPOKEN_TO} {}", open(&id))),
            false => Output::text(open(&id)),
        },
        Standing::Failed | Standing::Cancelled | Standing::Lost => {
            Output::failure(offshoot_core::digest(&waited.task, usize::MAX))
        }
    };
    Ok(telling(output, &stand))
}

/// How much of a question is shown.
const ASKED: usize = 4_000;

/// All tasks that the agent has sent off, those that have ended included, however
/// many there are.
pub(super) async fn tasks(cx: &ToolContext) -> Result<Vec<Task>, ToolError> {
    cx.turn.comes().await;
    let mut all = Vec::new();
    let mut page = cx.cx.tasks().await?;
    loop {
        all.extend(page.items.into_iter().filter(|task| task.id() != cx.cx.id()));
        let Some(next) = page.next else { return Ok(all) };
        page = cx.cx.tasks().after(next).await?;
    }
}

/// Asks a task to stop, and everything below it. One that had ended before is as
/// it is.
pub(super) async fn stop(task: &TaskRef, reason: Option<&str>) -> Result<Stopping, ToolError> {
    match control::stop(task, reason).await {
        Err(Error::Ended { .. }) => Ok(Stopping { reached: 0, record: task.record().await? }),
        stopping => Ok(stopping?),
    }
}

/// What is said of an agent that was sent off and has not ended.
pub(super) fn open(id: &str) -> String {
    format!(
        "{id} works in the background. NOTHING IS DONE YET, and there is no result to report or to \
         guess. Its result will come to you by itself, as a notice, when it has ended. Go on with \
         other work now, or end your turn. Do not poll."
    )
}

/// What is said of one that does already what another was wanted for.
fn already(id: &str) -> String {
    format!(
        "Nothing was started: {id} is doing exactly this task already. Its result comes to you by \
         itself."
    )
}

/// What is said of one that asks.
pub(super) fn asks(id: &str, answer: &str) -> String {
    format!(
        "{id} has no result yet: it asks something and waits. Answer with {answer}; it goes on in \
         the background then, and its result will come to you by itself."
    )
}

/// What is said of one that was waited for and has not ended.
pub(super) fn note(stand: &Stand, waited: &WaitResult, answer: &str) -> String {
    let handle = waited.task.handle();
    match is_asking(waited) {
        true => asks(handle, answer),
        false if stand.is_spoken_to => format!("{SPOKEN_TO} {}", open(handle)),
        false => open(handle),
    }
}

/// What is said where a message has ended a wait.
pub(super) const SPOKEN_TO: &str = "A message for you has come before that. It follows; if it is \
     meant for the end of your turn, end your turn to read it.";
