//! Interrupting messages and cancels: the calls they cut, and the report of each cut.

use std::sync::Arc;

use offshoot_agent::{Function, Tool, ToolContext, ToolError};
use offshoot_core::{DeliveryMode, Outcome, Resolution};
use offshoot_models::{Call, Turn};
use serde_json::json;
use tokio::sync::Notify;

use crate::support::{Doors, Test, World, answers, heard, purpose, until_called, whole};

/// Reports its drop.
struct Held(Arc<Notify>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// A tool that hangs, for each effect and duration, and the report of a cut call.
fn hanging(dropped: &Arc<Notify>) -> Vec<(impl Tool + use<>, &'static str)> {
    let hang = || {
        let dropped = dropped.clone();
        let hang = move |_: ToolContext, _: serde_json::Map<String, serde_json::Value>| {
            let held = Held(dropped.clone());
            async move {
                std::future::pending::<()>().await;
                drop(held);
                Ok::<_, ToolError>(String::new())
            }
        };
        Function::new("hang", "Hangs.", hang)
    };
    let (nothing, unknown) = ("It has changed nothing.", "Whether it took effect is unknown");
    vec![
        (hang().read_only(), nothing),
        (hang().read_only().long_running(), nothing),
        (hang().idempotent(), unknown),
        (hang().idempotent().long_running(), unknown),
        (hang(), "Find out before you repeat it."),
        (hang().long_running(), "Find out before you repeat it."),
    ]
}

fn calls_hang(call: &Call) -> Turn {
    match answers(call) {
        0 => Turn::call([("hang", json!({}))]),
        _ => Turn::say(heard(call).join(" | ")),
    }
}

#[tokio::test]
async fn s5_2_an_interrupt_cuts_a_tool_however_long_it_takes_and_answers_its_call() -> Test {
    let dropped = Arc::new(Notify::new());
    for (tool, left) in hanging(&dropped) {
        let world = World::with(calls_hang, |agents| agents.tool(tool)).await;
        let agent = world.agent("walk").await;
        until_called(&agent, "hang").await?;
        agent.send("stop that").mode(DeliveryMode::Interrupt).await?;
        let answer: String = agent.wait().await?.decode()?;
        dropped.notified().await;
        assert!(answer.starts_with("The call was cut short by a message to you."), "{answer}");
        assert!(answer.contains(left) && answer.ends_with("| stop that"), "{answer}");
    }
    Ok(())
}

#[tokio::test]
async fn s6_6_a_cancel_drops_a_running_tool_and_reports_its_state() -> Test {
    let dropped = Arc::new(Notify::new());
    for (tool, left) in hanging(&dropped) {
        let world = World::with(calls_hang, |agents| agents.tool(tool)).await;
        let agent = world.agent("walk").await;
        until_called(&agent, "hang").await?;
        agent.cancel("enough").await?;
        let ended = agent.wait().await?;
        dropped.notified().await;
        assert!(matches!(ended.outcome(), Some(Outcome::Cancelled { forced: false, .. })));
        let last = agent.peek().last(1).await?.blocks.remove(0).text.unwrap_or_default();
        assert!(last.contains("asked to stop") && last.contains(left), "{last}");
    }
    Ok(())
}

#[tokio::test]
async fn s5_2_a_steer_waits_for_a_long_tool() -> Test {
    let doors = Doors::default();
    let script = |call: &Call| match answers(call) {
        0 => Turn::call([("stand", json!({"door": "d"}))]),
        _ => Turn::say(heard(call).join(" | ")),
    };
    let world = World::with(script, |agents| agents.tool(doors.tool())).await;
    let agent = world.agent("walk").await;
    until_called(&agent, "stand").await?;
    agent.send("faster").await?;
    doors.open("d");
    assert_eq!(agent.wait().await?.decode::<String>()?, "went through d | faster");
    Ok(())
}

#[tokio::test]
async fn s5_2_an_interrupt_withdraws_a_question() -> Test {
    let doors = Doors::default();
    let said = doors.clone();
    let script = move |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "child"}))]),
        ("lead", 1) => Turn::call([("stand", json!({"door": "lead"}))]),
        ("lead", 2) => Turn::call([("send_message", json!({"to": "a", "text": "yes"}))]),
        ("lead", _) => {
            said.open("child");
            Turn::say("done")
        }
        (_, 0) => Turn::call([("ask", json!({"question": "may I?"}))]),
        (_, 1) => Turn::call([("stand", json!({"door": "child"}))]),
        _ => Turn::say(heard(call).join(" | ")),
    };
    let world = World::with(script, |agents| agents.tool(doors.tool())).await;
    let lead = world.agent("lead").await;
    let child = world.child("agent-1/a").await;
    let mut records = child.watch();
    while let Some(record) = records.next().await {
        if record?.state.question().is_some() {
            break;
        }
    }
    child.send("never mind").mode(DeliveryMode::Interrupt).await?;
    until_called(&child, "stand").await?;
    let [question] = &child.questions().await?[..] else { panic!("one question") };
    assert!(matches!(question.closed, Some(Resolution::Withdrawn { .. })), "{question:?}");
    let asked = world.model.asked();
    let second = asked.iter().find(|call| purpose(call) == "child" && answers(call) == 1).unwrap();
    let said = heard(second);
    assert!(said[0].contains("your question was withdrawn"), "{said:?}");
    assert_eq!(said[1], "never mind");
    // A later text is a message: the question is already withdrawn.
    doors.open("lead");
    lead.wait().await?;
    let told: String = child.wait().await?.decode()?;
    assert!(told.contains("from=\"parent\"") && told.contains("yes"), "{told}");
    let third = world.model.asked();
    let third = third.iter().find(|call| purpose(call) == "lead" && answers(call) == 2).unwrap();
    let told = heard(third).join(" | ");
    assert!(told.contains("may I?") && told.contains("waits for no answer"), "{told}");
    Ok(())
}

#[tokio::test]
async fn s5_2_an_interrupt_of_the_owner_is_no_answer_to_its_child() -> Test {
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "child"}))]),
        ("lead", _) if whole(call).contains("Queued for a.") => Turn::say("done"),
        ("lead", _) if whole(call).contains("may I?") => {
            let stop = json!({"to": "a", "text": "leave that", "mode": "interrupt"});
            Turn::call([("send_message", stop)])
        }
        ("lead", _) => Turn::say("waiting"),
        (_, 0) => Turn::call([("ask", json!({"question": "may I?"}))]),
        _ => Turn::say(heard(call).join(" | ")),
    };
    let world = World::new(script).await;
    assert_eq!(world.answer("lead").await, "done");
    let child = world.child("agent-1/a").await;
    let [question] = &child.questions().await?[..] else { panic!("one question") };
    assert!(matches!(question.closed, Some(Resolution::Withdrawn { .. })), "{question:?}");
    let told: String = child.wait().await?.decode()?;
    let (result, message) = told.split_once(" | ").unwrap();
    assert!(result.contains("your question was withdrawn"), "{told}");
    assert!(message.contains("from=\"parent\"") && message.contains("leave that"), "{told}");
    Ok(())
}
