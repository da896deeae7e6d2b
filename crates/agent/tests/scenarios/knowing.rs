//! Knowledge that agents share: forks, questions and long outputs.

use offshoot_agent::{Function, ToolContext, ToolError};
use offshoot_core::TaskState;
use offshoot_models::{Call, ModelLimits, Scripted, Turn};
use serde_json::{Map, Value, json};

use crate::support::{Test, World, answers, heard, purpose, whole};

/// The call that an agent makes after this last message.
fn asked_last<'a>(asked: &'a [Call], word: &str) -> &'a Call {
    asked.iter().find(|call| heard(call).last() == Some(&word)).unwrap()
}

#[tokio::test]
async fn s11_1_a_child_may_know_the_last_turns_alone() -> Test {
    let world = World::new(|call| match (answers(call), heard(call).last().copied()) {
        (_, Some("dig")) => Turn::say("dug"),
        (_, Some("third")) => Turn::call([(
            "spawn_agent",
            json!({"task": "dig", "context": {"last_turns": 2}, "background": false}),
        )]),
        (_, Some("first" | "second")) => Turn::say(format!("heard {:?}", heard(call).last())),
        _ => Turn::say("done"),
    })
    .await;
    let mut agent = world.agent("first").await;
    for word in ["second", "third"] {
        agent.wait().await?;
        let receipts = agent.send(word).await?;
        agent = world.session.task(&receipts.first().unwrap().task.to_string()).await?;
    }
    assert_eq!(agent.wait().await?.decode::<String>()?, "done");
    let asked = world.model.asked();
    let known = whole(asked_last(&asked, "dig"));
    assert!(known.contains("second") && known.contains("third"), "{known}");
    assert!(!known.contains("first"), "{known}");
    Ok(())
}

#[tokio::test]
async fn a_fork_of_a_fork_knows_both_and_so_does_its_continuation() -> Test {
    let fork = |task: &str| {
        let asked = json!({"task": task, "context": "fork", "background": false});
        Turn::call([("spawn_agent", asked)])
    };
    let world = World::new(move |call| match (answers(call), heard(call).last().copied()) {
        (0, Some("the word is plum")) => Turn::call([("list_tasks", json!({}))]),
        (1, Some("None.")) => fork("dig"),
        (1, Some("dig")) => Turn::call([("list_tasks", json!({"all": true}))]),
        (_, Some("deeper")) => Turn::say("dug deeper"),
        (_, Some("once more")) => Turn::say("went on"),
        (2, Some(list)) if list.starts_with("None.") => fork("deeper"),
        _ => Turn::say("done"),
    })
    .await;
    assert_eq!(world.answer("the word is plum").await, "done");
    let asked = world.model.asked();
    let deepest = whole(asked_last(&asked, "deeper"));
    assert!(deepest.contains("plum") && deepest.contains("dig"), "{deepest}");
    // Both ancestors have ended by now.
    let tasks = world.runtime().tasks().await?.items;
    let deep = tasks.iter().find(|task| task.spec.lineage.depth == 2).unwrap();
    let deep = world.runtime().task(&deep.id().to_string()).await?;
    let receipts = deep.send("once more").await?;
    let next = world.runtime().task(&receipts.first().unwrap().task.to_string()).await?;
    assert_eq!(next.wait().await?.decode::<String>()?, "went on");
    let asked = world.model.asked();
    let known = whole(asked_last(&asked, "once more"));
    assert!(known.contains("plum") && known.contains("dig"));
    Ok(())
}

#[tokio::test]
async fn a_fork_of_more_than_half_a_window_is_refused() -> Test {
    let model = Scripted::new(|call| match answers(call) {
        0 => Turn::call([("spawn_agent", json!({"task": "dig", "context": "fork"}))]),
        _ => Turn::say(heard(call)[0].to_owned()),
    });
    let limits = ModelLimits { window: 1_000, ..ModelLimits::default() };
    let world = World::of(model.with_limits(limits), |agents| agents).await;
    let answer = world.answer(&"a long story ".repeat(200)).await;
    assert!(answer.contains("longer than half of what that model can read"), "{answer}");
    assert!(answer.contains("context=\"fresh\""), "{answer}");
    assert_eq!(world.runtime().tasks().await?.items.len(), 1, "nothing was created");
    Ok(())
}

#[tokio::test]
async fn s5_5_a_question_reaches_the_owner_and_its_answer_the_child() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "ask"}))]),
        ("lead", _) => match heard(call).iter().find(|said| said.contains("kind=\"question\"")) {
            Some(asked) => {
                assert!(asked.contains("Which colour?"), "{asked}");
                Turn::call([("send_message", json!({"to": "a", "text": "blue"}))])
            }
            None => Turn::say(heard(call).join(" ")),
        },
        ("ask", 0) => Turn::call([("ask", json!({"question": "Which colour?"}))]),
        _ => Turn::say(format!("painted it {}", heard(call)[0])),
    })
    .await;
    let answer = world.answer("lead").await;
    assert!(answer.contains("painted it blue"), "{answer}");
    Ok(())
}

#[tokio::test]
async fn s11_4_a_foreground_child_that_asks_goes_to_the_background_and_says_so() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => {
            Turn::call([("spawn_agent", json!({"name": "a", "task": "ask", "background": false}))])
        }
        ("lead", 1) => {
            let told = heard(call)[0];
            assert!(
                told.contains("a has no result yet: it asks") && told.contains("Which colour?")
            );
            Turn::call([("send_message", json!({"to": "a", "text": "blue"}))])
        }
        ("lead", _) => Turn::say(heard(call).join(" ")),
        ("ask", 0) => Turn::call([("ask", json!({"question": "Which colour?"}))]),
        _ => Turn::say(format!("painted it {}", heard(call)[0])),
    })
    .await;
    let answer = world.answer("lead").await;
    assert!(answer.contains("painted it blue"), "{answer}");
    Ok(())
}

#[tokio::test]
async fn a_message_names_its_sender() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "tell"}))]),
        ("lead", _) => Turn::say(whole(call)),
        ("tell", 0) => Turn::call([("send_message", json!({"to": "parent", "text": "half way"}))]),
        _ => Turn::say("told"),
    })
    .await;
    let answer = world.answer("lead").await;
    assert!(
        answer.contains("<notice kind=\"message\" from=\"a\">\nhalf way\n</notice>"),
        "{answer}"
    );
    Ok(())
}

#[tokio::test]
async fn the_rest_of_a_long_output_is_read_by_its_name() -> Test {
    async fn flood(_: ToolContext, _: Map<String, Value>) -> Result<String, ToolError> {
        Ok("ü".repeat(16_000) + "the end")
    }
    let world = World::with(
        |call| match answers(call) {
            0 => Turn::call([("flood", json!({}))]),
            1 => {
                let name = heard(call)[0].rsplit_once("output=\"").unwrap().1;
                let name = name.split('"').next().unwrap();
                Turn::call([
                    ("read_output", json!({"output": name, "from": 16_000})),
                    ("read_output", json!({"output": "nothing-99"})),
                ])
            }
            _ => Turn::say(heard(call).join("\n")),
        },
        |agents| agents.tool(Function::new("flood", "Floods.", flood)),
    )
    .await;
    let answer = world.answer("flood").await;
    assert!(answer.starts_with("the end\n[Characters 16000 to 16007: the end.]"), "{answer}");
    assert!(answer.contains("There is no output \"nothing-99\""), "{answer}");
    let asked = world.model.asked();
    let shown = heard(&asked[1])[0];
    assert!(shown.contains("first 16000 of 16007 characters"), "{}", &shown[32_000..]);
    Ok(())
}

#[tokio::test]
async fn a_long_result_of_a_task_is_read_part_by_part() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => {
            Turn::call([("spawn_agent", json!({"name": "a", "task": "x", "background": false}))])
        }
        ("lead", 1) => {
            assert!(heard(call)[0].contains("more chars"), "it is cut");
            Turn::call([("inspect_task", json!({"task": "a", "result_from": 4_996}))])
        }
        ("lead", _) => Turn::say(heard(call)[0].to_owned()),
        _ => Turn::say("ü".repeat(5_000) + "the end"),
    })
    .await;
    let answer = world.answer("lead").await;
    assert!(answer.contains("üüüüthe end\n[Characters 4996 to 5007: the end.]"), "{answer}");
    Ok(())
}

#[tokio::test]
async fn s5_5_a_lead_that_ignores_a_question_is_reminded_once_and_waits() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "ask"}))]),
        ("lead", _) => Turn::say(heard(call).join(" ")),
        ("ask", 0) => Turn::call([("ask", json!({"question": "Which colour?"}))]),
        _ => Turn::say(format!("painted it {}", heard(call)[0])),
    })
    .await;
    let lead = world.agent("lead").await;
    let reminded = || {
        let asked = world.model.asked();
        asked.iter().filter(|call| whole(call).contains("kind=\"reminder\"")).count()
    };
    let child = world.child("agent-1/a").await;
    while reminded() == 0 || !matches!(lead.record().await?.state, TaskState::Waiting(_)) {
        tokio::task::yield_now().await;
    }
    // The agent waits and does not poll.
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(reminded(), 1);
    // A person can answer in place of the owner.
    child.answer(1, &"blue").await?;
    let answer: String = lead.wait().await?.decode()?;
    assert!(answer.contains("painted it blue"), "{answer}");
    Ok(())
}
