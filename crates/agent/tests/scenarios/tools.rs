//! Promises of single built-in tools: pages, bounds, and the agents they are offered to.

use std::sync::Arc;

use offshoot_agent::{Agents, Brief, Function, KIND, ToolContext, ToolError};
use offshoot_core::{Capabilities, DeliveryMode};
use offshoot_models::{Call, Scripted, Turn};
use offshoot_runtime::Runtime;
use offshoot_sqlite::Sqlite;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::support::{Doors, Test, World, answers, heard, purpose};

/// The last text that the lead received after this many answers.
fn lead_texts(world: &World, after: usize) -> Vec<String> {
    let asked = world.model.asked();
    let call = asked.iter().find(|call| purpose(call) == "lead" && answers(call) == after).unwrap();
    heard(call).into_iter().map(str::to_owned).collect()
}

/// The text between these words and the next quotation mark.
fn quoted<'a>(text: &'a str, before: &str) -> &'a str {
    let (_, rest) = text.rsplit_once(before).unwrap();
    rest.split('"').next().unwrap()
}

#[tokio::test]
async fn s11_1_list_tasks_goes_on_where_its_cursor_says() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call((0..35).map(|number| {
            ("spawn_agent", json!({"name": format!("c{number}"), "task": format!("t{number}")}))
        })),
        ("lead", 1) => Turn::call([("list_tasks", json!({"all": true}))]),
        ("lead", 2) => {
            let cursor = quoted(heard(call)[0], "cursor=\"").to_owned();
            Turn::call([
                ("list_tasks", json!({"all": true, "cursor": cursor})),
                ("list_tasks", json!({"cursor": "the next"})),
            ])
        }
        _ => Turn::say("done"),
    })
    .await;
    world.answer("lead").await;
    let (first, second) = (lead_texts(&world, 2), lead_texts(&world, 3));
    let names = |list: &str| -> Vec<String> {
        let lines = list.lines().filter_map(|line| line.split_once(" (agent)"));
        lines.map(|(name, _)| name.to_owned()).collect()
    };
    assert_eq!((names(&first[0]).len(), names(&second[0]).len()), (30, 5));
    let mut all = [names(&first[0]), names(&second[0])].concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 35, "{all:?}");
    assert!(!second[0].contains("There are more"), "{second:?}");
    assert!(second[1].contains("no cursor of a list"), "{second:?}");
    Ok(())
}

#[tokio::test]
async fn s11_1_inspect_task_shows_blocks_from_a_position_on() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => {
            Turn::call([("spawn_agent", json!({"name": "a", "task": "x", "background": false}))])
        }
        ("lead", 1) => Turn::call([
            ("inspect_task", json!({"task": "a", "last": 50})),
            ("inspect_task", json!({"task": "a", "last": 50, "since": 3})),
        ]),
        ("lead", _) => Turn::say("done"),
        (_, steps @ 0..3) => Turn::call([("report_progress", json!({"note": steps.to_string()}))]),
        _ => Turn::say("done"),
    })
    .await;
    world.answer("lead").await;
    let told = lead_texts(&world, 2);
    let shown = |list: &str| -> Vec<u64> {
        let (_, blocks) = list.split_once("the last are:\n").unwrap();
        blocks.lines().map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect()
    };
    let all = shown(&told[0]);
    assert_eq!(all.first(), Some(&0), "{}", told[0]);
    for line in [
        "0 it was told: x\n",
        "it called report_progress: {\"note\":\"0\"}\n",
        "report_progress returned: ",
        "its answer ended\n",
        "it said: done\n",
    ] {
        assert!(told[0].contains(line), "{line}: {}", told[0]);
    }
    let later: Vec<u64> = all.into_iter().filter(|position| *position >= 3).collect();
    assert!(!later.is_empty());
    assert_eq!(shown(&told[1]), later);
    Ok(())
}

#[tokio::test]
async fn s11_1_finish_is_offered_only_with_a_schema() -> Test {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let world = World::new(move |call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([
            ("spawn_agent", json!({"task": "free", "background": false})),
            ("spawn_agent", json!({"task": "bound", "background": false, "result_schema": schema})),
        ]),
        ("bound", _) => Turn::call([("finish", json!({"n": 3}))]),
        _ => Turn::say("done"),
    })
    .await;
    world.answer("lead").await;
    let asked = world.model.asked();
    let has = |who: &str| {
        let call = asked.iter().find(|call| purpose(call) == who).unwrap();
        call.tools.iter().any(|tool| &*tool.name == "finish")
    };
    assert_eq!((has("lead"), has("free"), has("bound")), (false, false, true));
    Ok(())
}

#[tokio::test]
async fn s11_1_the_results_of_list_and_wait_are_bounded() -> Test {
    const CHILDREN: usize = 40;
    let names = || (0..CHILDREN).map(|number| format!("c{number}"));
    let world = World::new(move |call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call(names().map(|name| {
            ("spawn_agent", json!({"name": name, "task": format!("{name} {}", "ü".repeat(9_000))}))
        })),
        ("lead", 1) => Turn::call([("wait_tasks", json!({"tasks": names().collect::<Vec<_>>()}))]),
        ("lead", 2) => Turn::call([("list_tasks", json!({"all": true}))]),
        ("lead", _) => Turn::say("done"),
        (_, 0) => Turn::call([("report_progress", json!({"note": "ö".repeat(9_000)}))]),
        _ => Turn::say("ä".repeat(9_000)),
    })
    .await;
    world.answer("lead").await;
    let (waited, listed) = (lead_texts(&world, 2), lead_texts(&world, 3));
    for said in [&waited[0], &listed[0]] {
        let length = said.chars().count();
        assert!(length < 16_500, "{length}");
    }
    assert!(waited[0].contains("read_output"), "{}", waited[0]);
    assert!(listed[0].contains("There are more"), "{}", listed[0]);
    Ok(())
}

#[tokio::test]
async fn s11_5_a_message_for_the_end_of_the_turn_ends_a_wait() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "hang"}))]),
        ("lead", 1) => {
            Turn::call([("wait_tasks", json!({"tasks": ["a"], "timeout_seconds": 3_600}))])
        }
        ("lead", 2) => Turn::call([("cancel_task", json!({"task": "a"}))]),
        ("lead", _) => Turn::say("done"),
        _ => Turn::Hang(Vec::new()),
    })
    .await;
    let lead = world.agent("lead").await;
    lead.send("and then rest").mode(DeliveryMode::FollowUp).await?;
    lead.wait().await?;
    let told = lead_texts(&world, 2);
    assert!(told[0].contains("A message for you has come"), "{told:?}");
    assert!(told[0].contains("Not ended, no result yet: a"), "{told:?}");
    assert!(!told.iter().any(|said| said.contains("and then rest")), "{told:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s11_6_equal_tasks_of_one_answer_are_begun_once() -> Test {
    let doors = Doors::default();
    let model = Scripted::new({
        let doors = doors.clone();
        move |call: &Call| match (purpose(call), answers(call)) {
            ("lead", 0) => Turn::call((0..8).map(|_| ("spawn_agent", json!({"task": "same"})))),
            ("lead", 1) => {
                (0..8).for_each(|_| doors.open("same"));
                Turn::say("waiting")
            }
            ("lead", _) => Turn::say("done"),
            (_, 0) => Turn::call([("stand", json!({"door": "same"}))]),
            _ => Turn::say("done"),
        }
    });
    let agents = Agents::with_model(model.clone()).tool(doors.tool());
    let folder = tempfile::tempdir()?;
    let runtime = Runtime::builder(Sqlite::at(folder.path())).backend(KIND, agents.backend());
    let runtime = runtime.open().await?;
    let session = runtime.session("main").await?;
    let brief = Brief::new("scripted/model".parse()?, "lead");
    session.spawn(agents.request(&brief)?).await?.wait().await?;
    let asked = model.asked();
    let second = asked.iter().find(|call| purpose(call) == "lead" && answers(call) == 1).unwrap();
    let said = heard(second);
    let count = |words: &str| said.iter().filter(|said| said.starts_with(words)).count();
    assert_eq!((count("Started"), count("Nothing was started")), (1, 7), "{said:?}");
    assert_eq!(runtime.tasks().await?.items.len(), 2);
    Ok(())
}

#[tokio::test]
async fn s11_1_a_task_that_is_too_long_is_refused() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"task": "x".repeat(1 << 20)}))]),
        _ => Turn::say("done"),
    })
    .await;
    world.answer("lead").await;
    let told = lead_texts(&world, 1);
    assert!(told[0].contains("may have 1048576") && told[0].contains("Say where"), "{told:?}");
    assert_eq!(world.runtime().tasks().await?.items.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_fork_reads_only_the_output_it_shares() -> Test {
    async fn flood(_: ToolContext, _: Map<String, Value>) -> Result<String, ToolError> {
        Ok("ü".repeat(16_000) + "the end")
    }
    let (doors, names) = (Doors::default(), Arc::new(Mutex::new(Vec::new())));
    let script = {
        let (doors, names) = (doors.clone(), names.clone());
        move |call: &Call| {
            // The child receives the answer of its owner before its own.
            let forked = heard_anywhere(call, "dig");
            let found = heard(call).iter().find(|said| said.contains("output=\"")).copied();
            match (forked, answers(call)) {
                (false, 0) => Turn::call([("flood", json!({}))]),
                (false, 1) => {
                    names.lock().push(quoted(found.unwrap(), "output=\"").to_owned());
                    let fork = json!({"task": "dig", "name": "a", "context": "fork"});
                    Turn::call([("spawn_agent", fork), ("flood", json!({}))])
                }
                (false, 2) => {
                    names.lock().push(quoted(found.unwrap(), "output=\"").to_owned());
                    doors.open("known");
                    Turn::say("waiting")
                }
                (true, 1) => Turn::call([("stand", json!({"door": "known"}))]),
                (true, 2) => Turn::call(
                    names
                        .lock()
                        .iter()
                        .map(|name| ("read_output", json!({"output": name, "from": 16_000}))),
                ),
                (true, _) => Turn::say(heard(call).join(" | ")),
                _ => Turn::say("done"),
            }
        }
    };
    let flood = Function::new("flood", "Floods.", flood).read_only();
    let world = World::with(script, |agents| agents.tool(doors.tool()).tool(flood)).await;
    world.answer("lead").await;
    let read: String = world.child("agent-1/a").await.wait().await?.decode()?;
    let (shared, later) = read.split_once(" | ").unwrap();
    assert!(shared.starts_with("the end"), "{read}");
    assert!(later.starts_with("There is no output"), "{read}");
    Ok(())
}

/// Whether a conversation contains this text after its fork.
fn heard_anywhere(call: &Call, said: &str) -> bool {
    call.messages
        .iter()
        .flat_map(|message| &message.parts)
        .any(|part| matches!(part, offshoot_models::Part::Text { text, .. } if text.contains(said)))
}

#[tokio::test]
async fn s12_1_an_agent_can_do_all_that_a_backend_can_declare() -> Test {
    let world = World::new(|_| Turn::say("done")).await;
    let agent = world.agent("lead").await;
    let can = agent.record().await?.spec.can;
    let declared = Capabilities::CANCEL
        .with(Capabilities::RESUME)
        .with(Capabilities::MESSAGES)
        .with(Capabilities::APPROVALS)
        .with(Capabilities::STRUCTURED_OUTPUT)
        .with(Capabilities::TRANSCRIPT);
    assert_eq!(can, declared);
    agent.wait().await?;
    let request = world.agents.request(&world.brief("approve"))?;
    world.session.spawn(request).needs(declared).await?.wait().await?;
    Ok(())
}
