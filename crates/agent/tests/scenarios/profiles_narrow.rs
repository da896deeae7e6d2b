//! A child has at most the permissions of its owner, however it is spawned.

use std::sync::Arc;

use offshoot_agent::{
    Agents, Brief, Function, KIND, ModelSource, ModelUnavailable, Tool, ToolContext, ToolError,
};
use offshoot_core::SessionId;
use offshoot_core::permissions::{Approver, PermissionMode, Permissions, PolicyLayer};
use offshoot_models::{Call, Gate, Model, ModelName, Scripted, Turn};
use offshoot_profiles::Profiles;
use offshoot_runtime::Runtime;
use offshoot_store::Memory;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::profiles::ProfileDir;
use crate::support::{Test, World, answers, heard, purpose, whole};

/// Tools that record the names of their callers.
#[derive(Clone, Default)]
struct Called(Arc<Mutex<Vec<String>>>);

impl Called {
    fn tool(&self, name: &'static str) -> impl Tool + use<> {
        let called = self.0.clone();
        let call = move |_: ToolContext, _: Map<String, Value>| {
            called.lock().push(name.to_owned());
            async move { Ok::<_, ToolError>("did it") }
        };
        Function::new(name, "Does it.", call)
    }

    fn tools(&self, agents: Agents) -> Agents {
        let agents = agents.tool(self.tool("read")).tool(self.tool("write"));
        agents.tool(self.tool("run_command")).profiles(Profiles::built_in())
    }
}

fn names(call: &Call) -> Vec<String> {
    call.tools.iter().map(|tool| tool.name.to_string()).collect()
}

fn asked(world: &World, who: &str) -> Call {
    world.model.asked().into_iter().find(|call| purpose(call) == who).unwrap()
}

/// The brief of the task with this name.
async fn brief(world: &World, handle: &str) -> Brief {
    let record = world.runtime().task(handle).await.unwrap().record().await.unwrap();
    record.spec.input.decode().unwrap()
}

#[tokio::test]
async fn s7_3_explore_cannot_write_with_any_call() -> Test {
    let called = Called::default();
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([(
            "spawn_agent",
            json!({"task": "look", "profile": "explore", "background": false}),
        )]),
        ("look", 0) => Turn::call([
            ("write", json!({})),
            ("run_command", json!({})),
            ("spawn_agent", json!({"task": "write it", "profile": "work"})),
        ]),
        ("look", _) => Turn::say(whole(call)),
        _ => Turn::say(heard(call).join("")),
    };
    let world = World::with(script, |agents| called.tools(agents)).await;
    let told = world.answer("lead").await;
    assert!(names(&asked(&world, "lead")).contains(&"write".to_owned()));
    let offered = names(&asked(&world, "look"));
    assert_eq!(
        offered,
        [
            "read",
            "list_tasks",
            "inspect_task",
            "wait_tasks",
            "send_message",
            "cancel_task",
            "read_output",
            "report_progress",
            "ask"
        ]
    );
    assert!(!asked(&world, "look").system.contains("You can send other agents off"));
    assert!(told.contains("There is no tool") || told.contains("there is no tool"), "{told}");
    assert!(called.0.lock().is_empty());
    assert_eq!(world.runtime().tasks().await?.items.len(), 2);
    Ok(())
}

#[tokio::test]
async fn s7_3_no_child_has_a_permission_that_its_owner_lacks() -> Test {
    let called = Called::default();
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([
            ("spawn_agent", json!({"task": "a", "background": false})),
            ("spawn_agent", json!({"task": "b", "profile": "work", "background": false})),
            (
                "spawn_agent",
                json!({"task": "c", "tools": ["write", "read", "spawn_agent"], "mode": "auto", "background": false}),
            ),
        ]),
        ("c", 0) => Turn::call([(
            "spawn_agent",
            json!({"task": "d", "profile": "verify", "tools": ["write", "read", "run_command"], "background": false}),
        )]),
        _ => Turn::say("done"),
    };
    let world = World::with(script, |agents| called.tools(agents)).await;
    let layer = PolicyLayer::mode(PermissionMode::Ask).tools([
        "read",
        "run_command",
        "spawn_agent",
        "wait_tasks",
        "report_progress",
    ]);
    let authority = Permissions::of(layer).with_approver(Approver::None);
    let lead = world.agent_of(&world.brief("lead").authority(authority.clone())).await;
    lead.wait().await?;
    for (who, tools) in [
        ("lead", &["read", "run_command", "spawn_agent", "wait_tasks"][..]),
        ("a", &["read", "run_command", "spawn_agent", "wait_tasks", "report_progress"]),
        ("b", &["read", "run_command", "spawn_agent", "wait_tasks", "report_progress"]),
        ("c", &["read", "spawn_agent", "wait_tasks", "report_progress"]),
        ("d", &["read", "wait_tasks", "report_progress"]),
    ] {
        assert_eq!(names(&asked(&world, who)), tools, "{who}");
    }
    for handle in ["agent-2", "work-1", "agent-3", "verify-1"] {
        let child = brief(&world, handle).await.authority.unwrap();
        assert_eq!(child.approver(), Approver::None, "{handle}");
        assert!(child.mode() <= PermissionMode::Ask, "{handle}");
        assert!(child.layers().starts_with(authority.layers()), "{handle}");
    }
    Ok(())
}

#[tokio::test]
async fn s7_3_a_mode_and_tools_only_narrow_and_unknown_tools_are_named() -> Test {
    let called = Called::default();
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([
            ("spawn_agent", json!({"task": "a", "mode": "plan", "name": "a"})),
            ("spawn_agent", json!({"task": "b", "tools": ["read"], "name": "b"})),
            ("spawn_agent", json!({"task": "c", "tools": ["read", "teleport"]})),
            (
                "spawn_agent",
                json!({"task": "d", "tools": [], "name": "d", "result_schema": {"type": "object"}}),
            ),
        ]),
        ("lead", 1) => Turn::say(whole(call)),
        ("d", 0) => Turn::call([("finish", json!({}))]),
        _ => Turn::say("done"),
    };
    let world = World::with(script, |agents| called.tools(agents)).await;
    let lead = world.agent("lead").await;
    lead.wait().await?;
    let said = whole(
        &world.model.asked().into_iter().filter(|call| purpose(call) == "lead").nth(1).unwrap(),
    );
    assert!(
        said.contains(
            "Nothing was started: there is no tool \"teleport\"; the tools are read, write"
        )
    );
    assert_eq!(brief(&world, "a").await.authority.unwrap().mode(), PermissionMode::Plan);
    assert_eq!(names(&asked(&world, "b")), ["read", "report_progress", "ask"]);
    assert_eq!(names(&asked(&world, "d")), ["report_progress", "ask", "finish"]);
    assert!(world.runtime().task("d").await?.wait().await?.decode::<Value>().is_ok());
    Ok(())
}

#[tokio::test]
async fn s7_3_spawnable_profiles_pass_on_to_children_without_a_profile() -> Test {
    let dir = ProfileDir::new(&[
        ("boss", "---\nagents: [explore, minion]\n---\n"),
        ("minion", "---\n---\n"),
    ]);
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([(
            "spawn_agent",
            json!({"task": "boss", "profile": "boss", "background": false}),
        )]),
        ("boss", 0) => Turn::call([(
            "spawn_agent",
            json!({"task": "minion", "profile": "minion", "background": false}),
        )]),
        ("minion", 0) => Turn::call([("spawn_agent", json!({"task": "x", "profile": "work"}))]),
        ("minion", _) => Turn::say(heard(call)[0].to_owned()),
        _ => Turn::say(heard(call).join("")),
    };
    let world = World::with(script, |agents| agents.profiles(dir.profiles())).await;
    let told = world.answer("lead").await;
    assert!(
        told.contains(
            "the profile \"work\" may not be spawned from here; these may: explore, minion"
        ),
        "{told}"
    );
    Ok(())
}

/// Models that answer with their own name.
#[derive(Debug)]
struct Names;

impl ModelSource for Names {
    fn find(
        &self,
        name: &ModelName,
        _: SessionId,
    ) -> Result<(Arc<dyn Model>, Gate), ModelUnavailable> {
        let name = name.to_string();
        let model = Scripted::new(move |call| match (purpose(call), answers(call)) {
            ("lead", 0) => Turn::call([
                ("spawn_agent", json!({"task": "a", "profile": "dear", "background": false})),
                (
                    "spawn_agent",
                    json!({"task": "b", "profile": "dear", "model": "openai/said", "background": false}),
                ),
                ("spawn_agent", json!({"task": "c", "profile": "theirs", "background": false})),
            ]),
            ("lead", _) => Turn::say(whole(call)),
            (who, _) => Turn::say(format!("{who} is {name}")),
        });
        Ok((Arc::new(model), Gate::default()))
    }
}

#[tokio::test]
async fn s11_2_a_profile_has_its_own_model_only_if_it_is_trusted() -> Test {
    let dir = ProfileDir::new(&[("dear", "---\nmodel: openai/dear\n---\n")]);
    let project = tempfile::tempdir()?;
    std::fs::create_dir_all(project.path().join(".offshoot/agents"))?;
    let theirs = project.path().join(".offshoot/agents/theirs.md");
    std::fs::write(theirs, "---\nmodel: openai/theirs\n---\n")?;
    let agents = Agents::new(Names).profiles(dir.profiles());
    let runtime = Runtime::builder(Memory::new()).backend(KIND, agents.backend()).open().await?;
    let session = runtime.session("main").await?;
    let brief = Brief::new("openai/lead".parse()?, "lead").folder(project.path());
    let lead = session.spawn(agents.request(&brief)?).await?;
    let answer: String = lead.wait().await?.decode()?;
    for said in ["a is openai/dear", "b is openai/said", "c is openai/lead"] {
        assert!(answer.contains(said), "{said}: {answer}");
    }
    Ok(())
}
