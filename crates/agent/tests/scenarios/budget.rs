//! The budget of one agent.

use offshoot_agent::{AgentReport, Agents, Budget, Function, KIND, ToolContext, ToolError};
use offshoot_core::FailureKind;
use offshoot_models::{
    AnswerEvent, Call, ModelError, ModelLimits, Money, Part, Provider, ToolChoice, Turn, Usage,
};
use offshoot_runtime::Runtime;
use offshoot_store::{FaultPoint, FaultyStore, InjectedFault, Memory, Store};
use serde_json::{Map, Value, json};
use std::sync::Arc;

use crate::budget_support::{Meter, budget, failure, priced, tireless};
use crate::support::{Test, World, answers, heard, whole};

/// The number of notices that warn of a small remainder.
fn warnings(call: &Call) -> usize {
    whole(call).matches("<notice kind=\"budget\"").count()
}

#[tokio::test]
async fn s8_2_the_use_stays_within_the_budget_and_last_words_fit() -> Test {
    for limits in ["20k tokens", "0.03usd", "30k tokens, 0.02usd", "6 steps"] {
        let meter = Meter::default();
        let world = World::of(meter.model(tireless), priced).await;
        let agent = world.agent_of(&world.brief("loop").budget(budget(limits))).await;
        let (kind, words) = failure(&agent.wait().await?);
        assert_eq!(kind, FailureKind::Budget, "{limits}");
        assert!(words.contains("closing words: half of it"), "{limits}: {words}");
        let Budget { tokens, money, steps, .. } = budget(limits);
        assert!(meter.tokens() <= tokens.unwrap_or(u64::MAX), "{limits}: {}", meter.tokens());
        assert!(meter.money() <= money.map_or(u64::MAX, |money| money.0), "{limits}");
        assert!(meter.calls() <= steps.unwrap_or(u64::MAX), "{limits}: {}", meter.calls());
        assert!(meter.calls() >= 3, "{limits}: {}", meter.calls());
        // The displayed, the charged and the used amounts are equal.
        let spent = *AgentReport::of(&agent.record().await?).unwrap().spent.unwrap();
        let live = world.agents.spent(&agent).await?.unwrap();
        assert_eq!(spent, live, "{limits}");
        if tokens.is_some() {
            assert_eq!(spent.tokens, meter.tokens(), "{limits}");
            assert_eq!(agent.counted("tokens").await?, meter.tokens(), "{limits}");
        }
        if money.is_some() {
            assert_eq!(spent.money, Money(meter.money()), "{limits}");
        }
        let calls = world.model.asked();
        assert_eq!(calls.last().unwrap().choice, ToolChoice::None);
        assert!(calls.iter().all(|call| !call.tools.is_empty() && call.max_output.is_some()));
    }
    Ok(())
}

#[tokio::test]
async fn s8_2_four_steps_are_four_answers_with_the_last_words() -> Test {
    let world = World::new(tireless).await;
    let agent = world.agent_of(&world.brief("loop").budget(budget("4 steps"))).await;
    let (_, words) = failure(&agent.wait().await?);
    assert!(words.contains("4 steps") && words.contains("half of it"), "{words}");
    assert_eq!(world.model.asked().len(), 4);
    Ok(())
}

#[tokio::test]
async fn s8_2_zero_means_none_and_absent_means_unlimited() -> Test {
    for limits in ["0 tokens", "0usd", "0 steps", "0s"] {
        let world = World::with(tireless, priced).await;
        let agent = world.agent_of(&world.brief("loop").budget(budget(limits))).await;
        let (kind, words) = failure(&agent.wait().await?);
        assert!(matches!(kind, FailureKind::Budget | FailureKind::Timeout), "{limits}: {kind:?}");
        assert!(words.contains("without closing words"), "{limits}: {words}");
        let counted = limits != "0s";
        assert_eq!(words.contains("too little to ask the model even once"), counted, "{words}");
        assert_eq!(world.model.asked().len(), 0, "{limits}");
        let spent = world.agents.spent(&agent).await?.unwrap();
        assert_eq!((spent.tokens, spent.money.0, spent.steps), (0, 0, 0), "{limits}");
    }
    let world = World::with(|_| Turn::say("done"), priced).await;
    let agent = world.agent_of(&world.brief("say").budget(Budget::default())).await;
    assert_eq!(agent.wait().await?.decode::<String>()?, "done");
    assert_eq!(agent.counted("tokens").await?, 0, "nothing is counted that is not limited");
    assert_eq!(world.agents.spent(&agent).await?, None);
    assert!(world.model.asked()[0].max_output.is_none());
    Ok(())
}

#[tokio::test]
async fn s8_2_a_small_budget_is_enough_for_a_small_task() -> Test {
    let meter = Meter::default();
    let world = World::of(meter.model(|_| Turn::say("done")), priced).await;
    let agent = world.agent_of(&world.brief("Say done.").budget(budget("8k tokens"))).await;
    assert_eq!(agent.wait().await?.decode::<String>()?, "done");
    assert!(world.model.asked()[0].max_output.unwrap() >= 256);
    Ok(())
}

#[tokio::test]
async fn s8_2_a_model_that_underreports_tokens_still_ends() -> Test {
    let world = World::new(|call| {
        let Turn::Answer(mut answer) = tireless(call) else { unreachable!("it answers") };
        answer.parts.insert(0, Part::text("lorem ipsum ".repeat(80)));
        answer.usage = Usage { input: 1, output: 1, ..Usage::default() };
        Turn::Answer(answer)
    });
    let world = world.await;
    let agent = world.agent_of(&world.brief("loop").budget(budget("40k tokens"))).await;
    let (kind, _) = failure(&agent.wait().await?);
    assert_eq!(kind, FailureKind::Budget);
    let (calls, spent) = (world.model.asked().len() as u64, agent.counted("tokens").await?);
    // Each call reads all that came before it.
    assert!(spent >= 60 * calls * (calls - 1) / 2, "{calls} calls took {spent}");
    let report = AgentReport::of(&agent.record().await?).unwrap();
    assert_eq!(report.usage.total(), spent, "the sum shown is the sum charged");
    Ok(())
}

#[tokio::test]
async fn s8_2_one_notice_warns_of_a_small_remainder() -> Test {
    let world = World::new(tireless).await;
    let agent = world.agent_of(&world.brief("loop").budget(budget("10 steps"))).await;
    agent.wait().await?;
    let asked = world.model.asked();
    assert_eq!(asked.len(), 10);
    let told: Vec<_> = asked.iter().map(warnings).collect();
    assert_eq!(told, [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
    let notice = heard(&asked[8]).join("\n");
    assert!(notice.contains("- 2 steps of 10 steps"), "{notice}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s8_2_one_notice_warns_of_a_small_remainder_across_a_crash() -> Test {
    let live = async |memory: &Memory, agents: &Agents, fault: FaultPoint| {
        let store = FaultyStore::new(Arc::new(memory.clone()), fault);
        let open = Runtime::builder(Arc::new(store.clone()) as Arc<dyn Store>);
        let Ok(runtime) = open.backend(KIND, agents.backend()).open().await else {
            return store.commits();
        };
        let brief = offshoot_agent::Brief::new("scripted/model".parse().unwrap(), "loop");
        let brief = brief.budget(budget("8 steps"));
        let request = agents.request(&brief).unwrap();
        if let Ok(session) = runtime.session("main").await
            && let Ok(agent) = session.spawn(request).name("a").await
        {
            let mut ended = std::pin::pin!(agent.wait().into_future());
            while !store.has_crashed() && !futures_util::poll!(&mut ended).is_ready() {
                tokio::task::yield_now().await;
            }
        }
        store.commits()
    };
    let fresh = || {
        let model = offshoot_models::Scripted::new(tireless);
        (model.clone(), Agents::with_model(model))
    };
    let never = FaultPoint { commit: u64::MAX, fault: InjectedFault::CrashBefore };
    let commits = live(&Memory::new(), &fresh().1, never).await;
    let mut taken_up = 0;
    for fault in [InjectedFault::CrashBefore, InjectedFault::CrashAfter] {
        for commit in 1..=commits {
            let (memory, (model, agents)) = (Memory::new(), fresh());
            live(&memory, &agents, FaultPoint { commit, fault }).await;
            let runtime = Runtime::builder(memory).backend(KIND, agents.backend()).open().await?;
            let Ok(agent) = runtime.task("a").await else { continue };
            let ended = agent.wait().await?;
            let (_, words) = failure(&ended);
            let asked = model.asked();
            assert!(asked.len() <= 8, "{fault:?} at {commit}: {}", asked.len());
            let blocks = agent.peek().last(100).limit(100).await?.blocks;
            let notices = blocks.iter().filter_map(|block| block.text.as_deref());
            let told = notices.filter(|text| text.starts_with("<notice kind=\"budget\"")).count();
            assert_eq!(told, 1, "{fault:?} at {commit}: {words}");
            let spent = agents.spent(&agent).await?.unwrap();
            assert!(spent.steps <= 8, "{fault:?} at {commit}: {spent:?}");
            taken_up += 1;
        }
    }
    assert!(taken_up > commits, "{taken_up} of {commits}");
    Ok(())
}

#[tokio::test]
async fn s8_2_a_limit_on_money_without_a_price_is_refused_at_the_start() -> Test {
    let world = World::new(|_| Turn::say("done")).await;
    let mut brief = world.brief("say").budget(budget("1usd"));
    brief.model = "openai/unknown-model".parse()?;
    let told = world.agents.request(&brief).unwrap_err().to_string();
    assert!(told.contains("the price of openai/unknown-model is not known"), "{told}");
    assert!(told.contains("limit tokens instead"), "{told}");
    // A spawn request that skips this check fails when the agent starts.
    let request = offshoot_runtime::TaskRequest::new(KIND, offshoot_core::Payload::encode(&brief)?);
    let agent = world.session.spawn(request).await?;
    let (kind, words) = failure(&agent.wait().await?);
    assert_eq!(kind, FailureKind::Budget);
    assert!(words.contains("is not known"), "{words}");
    assert_eq!(world.model.asked().len(), 0);
    brief.budget = budget("1k tokens").into();
    assert!(world.agents.request(&brief).is_ok(), "tokens can be limited");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s8_2_a_call_that_fails_before_it_says_anything_costs_nothing() -> Test {
    let meter = Meter::default();
    let mut calls = 0;
    let overloaded = || ModelError::Overloaded {
        provider: Provider::Scripted,
        retry_after: None,
        message: "later".into(),
    };
    let script = move |_: &Call| {
        calls += 1;
        match calls {
            1 | 2 => Turn::Fail(Vec::new(), overloaded()),
            _ => Turn::say("done"),
        }
    };
    let world = World::of(meter.model(script), priced).await;
    let brief = world.brief("say").budget(budget("20k tokens, 1usd, 2 steps"));
    let agent = world.agent_of(&brief).await;
    assert_eq!(agent.wait().await?.decode::<String>()?, "done");
    let spent = world.agents.spent(&agent).await?.unwrap();
    assert_eq!((spent.tokens, spent.money.0, spent.steps), (meter.tokens(), meter.money(), 1));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s8_2_a_call_cut_in_its_answer_costs_its_reservation() -> Test {
    let meter = Meter::default();
    let mut calls = 0;
    let script = move |_: &Call| {
        calls += 1;
        match calls {
            1 => {
                let seen = offshoot_models::AnswerProgress::Output;
                let cut = ModelError::Cut { seen, cause: "gone".into() };
                Turn::Fail(vec![AnswerEvent::Text("so".into())], cut)
            }
            _ => Turn::say("done"),
        }
    };
    let model = meter.model(script).with_limits(ModelLimits { window: 128_000, output: 1_000 });
    let world = World::of(model, priced).await;
    let agent = world.agent_of(&world.brief("say").budget(budget("50k tokens"))).await;
    assert_eq!(agent.wait().await?.decode::<String>()?, "done");
    let spent = world.agents.spent(&agent).await?.unwrap();
    assert!(spent.tokens >= meter.tokens() + 1_000, "{spent:?} {}", meter.tokens());
    Ok(())
}

#[tokio::test]
async fn s8_2_last_words_fit_after_a_tool_output_beyond_the_remainder() -> Test {
    async fn flood(_: ToolContext, _: Map<String, Value>) -> Result<String, ToolError> {
        Ok("word ".repeat(3_000))
    }
    let meter = Meter::default();
    let script = |call: &Call| match (call.choice, answers(call)) {
        (ToolChoice::None, _) => Turn::say("half of it"),
        _ => Turn::call([("flood", json!({}))]),
    };
    let world = World::of(meter.model(script), |agents| {
        agents.tool(Function::new("flood", "Floods.", flood).read_only())
    })
    .await;
    let agent = world.agent_of(&world.brief("loop").budget(budget("10k tokens"))).await;
    let (kind, words) = failure(&agent.wait().await?);
    assert_eq!(kind, FailureKind::Budget);
    assert!(words.contains("closing words: half of it"), "{words}");
    assert!(meter.tokens() <= 10_000, "{}", meter.tokens());
    Ok(())
}

#[tokio::test]
async fn s8_2_summing_up_is_paid_for_too() -> Test {
    async fn flood(_: ToolContext, _: Map<String, Value>) -> Result<String, ToolError> {
        Ok("word ".repeat(1_600))
    }
    let meter = Meter::default();
    let script = |call: &Call| match call.choice {
        ToolChoice::None => Turn::say("many words"),
        _ => Turn::call([("flood", json!({}))]),
    };
    let model = meter.model(script).with_limits(ModelLimits { window: 10_000, output: 500 });
    let world = World::of(model, |agents| {
        agents.tool(Function::new("flood", "Floods.", flood).read_only())
    })
    .await;
    let agent = world.agent_of(&world.brief("loop").budget(budget("60k tokens"))).await;
    let (kind, words) = failure(&agent.wait().await?);
    assert_eq!(kind, FailureKind::Budget, "{words}");
    let summed = world.model.asked().iter().filter(|call| whole(call).contains("Sum up")).count();
    assert!(summed > 0);
    let spent = world.agents.spent(&agent).await?.unwrap();
    assert_eq!(spent.tokens, meter.tokens());
    assert!(meter.tokens() <= 60_000, "{}", meter.tokens());
    Ok(())
}
