//! Agents that spawn others.

use std::time::Duration;

use offshoot_models::{Call, Turn};
use serde_json::json;

use crate::support::{Doors, Test, World, answers, heard, purpose, whole};

#[tokio::test]
async fn s4_4_background_results_are_delivered_once_and_in_order() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([
            ("spawn_agent", json!({"name": "a", "task": "first"})),
            ("spawn_agent", json!({"name": "b", "task": "second"})),
        ]),
        ("lead", _) => {
            let results = call.messages.iter().flat_map(|message| &message.parts);
            let told = results.filter(|part| format!("{part:?}").contains("kind=\\\"result\\\""));
            match told.count() {
                2 => Turn::say("both are home"),
                _ => Turn::say("waiting"),
            }
        }
        (task, _) => Turn::say(format!("{task} is done")),
    })
    .await;
    assert_eq!(world.answer("lead").await, "both are home");
    let asked = world.model.asked();
    let lead: Vec<_> = asked.iter().filter(|call| purpose(call) == "lead").collect();
    let started = heard(lead[1]);
    assert!(started[0].contains("Started in the background: a. NOTHING IS DONE YET"));
    let whole = format!("{:?}", lead.last().unwrap().messages);
    assert_eq!(whole.matches("first is done").count(), 1, "{whole}");
    assert_eq!(whole.matches("second is done").count(), 1);
    assert!(whole.contains("did=\\\"1 step, used no tools\\\""), "{whole}");
    Ok(())
}

#[tokio::test]
async fn s4_4_a_foreground_spawn_returns_the_result_and_nothing_comes_twice() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([(
            "spawn_agent",
            json!({"name": "a", "task": "first", "background": false}),
        )]),
        ("lead", _) => Turn::say("got it"),
        (task, _) => Turn::say(format!("{task} is done")),
    })
    .await;
    assert_eq!(world.answer("lead").await, "got it");
    let asked = world.model.asked();
    assert_eq!(asked.iter().filter(|call| purpose(call) == "lead").count(), 2);
    assert!(heard(asked.last().unwrap())[0].contains("first is done"));
    Ok(())
}

#[tokio::test]
async fn s11_6_the_same_task_is_not_started_twice_while_it_lives() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "same"}))]),
        ("lead", 1) => Turn::call([("spawn_agent", json!({"task": "same"}))]),
        ("lead", 2) => Turn::call([("cancel_task", json!({"task": "a"}))]),
        ("lead", _) => Turn::say("done"),
        _ => Turn::Hang(Vec::new()),
    })
    .await;
    assert_eq!(world.answer("lead").await, "done");
    let asked = world.model.asked();
    let lead: Vec<_> = asked.iter().filter(|call| purpose(call) == "lead").collect();
    assert!(heard(lead[2])[0].contains("the agent a is doing exactly this task"));
    let whole = format!("{:?}", lead.last().unwrap().messages);
    assert!(whole.contains("outcome=\\\"cancelled\\\""), "{whole}");
    Ok(())
}

#[tokio::test]
async fn s8_1_at_the_depth_cap_the_spawn_tool_is_not_offered() -> Test {
    let world =
        World::new(|call| match call.tools.iter().any(|tool| &*tool.name == "spawn_agent") {
            true if answers(call) == 0 => {
                let task = format!("{}+", purpose(call));
                Turn::call([("spawn_agent", json!({"task": task, "background": false}))])
            }
            true => Turn::say("above"),
            false => Turn::say("at the bottom"),
        })
        .await;
    world.answer("dig").await;
    let deepest = world.model.asked().iter().map(|call| purpose(call).len()).max();
    assert_eq!(deepest, Some("dig".len() + 16));
    Ok(())
}

#[tokio::test]
async fn s5_2_a_message_to_an_agent_that_has_ended_goes_on_with_its_conversation() -> Test {
    let world = World::new(|call| match answers(call) {
        0 => Turn::say("the secret is 7"),
        _ => Turn::say("going on"),
    })
    .await;
    let agent = world.agent("remember").await;
    agent.wait().await?;
    let receipts = agent.send("go on").await?;
    let next = world.session.task(&receipts.first().unwrap().task.to_string()).await?;
    assert_eq!(next.wait().await?.decode::<String>()?, "going on");
    let asked = world.model.asked();
    let whole = format!("{:?}", asked[1].messages);
    assert!(whole.contains("the secret is 7") && whole.contains("go on"), "{whole}");
    Ok(())
}

#[tokio::test]
async fn a_fork_knows_the_conversation_before_its_spawn() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("list_tasks", json!({}))]),
        ("lead", 1) if heard(call).last() == Some(&"dig deeper") => Turn::say("dug"),
        ("lead", 1) => Turn::call([(
            "spawn_agent",
            json!({"task": "dig deeper", "context": "fork", "background": false}),
        )]),
        _ => Turn::say("done"),
    })
    .await;
    assert_eq!(world.answer("lead").await, "done");
    let asked = world.model.asked();
    let fork = asked.iter().find(|call| heard(call).last() == Some(&"dig deeper")).unwrap();
    let between = heard(fork)[heard(fork).len() - 2];
    assert!(between.starts_with("<notice kind=\"fork\""), "{between}");
    assert!(between.contains("You are now another one") && between.contains("your task"));
    let whole = format!("{:?}", fork.messages);
    assert!(whole.contains("list_tasks"), "what was said before: {whole}");
    assert!(!whole.contains("spawn_agent"), "not the answer that forked: {whole}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s11_6_a_third_look_that_shows_the_same_waits_for_a_change() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "hang"}))]),
        ("lead", 1..=3) => Turn::call([("list_tasks", json!({}))]),
        ("lead", 4) => Turn::call([("cancel_task", json!({"task": "a"}))]),
        ("lead", _) => Turn::say("done"),
        _ => Turn::Hang(Vec::new()),
    })
    .await;
    let begun = tokio::time::Instant::now();
    assert_eq!(world.answer("lead").await, "done");
    assert!(begun.elapsed().as_secs() >= 60, "it waited: {:?}", begun.elapsed());
    let asked = world.model.asked();
    let lead: Vec<_> = asked.iter().filter(|call| purpose(call) == "lead").collect();
    assert!(!heard(lead[3])[0].contains("Polling"), "{:?}", heard(lead[3]));
    assert!(heard(lead[4])[0].contains("Polling does not help"), "{:?}", heard(lead[4]));
    Ok(())
}

#[tokio::test]
async fn s11_6_an_agent_with_another_task_is_no_twin() -> Test {
    let schema = json!({"type": "object"});
    let world = World::new(move |call| match (purpose(call), answers(call)) {
        ("lead", _) if heard(call).last() == Some(&"same") => Turn::Hang(Vec::new()),
        ("lead", 0) => Turn::call([
            ("spawn_agent", json!({"name": "a", "task": "same"})),
            ("spawn_agent", json!({"task": "same"})),
            ("spawn_agent", json!({"name": "b", "task": "same", "model": "scripted/other"})),
            ("spawn_agent", json!({"name": "c", "task": "same", "result_schema": schema})),
            ("spawn_agent", json!({"name": "d", "task": "same", "context": "fork"})),
        ]),
        ("lead", 1) => Turn::call([("spawn_agent", json!({"task": "same", "context": "fork"}))]),
        ("lead", 2) => {
            Turn::call(["a", "b", "c", "d"].map(|task| ("cancel_task", json!({"task": task}))))
        }
        ("lead", _) => Turn::say("done"),
        _ => Turn::Hang(Vec::new()),
    })
    .await;
    assert_eq!(world.answer("lead").await, "done");
    let asked = world.model.asked();
    let told = asked.iter().find(|call| answers(call) == 1 && heard(call).len() == 5).unwrap();
    let twins: Vec<_> = heard(told).iter().map(|text| text.contains("doing exactly")).collect();
    assert_eq!(twins, [false, true, false, false, false], "{:?}", heard(told));
    let told = asked.iter().find(|call| answers(call) == 2).unwrap();
    assert!(heard(told)[0].contains("doing exactly"), "{:?}", heard(told));
    Ok(())
}

#[tokio::test]
async fn s11_4_an_agent_that_needs_the_result_of_a_twin_waits_for_it() -> Test {
    let doors = Doors::default();
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "same"}))]),
        ("lead", 1) => Turn::call([("spawn_agent", json!({"task": "same", "background": false}))]),
        ("lead", _) => Turn::say(heard(call)[0].to_owned()),
        (_, 0) => Turn::call([("stand", json!({"door": "a"}))]),
        _ => Turn::say("it is done"),
    };
    let world = World::with(script, |agents| agents.tool(doors.tool())).await;
    let lead = world.agent("lead").await;
    while !lead.peek().await?.blocks.iter().any(|block| {
        block.text.as_deref().is_some_and(|text| text.contains("\"background\":false"))
    }) {
        tokio::task::yield_now().await;
    }
    doors.open("a");
    let told: String = lead.wait().await?.decode()?;
    assert!(told.starts_with("<notice kind=\"result\" task=\"a\""), "{told}");
    let asked = world.model.asked();
    let last = whole(asked.iter().rfind(|call| purpose(call) == "lead").unwrap());
    assert_eq!(last.matches("it is done").count(), 1, "{last}");
    Ok(())
}

/// Runs a lead that polls a child without end until a notice says that polling does not help.
/// Returns the elapsed time and the number of polls.
async fn polls(task: &str, look: impl Fn(usize) -> Turn + Send + 'static) -> (Duration, usize) {
    let child = json!({"name": "a", "task": task});
    let world = World::new(move |call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", child.clone())]),
        ("lead", _) if heard(call).join(" ").contains("Polling does not help") => {
            Turn::call([("cancel_task", json!({"task": "a"}))])
        }
        ("lead", _) if whole(call).contains("asked to stop") => Turn::say("done"),
        ("lead", step) => look(step),
        ("ask", 0) => Turn::call([("ask", json!({"question": "which one?"}))]),
        _ => Turn::Hang(Vec::new()),
    })
    .await;
    let begun = tokio::time::Instant::now();
    assert_eq!(world.answer("lead").await, "done");
    let asked = world.model.asked();
    let all = whole(asked.iter().rfind(|call| purpose(call) == "lead").unwrap());
    let looks = all.matches("list_tasks {").count() + all.matches("inspect_task {").count();
    (begun.elapsed(), looks)
}

#[tokio::test(start_paused = true)]
async fn s11_6_looks_that_take_turns_wait_for_a_change() -> Test {
    let list = ("list_tasks", json!({}));
    let inspect = ("inspect_task", json!({"task": "a"}));
    let both = [list, inspect];
    let (span, looks) = polls("hang", move |step| Turn::call([both[step % 2].clone()])).await;
    assert!((60..120).contains(&span.as_secs()), "{span:?}");
    // The lead may have seen the start of the child.
    assert!(looks <= 16, "{looks}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s11_6_polls_of_a_child_that_waits_for_an_answer_wait_too() -> Test {
    let look = |step| match step {
        // Until the child asks.
        1 => Turn::call([("wait_tasks", json!({"tasks": ["a"]}))]),
        _ => Turn::call([("list_tasks", json!({}))]),
    };
    let (span, looks) = polls("ask", look).await;
    assert!((60..120).contains(&span.as_secs()), "{span:?}");
    assert!(looks <= 16, "{looks}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s11_6_looks_of_one_answer_wait_for_a_change_together() -> Test {
    let both = [("list_tasks", json!({})), ("inspect_task", json!({"task": "a"}))];
    let both = [both.clone(), both].concat();
    let (span, looks) = polls("hang", move |_| Turn::call(both.clone())).await;
    assert!((60..120).contains(&span.as_secs()), "one wait, not one for each: {span:?}");
    // The lead may have seen the start of the child.
    assert!(looks <= 16, "{looks}");
    Ok(())
}

#[tokio::test]
async fn s11_5_a_wait_returns_results_once_and_messages_end_it() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "quick"}))]),
        ("lead", 1) => Turn::call([("wait_tasks", json!({"tasks": ["a"]}))]),
        ("lead", _) => Turn::say("done"),
        _ => Turn::say("quick is done"),
    })
    .await;
    assert_eq!(world.answer("lead").await, "done");
    let asked = world.model.asked();
    let last = asked.iter().rfind(|call| purpose(call) == "lead").unwrap();
    let whole = format!("{:?}", last.messages);
    assert_eq!(whole.matches("quick is done").count(), 1, "{whole}");
    Ok(())
}

#[tokio::test]
async fn s4_3_a_result_is_delivered_whole_once_and_can_be_read_again() -> Test {
    let wait = ("wait_tasks", json!({"tasks": ["a"]}));
    let world = World::new(move |call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "quick"}))]),
        ("lead", 1) => Turn::call([wait.clone(), wait.clone()]),
        ("lead", 2) => Turn::call([wait.clone()]),
        ("lead", 3) => Turn::call([("inspect_task", json!({"task": "a", "last": 0}))]),
        ("lead", _) => Turn::say("done"),
        _ => Turn::say("quick is done"),
    })
    .await;
    assert_eq!(world.answer("lead").await, "done");
    let asked = world.model.asked();
    let lead: Vec<_> = asked.iter().filter(|call| purpose(call) == "lead").collect();
    assert_eq!(whole(lead[3]).matches("quick is done").count(), 1, "{}", whole(lead[3]));
    let again = "a has ended, and its result was told above.";
    assert!(heard(lead[2])[0].contains("quick is done"), "{:?}", heard(lead[2]));
    assert!(heard(lead[2])[1].starts_with(again), "{:?}", heard(lead[2]));
    assert!(heard(lead[3])[0].starts_with(again), "{:?}", heard(lead[3]));
    assert!(heard(lead[4])[0].contains("quick is done"), "{:?}", heard(lead[4]));
    Ok(())
}
