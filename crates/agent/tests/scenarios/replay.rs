//! Calls of ours that are made again because the process died in them.

use std::sync::Arc;

use offshoot_agent::{Agents, Brief, KIND};
use offshoot_models::{Call, Scripted, Turn};
use offshoot_runtime::Runtime;
use offshoot_store::{At, Fault, Faulty, Memory, Store};
use serde_json::json;

use crate::support::{Test, answers, purpose, whole};

/// A lead whose child has ended, and that says something to it.
fn script(call: &Call) -> Turn {
    match (purpose(call), answers(call)) {
        ("lead", 0) => {
            Turn::call([("spawn_agent", json!({"name": "a", "task": "a", "background": false}))])
        }
        ("lead", 1) => Turn::call([("send_message", json!({"to": "a", "text": "once more"}))]),
        ("lead", _) => {
            let told = whole(call);
            Turn::say(format!(
                "{} and {}",
                told.matches("first").count(),
                told.matches("second").count()
            ))
        }
        _ if whole(call).contains("once more") => Turn::say("second"),
        _ => Turn::say("first"),
    }
}

/// A store that fails there, an agent on it until it has ended or the process has
/// died, and how many commits there were.
async fn live(
    memory: &Memory,
    agents: &Agents,
    fault: At,
) -> Result<u64, Box<dyn std::error::Error>> {
    let store = Faulty::new(Arc::new(memory.clone()), fault);
    let open = Runtime::builder(Arc::new(store.clone()) as Arc<dyn Store>);
    let Ok(runtime) = open.backend(KIND, agents.backend()).open().await else {
        return Ok(store.commits());
    };
    let brief = Brief::new("scripted/model".parse()?, "lead");
    if let Ok(session) = runtime.session("main").await
        && let Ok(lead) = session.spawn(agents.request(&brief)?).name("lead").await
    {
        let mut ended = std::pin::pin!(lead.wait().into_future());
        while !store.has_crashed() {
            if let std::task::Poll::Ready(_) = futures_util::poll!(&mut ended) {
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
    let agents = || Agents::with_model(Scripted::new(script));
    let never = At { commit: u64::MAX, fault: Fault::CrashBefore };
    let commits = live(&Memory::new(), &agents(), never).await?;
    assert!(commits > 10, "{commits}");
    let mut taken_up = 0;
    for fault in [Fault::CrashBefore, Fault::CrashAfter] {
        for commit in 1..=commits {
            let (memory, agents) = (Memory::new(), agents());
            live(&memory, &agents, At { commit, fault }).await?;
            let runtime = Runtime::builder(memory).backend(KIND, agents.backend()).open().await?;
            // The process may have died before the lead was there.
            let Ok(lead) = runtime.task("lead").await else { continue };
            let answer: String = lead.wait().await?.decode()?;
            assert_eq!(answer, "1 and 1", "{fault:?} at {commit}");
            assert_eq!(runtime.tasks().await?.items.len(), 3, "{fault:?} at {commit}");
            taken_up += 1;
        }
    }
    assert!(taken_up > commits, "{taken_up}");
    Ok(())
}
