//! The live agents that an agent has spawned.

use offshoot_core::{Owner, Task, TaskId};

use crate::KIND;
use crate::brief::{Brief, BriefContext, Isolation};
use crate::tool::{ToolContext, ToolError};

/// The live agents that an agent has spawned.
#[derive(Default)]
pub(super) struct Live {
    /// The number of live agents, at least up to the limit.
    pub(super) count: usize,
    /// The agent that the same call spawned before a crash.
    pub(super) itself: Option<(TaskId, Isolation)>,
    /// The agents that have the same task.
    pub(super) twins: Vec<(TaskId, Brief)>,
}

/// Reads the live agents of the caller, at least up to the limit.
pub(super) async fn live(cx: &ToolContext, task: &str) -> Result<Live, ToolError> {
    let mut live = Live::default();
    count(cx, (task, KIND), &mut live).await?;
    for other in cx.cx.other_agent_kinds() {
        count(cx, (task, &other.kind), &mut live).await?;
    }
    Ok(live)
}

/// Adds the live agents of one kind. It stops at the limit.
async fn count(
    cx: &ToolContext,
    (task, kind): (&str, &str),
    live: &mut Live,
) -> Result<(), ToolError> {
    if live.itself.is_some() {
        return Ok(());
    }
    let key = format!("call {}", cx.key);
    let own = || cx.cx.tasks().owner(Owner::Task(cx.cx.id())).live().kind(kind);
    let mut page = own().await?;
    loop {
        for other in &page.items {
            if other.spec.terms.key.as_deref() == Some(&key) {
                let isolation = brief(other).map(|brief| brief.isolation);
                live.itself = Some((other.id(), isolation.unwrap_or_default()));
                return Ok(());
            }
            let brief = brief(other).filter(|brief| brief.task == task);
            live.twins.extend(brief.map(|brief| (other.id(), brief)));
        }
        live.count += page.items.len();
        let Some(next) = page.next.filter(|_| live.count < cx.shared.limits.children) else {
            return Ok(());
        };
        page = own().after(next).await?;
    }
}

/// The brief of an agent of any backend. Its profile tells backends apart.
fn brief(task: &Task) -> Option<Brief> {
    task.spec.input.decode().ok()
}

/// Whether two briefs request the same agent.
///
/// Two forks of one conversation are the same even if one knows more of it.
pub(super) fn is_same(one: &Brief, other: &Brief) -> bool {
    let mut one = one.clone();
    if let (BriefContext::Fork { blocks, .. }, BriefContext::Fork { blocks: until, .. }) =
        (&mut one.context, other.context)
    {
        *blocks = until;
    }
    // The budgets depend on the rest of the owner's budget at each call.
    (one.budget, one.pools) = (other.budget.clone(), other.pools.clone());
    one == *other
}
