//! Approval requests of agents, and the decisions of people.

use offshoot_agent::{self as agent, KIND};
use offshoot_client::wire::{
    self, ApprovalRef, Approvals, Code, DecideApproval, Decision, ListApprovals, Reply, WireError,
};
use offshoot_core::{Resolution, TaskId, Visibility};
use offshoot_runtime::Error;
use serde::{Deserialize, Serialize};

use super::tasks::{cursor, parse_cursor};
use super::{Answer, Stopped};
use crate::asked::{self, Asked};
use crate::fault::refusal_about;
use crate::house::House;
use crate::origin::Origin;

/// How many agents are looked at before a page ends.
const AGENTS: usize = 64;

/// The longest page.
const LONGEST: usize = 1_000;

/// The most bytes of arguments on a page.
const HEAVIEST: usize = 4 << 20;

/// The longest reason, in bytes.
const REASON: usize = 16 << 10;

/// Lists a page of approval requests.
pub(super) async fn list(house: &House, list: ListApprovals) -> Answer {
    let below: Vec<TaskId> = list.below.iter().filter_map(|id| id.parse().ok()).collect();
    if below.len() < list.below.len() {
        return Err(
            WireError::new(Code::BadRequest, "one of the tasks is not named by its id").into()
        );
    }
    let all = match &list.session {
        None => house.runtime()?.tasks(),
        Some(name) => match house.known_session(name).await? {
            Some(session) => session.with_visibility(Visibility::Subtree).tasks(),
            None => return Ok(Reply::Approvals(Approvals { approvals: Vec::new(), next: None })),
        },
    };
    let all = all.kind(KIND).live();
    let mut place = list.cursor.as_deref().map(parse_cursor).transpose()?;
    let (mut approvals, mut bytes, mut agents) = (Vec::new(), 0, AGENTS);
    loop {
        let mut page = all.clone().limit(agents);
        if let Some(place) = place {
            page = page.after(place);
        }
        let page = page.await?;
        let mut found = Vec::new();
        for task in &page.items {
            for asked in asked::open_of(house, task).await? {
                let path = asked::path(house, task).await?;
                if below.is_empty() || path.ids.iter().any(|id| below.contains(id)) {
                    found.push(asked.shown_at(house, path).await?);
                }
            }
        }
        let heavy: usize = found.iter().map(|one| one.arguments.len()).sum();
        // What is long is told in shorter pages.
        if heavy > HEAVIEST && agents > 1 {
            agents = agents.div_ceil(8);
            continue;
        }
        bytes += heavy;
        approvals.extend(found);
        place = page.next;
        if place.is_none() || bytes > HEAVIEST || approvals.len() >= list.limit.clamp(1, LONGEST) {
            return Ok(Reply::Approvals(Approvals { approvals, next: place.map(cursor) }));
        }
    }
}

/// Shows one approval request, open or closed.
pub(super) async fn show(house: &House, sought: &ApprovalRef) -> Answer {
    let found = asked::find(house, sought).await?;
    Ok(Reply::Approval(Box::new(found.shown(house).await?)))
}

/// An answer as it is kept: what the agent reads of it, and which request it was.
#[derive(Debug, Serialize, Deserialize)]
struct Given {
    #[serde(flatten)]
    decision: agent::Decision,
    #[serde(default)]
    key: String,
}

/// Decides an approval request. The first decision is final.
pub(super) async fn decide(house: &House, decision: DecideApproval, origin: Origin) -> Answer {
    origin.must_be_person(match decision.decision {
        Decision::Denied { .. } => "to deny what an agent asks for",
        _ => "to allow what an agent asks for",
    })?;
    let found = asked::find(house, &decision.of).await?;
    let shown = found.shown(house).await?;
    let given = stored(&decision.decision, &shown)?;
    let session = found.task.spec.lineage.session;
    house.keys.offer(session, &super::run::keys(&decision.keys));
    let (number, key) = (found.question.number, decision.key.clone());
    let task = house.runtime()?.task(&found.task.id().to_string()).await?;
    match task.answer(number, &Given { decision: given, key }).await {
        Ok(()) => {}
        Err(Error::QuestionClosed { .. } | Error::Ended { .. }) => {
            let now = now(&task, house, number).await?;
            // One that is repeated because its reply was lost has answered already.
            if !is_given(&now, &decision.key) {
                return Err(too_late(&now.shown(house).await?).into());
            }
        }
        Err(error) => return Err(refusal_about(&task, &decision.of.id, &error).into()),
    }
    let now = now(&task, house, number).await?;
    Ok(Reply::Approval(Box::new(now.shown(house).await?)))
}

/// What was asked, as it stands now.
async fn now(
    task: &offshoot_runtime::TaskRef,
    house: &House,
    number: u32,
) -> Result<Asked, Stopped> {
    let asked = asked::of_task(house, &task.record().await?).await?;
    let found = asked.into_iter().find(|asked| asked.question.number == number);
    Ok(found.ok_or_else(|| WireError::new(Code::NotFound, "what was asked for is gone"))?)
}

fn is_given(asked: &Asked, key: &str) -> bool {
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

/// Why an answer counts no more: who was first, and what was said.
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
            // Whoever else answers keeps no key.
            let bare = Payload::encode(&decision).unwrap();
            assert_eq!(bare.decode::<Given>().unwrap().key, "");
        }
    }
}
