//! `send_message`: sends a message to a task or the owner, or answers a question.

use offshoot_core::{Caller, DeliveryMode, QuestionKind, Resolution, TaskId};
use offshoot_runtime::{BodyError, MessageRecipient, Receipts, StepError, TaskRef};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::built_in_tools::SEND_MESSAGE;
use crate::tool::{Function, Output, Tool, ToolContext, ToolError};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The handle or id of a task, "parent" for the agent that spawned you, or
    /// "all" for all your live tasks.
    to: String,
    /// What to say.
    text: String,
    /// When it is read.
    #[serde(default)]
    mode: Reads,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Reads {
    /// Before its next step.
    #[default]
    Steer,
    /// At once: what its model says at the moment is cut off.
    Interrupt,
    /// When its turn has ended.
    FollowUp,
}

pub(super) fn tool() -> impl Tool {
    Function::built_in(
        &SEND_MESSAGE,
        "Says something to a task you spawned, or to the agent that spawned you. If the task \
         waits for an answer to its question, this is the answer, unless it interrupts: that \
         withdraws the question. A task that has ended goes on with it in a new task.",
        send,
    )
}

async fn send(cx: ToolContext, asked: Arguments) -> Result<Output, ToolError> {
    let mode = match asked.mode {
        Reads::Steer => DeliveryMode::Steer,
        Reads::Interrupt => DeliveryMode::Interrupt,
        Reads::FollowUp => DeliveryMode::FollowUp,
    };
    let receipts = match send_message(&cx, (&asked.to, mode), &asked.text).await? {
        SendOutcome::Answered(task, number) => {
            return Ok(Output::text(format!("Answered question {number} of {}.", task.handle())));
        }
        SendOutcome::Sent(receipts) => receipts,
    };
    let mut lines = Vec::new();
    for receipt in receipts.iter() {
        lines.push(format!("Queued for {}.", recipient_name(&cx, &asked.to, receipt.task).await));
    }
    for no in receipts.refused() {
        let task = recipient_name(&cx, &asked.to, no.task).await;
        lines.push(format!("Not sent to {task}: {}.", no.error));
    }
    if lines.is_empty() {
        lines.push("You have no live tasks: no task was told.".to_owned());
    }
    Ok(Output::text(lines.join("\n")))
}

/// The effect of a message.
#[derive(Debug)]
pub enum SendOutcome {
    /// The message answered the question of this number.
    Answered(TaskRef, u32),
    /// The message is in the inboxes of its recipients.
    Sent(Receipts),
}

/// Sends a text to a task, as the answer to its open question or as a message.
///
/// An interrupting message is never an answer.
pub async fn send_message(
    cx: &ToolContext,
    (to, mode): (&str, DeliveryMode),
    text: &str,
) -> Result<SendOutcome, ToolError> {
    cx.turn.wait().await;
    // An interrupt ends the task's current work, which includes its question.
    if !matches!(to.trim(), "parent" | "all") && mode != DeliveryMode::Interrupt {
        let task = cx.cx.task(to).await?;
        if let Some(number) = question(cx, &task).await? {
            answer(cx, (&task, number), text).await?;
            return Ok(SendOutcome::Answered(task, number));
        }
    }
    let sending = cx.cx.send(MessageRecipient::Handle(to), text).mode(mode);
    Ok(SendOutcome::Sent(sending.key(&format!("call {}", cx.key)).await?))
}

/// The name of the recipient, for the output.
///
/// The message is already sent, so a failed lookup falls back to the task's id.
async fn recipient_name(cx: &ToolContext, to: &str, task: TaskId) -> String {
    if to.trim() == "parent" {
        return "the agent that spawned you".to_owned();
    }
    let id = task.to_string();
    match cx.cx.task(&id).await {
        Ok(task) => task.handle().to_owned(),
        Err(_) => id,
    }
}

/// The open question of the task that this call answers.
///
/// The choice is journalled. Without that, a call that is repeated after a crash
/// would find the question closed and send its answer again as a message.
async fn question(cx: &ToolContext, task: &TaskRef) -> Result<Option<u32>, ToolError> {
    let asked = task.questions().await?;
    // A message never approves a call.
    let mut open = asked.iter().filter(|question| question.wants == QuestionKind::Input);
    let open = open.find(|question| question.closed.is_none());
    let open = open.map(|question| question.number);
    let step =
        cx.cx.step(&format!("answers {}", cx.key), move || async move { Ok::<_, BodyError>(open) });
    step.value().await.map_err(|error| match error {
        StepError::Journal(error) => error.into(),
        // The step only records a value, so it has no effect that could be unknown.
        StepError::Unknown | StepError::Work(_) => ToolError::new("Nothing was said. Try again."),
    })
}

/// Answers a question. An answer of the same call before a crash is a success.
async fn answer(
    cx: &ToolContext,
    (task, number): (&TaskRef, u32),
    text: &str,
) -> Result<(), ToolError> {
    let Err(error) = task.answer(number, &text).await else { return Ok(()) };
    let asked = task.questions().await?;
    let own = asked.iter().find(|question| question.number == number).is_some_and(|question| {
        matches!(&question.closed, Some(Resolution::Answered { by, answer, .. })
            if *by == Caller::Task(cx.cx.id()) && answer.decode().is_ok_and(|said: String| said == text))
    });
    if own { Ok(()) } else { Err(error.into()) }
}
