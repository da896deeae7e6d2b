//! The options of a spawn.

use std::sync::Arc;

use offshoot_agent::{Agents, Brief, KIND, ModelSource, ModelUnavailable};
use offshoot_core::{Owner, SessionId, Tie};
use offshoot_models::{Call, Gate, Model, ModelName, Scripted, Turn};
use offshoot_runtime::Runtime;
use offshoot_store::Memory;
use serde_json::{Value, json};

use crate::support::{Doors, Test, World, answers, heard, purpose, whole};

/// The result of this call of a lead.
async fn call_result(asked: Value) -> String {
    let world = World::new(move |call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", asked.clone())]),
        ("lead", _) => Turn::say(heard(call)[0].to_owned()),
        _ => Turn::say("done"),
    })
    .await;
    let lead = world.agent("lead").await;
    lead.wait().await.unwrap();
    let asked = world.model.asked();
    let second = asked.iter().filter(|call| purpose(call) == "lead").nth(1).unwrap();
    heard(second)[0].to_owned()
}

#[tokio::test]
async fn s11_1_a_bad_spawn_is_refused_and_starts_nothing() -> Test {
    for (asked, said) in [
        (json!({}), "the field \"task\" is missing: a string"),
        (json!({"task": " "}), "The task is empty"),
        (json!({"task": "x", "colour": "blue"}), "there is no field \"colour\""),
        (json!({"task": "x", "name": "parent"}), "parent"),
        (json!({"task": "x", "name": "a/b"}), "/"),
        (json!({"task": "x", "model": "no such"}), "no such"),
        (
            json!({"task": "x", "context": "half"}),
            "\"context\" must be \"fresh\" or \"fork\" or {\"last_turns\": an integer}, not \"half\"",
        ),
        (json!({"task": "x", "context": {"last_turns": 0}}), "at least one turn"),
        (json!({"task": "x", "result_schema": {"type": "array"}}), "not \"object\""),
        (json!({"task": "x", "result_schema": {"type": 7}}), "not a JSON Schema"),
        (json!({"task": "x", "result_schema": {}}), "its type is not \"object\". Say {"),
        (json!({"task": "x", "result_schema": true}), "not \"object\""),
        (
            json!({"task": "x", "detached": true, "background": false}),
            "the result of a detached agent goes to your session",
        ),
        (json!({"task": "x", "wake": "loudly"}), "\"wake\" must be \"on_terminal\" or"),
    ] {
        let told = call_result(asked.clone()).await;
        assert!(told.contains(said), "{asked}: {told}");
        assert!(!told.starts_with("Started"), "{asked}: {told}");
    }
    Ok(())
}

#[tokio::test]
async fn s11_6_a_spawn_says_that_nothing_is_done_and_how_the_result_will_come() -> Test {
    let told = call_result(json!({"task": "x", "name": "docs"})).await;
    for said in ["docs", "NOTHING IS DONE YET", "no result", "guess", "by itself", "Do not poll"] {
        assert!(told.contains(said), "{said}: {told}");
    }
    Ok(())
}

#[tokio::test]
async fn s11_6_a_detached_spawn_says_that_its_result_goes_to_the_session() -> Test {
    let told = call_result(json!({"task": "x", "name": "docs", "detached": true})).await;
    for said in ["docs", "NOTHING IS DONE YET", "no result", "guess", "goes to your session"] {
        assert!(told.contains(said), "{said}: {told}");
    }
    for untrue in ["come to you", "call wait_tasks"] {
        assert!(!told.contains(untrue), "{untrue}: {told}");
    }
    Ok(())
}

#[tokio::test]
async fn s11_1_a_detached_child_goes_on_and_reports_to_its_session() -> Test {
    let doors = Doors::default();
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => {
            Turn::call([("spawn_agent", json!({"name": "a", "task": "a", "detached": true}))])
        }
        ("lead", _) => Turn::say("I am done"),
        (_, 0) => Turn::call([("stand", json!({"door": "a"}))]),
        _ => Turn::say("a is done"),
    };
    let world = World::with(script, |agents| agents.tool(doors.tool())).await;
    assert_eq!(world.answer("lead").await, "I am done");
    let child = world.child("a").await;
    let record = child.record().await?;
    assert_eq!(
        (record.spec.tie, record.spec.owner()),
        (Tie::Detached, Owner::Session(world.session.id()))
    );
    assert!(record.is_live());
    doors.open("a");
    assert_eq!(child.wait().await?.decode::<String>()?, "a is done");
    let rows = world.session.drain(10).await?;
    assert!(rows.iter().any(|row| row.result().is_some_and(|task| task.id() == child.id())));
    Ok(())
}

/// Two models that answer with their names.
#[derive(Debug)]
struct Two;

impl ModelSource for Two {
    fn find(
        &self,
        name: &ModelName,
        _: SessionId,
    ) -> Result<(Arc<dyn Model>, Gate), ModelUnavailable> {
        let says = |who: &'static str| Scripted::new(move |_| Turn::say(format!("I am {who}")));
        let lead = Scripted::new(|call| match (answers(call), purpose(call)) {
            (0, "lead") => Turn::call([
                ("spawn_agent", json!({"task": "a", "model": "openai/other", "background": false})),
                ("spawn_agent", json!({"task": "b", "model": "openai/none", "background": false})),
                ("spawn_agent", json!({"task": "c", "background": false})),
            ]),
            (0, _) => Turn::say("I am the lead's"),
            _ => Turn::say(whole(call)),
        });
        match name.to_string().as_str() {
            "openai/lead" => Ok((Arc::new(lead), Gate::default())),
            "openai/other" => Ok((Arc::new(says("the other")), Gate::default())),
            _ => Err(ModelUnavailable::Unknown(format!("there is no model {name}"))),
        }
    }
}

#[tokio::test]
async fn s11_1_a_child_has_its_parents_model_unless_another_is_named() -> Test {
    let agents = Agents::new(Two);
    let runtime = Runtime::builder(Memory::new()).backend(KIND, agents.backend()).open().await?;
    let session = runtime.session("main").await?;
    let brief = Brief::new("openai/lead".parse()?, "lead");
    let lead = session.spawn(agents.request(&brief)?).await?;
    let answer: String = lead.wait().await?.decode()?;
    for said in ["I am the other", "there is no model openai/none", "I am the lead's"] {
        assert!(answer.contains(said), "{said}: {answer}");
    }
    Ok(())
}

#[tokio::test]
async fn s11_4_a_spawn_beyond_the_depth_cap_is_no_tool_and_does_nothing() -> Test {
    let caps = offshoot_core::Caps { depth: 0, ..offshoot_core::Caps::default() };
    let world = World::under(
        |call| match answers(call) {
            0 => Turn::call([("spawn_agent", json!({"task": "x"}))]),
            _ => Turn::say(heard(call)[0].to_owned()),
        },
        caps,
    )
    .await;
    let answer = world.answer("lead").await;
    assert!(answer.contains("There is no tool \"spawn_agent\". Nothing was done."), "{answer}");
    assert_eq!(world.runtime().tasks().await?.items.len(), 1);
    Ok(())
}

#[tokio::test]
async fn s6_7_an_agent_may_stop_only_its_own_children() -> Test {
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([
            ("spawn_agent", json!({"name": "a", "task": "a"})),
            ("spawn_agent", json!({"name": "b", "task": "b"})),
        ]),
        ("lead", _) if whole(call).contains("outcome=\"cancelled\"") => Turn::say("over"),
        ("lead", _) if whole(call).contains("kind=\"result\"") => {
            Turn::call([("cancel_task", json!({"task": "b"}))])
        }
        ("lead", _) => Turn::say("waiting"),
        // A sibling and the owner are outside an agent's control.
        ("a", 0) => Turn::call([
            ("cancel_task", json!({"task": "b"})),
            ("cancel_task", json!({"task": "lead"})),
        ]),
        ("a", _) => Turn::say(heard(call).join(" | ")),
        _ => Turn::Hang(Vec::new()),
    };
    let world = World::new(script).await;
    let brief = world.brief("lead");
    let lead = world.session.spawn(world.agents.request(&brief)?).name("lead").await?;
    assert_eq!(lead.wait().await?.decode::<String>()?, "over");
    let a: String = world.child("lead/a").await.wait().await?.decode()?;
    assert_eq!(a.matches("there is no task").count(), 2, "{a}");
    Ok(())
}

#[tokio::test]
async fn s11_1_a_spawned_agent_exists_for_the_next_calls_of_the_answer() -> Test {
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([
            ("spawn_agent", json!({"name": "a", "task": "a"})),
            ("send_message", json!({"to": "a", "text": "hello"})),
            ("list_tasks", json!({})),
            ("spawn_agent", json!({"name": "b", "task": "b"})),
            ("inspect_task", json!({"task": "b"})),
            ("wait_tasks", json!({"tasks": ["a"], "timeout_seconds": 0})),
            ("cancel_task", json!({"task": "a"})),
            ("cancel_task", json!({"task": "b"})),
        ]),
        ("lead", _) => Turn::say("over"),
        _ => Turn::Hang(Vec::new()),
    };
    let world = World::new(script).await;
    assert_eq!(world.answer("lead").await, "over");
    let asked = world.model.asked();
    let lead = asked.iter().filter(|call| purpose(call) == "lead").nth(1).unwrap();
    let told = heard(lead);
    assert_eq!(told[1], "Queued for a.");
    assert!(told[2].contains("a (agent)"), "{told:?}");
    assert!(told[4].starts_with("b (agent)"), "{told:?}");
    assert!(told[5].contains("a (agent)"), "{told:?}");
    assert!(told[6].contains("asked to stop") && told[7].contains("asked to stop"), "{told:?}");
    Ok(())
}

#[tokio::test]
async fn s1_3_a_model_cannot_call_a_child_lead() -> Test {
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("top", 0) => Turn::call([
            ("spawn_agent", json!({"name": "Lead", "task": "a"})),
            ("spawn_agent", json!({"name": "lead", "task": "b", "detached": true})),
        ]),
        ("top", _) => Turn::say(heard(call).join(" | ")),
        _ => Turn::say("started"),
    };
    let world = World::new(script).await;
    // The program itself chooses that name.
    let request = world.agents.request(&world.brief("top"))?;
    let lead = world.session.spawn(request).name("lead").await?;
    let said: String = lead.wait().await?.decode()?;
    assert_eq!(said.matches("the name \"lead\" is reserved: choose another").count(), 2, "{said}");
    assert_eq!(world.runtime().tasks().await?.items.len(), 1, "nothing was started: {said}");
    Ok(())
}
