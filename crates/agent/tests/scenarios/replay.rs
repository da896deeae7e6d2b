//! Calls of the built-in tools that are repeated because the process died in them.

use std::sync::Arc;

use offshoot_agent::{Agents, Brief, KIND, ModelSource, ModelUnavailable};
use offshoot_core::SessionId;
use offshoot_models::{Call, Endpoint, EndpointMismatch, Gate, Model, ModelName, Scripted, Turn};
use offshoot_runtime::{BoxFuture, Runtime};
use offshoot_store::{FaultPoint, FaultyStore, InjectedFault, Memory, Store};
use serde_json::json;
use tokio::sync::watch;

use crate::support::{Test, answers, purpose, whole};

/// A model for the lead, which needs a key, and one for its child, which does not.
#[derive(Debug)]
struct Locked {
    model: Scripted,
    unlocked: watch::Receiver<bool>,
}

impl ModelSource for Locked {
    fn find(
        &self,
        name: &ModelName,
        _: SessionId,
    ) -> Result<(Arc<dyn Model>, Gate), ModelUnavailable> {
        match *self.unlocked.borrow() || name.to_string() == "openai/child" {
            true => Ok((Arc::new(self.model.clone()), Gate::default())),
            false => Err(ModelUnavailable::NoKey(EndpointMismatch::NoKey("OPENAI_API_KEY".into()))),
        }
    }

    fn has_key(&self, _: &ModelName, _: SessionId, _: Option<&Endpoint>) -> BoxFuture<()> {
        let mut unlocked = self.unlocked.clone();
        Box::pin(async move { drop(unlocked.wait_for(|unlocked| *unlocked).await) })
    }
}

/// A lead whose child has ended, and that sends a message to it.
fn script(call: &Call) -> Turn {
    let told = whole(call);
    let count = |word: &str| told.matches(word).count();
    match (purpose(call), answers(call)) {
        ("lead", 0) => {
            let child = json!({"name": "a", "task": "a", "model": "openai/child",
                "background": false});
            Turn::call([("spawn_agent", child)])
        }
        ("lead", 1) => Turn::call([("send_message", json!({"to": "a", "text": "once more"}))]),
        ("lead", _) => Turn::say(format!("{} and {}", count("first"), count("second"))),
        _ => match count("once more") {
            0 => Turn::say("first"),
            1 => Turn::say("second"),
            _ => Turn::say("told twice"),
        },
    }
}

/// Runs an agent on a store that fails at this point, until the agent has ended or the process
/// has died. Returns the number of commits.
async fn live(
    memory: &Memory,
    agents: &Agents,
    fault: FaultPoint,
) -> Result<u64, Box<dyn std::error::Error>> {
    let store = FaultyStore::new(Arc::new(memory.clone()), fault);
    let open = Runtime::builder(Arc::new(store.clone()) as Arc<dyn Store>);
    let Ok(runtime) = open.backend(KIND, agents.backend()).open().await else {
        return Ok(store.commits());
    };
    let brief = Brief::new("openai/lead".parse()?, "lead");
    if let Ok(session) = runtime.session("main").await
        && let Ok(lead) = session.spawn(agents.request(&brief)?).name("lead").await
    {
        let mut ended = std::pin::pin!(lead.wait().into_future());
        while !store.has_crashed() {
            if futures_util::poll!(&mut ended).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    drop(runtime);
    tokio::task::yield_now().await;
    Ok(store.commits())
}

#[tokio::test(start_paused = true)]
async fn s9_4_a_message_that_is_sent_again_after_a_crash_makes_one_new_task() -> Test {
    let agents = || {
        let (lock, unlocked) = watch::channel(true);
        (lock, Agents::new(Locked { model: Scripted::new(script), unlocked }))
    };
    let never = FaultPoint { commit: u64::MAX, fault: InjectedFault::CrashBefore };
    let commits = live(&Memory::new(), &agents().1, never).await?;
    let mut taken_up = 0;
    for fault in [InjectedFault::CrashBefore, InjectedFault::CrashAfter] {
        for commit in 1..=commits {
            let (memory, (lock, agents)) = (Memory::new(), agents());
            live(&memory, &agents, FaultPoint { commit, fault }).await?;
            // Each spawned agent ends before the lead resumes.
            lock.send_replace(false);
            let runtime = Runtime::builder(memory).backend(KIND, agents.backend()).open().await?;
            // The process may have died before the lead was stored.
            let Ok(lead) = runtime.task("lead").await else { continue };
            for task in runtime.tasks().await?.items {
                if task.id() != lead.id() {
                    runtime.task(&task.id().to_string()).await?.wait().await?;
                }
            }
            lock.send_replace(true);
            let answer: String = lead.wait().await?.decode()?;
            assert_eq!(answer, "1 and 1", "{fault:?} at {commit}");
            assert_eq!(runtime.tasks().await?.items.len(), 3, "{fault:?} at {commit}");
            taken_up += 1;
        }
    }
    assert!(taken_up > commits, "{taken_up} of {commits}");
    Ok(())
}
