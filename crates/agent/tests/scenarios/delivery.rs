//! Delivery of results to the owner of a task.

use std::sync::Arc;

use offshoot_agent::{Agents, Brief, KIND};
use offshoot_core::{Outcome, TaskState, WaitingOn};
use offshoot_models::{Call, ModelError, Provider, Scripted, Turn};
use offshoot_runtime::Runtime;
use offshoot_sqlite::Sqlite;
use serde_json::json;
use tokio::sync::Notify;

use crate::support::{Doors, Test, World, answers, heard, purpose, until_called};

/// The number of reports of a result in a conversation.
fn report_count(call: &Call, result: &str) -> usize {
    let whole = format!("{:?}", call.messages);
    assert!(!whole.contains(&format!("{result}{result}")));
    whole.matches(result).count()
}

#[tokio::test]
async fn s4_2_rows_read_before_a_failed_turn_are_in_the_next_one() -> Test {
    let (provider, message) = (Provider::Scripted, "broken".to_owned());
    let broken = ModelError::BadRequest { provider, message };
    let mut failed = false;
    let world = World::new(move |call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "work"}))]),
        ("lead", _) if !failed && report_count(call, "work is done") == 1 => {
            failed = true;
            Turn::Fail(Vec::new(), broken.clone())
        }
        ("lead", _) if report_count(call, "work is done") == 1 => Turn::say("read at last"),
        ("lead", _) => Turn::say("waiting"),
        _ => Turn::say("work is done"),
    })
    .await;
    let lead = world.agent("lead").await;
    let ended = lead.wait().await?;
    assert!(matches!(ended.outcome(), Some(Outcome::Failed(_))), "{ended:?}");
    let receipts = lead.send("go on").await?;
    let next = world.session.task(&receipts.first().unwrap().task.to_string()).await?;
    assert_eq!(next.wait().await?.decode::<String>()?, "read at last");
    Ok(())
}

#[tokio::test]
async fn s4_2_an_unread_result_reaches_the_continuation_once() -> Test {
    let doors = Doors::default();
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "work"}))]),
        ("lead", 1) => Turn::call([("stand", json!({"door": "shut"}))]),
        ("lead", _) => Turn::say(format!("told {} times", report_count(call, "work is done"))),
        _ => Turn::say("work is done"),
    };
    let world = World::with(script, |agents| agents.tool(doors.tool())).await;
    let mut lead = world.agent("lead").await;
    until_called(&lead, "stand").await?;
    world.child("a").await.wait().await?;
    lead.cancel("not now").await?;
    lead.wait().await?;
    for said in ["go on", "and again"] {
        let receipts = lead.send(said).await?;
        lead = world.session.task(&receipts.first().unwrap().task.to_string()).await?;
        assert_eq!(lead.wait().await?.decode::<String>()?, "told 1 times");
    }
    let left = world.session.drain(10).await?;
    assert!(left.iter().all(|row| row.task().is_none_or(|task| task.handle() != "a")), "{left:?}");
    Ok(())
}

#[tokio::test]
async fn s4_4_an_agent_hears_of_its_detached_child_before_the_next_step() -> Test {
    let doors = Doors::default();
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => {
            let spawn = json!({"name": "a", "task": "work", "detached": true});
            Turn::call([("spawn_agent", spawn)])
        }
        ("lead", 1) => Turn::call([("stand", json!({"door": "a"}))]),
        ("lead", _) => Turn::say(format!("told {} times", report_count(call, "work is done"))),
        // The lead hears nothing of the task of another agent.
        ("other", 0) => Turn::call([("stand", json!({"door": "b"}))]),
        ("other", _) => Turn::say(format!("told {} times", report_count(call, "work is done"))),
        _ => Turn::say("work is done"),
    };
    let world = World::with(script, |agents| agents.tool(doors.tool())).await;
    let (lead, other) = (world.agent("lead").await, world.agent("other").await);
    world.child("a").await.wait().await?;
    until_called(&other, "stand").await?;
    doors.open("b");
    assert_eq!(other.wait().await?.decode::<String>()?, "told 0 times");
    until_called(&lead, "stand").await?;
    doors.open("a");
    assert_eq!(lead.wait().await?.decode::<String>()?, "told 1 times");
    Ok(())
}

#[tokio::test]
async fn s5_3_unread_messages_reach_the_continuation() -> Test {
    let doors = Doors::default();
    let script = |call: &Call| match answers(call) {
        0 => Turn::call([("stand", json!({"door": "a"}))]),
        _ => Turn::say(heard(call).join(" | ")),
    };
    let world = World::with(script, |agents| agents.tool(doors.tool())).await;
    let agent = world.agent("lead").await;
    until_called(&agent, "stand").await?;
    // The senders are the session and the host, which has no inbox.
    agent.send("first").await?;
    world.runtime().task(&agent.id().to_string()).await?.send("second").await?;
    agent.cancel("enough").await?;
    agent.wait().await?;
    let receipts = agent.send("third").await?;
    let recipient = receipts.first().ok_or("no receipt")?.task;
    let recipient = world.session.task(&recipient.to_string()).await?;
    let answer: String = recipient.wait().await?.decode()?;
    assert!(answer.ends_with("| first | second | third"), "{answer}");
    // The message was delivered once.
    let recipient = recipient.send("fourth").await?.first().ok_or("no receipt")?.task;
    let recipient = world.session.task(&recipient.to_string()).await?;
    assert_eq!(recipient.wait().await?.decode::<String>()?, "fourth");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_3_a_result_from_a_dead_process_is_delivered_once() -> Test {
    let folder = tempfile::tempdir()?;
    let begun = Arc::new(Notify::new());
    let (tell, mut asked) = (begun.clone(), 0);
    let model = Scripted::new(move |call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "work"}))]),
        ("lead", 1) => {
            asked += 1;
            tell.notify_one();
            // The process dies while the lead thinks.
            if asked == 1 { Turn::Hang(Vec::new()) } else { Turn::say("waiting") }
        }
        ("lead", _) => Turn::say(format!("told {} times", report_count(call, "work is done"))),
        _ => Turn::say("work is done"),
    });
    let agents = Agents::with_model(model);
    let open = || async {
        let runtime = Runtime::builder(Sqlite::at(folder.path())).backend(KIND, agents.backend());
        runtime.open().await
    };
    let runtime = open().await?;
    let session = runtime.session("main").await?;
    let brief = Brief::new("scripted/model".parse()?, "lead");
    let id = session.spawn(agents.request(&brief)?).await?.id();
    begun.notified().await;
    drop((session, runtime));
    let runtime = open().await?;
    let lead = runtime.session("main").await?.task(&id.to_string()).await?;
    let answer: String = lead.wait().await?.decode()?;
    assert!(["told 1 times", "waiting"].contains(&answer.as_str()), "{answer}");
    let peek = lead.peek().last(50).limit(2_000).await?;
    let notices = peek.blocks.iter().filter_map(|block| block.text.as_deref());
    let notices = notices.filter(|text| text.contains("kind=\"result\"")).count();
    assert_eq!(notices, 1, "{peek:?}");
    Ok(())
}

#[tokio::test]
async fn s4_5_an_agent_with_live_children_waits_for_them_and_is_woken() -> Test {
    let go = Arc::new(Notify::new());
    let waits = go.clone();
    let world = World::with(
        |call| match (purpose(call), answers(call)) {
            ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "work"}))]),
            ("lead", _) if report_count(call, "work is done") == 1 => Turn::say("now I am done"),
            ("lead", _) => Turn::say("too early"),
            (_, 0) => Turn::call([("stand", json!({}))]),
            _ => Turn::say("work is done"),
        },
        move |agents| {
            let stand =
                move |_: offshoot_agent::ToolContext,
                      _: serde_json::Map<String, serde_json::Value>| {
                    let waits = waits.clone();
                    async move {
                        waits.notified().await;
                        Ok::<_, offshoot_agent::ToolError>("stood")
                    }
                };
            agents.tool(offshoot_agent::Function::new("stand", "Stands.", stand).read_only())
        },
    )
    .await;
    let lead = world.agent("lead").await;
    let mut records = lead.watch();
    while let Some(record) = records.next().await {
        let state = record?.state;
        assert!(!state.is_terminal(), "it ended before its child");
        if matches!(state, TaskState::Waiting(WaitingOn::Children)) {
            break;
        }
    }
    go.notify_one();
    assert_eq!(lead.wait().await?.decode::<String>()?, "now I am done");
    Ok(())
}

#[tokio::test]
async fn s4_7_a_grandchild_wakes_its_parent_alone() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "mid", "task": "middle"}))]),
        ("lead", _) if report_count(call, "middle is done") == 1 => Turn::say("over"),
        ("lead", _) => Turn::say("waiting"),
        ("middle", 0) => Turn::call([("spawn_agent", json!({"name": "low", "task": "lowest"}))]),
        ("middle", _) if report_count(call, "lowest is done") == 1 => Turn::say("middle is done"),
        ("middle", _) => Turn::say("waiting, too"),
        _ => Turn::say("lowest is done"),
    })
    .await;
    assert_eq!(world.answer("lead").await, "over");
    let asked = world.model.asked();
    for call in asked.iter().filter(|call| purpose(call) == "lead") {
        assert_eq!(report_count(call, "lowest is done"), 0, "{:?}", heard(call));
    }
    Ok(())
}

#[tokio::test]
async fn s4_6_success_failure_and_cancel_read_differently() -> Test {
    let (provider, message) = (Provider::Scripted, "no such thing".to_owned());
    let broken = ModelError::BadRequest { provider, message };
    let world = World::new(move |call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([
            ("spawn_agent", json!({"name": "good", "task": "good"})),
            ("spawn_agent", json!({"name": "bad", "task": "bad"})),
            ("spawn_agent", json!({"name": "slow", "task": "slow"})),
        ]),
        ("lead", 1) => Turn::call([("cancel_task", json!({"task": "slow", "reason": "enough"}))]),
        ("lead", _) => Turn::say("done"),
        ("bad", _) => Turn::Fail(Vec::new(), broken.clone()),
        ("slow", _) => Turn::Hang(Vec::new()),
        _ => Turn::say("well"),
    })
    .await;
    world.answer("lead").await;
    let asked = world.model.asked();
    let last = asked.iter().rfind(|call| purpose(call) == "lead").unwrap();
    let whole = format!("{:?}", last.messages).replace("\\\"", "\"").replace("\\\\", "\\");
    for (task, outcome) in [("good", "completed"), ("bad", "failed"), ("slow", "cancelled")] {
        let found = whole.split("<notice kind=").any(|notice| {
            notice.contains(&format!("task=\"{task}\""))
                && notice.contains(&format!("outcome=\"{outcome}\""))
        });
        assert!(found, "{task} {outcome}: {whole}");
    }
    Ok(())
}
