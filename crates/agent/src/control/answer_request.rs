//! `answer_request`: approves or denies a call for which a task asks its owner.

use offshoot_core::{Addressee, Caller, Owner, Question, QuestionKind, Resolution};
use offshoot_runtime::TaskRef;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::approval::{self, Decision};
use crate::built_in_tools::ANSWER_REQUEST;
use crate::tool::{Function, Output, Tool, ToolContext, ToolError};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The handle or id of the task that asks.
    task: String,
    /// The number of its request, as the notice says it.
    request: u32,
    /// What you answer.
    verdict: Says,
    /// Why, for the one that asks.
    reason: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Says {
    /// It may make this one call.
    Allow,
    /// It may not.
    Deny,
}

pub(super) fn tool() -> impl Tool {
    Function::built_in(
        &ANSWER_REQUEST,
        "Approves or denies the one call that a task you spawned asks approval for. You can approve \
         only what you may do yourself without asking.",
        answer,
    )
}

async fn answer(cx: ToolContext, asked: Arguments) -> Result<Output, ToolError> {
    cx.turn.wait().await;
    let task = cx.cx.task(&asked.task).await?;
    let (handle, number) = (task.handle().to_owned(), asked.request);
    let question = request(&cx, &task, number).await?;
    let decision = match asked.verdict {
        Says::Allow => {
            if !approval::may_approve(cx.brief.authority.as_deref(), &question) {
                return Err(ToolError::new(format!(
                    "Nothing was approved. {}",
                    approval::cannot_approve(&handle, number)
                )));
            }
            Decision::Once
        }
        Says::Deny => Decision::Denied { reason: asked.reason },
    };
    if let Err(error) = task.answer(number, &decision).await {
        // A call that is repeated after a crash finds its own answer.
        let question = request(&cx, &task, number).await?;
        if !is_answered(&cx, &question, &decision) {
            return Err(error.into());
        }
    }
    Ok(Output::text(match decision {
        Decision::Denied { .. } => format!("Denied request {number} of {handle}."),
        Decision::Once | Decision::Always => format!("Approved request {number} of {handle}."),
    }))
}

/// The request of this number, if the agent may answer it.
async fn request(cx: &ToolContext, task: &TaskRef, number: u32) -> Result<Question, ToolError> {
    let handle = task.handle();
    let asked = task.questions().await?.into_iter().find(|asked| asked.number == number);
    let no = |why: &str| Err(ToolError::new(format!("Nothing was answered: {why}")));
    match asked {
        None => no(&format!("{handle} has no request {number}.")),
        Some(asked) if asked.wants == QuestionKind::Input => no(&format!(
            "{number} is a question of {handle}, not an approval request. Answer it with \
             send_message."
        )),
        Some(_) if task.spec().owner() != Owner::Task(cx.cx.id()) => {
            no(&format!("{handle} asks its own owner, which is not you."))
        }
        Some(asked) if asked.addressee == Addressee::Person => {
            no(&format!("{handle} asks a person for this, and only a person can answer."))
        }
        Some(asked) => Ok(asked),
    }
}

fn is_answered(cx: &ToolContext, question: &Question, decision: &Decision) -> bool {
    matches!(&question.closed, Some(Resolution::Answered { by, answer, .. })
        if *by == Caller::Task(cx.cx.id()) && answer.decode().is_ok_and(|given: Decision| given == *decision))
}
