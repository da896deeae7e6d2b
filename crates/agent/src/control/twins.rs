//! Agents that would do the same as one that does it already.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use offshoot_core::TaskId;
use offshoot_runtime::{Error, TaskRef};
use tokio::sync::{Mutex, MutexGuard};

use super::told;
use crate::KIND;
use crate::tool::{ToolContext, ToolError};

/// How many agents can look for twins side by side without waiting for each
/// other.
const LANES: usize = 64;

/// Has an agent send others off one by one, so that each of its calls sees what
/// the others have begun. The calls of one answer run side by side.
#[derive(Clone, Debug)]
pub(crate) struct Twins(Arc<[Mutex<Option<Live>>]>);

impl Default for Twins {
    fn default() -> Self {
        Self((0..LANES).map(|_| Mutex::default()).collect())
    }
}

impl Twins {
    /// Waits until no other call of the agent sends anybody off.
    pub(super) async fn turn(&self, cx: &ToolContext) -> Result<Turn<'_>, ToolError> {
        let [.., last] = cx.cx.id().to_bytes();
        let mut lane = self.0[usize::from(last) % LANES].lock().await;
        // It is put back by whoever knows that it still holds: a call that is cut
        // off may have begun something.
        let live = match lane.take() {
            Some(live) if live.of == Live::answer(cx) => live,
            _ => Live::look(cx).await?,
        };
        Ok(Turn { lane, live })
    }
}

/// The turn of one call to send somebody off.
pub(super) struct Turn<'a> {
    lane: MutexGuard<'a, Option<Live>>,
    live: Live,
}

impl Turn<'_> {
    /// The live agent that does this already.
    pub(super) async fn twin(
        &self,
        cx: &ToolContext,
        task: &str,
    ) -> Result<Option<String>, ToolError> {
        let Some(id) = self.live.does.get(&short(task)) else { return Ok(None) };
        let other = match cx.cx.task(&id.to_string()).await {
            Ok(other) => other.record().await?,
            Err(Error::NotFound { .. } | Error::Forbidden(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // A repeated call finds the task that it has made.
        let own = other.spec.terms.key.as_deref() == Some(&*spawn_key(cx));
        let same = other.is_live() && told::purpose(&other).as_deref() == Some(task);
        Ok((same && !own).then(|| other.handle().to_owned()))
    }

    /// Ends the turn with one that was sent off.
    pub(super) fn sent_off(mut self, child: &TaskRef, task: &str) {
        self.live.does.insert(short(task), child.id());
        *self.lane = Some(self.live);
    }

    /// Ends the turn with nobody sent off.
    pub(super) fn pass(mut self) {
        *self.lane = Some(self.live);
    }
}

/// The key under which a call sends somebody off.
pub(super) fn spawn_key(cx: &ToolContext) -> String {
    format!("call {}", cx.key)
}

/// What the agents do that an agent has sent off, looked up once for all calls
/// of an answer.
#[derive(Debug)]
struct Live {
    of: (TaskId, u64),
    /// By what they do, in short.
    does: HashMap<u64, TaskId>,
}

impl Live {
    /// Which answer of which agent a call belongs to.
    fn answer(cx: &ToolContext) -> (TaskId, u64) {
        (cx.cx.id(), cx.branch.blocks)
    }

    async fn look(cx: &ToolContext) -> Result<Self, ToolError> {
        let mut live = Self { of: Self::answer(cx), does: HashMap::new() };
        let mut page = cx.cx.tasks().live().kind(KIND).await?;
        loop {
            for other in page.items.iter().filter(|other| other.id() != cx.cx.id()) {
                if let Some(task) = told::purpose(other) {
                    live.does.entry(short(&task)).or_insert(other.id());
                }
            }
            let Some(next) = page.next else { return Ok(live) };
            page = cx.cx.tasks().live().kind(KIND).after(next).await?;
        }
    }
}

fn short(task: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    task.hash(&mut hasher);
    hasher.finish()
}
