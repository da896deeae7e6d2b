//! Messages to tasks.

use offshoot_client::wire::{self, Code, Continuation, Reply, SendMessage, TaskName, WireError};
use offshoot_core::{Caller, MessageState, QuestionKind, Receipt, Resolution};
use offshoot_runtime::{Error, TaskRef};

use super::Answer;
use super::approval_question;
use crate::errors::wire_error_about;
use crate::host::Daemon;

/// Sends a message to a task.
pub(super) async fn send(daemon: &Daemon, message: &SendMessage) -> Answer {
    let mut task = daemon.task(&message.to).await?;
    let mut turn = None;
    if *task.spec().kind == *offshoot_agent::KIND {
        says_something(&message.text)?;
        let session = task.spec().lineage.session;
        daemon.keys.offer(session, &super::run::keys(&message.keys));
        turn = Some(daemon.conversations.lock(&daemon.session_name(session).await?).await);
        // A new agent may continue the task by now.
        task = daemon.task(&message.to).await?;
    }
    let sending = task.send(&message.text).key(&message.key);
    let sending = match message.sequel {
        Continuation::More => sending,
        Continuation::End => sending.last(),
    };
    let receipts = sending.await;
    drop(turn);
    let receipts = receipts.map_err(|error| {
        let error = wire_error_about(&task, &message.to.task, &error);
        match error.code {
            Code::TakesNoMessages => error.hint(
                "its input comes from the `spawn` that started it; with --no-stdin a command reads \
                 messages",
            ),
            _ => error,
        }
    })?;
    let Some(receipt) = receipts.first() else {
        return Err(WireError::new(Code::Other, "the message was not queued").into());
    };
    Ok(sent(receipt))
}

/// Shows the state of a message.
pub(super) async fn receipt(daemon: &Daemon, to: &TaskName, message: &str) -> Answer {
    let task = daemon.task(to).await?;
    let Ok(message) = message.parse() else {
        let text = format!("{message:?} is not the id of a message");
        return Err(WireError::new(Code::BadRequest, text).into());
    };
    let session = daemon.existing_session(&to.session).await?;
    let receipt = Receipt { message, task: task.id(), state: MessageState::Queued };
    Ok(sent(Receipt { state: session.receipt(receipt).await?, ..receipt }))
}

fn sent(receipt: Receipt) -> Reply {
    let state = match receipt.state {
        MessageState::Queued => "queued",
        MessageState::Delivered => "delivered",
        MessageState::Consumed => "consumed",
        MessageState::Returned => "returned",
    };
    Reply::Sent {
        message: receipt.message.to_string(),
        task: receipt.task.to_string(),
        state: state.to_owned(),
    }
}

/// Refuses an empty text to an agent. To a command it is an empty line.
fn says_something(text: &str) -> Result<(), WireError> {
    match text.trim() {
        "" => Err(WireError::new(Code::BadRequest, "nothing is said to the agent")
            .hint("write what it shall read, such as: offshoot tasks send lead 'Be brief.'")),
        _ => Ok(()),
    }
}

/// Answers a question of a task. A repeated request whose reply was lost succeeds.
pub(super) async fn answer(daemon: &Daemon, answer: &wire::AnswerQuestion) -> Answer {
    let task = daemon.task(&answer.to).await?;
    if *task.spec().kind == *offshoot_agent::KIND {
        says_something(&answer.text)?;
    }
    let asked = daemon.questions(task.id()).await?;
    let wants = asked.iter().find(|asked| asked.number == answer.number).map(|asked| asked.wants);
    if wants == Some(QuestionKind::Approval) {
        // A message never approves a call.
        let id = approval_question::short_id(task.id(), answer.number);
        let text = format!("question {} of {} asks for approval", answer.number, task.handle());
        let hint = format!("`offshoot approve {id}` or `offshoot deny {id}` answers it");
        return Err(WireError::new(Code::BadRequest, text).hint(hint).into());
    }
    match task.answer(answer.number, &answer.text).await {
        Ok(()) => {}
        Err(Error::QuestionClosed { .. } | Error::Ended { .. })
            if is_answered(&task, answer).await? => {}
        Err(error) => return Err(wire_error_about(&task, &answer.to.task, &error).into()),
    }
    Ok(Reply::Done)
}

/// Whether a person has given this answer.
async fn is_answered(task: &TaskRef, answer: &wire::AnswerQuestion) -> Result<bool, Error> {
    let asked = task.questions().await?;
    let asked = asked.into_iter().find(|asked| asked.number == answer.number);
    Ok(asked.is_some_and(|asked| match asked.closed {
        Some(Resolution::Answered { by: Caller::Host, answer: said, .. }) => {
            said.decode::<String>().is_ok_and(|said| said == answer.text)
        }
        _ => false,
    }))
}
