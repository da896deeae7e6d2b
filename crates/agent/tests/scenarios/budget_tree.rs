//! The budget that a tree of agents shares.

use std::time::Duration;

use offshoot_agent::{AgentReport, Agents};
use offshoot_core::{FailureKind, Outcome, Phase};
use offshoot_models::{Call, ModelLimits, Scripted, ToolChoice, Turn};
use offshoot_runtime::{Runtime, Session, TaskRef};
use offshoot_store::Memory;
use serde_json::{Value, json};

use crate::budget_support::{Meter, SlowModel, budget, failure, priced, tireless};
use crate::support::{Doors, Test, World, answers, heard, purpose, whole};

/// A root with four children and fifteen grandchildren: twenty agents. Each works for a while,
/// and reports its progress when tools are no longer allowed.
pub(crate) fn tree(call: &Call) -> Turn {
    let spawn = |names: &[String]| {
        let child = |name: &String| ("spawn_agent", json!({"name": name, "task": name}));
        Turn::call(names.iter().map(child).collect::<Vec<_>>())
    };
    let below = |many: usize| -> Vec<String> {
        (0..many).map(|number| format!("{}{number}", purpose(call))).collect()
    };
    match (call.choice, purpose(call), answers(call)) {
        (ToolChoice::None, ..) => Turn::say("half of it"),
        (_, "r", 0) => spawn(&below(4)),
        (_, "r0", 0) => spawn(&below(3)),
        (_, name, 0) if name.len() == 2 => spawn(&below(4)),
        (_, name, 0..3) if name.len() == 3 => Turn::call([("list_tasks", json!({}))]),
        _ => Turn::say("done"),
    }
}

/// Waits until every live task has ended.
pub(crate) async fn all_ended(runtime: &Runtime) -> Result<Vec<TaskRef>, offshoot_runtime::Error> {
    while let Some(task) = runtime.tasks().live().await?.items.first() {
        runtime.task(&task.id().to_string()).await?.wait().await?;
    }
    let mut all = Vec::new();
    for task in runtime.tasks().await?.items {
        all.push(runtime.task(&task.id().to_string()).await?);
    }
    Ok(all)
}

#[tokio::test(start_paused = true)]
async fn s8_2_a_tree_of_twenty_spends_no_more_than_its_root_may() -> Test {
    for (limits, all) in [
        ("2m tokens, 9usd, 500 steps", true),
        ("120k tokens", false),
        ("60k tokens, 9usd", false),
        ("0.1usd", false),
        ("25 steps", false),
    ] {
        let meter = Meter::default();
        let world = World::of(meter.model(tree), priced).await;
        let root = world.agent_of(&world.brief("r").budget(budget(limits))).await;
        let ended = root.wait().await?;
        let agents = all_ended(world.runtime()).await?;
        let limit = budget(limits);
        assert!(meter.tokens() <= limit.tokens.unwrap_or(u64::MAX), "{limits}: {meter:?}");
        assert!(meter.money() <= limit.money.map_or(u64::MAX, |most| most.0), "{limits}");
        assert!(meter.calls() <= limit.steps.unwrap_or(u64::MAX), "{limits}: {meter:?}");
        // The displayed sum, the charged sum and the use are equal.
        let spent = world.agents.spent(&root).await?.unwrap();
        let mut shown = 0;
        for agent in &agents {
            shown +=
                AgentReport::of(&agent.record().await?).map_or(0, |report| report.usage.total());
        }
        if limit.tokens.is_some() {
            assert_eq!((spent.tokens, shown), (meter.tokens(), meter.tokens()), "{limits}");
            assert_eq!(root.counted("tokens").await?, meter.tokens(), "{limits}");
        }
        if limit.money.is_some() {
            assert_eq!(spent.money.0, meter.money(), "{limits}");
        }
        if limit.steps.is_some() {
            assert_eq!(spent.steps, meter.calls(), "{limits}");
        }
        if all {
            assert_eq!(agents.len(), 20);
            assert_eq!(ended.decode::<String>()?, "done");
        } else {
            // The owner of the budget has its last words, regardless of the use of the others.
            let words = match ended.outcome() {
                Some(Outcome::Failed(failure)) => failure.message.clone(),
                _ => ended.decode::<String>()?,
            };
            assert!(words.contains("half of it") || words == "done", "{limits}: {words}");
            assert!(meter.calls() > 5, "{limits}: {meter:?}");
        }
    }
    Ok(())
}

/// A lead that spawns `children` with these arguments and then waits.
fn lead(children: Vec<Value>) -> impl FnMut(&Call) -> Turn + Send + 'static {
    move |call| match (call.choice, purpose(call), answers(call)) {
        (ToolChoice::None, ..) => Turn::say("half of it"),
        (_, "lead", 0) => Turn::call(children.iter().map(|child| ("spawn_agent", child.clone()))),
        (_, "loop", _) => tireless(call),
        _ => Turn::say("done"),
    }
}

#[tokio::test]
async fn s7_3_s8_2_a_child_cannot_widen_the_budget_of_its_owner() -> Test {
    let meter = Meter::default();
    let child = json!({"name": "a", "task": "loop", "budget": "900k tokens, 50 steps"});
    let world = World::of(meter.model(lead(vec![child])), priced).await;
    let brief = world.brief("lead").budget(budget("40k tokens"));
    let root = world.agent_of(&brief).await;
    root.wait().await?;
    let told = whole(world.model.asked().iter().find(|call| answers(call) == 1).unwrap());
    assert!(told.contains("It was to have 900000 tokens, 50 steps and gets 3"), "{told}");
    assert!(told.contains("no more is left of what you may spend"), "{told}");
    let child = world.runtime().task("agent-1/a").await?;
    let (kind, words) = failure(&child.wait().await?);
    assert_eq!(kind, FailureKind::Budget);
    assert!(words.contains("half of it"), "{words}");
    assert!(meter.tokens() <= 40_000, "{}", meter.tokens());
    let (own, all) = (child.counted("tokens").await?, root.counted("tokens").await?);
    assert!(0 < own && own < all, "{own} of {all}");
    assert_eq!(all, meter.tokens());
    Ok(())
}

#[tokio::test]
async fn s8_2_a_budget_of_its_own_is_less_and_counts_on_both() -> Test {
    let meter = Meter::default();
    let child = json!({"name": "a", "task": "loop", "budget": "5 steps"});
    let world = World::of(meter.model(lead(vec![child])), priced).await;
    let root = world.agent_of(&world.brief("lead").budget(budget("50 steps"))).await;
    root.wait().await?;
    let child = world.runtime().task("agent-1/a").await?;
    assert!(failure(&child.wait().await?).1.contains("its budget, of 5 steps"));
    assert_eq!(child.counted("steps").await?, 5);
    assert_eq!(root.counted("steps").await?, meter.calls());
    Ok(())
}

#[tokio::test]
async fn s8_2_a_spawn_with_an_invalid_budget_is_refused_with_the_reason() -> Test {
    let children = ["200k", "1.5 steps", "lots"]
        .map(|budget| json!({"name": "a", "task": "loop", "budget": budget}));
    let world = World::new(lead(children.to_vec())).await;
    assert_eq!(world.answer("lead").await, "done");
    let asked = world.model.asked();
    let told = heard(asked.last().unwrap()).join("\n");
    assert!(told.contains("write 200k tokens"), "{told}");
    assert!(told.contains("1.5 is not a whole number"), "{told}");
    assert_eq!(told.matches("is no budget").count(), 3, "{told}");
    assert_eq!(world.runtime().tasks().await?.items.len(), 1);
    Ok(())
}

#[tokio::test]
async fn s8_2_a_spawn_on_an_empty_budget_is_refused() -> Test {
    // No step is left for the second child.
    let child = json!({"name": "a", "task": "loop", "background": false, "budget": "1 step"});
    let script = move |call: &Call| match (call.choice, purpose(call), answers(call)) {
        (ToolChoice::None, ..) => Turn::say("half of it"),
        (_, "lead", 0) => Turn::call([("spawn_agent", child.clone())]),
        _ => Turn::say("done"),
    };
    let world = World::new(script).await;
    let root = world.agent_of(&world.brief("lead").budget(budget("2 steps"))).await;
    let ended = root.wait().await?;
    // Of two steps the agent has used one, and the other is reserved for its last words.
    let (kind, words) = failure(&ended);
    assert_eq!(kind, FailureKind::Budget);
    assert!(words.contains("half of it"), "{words}");
    let child = world.runtime().task("agent-1/a").await?;
    assert!(failure(&child.wait().await?).1.contains("without closing words"));
    assert_eq!(root.counted("steps").await?, 2);
    Ok(())
}

#[tokio::test]
async fn s8_2_a_detached_agent_still_charges_the_budgets_above_it() -> Test {
    let meter = Meter::default();
    let child = json!({"name": "a", "task": "loop", "detached": true});
    let world = World::of(meter.model(lead(vec![child])), priced).await;
    let root = world.agent_of(&world.brief("lead").budget(budget("40k tokens, 1h"))).await;
    assert_eq!(root.wait().await?.decode::<String>()?, "done");
    let child = world.child("a").await;
    let (kind, words) = failure(&child.wait().await?);
    assert_eq!(kind, FailureKind::Budget);
    assert!(words.contains("the budget that it shares, of 40000 tokens"), "{words}");
    assert!(words.contains("half of it"), "{words}");
    assert!(meter.tokens() <= 40_000, "{}", meter.tokens());
    assert_eq!(root.counted("tokens").await?, meter.tokens());
    let brief: offshoot_agent::Brief = child.spec().input.decode()?;
    assert!(brief.budget.time.is_some(), "it has no more time than its owner had");
    Ok(())
}

#[tokio::test]
async fn s8_2_a_model_without_a_price_is_refused_on_limited_money() -> Test {
    let child = json!({"name": "a", "task": "loop", "model": "openai/unknown-model"});
    let world = World::with(lead(vec![child]), priced).await;
    let root = world.agent_of(&world.brief("lead").budget(budget("1usd"))).await;
    assert_eq!(root.wait().await?.decode::<String>()?, "done");
    let told = heard(world.model.asked().last().unwrap()).join("\n");
    assert!(told.contains("Nothing was started: the price of openai/unknown-model"), "{told}");
    assert_eq!(world.runtime().tasks().await?.items.len(), 1);
    Ok(())
}

/// Two agents whose calls exceed one pool together: the answer to the first call waits at a
/// door.
async fn two_at_once() -> Result<(Doors, Runtime, Session, TaskRef), offshoot_runtime::Error> {
    let doors = Doors::default();
    let script = |call: &Call| match (call.choice, purpose(call), answers(call)) {
        (ToolChoice::None, ..) => Turn::say("half of it"),
        (_, "lead", 0) => Turn::call([
            ("spawn_agent", json!({"name": "a", "task": "wait: a"})),
            ("stand", json!({"door": "lead"})),
        ]),
        (_, "lead", 1) => Turn::call([("spawn_agent", json!({"name": "b", "task": "b"}))]),
        _ => Turn::say("done"),
    };
    // The calls are charged the floor alone, which leaves room for their reservations.
    let inner = Scripted::new(script);
    let inner = inner.with_limits(ModelLimits { window: 128_000, output: 16_000 });
    let slow = SlowModel { inner: inner.clone(), doors: doors.clone() };
    let agents = priced(Agents::with_model(slow)).tool(doors.tool());
    let runtime = Runtime::builder(Memory::new());
    let runtime = runtime.backend(offshoot_agent::KIND, agents.backend()).open().await?;
    let session = runtime.session("main").await?;
    let brief = |task| offshoot_agent::Brief::new("scripted/model".parse().unwrap(), task);
    session.spawn(agents.request(&brief("size")).unwrap()).await?.wait().await?;
    // A call of this size leaves enough for the last words of the agent and of its owner, and
    // too little for another call.
    let limits = format!("{} tokens", 6 * size(&inner.asked()[0]));
    let brief = brief("lead").budget(budget(&limits));
    let lead = session.spawn(agents.request(&brief).unwrap()).name("lead").await?;
    // The call of the first child is in flight before the second child is spawned.
    child(&runtime, "lead/a").await;
    while lead.counted("tokens").await? < size(&inner.asked()[0]) {
        tokio::task::yield_now().await;
    }
    doors.open("lead");
    let second = child(&runtime, "lead/b").await;
    while second.record().await?.state.phase() != Phase::Waiting {
        tokio::task::yield_now().await;
    }
    Ok((doors, runtime, session, lead))
}

/// The approximate number of tokens of a call with a nearly empty conversation.
fn size(call: &Call) -> u64 {
    let tools = call
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len());
    (call.system.len() + tools.sum::<usize>()) as u64 * 2 / 7
}

async fn child(runtime: &Runtime, handle: &str) -> TaskRef {
    loop {
        match runtime.task(handle).await {
            Ok(child) => return child,
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn s8_2_an_agent_waits_for_the_reservations_of_others() -> Test {
    let (doors, runtime, _session, lead) = two_at_once().await?;
    let second = runtime.task("lead/b").await?;
    let held = loop {
        let report = AgentReport::of(&second.record().await?);
        match report.and_then(|report| report.model_delay).and_then(|delay| delay.held) {
            Some(held) => break held,
            // The counter is written once a second, and time is virtual.
            None => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    };
    assert!(held.contains("is reserved"), "{held}");
    doors.open("a");
    assert_eq!(second.wait().await?.decode::<String>()?, "done");
    assert_eq!(runtime.task("lead/a").await?.wait().await?.decode::<String>()?, "done");
    assert_eq!(lead.wait().await?.decode::<String>()?, "done");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s8_2_an_agent_that_waits_for_reservations_can_be_cancelled() -> Test {
    let (doors, runtime, _session, lead) = two_at_once().await?;
    let second = runtime.task("lead/b").await?;
    second.cancel("enough").await?;
    let ended = second.wait().await?;
    assert!(matches!(ended.outcome(), Some(Outcome::Cancelled { .. })), "{ended:?}");
    doors.open("a");
    assert_eq!(runtime.task("lead/a").await?.wait().await?.decode::<String>()?, "done");
    assert_eq!(lead.wait().await?.decode::<String>()?, "done");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s8_2_a_reservation_is_not_shown_as_used() -> Test {
    let doors = Doors::default();
    let slow = SlowModel { inner: Scripted::new(|_| Turn::say("done")), doors: doors.clone() };
    let agents = Agents::with_model(slow);
    let runtime = Runtime::builder(Memory::new());
    let runtime = runtime.backend(offshoot_agent::KIND, agents.backend()).open().await?;
    let session = runtime.session("main").await?;
    let brief = offshoot_agent::Brief::new("scripted/model".parse()?, "wait: a");
    let brief = brief.budget(budget("50k tokens"));
    let agent = session.spawn(agents.request(&brief)?).await?;
    while agent.counted("tokens").await? == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(agents.spent(&agent).await?.unwrap().tokens, 0);
    doors.open("a");
    agent.wait().await?;
    let spent = agents.spent(&agent).await?.unwrap().tokens;
    assert!(spent > 0 && spent == agent.counted("tokens").await?, "{spent}");
    Ok(())
}
