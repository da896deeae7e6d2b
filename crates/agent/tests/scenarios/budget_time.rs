//! The time budget of agents, and the waits that are free of charge.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use offshoot_agent::{Agents, Brief, Function, KIND, Tool, ToolContext, ToolError};
use offshoot_core::FailureKind;
use offshoot_models::{Call, Scripted, ToolChoice, Turn};
use offshoot_runtime::Runtime;
use offshoot_store::Memory;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::budget_support::{budget, failure};
use crate::support::{Test, World, answers, heard};

type Nothing = Map<String, Value>;

/// A tool that waits an hour for a person.
fn ask_person() -> impl Tool {
    async fn ask(cx: ToolContext, _: Nothing) -> Result<String, ToolError> {
        cx.on_hold(tokio::time::sleep(Duration::from_secs(3_600))).await;
        Ok("yes".to_owned())
    }
    Function::new("ask_person", "Asks.", ask).idempotent().long_running()
}

/// A tool that runs for this many seconds.
fn work() -> impl Tool {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Seconds {
        seconds: u64,
    }
    async fn work(_: ToolContext, asked: Seconds) -> Result<String, ToolError> {
        tokio::time::sleep(Duration::from_secs(asked.seconds)).await;
        Ok("worked".to_owned())
    }
    Function::new("work", "Works.", work).idempotent().long_running()
}

#[tokio::test(start_paused = true)]
async fn s8_2_a_budget_of_time_ends_with_last_words() -> Test {
    let script = |call: &Call| match call.choice {
        ToolChoice::None => Turn::say("half of it"),
        _ => Turn::call([("work", json!({"seconds": 50}))]),
    };
    let world = World::with(script, |agents| agents.tool(work())).await;
    let agent = world.agent_of(&world.brief("loop").budget(budget("2m"))).await;
    let (kind, words) = failure(&agent.wait().await?);
    assert_eq!(kind, FailureKind::Timeout);
    assert!(words.contains("limit of 2m;") && words.contains("half of it"), "{words}");
    let spent = world.agents.spent(&agent).await?.unwrap();
    assert_eq!(spent.limits, budget("2m"));
    // The warning comes in time.
    let asked = world.model.asked();
    let told: Vec<_> =
        asked.iter().map(|call| heard(call).join("").contains("- 20s of 2m")).collect();
    assert_eq!(told, [false, false, true, false], "{:?}", heard(&asked[2]));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s8_2_waiting_for_people_costs_no_time() -> Test {
    let script = |call: &Call| match (call.choice, answers(call)) {
        (ToolChoice::None, _) => Turn::say("half of it"),
        (_, 0) => Turn::call([("work", json!({"seconds": 30}))]),
        // Two calls at once, of which only one works.
        (_, 1) => Turn::call([("ask_person", json!({})), ("work", json!({"seconds": 1_000}))]),
        (_, 2) => Turn::call([("work", json!({"seconds": 20}))]),
        (_, 3) => Turn::say("in time"),
        _ => Turn::say("again"),
    };
    let world = World::with(script, |agents| agents.tool(work()).tool(ask_person())).await;
    let agent = world.agent_of(&world.brief("ask").budget(budget("1m"))).await;
    assert_eq!(agent.wait().await?.decode::<String>()?, "in time");
    // The clock goes on after the wait.
    let script = |call: &Call| match (call.choice, answers(call)) {
        (ToolChoice::None, _) => Turn::say("half of it"),
        (_, 0) => Turn::call([("ask_person", json!({}))]),
        _ => Turn::call([("work", json!({"seconds": 50}))]),
    };
    let world = World::with(script, |agents| agents.tool(work()).tool(ask_person())).await;
    let agent = world.agent_of(&world.brief("ask").budget(budget("1m"))).await;
    let began = tokio::time::Instant::now();
    assert_eq!(failure(&agent.wait().await?).0, FailureKind::Timeout);
    let took = began.elapsed().as_secs();
    assert!((3_660..3_670).contains(&took), "{took}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s8_2_waiting_for_people_costs_no_time_across_a_crash() -> Test {
    let (asked, begun) = (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
    let tool = {
        let (asked, begun) = (asked.clone(), begun.clone());
        move |cx: ToolContext, _: Nothing| {
            let (times, begun) = (asked.fetch_add(1, Ordering::SeqCst), begun.clone());
            async move {
                let wait = async {
                    begun.notify_one();
                    match times {
                        0 => std::future::pending().await,
                        _ => tokio::time::sleep(Duration::from_secs(600)).await,
                    }
                };
                cx.on_hold(wait).await;
                Ok::<_, ToolError>("yes".to_owned())
            }
        }
    };
    let script = |call: &Call| match (call.choice, answers(call)) {
        (ToolChoice::None, _) => Turn::say("half of it"),
        (_, 0) => Turn::call([("ask_person", json!({}))]),
        (_, 1) => Turn::call([("work", json!({"seconds": 50}))]),
        _ => Turn::say("in time"),
    };
    let agents = Agents::with_model(Scripted::new(script)).tool(work());
    let agents =
        agents.tool(Function::new("ask_person", "Asks.", tool).idempotent().long_running());
    let memory = Memory::new();
    let open =
        || async { Runtime::builder(memory.clone()).backend(KIND, agents.backend()).open().await };
    let runtime = open().await?;
    let session = runtime.session("main").await?;
    let brief = Brief::new("scripted/model".parse()?, "ask").budget(budget("1m"));
    let id = session.spawn(agents.request(&brief)?).await?.id();
    begun.notified().await;
    // The agent waits for long, and the process is gone for longer.
    tokio::time::sleep(Duration::from_secs(1_000)).await;
    drop((session, runtime));
    tokio::task::yield_now().await;
    tokio::time::sleep(Duration::from_secs(5_000)).await;
    let runtime = open().await?;
    let agent = runtime.task(&id.to_string()).await?;
    assert_eq!(agent.wait().await?.decode::<String>()?, "in time");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    Ok(())
}
