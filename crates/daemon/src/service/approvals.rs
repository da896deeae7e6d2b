//! Approval requests of agents, and the decisions of people.

use offshoot_agent::{self as agent, KIND};
use offshoot_client::wire::{
    self, ApprovalRef, Approvals, Code, DecideApproval, Decision, ListApprovals, Reply, WireError,
};
use offshoot_core::{Resolution, TaskId, Visibility};
use offshoot_runtime::Error;
use serde::{Deserialize, Serialize};

use super::approval_question::{self, ApprovalQuestion};
use super::origin::RequestOrigin;
use super::tasks::{cursor, parse_cursor};
use super::{Answer, ServiceError};
use crate::errors::wire_error_about;
use crate::host::Daemon;

/// The agents that are read for one page.
const AGENTS: usize = 64;

/// The longest page.
const LONGEST: usize = 1_000;

/// The most bytes of arguments on a page.
const HEAVIEST: usize = 4 << 20;

/// The longest reason, in bytes.
const REASON: usize = 16 << 10;

/// Lists a page of approval requests.
pub(super) async fn list(daemon: &Daemon, list: ListApprovals) -> Answer {
    let below: Vec<TaskId> = list.below.iter().filter_map(|id| id.parse().ok()).collect();
    if below.len() < list.below.len() {
        return Err(
            WireError::new(Code::BadRequest, "one of the tasks is not named by its id").into()
        );
    }
    let all = match &list.session {
        None => daemon.runtime()?.tasks(),
        Some(name) => match daemon.find_session(name).await? {
            Some(session) => session.with_visibility(Visibility::Subtree).tasks(),
            None => return Ok(Reply::Approvals(Approvals { approvals: Vec::new(), next: None })),
        },
    };
    let all = all.kind(KIND).live();
    let mut next_page = list.cursor.as_deref().map(parse_cursor).transpose()?;
    let (mut approvals, mut bytes, mut agents) = (Vec::new(), 0, AGENTS);
    loop {
        let mut page = all.clone().limit(agents);
        if let Some(dir) = next_page {
            page = page.after(dir);
        }
        let page = page.await?;
        let mut found = Vec::new();
        for task in &page.items {
            for asked in approval_question::open_of(daemon, task).await? {
                let path = approval_question::path(daemon, task).await?;
                if below.is_empty() || path.ids.iter().any(|id| below.contains(id)) {
                    found.push(asked.shown_at(daemon, path).await?);
                }
            }
        }
        let heavy: usize = found.iter().map(|one| one.arguments.len()).sum();
        // Long requests get shorter pages.
        if heavy > HEAVIEST && agents > 1 {
            agents = agents.div_ceil(8);
            continue;
        }
        bytes += heavy;
        approvals.extend(found);
        next_page = page.next;
        if next_page.is_none()
            || bytes > HEAVIEST
            || approvals.len() >= list.limit.clamp(1, LONGEST)
        {
            return Ok(Reply::Approvals(Approvals { approvals, next: next_page.map(cursor) }));
        }
    }
}

/// Shows one approval request, open or closed.
pub(super) async fn show(daemon: &Daemon, sought: &ApprovalRef) -> Answer {
    let found = approval_question::find(daemon, sought).await?;
    Ok(Reply::Approval(Box::new(found.shown(daemon).await?)))
}

/// An answer as it is stored: the decision for the agent, and the key of the request.
#[derive(Debug, Serialize, Deserialize)]
struct Given {
    #[serde(flatten)]
    decision: agent::Decision,
    #[serde(default)]
    key: String,
}

/// Decides an approval request. The first decision is final.
pub(super) async fn decide(
    daemon: &Daemon,
    decision: DecideApproval,
    origin: RequestOrigin,
) -> Answer {
    origin.must_be_person(match decision.decision {
        Decision::Denied { .. } => "to deny what an agent asks for",
        _ => "to allow what an agent asks for",
    })?;
    let found = approval_question::find(daemon, &decision.of).await?;
    let shown = found.shown(daemon).await?;
    let given = stored(&decision.decision, &shown)?;
    let session = found.task.spec.lineage.session;
    daemon.keys.offer(session, &super::run::keys(&decision.keys));
    let (number, key) = (found.question.number, decision.key.clone());
    let task = daemon.runtime()?.task(&found.task.id().to_string()).await?;
    match task.answer(number, &Given { decision: given, key }).await {
        Ok(()) => {}
        Err(Error::QuestionClosed { .. } | Error::Ended { .. }) => {
            let now = now(&task, daemon, number).await?;
            // A repeated request whose reply was lost has answered already.
            if !is_given(&now, &decision.key) {
                return Err(too_late(&now.shown(daemon).await?).into());
            }
        }
        Err(error) => return Err(wire_error_about(&task, &decision.of.id, &error).into()),
    }
    let now = now(&task, daemon, number).await?;
    Ok(Reply::Approval(Box::new(now.shown(daemon).await?)))
}

/// Reads the current state of an approval request.
async fn now(
    task: &offshoot_runtime::TaskRef,
    daemon: &Daemon,
    number: u32,
) -> Result<ApprovalQuestion, ServiceError> {
    let asked = approval_question::of_task(daemon, &task.record().await?).await?;
    let found = asked.into_iter().find(|asked| asked.question.number == number);
    Ok(found.ok_or_else(|| WireError::new(Code::NotFound, "what was asked for is gone"))?)
}

fn is_given(asked: &ApprovalQuestion, key: &str) -> bool {
    match &asked.question.closed {
        Some(Resolution::Answered { answer, .. }) => {
            answer.decode::<Given>().is_ok_and(|given| given.key == key)
        }
        _ => false,
    }
}

/// The decision as the agent reads it.
fn stored(verdict: &Decision, asked: &wire::ApprovalRequest) -> Result<agent::Decision, WireError> {
    Ok(match verdict {
        Decision::Once => agent::Decision::Once,
        Decision::Always if asked.always.is_none() => {
            let (agent, tool) = (&asked.agent, &asked.tool);
            let text = format!("the call of {agent} ({tool}) cannot have a standing grant");
            return Err(WireError::new(Code::BadRequest, text).hint("leave out --always"));
        }
        Decision::Always => agent::Decision::Always,
        Decision::Denied { reason } => {
            if let Some(reason) = reason.as_ref().filter(|reason| reason.len() > REASON) {
                let text = format!("a reason of {} bytes is too long", reason.len());
                let hint = format!("{REASON} are the most: the agent reads all of it");
                return Err(WireError::new(Code::BadRequest, text).hint(hint));
            }
            agent::Decision::Denied { reason: reason.clone() }
        }
    })
}

/// The error for a late answer: it names the first answer.
fn too_late(asked: &wire::ApprovalRequest) -> WireError {
    let (id, agent, tool) = (&asked.id, &asked.agent, &asked.tool);
    let what = format!("{id} ({agent}: {tool})");
    let Some(closed) = &asked.closed else {
        return WireError::new(Code::Other, format!("{what} could not be answered: try again"));
    };
    let at = &closed.at;
    let text = match (&closed.decision, &closed.by) {
        (Some(verdict), by) => {
            let by = by.as_deref().unwrap_or("somebody");
            let said = match verdict {
                Decision::Once => "allowed it once".to_owned(),
                Decision::Always => "allowed it always".to_owned(),
                Decision::Denied { reason: None } => "denied it".to_owned(),
                Decision::Denied { reason: Some(reason) } => {
                    format!("denied it ({})", offshoot_core::text::cut(reason, 200))
                }
            };
            format!("{what} was answered before: {by} has {said}, at {at}")
        }
        (None, Some(by)) => format!("{what} was answered before by {by}, at {at}"),
        (None, None) => {
            format!(
                "{what} is not asked for any more: it was withdrawn, or its agent ended, at {at}"
            )
        }
    };
    WireError::new(Code::Answered, text)
        .hint("the first answer counts; nothing was changed by this one")
}

#[cfg(test)]
mod tests {
    use offshoot_core::Payload;

    use super::*;

    #[test]
    fn a_stored_answer_is_read_as_a_decision() {
        for decision in [
            agent::Decision::Once,
            agent::Decision::Always,
            agent::Decision::Denied { reason: None },
            agent::Decision::Denied { reason: Some("no".into()) },
        ] {
            let given = Given { decision: decision.clone(), key: "k".into() };
            let kept = Payload::encode(&given).unwrap();
            assert_eq!(kept.decode::<agent::Decision>().unwrap(), decision);
            assert_eq!(kept.decode::<Given>().unwrap().key, "k");
            // An answer that did not come through this request has no key.
            let bare = Payload::encode(&decision).unwrap();
            assert_eq!(bare.decode::<Given>().unwrap().key, "");
        }
    }
}
