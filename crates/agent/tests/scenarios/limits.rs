//! Agents that reach a limit.

use std::sync::Arc;
use std::time::Duration;

use offshoot_agent::{Agents, Brief, Function, KIND, Limits, ToolContext, ToolError};
use offshoot_core::{Caps, FailureKind, Outcome};
use offshoot_models::{AnswerEvent, Call, Scripted, ToolChoice, Turn};
use offshoot_runtime::{Runtime, WaitResult};
use offshoot_sqlite::Sqlite;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::support::{Doors, Test, World, answers, heard, purpose, whole};

fn failure(ended: &WaitResult) -> (FailureKind, String) {
    match ended.outcome() {
        Some(Outcome::Failed(failure)) => (failure.kind, failure.message.clone()),
        other => panic!("{other:?}"),
    }
}

/// A script that works on and on, and reports its progress when tools are no longer allowed.
fn tireless(call: &Call) -> Turn {
    match call.choice {
        ToolChoice::None => Turn::say("half of it"),
        _ => Turn::call([("list_tasks", json!({}))]),
    }
}

#[tokio::test]
async fn s8_1_a_limit_on_steps_leaves_room_for_closing_words() -> Test {
    let world = World::new(tireless).await;
    let ended = world.agent_of(&world.brief("loop").steps(3)).await.wait().await?;
    let (kind, words) = failure(&ended);
    assert_eq!(kind, FailureKind::Budget);
    assert!(words.contains("3 steps") && words.contains("half of it"), "{words}");
    let asked = world.model.asked();
    assert_eq!(asked.len(), 4);
    assert!(asked.iter().all(|call| !call.tools.is_empty()), "tools are always sent");
    Ok(())
}

#[tokio::test]
async fn s8_1_a_tree_of_spawning_agents_comes_to_an_end() -> Test {
    assert_eq!(Limits::default().tree, 1_000);
    let limits = Limits { tree: 5, ..Limits::default() };
    let sends = |call: &Call| match answers(call) {
        0 => Turn::call(["a", "b"].map(|name| {
            let detached = name == "a";
            let task = format!("{}{name}", purpose(call));
            ("spawn_agent", json!({"name": task, "task": task, "detached": detached}))
        })),
        _ => Turn::say("done"),
    };
    let world = World::with(sends, |agents| agents.limits(limits)).await;
    world.agent("x").await.wait().await?;
    loop {
        let live = world.runtime().tasks().live().await?.items;
        let Some(task) = live.first() else { break };
        world.runtime().task(&task.id().to_string()).await?.wait().await?;
    }
    assert_eq!(world.runtime().tasks().await?.items.len(), 6);
    let told = world.model.asked().iter().map(whole).collect::<Vec<_>>().join("\n");
    let cap =
        "the cap on tasks of this kind ever spawned below one topmost task is reached (5 of 5)";
    assert!(told.contains(cap) && told.contains("do what is left yourself"), "{told}");
    assert!(!told.contains("raise the cap"), "no model can: {told}");
    // Another top-level agent has its own limit.
    let before = world.runtime().tasks().await?.items.len();
    world.agent("y").await.wait().await?;
    assert!(world.runtime().tasks().await?.items.len() > before + 1);
    Ok(())
}

#[tokio::test]
async fn s8_1_an_agent_that_may_spawn_no_more_hears_its_options() -> Test {
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => {
            Turn::call(["a", "b"].map(|name| ("spawn_agent", json!({"name": name, "task": name}))))
        }
        ("lead", 1) => Turn::call([("cancel_task", json!({"task": "a"}))]),
        ("lead", _) => Turn::say("done"),
        _ => Turn::Hang(Vec::new()),
    };
    let mut caps = Caps::default();
    caps.live.owner = Some(1);
    let world = World::under(script, caps).await;
    world.answer("lead").await;
    let asked = world.model.asked();
    let told = heard(asked.iter().find(|call| answers(call) == 1).unwrap());
    let way_out = "(1 of 1): wait for some of your tasks with wait_tasks or stop some";
    assert!(told[1].contains(way_out) && !told[1].contains("raise"), "{told:?}");
    Ok(())
}

#[tokio::test]
async fn an_agent_that_calls_a_tool_in_its_last_words_hears_so_and_ends() -> Test {
    let world = World::new(|_| Turn::call([("list_tasks", json!({}))])).await;
    let agent = world.agent_of(&world.brief("loop").steps(2)).await;
    let (kind, words) = failure(&agent.wait().await?);
    assert_eq!(kind, FailureKind::Budget);
    assert!(words.contains("without closing words"), "{words}");
    assert_eq!(world.model.asked().len(), 3);
    let last = agent.peek().last(1).await?.blocks.remove(0);
    assert!(last.text.unwrap_or_default().contains("no tool can be called any more"));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_limit_on_time_cuts_the_model_and_leaves_room_for_closing_words() -> Test {
    let world = World::new(|call| match call.choice {
        ToolChoice::None => Turn::say("half of it"),
        _ => Turn::Hang(vec![AnswerEvent::Text("so far".into())]),
    })
    .await;
    let agent = world.agent_of(&world.brief("think").time(Duration::from_secs(30))).await;
    let (kind, words) = failure(&agent.wait().await?);
    assert_eq!(kind, FailureKind::Timeout);
    assert!(words.contains("limit of 30s") && words.contains("half of it"), "{words}");
    let kept = agent.peek().last(50).await?.blocks;
    assert!(kept.iter().any(|block| block.text.as_deref() == Some("so far")), "{kept:?}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_limit_on_time_cuts_a_tool_that_hangs() -> Test {
    let script = |call: &Call| match (call.choice, answers(call)) {
        (ToolChoice::None, _) => Turn::say(heard(call)[0].to_owned()),
        _ => Turn::call([("stand", json!({"door": "shut"}))]),
    };
    let world = World::with(script, |agents| agents.tool(Doors::default().tool())).await;
    let agent = world.agent_of(&world.brief("stand").time(Duration::from_secs(30))).await;
    let (kind, words) = failure(&agent.wait().await?);
    assert_eq!(kind, FailureKind::Timeout);
    assert!(words.contains("cut short: the agent's time is over"), "{words}");
    Ok(())
}

/// A lead that waits for a child that never ends.
fn waits_for_a_hanging_child(call: &Call) -> Turn {
    match (call.choice, answers(call)) {
        (ToolChoice::None, _) => Turn::say("nothing came"),
        (_, 0) if heard(call) == ["lead"] => {
            Turn::call([("spawn_agent", json!({"name": "a", "task": "hang"}))])
        }
        _ if heard(call) == ["hang"] => Turn::Hang(Vec::new()),
        _ => Turn::say("waiting"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_on_time_includes_waits_for_children() -> Test {
    let world = World::new(waits_for_a_hanging_child).await;
    let agent = world.agent_of(&world.brief("lead").time(Duration::from_secs(30))).await;
    let (kind, words) = failure(&agent.wait().await?);
    assert_eq!(kind, FailureKind::Timeout);
    assert!(words.contains("nothing came"), "{words}");
    let child = world.runtime().task("agent-1/a").await?.wait().await?;
    assert!(matches!(child.outcome(), Some(Outcome::Cancelled { .. })), "{child:?}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_limit_on_time_also_holds_without_steps_left() -> Test {
    let world = World::new(waits_for_a_hanging_child).await;
    let brief = world.brief("lead").steps(2).time(Duration::from_secs(30));
    let (_, words) = failure(&world.agent_of(&brief).await.wait().await?);
    assert!(words.contains("nothing came"), "{words}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn closing_words_that_do_not_come_are_not_waited_for_without_end() -> Test {
    let world = World::new(|_| Turn::Hang(Vec::new())).await;
    let agent = world.agent_of(&world.brief("think").time(Duration::from_secs(30))).await;
    let (kind, words) = failure(&agent.wait().await?);
    assert_eq!(kind, FailureKind::Timeout);
    assert!(words.contains("without closing words"), "{words}");
    Ok(())
}

#[tokio::test]
async fn s5_2_a_continuation_has_a_fresh_budget() -> Test {
    let world = World::new(|call| match heard(call).as_slice() {
        ["go on"] => Turn::say("I went on"),
        _ => tireless(call),
    })
    .await;
    let agent = world.agent_of(&world.brief("loop").steps(2)).await;
    assert_eq!(failure(&agent.wait().await?).0, FailureKind::Budget);
    let receipts = agent.send("go on").await?;
    let next = world.session.task(&receipts.first().unwrap().task.to_string()).await?;
    assert_eq!(next.wait().await?.decode::<String>()?, "I went on");
    let record = next.record().await?;
    let report = offshoot_agent::AgentReport::of(&record).unwrap();
    assert_eq!((report.steps, report.tool_calls), (1, 0), "what it did itself");
    Ok(())
}

/// A model that reports each call before it answers.
#[tokio::test(flavor = "multi_thread")]
async fn s9_3_closing_words_that_were_committed_end_the_agent_after_a_crash() -> Test {
    let folder = tempfile::tempdir()?;
    let begun = Arc::new(Notify::new());
    let tell = begun.clone();
    let mut tries = 0;
    let model = Scripted::new(move |call| match call.choice {
        ToolChoice::None => {
            tries += 1;
            tell.notify_one();
            // The process dies during the request for the last words.
            if tries == 1 { Turn::Hang(Vec::new()) } else { Turn::say("half of it") }
        }
        _ => Turn::call([("list_tasks", json!({}))]),
    });
    let agents = Agents::with_model(model.clone());
    let open = || async {
        let runtime = Runtime::builder(Sqlite::at(folder.path())).backend(KIND, agents.backend());
        runtime.open().await
    };
    let runtime = open().await?;
    let session = runtime.session("main").await?;
    let brief = Brief::new("scripted/model".parse()?, "loop").steps(2);
    let id = session.spawn(agents.request(&brief)?).await?.id();
    begun.notified().await;
    drop((session, runtime));
    let runtime = open().await?;
    let agent = runtime.session("main").await?.task(&id.to_string()).await?;
    let (kind, words) = failure(&agent.wait().await?);
    assert_eq!(kind, FailureKind::Budget);
    assert!(words.contains("half of it"), "{words}");
    let asked = model.asked();
    let last = whole(asked.last().unwrap());
    assert_eq!(last.matches("kind=\"limit\"").count(), 1, "it is told once: {last}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_is_stopped_and_the_model_hears_so() -> Test {
    async fn hang(_: ToolContext, _: Map<String, Value>) -> Result<String, ToolError> {
        std::future::pending().await
    }
    let script = |call: &Call| match answers(call) {
        0 => Turn::call([("hang", json!({}))]),
        _ => Turn::say(heard(call)[0].to_owned()),
    };
    let limits = Limits { tool_span: Duration::from_secs(5), ..Limits::default() };
    let world = World::with(script, |agents| {
        agents.limits(limits).tool(Function::new("hang", "Hangs.", hang))
    })
    .await;
    let answer = world.answer("hang").await;
    assert!(answer.contains("took longer than 5 s and was stopped"), "{answer}");
    Ok(())
}
