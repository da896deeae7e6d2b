//! Missing and incomplete answers: the agent asks again.

use std::time::Duration;

use futures_util::future::join_all;
use offshoot_core::{TaskState, WaitingOn};
use offshoot_models::Timeouts;
use offshoot_runtime::{TaskRef, WhyReason};
use serde_json::{Value, json};

use crate::support::{Test, World, turns};

fn done() -> Value {
    json!({"response": {"content": "done"}})
}

#[tokio::test]
#[ignore = "needs aimock: cargo xtask test --only emulator"]
async fn s8_4_an_agent_whose_rate_is_limited_waits_and_does_not_fail() -> Test {
    let error = json!({"message": "slow down", "type": "rate_limit_error"});
    let limited = json!({"response": {"error": error, "status": 429, "retryAfter": 2}});
    let world = World::of(&turns(&[limited, done()])).await;
    // The agents run at once: each waits two seconds.
    let agents = world.agents("go").await;
    for waited in join_all(agents.iter().map(|(_, agent)| seen_to_wait(agent))).await {
        assert!(waited?.iter().any(|reason| matches!(reason, WhyReason::RateGate(_))));
    }
    for (model, agent) in agents {
        assert_eq!(agent.wait().await?.decode::<String>()?, "done", "{model}");
        assert_eq!(world.asked(model).len(), 2, "{model}");
    }
    Ok(())
}

/// The reason for an agent's wait at the rate gate; nothing if it never waited.
async fn seen_to_wait(agent: &TaskRef) -> Result<Vec<WhyReason>, offshoot_runtime::Error> {
    let mut watch = agent.watch();
    while let Some(task) = watch.next().await {
        if matches!(task?.state, TaskState::Waiting(WaitingOn::RateGate(_))) {
            return Ok(agent.why().await?.reasons);
        }
    }
    Ok(Vec::new())
}

#[tokio::test]
#[ignore = "needs aimock: cargo xtask test --only emulator"]
async fn a_cut_answer_is_requested_again_and_leaves_nothing_behind() -> Test {
    let long = json!({"content": "a longer answer that is cut somewhere in the middle of it"});
    let cut = json!({"response": long, "chunkSize": 3, "truncateAfterChunks": 6});
    let world = World::of(&turns(&[cut, done()])).await;
    for (model, agent) in world.agents("go").await {
        assert_eq!(agent.wait().await?.decode::<String>()?, "done", "{model}");
        let asked = world.asked(model);
        assert_eq!(asked.len(), 2, "{model}");
        assert_eq!(asked[0].body, asked[1].body, "{model}");
    }
    Ok(())
}

#[tokio::test]
#[ignore = "needs aimock: cargo xtask test --only emulator"]
async fn a_stalled_answer_is_given_up_and_requested_again() -> Test {
    let long = json!({"content": "a longer answer that stalls in the middle of it"});
    let stalls = json!({"response": long, "chunkSize": 3, "latency": 3_600_000});
    let (soon, long) = (Duration::from_millis(500), Duration::from_secs(3_600));
    let patience = Timeouts { first: soon, next: soon, word: long };
    let world = World::with(&turns(&[stalls, done()]), patience).await;
    for (model, agent) in world.agents("go").await {
        assert_eq!(agent.wait().await?.decode::<String>()?, "done", "{model}");
        // A slow machine stalls, too.
        assert!(world.asked(model).len() >= 2, "{model}");
    }
    Ok(())
}
