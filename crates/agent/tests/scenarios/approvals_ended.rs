//! Approval requests that end without a decision, and standing grants.

use std::path::Path;
use std::time::Duration;

use offshoot_agent::{Agents, Decision, GrantStore, Limits, MemoryGrants, PendingApproval};
use offshoot_core::permissions::{Approver, Rule};
use offshoot_core::{DeliveryMode, Outcome, Resolution};
use offshoot_models::{Call, Turn};
use offshoot_runtime::TaskRef;
use serde_json::json;

use crate::approvals::{Ledger, asking, ended, until_asked, writes};
use crate::support::{Test, World, answers, heard};

async fn world_with(
    lines: &'static [&'static str],
    say: impl FnOnce(Agents) -> Agents,
) -> (World, Ledger) {
    let ledger = Ledger::default();
    let tool = ledger.tool();
    (World::with(writes(lines), |agents| say(agents.tool(tool))).await, ledger)
}

async fn assert_withdrawn(agent: &TaskRef) -> Test {
    let asked = agent.questions().await?;
    assert!(!asked.is_empty());
    for question in asked {
        assert!(matches!(question.closed, Some(Resolution::Withdrawn { .. })), "{question:?}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s5_5_a_request_without_an_answer_in_time_is_denied() -> Test {
    let limits = Limits { approval: Duration::from_secs(3_600), ..Limits::default() };
    let (world, ledger) = world_with(&["a", "b"], |agents| agents.limits(limits)).await;
    let begun = tokio::time::Instant::now();
    let agent = world.agent_of(&world.asking("write")).await;
    until_asked(&agent, 2).await;
    let ended = loop {
        let waited = agent.wait().timeout(Duration::from_secs(60)).await?;
        if waited.is_ended() {
            break waited;
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
    };
    assert!(begun.elapsed() >= Duration::from_secs(3_600), "{:?}", begun.elapsed());
    let told: String = ended.decode()?;
    assert_eq!(told.matches("no answer came within 1h,").count(), 2, "{told}");
    assert!(ledger.lines().is_empty());
    assert_withdrawn(&agent).await
}

#[tokio::test]
async fn s6_6_a_cancel_withdraws_the_request() -> Test {
    let (world, ledger) = world_with(&["a", "b"], |agents| agents).await;
    let agent = world.agent_of(&world.asking("write")).await;
    until_asked(&agent, 2).await;
    agent.cancel("enough").await?;
    let ended = ended(&agent).await;
    assert!(matches!(ended.outcome(), Some(Outcome::Cancelled { forced: false, .. })), "{ended:?}");
    let last = agent.peek().last(1).await?.blocks.remove(0).text.unwrap_or_default();
    assert!(last.contains("not made") && last.contains("asked to stop"), "{last}");
    assert!(ledger.lines().is_empty());
    assert!(PendingApproval::decide(&agent, 1, &Decision::Once).await.is_err());
    assert_withdrawn(&agent).await
}

#[tokio::test]
async fn s5_2_an_interrupt_withdraws_the_request_and_a_steer_does_not() -> Test {
    let (world, ledger) = world_with(&["a"], |agents| agents).await;
    let agent = world.agent_of(&world.asking("write")).await;
    until_asked(&agent, 1).await;
    agent.send("allow it").await?;
    assert_eq!(until_asked(&agent, 1).await[0].number, 1);
    agent.send("leave that").mode(DeliveryMode::Interrupt).await?;
    let told: String = ended(&agent).await.decode()?;
    assert!(told.contains("which was withdrawn"), "{told}");
    assert!(told.ends_with("| allow it | leave that"), "{told}");
    assert!(ledger.lines().is_empty());
    assert_withdrawn(&agent).await
}

#[tokio::test(start_paused = true)]
async fn s8_2_the_wait_for_a_person_is_not_the_agents_time() -> Test {
    let script = |call: &Call| match answers(call) {
        0 => Turn::call([("write", json!({"text": "a"}))]),
        _ => Turn::say(heard(call).join(" | ")),
    };
    let ledger = Ledger::default();
    let tool = ledger.tool();
    let world = World::with(script, |agents| agents.tool(tool)).await;
    let brief = world.asking("write").time(Duration::from_secs(600));
    let agent = world.agent_of(&brief).await;
    until_asked(&agent, 1).await;
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert!(agent.record().await?.is_live() && ledger.lines().is_empty());
    PendingApproval::decide(&agent, 1, &Decision::Once).await?;
    let ended = agent.wait().await?;
    assert!(matches!(ended.outcome(), Some(Outcome::Completed { .. })), "{ended:?}");
    assert_eq!(ledger.lines(), ["a"]);
    Ok(())
}

/// A script that writes one line after another.
fn one_by_one(lines: &'static [&'static str]) -> impl FnMut(&Call) -> Turn + Send {
    move |call| match lines.get(answers(call)) {
        Some(line) => Turn::call([("write", json!({"text": line}))]),
        None => Turn::say("done"),
    }
}

#[tokio::test]
async fn s7_3_a_grant_covers_calls_that_match_it_and_never_guarded_ones() -> Test {
    let (ledger, grants) = (Ledger::default(), MemoryGrants::default());
    let tool = ledger.tool();
    let say = |agents: Agents| agents.tool(tool).grants(grants);
    let world = World::with(one_by_one(&["a", "b", ".git", "c"]), say).await;
    let brief = world.asking("write").folder("/work");
    let agent = world.agent_of(&brief).await;
    until_asked(&agent, 1).await;
    PendingApproval::decide(&agent, 1, &Decision::Always).await?;
    // The grant covers the second line. The third line needs an approval each time, and no
    // decision for it is remembered.
    loop {
        if until_asked(&agent, 1).await[0].number == 2 {
            break;
        }
    }
    assert_eq!(ledger.lines(), ["a", "b"]);
    PendingApproval::decide(&agent, 2, &Decision::Always).await?;
    assert_eq!(agent.wait().await?.decode::<String>()?, "done");
    assert_eq!(agent.questions().await?.len(), 2);
    // In another directory the agent asks again.
    let other = world.agent_of(&brief.clone().folder("/elsewhere")).await;
    until_asked(&other, 1).await;
    other.cancel("enough").await?;
    // A denied call stays denied.
    let denied = offshoot_core::permissions::PolicyLayer::mode(
        offshoot_core::permissions::PermissionMode::Plan,
    );
    let brief = brief.authority(offshoot_core::permissions::Permissions::of(denied));
    let planner = world.agent_of(&brief).await;
    planner.wait().await?;
    assert_eq!(ledger.lines(), ["a", "b", ".git", "c"]);
    Ok(())
}

#[tokio::test]
async fn s7_3_a_standing_grant_holds_where_no_person_is_asked() -> Test {
    let (ledger, grants) = (Ledger::default(), MemoryGrants::default());
    grants.grant(Some(Path::new("/work")), &Rule::tool("write"))?;
    let tool = ledger.tool();
    let say = |agents: Agents| agents.tool(tool).grants(grants);
    let world = World::with(writes(&["a", ".git"]), say).await;
    let unasked = world.brief("write").authority(asking().with_approver(Approver::None));
    // The grant does not cover a guarded call, so the call is denied.
    let agent = world.agent_of(&unasked.clone().folder("/work")).await;
    let told: String = agent.wait().await?.decode()?;
    assert!(told.starts_with("wrote a | ") && told.contains("begins with a dot"), "{told}");
    // The same call in another directory is denied too.
    let agent = world.agent_of(&unasked.folder("/elsewhere")).await;
    let told: String = agent.wait().await?.decode()?;
    assert_eq!(told.matches("there is no approver").count(), 2, "{told}");
    assert_eq!(ledger.lines(), ["a"]);
    assert!(agent.questions().await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn s5_5_a_new_grant_frees_the_calls_that_wait_and_match_it() -> Test {
    let (ledger, grants) = (Ledger::default(), MemoryGrants::default());
    let tool = ledger.tool();
    let say = |agents: Agents| agents.tool(tool).grants(grants);
    let world = World::with(one_by_one(&["a"]), say).await;
    let one = world.agent_of(&world.asking("one")).await;
    let other = world.agent_of(&world.asking("other")).await;
    until_asked(&one, 1).await;
    until_asked(&other, 1).await;
    PendingApproval::decide(&one, 1, &Decision::Always).await?;
    for agent in [&one, &other] {
        assert_eq!(ended(agent).await.decode::<String>()?, "done");
    }
    assert_eq!(ledger.lines(), ["a", "a"]);
    assert_withdrawn(&other).await
}

#[tokio::test]
async fn s7_3_without_a_grant_store_always_approves_one_call() -> Test {
    let ledger = Ledger::default();
    let tool = ledger.tool();
    let world = World::with(one_by_one(&["a", "b"]), |agents| agents.tool(tool)).await;
    let agent = world.agent_of(&world.asking("write")).await;
    until_asked(&agent, 1).await;
    PendingApproval::decide(&agent, 1, &Decision::Always).await?;
    loop {
        if until_asked(&agent, 1).await[0].number == 2 {
            break;
        }
    }
    assert_eq!(ledger.lines(), ["a"]);
    Ok(())
}
