//! Approval requests that the owner of an agent decides.

use std::time::Duration;

use offshoot_agent::{
    Agents, Brief, Decision, Function, KIND, PendingApproval, Tool, ToolContext, ToolError,
};
use offshoot_core::permissions::{
    Access, Action, Approver, PermissionMode, Permissions, PolicyLayer,
};
use offshoot_core::{Addressee, Payload, Resolution};
use offshoot_models::{Call, Turn};
use offshoot_runtime::TaskRequest;
use serde_json::{Map, Value, json};

use crate::approvals::{Ledger, asking, ended, until_asked};
use crate::support::{Test, World, answers, heard, purpose, whole};

/// The tool with which an agent spawns a child with fewer permissions than its own.
fn narrow(brief: Brief) -> impl Tool {
    let spawn = move |cx: ToolContext, _: Map<String, Value>| {
        let brief = brief.clone();
        async move {
            let brief = Payload::encode(&brief).map_err(|error| ToolError::of(&error))?;
            cx.task().spawn(TaskRequest::new(KIND, brief)).key("narrow").name("a").await?;
            Ok::<_, ToolError>("spawned")
        }
    };
    let tool = Function::new("narrow", "Spawns a child that must ask.", spawn);
    tool.idempotent().wishing(|_, _| Access::new("narrow", Action::ManageTasks))
}

fn child(task: &str) -> Brief {
    let brief = Brief::new("scripted/model".parse().unwrap(), task);
    brief.authority(
        Permissions::of(PolicyLayer::mode(PermissionMode::Ask)).with_approver(Approver::Owner),
    )
}

/// The script of a child that writes.
fn writes(call: &Call) -> Turn {
    match answers(call) {
        0 => Turn::call([("write", json!({"text": "a"}))]),
        _ => Turn::say(heard(call).join(" | ")),
    }
}

fn answer_request(verdict: &str) -> Turn {
    let answer = json!({"task": "a", "request": 1, "verdict": verdict, "reason": "because"});
    Turn::call([("answer_request", answer)])
}

#[tokio::test]
async fn s7_3_an_owner_approves_calls_it_may_make_itself() -> Test {
    for verdict in ["allow", "deny"] {
        let ledger = Ledger::default();
        let tool = ledger.tool();
        let script = move |call: &Call| match (purpose(call), answers(call)) {
            ("lead", 0) => Turn::call([("narrow", json!({}))]),
            ("lead", _) if whole(call).contains("outcome=") => Turn::say(heard(call).join(" | ")),
            ("lead", _) if heard(call).join("").contains("kind=\"request\"") => {
                answer_request(verdict)
            }
            ("lead", _) => Turn::say("waiting"),
            _ => writes(call),
        };
        let say = |agents: Agents| agents.tool(tool).tool(narrow(child("child")));
        let world = World::with(script, say).await;
        let told = world.answer("lead").await;
        let asked = world.model.asked();
        let request =
            asked.iter().map(whole).find(|said| said.contains("kind=\"request\"")).unwrap();
        assert!(request.contains("task=\"a\" request=\"1\""), "{request}");
        assert!(request.contains(r#"write {"text":"a"}"#), "{request}");
        assert!(request.contains("with answer_request"), "{request}");
        match verdict {
            "allow" => assert!(told.contains("wrote a"), "{told}"),
            _ => assert!(told.contains("denied") && told.contains("because"), "{told}"),
        }
        assert_eq!(ledger.lines().len(), usize::from(verdict == "allow"));
    }
    Ok(())
}

#[tokio::test]
async fn s7_3_an_owner_cannot_approve_calls_beyond_its_permissions() -> Test {
    let ledger = Ledger::default();
    let tool = ledger.tool();
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "child"}))]),
        ("lead", _) if whole(call).contains("outcome=") => Turn::say(heard(call).join(" | ")),
        ("lead", _) if heard(call).join("").contains("kind=\"request\"") => answer_request("allow"),
        ("lead", _) => Turn::say("waiting"),
        _ => writes(call),
    };
    let world = World::with(script, |agents| agents.tool(tool)).await;
    let brief = world.brief("lead").authority(asking().with_approver(Approver::Owner));
    let lead = world.agent_of(&brief).await;
    let child = world.child("agent-1/a").await;
    let asked = until_asked(&child, 1).await.remove(0);
    assert_eq!(asked.addressee, Addressee::Owner);
    let refused = || async {
        let asked = world.model.asked();
        asked.iter().any(|call| heard(call).join("").contains("Nothing was approved."))
    };
    while !refused().await {
        tokio::task::yield_now().await;
    }
    assert_eq!(until_asked(&child, 1).await, [asked], "it stays open for a person");
    assert!(ledger.lines().is_empty());
    PendingApproval::decide(&child, 1, &Decision::Once).await?;
    let told: String = lead.wait().await?.decode()?;
    assert!(told.contains("wrote a"), "{told}");
    let asked = world.model.asked();
    let lacks = |said: &String| said.contains("you may not do it unasked yourself");
    assert!(asked.iter().map(whole).any(|said| lacks(&said)));
    let reminded = |said: String| said.contains("kind=\"reminder\"");
    assert!(!asked.iter().map(whole).any(reminded), "it is not for the lead to answer");
    Ok(())
}

#[tokio::test]
async fn s7_3_a_message_never_approves_a_call() -> Test {
    let ledger = Ledger::default();
    let tool = ledger.tool();
    let yes = r#"{"verdict":"once"}"#;
    let script = move |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("narrow", json!({}))]),
        ("lead", _) if whole(call).contains("outcome=") => Turn::say("done"),
        ("lead", _) if whole(call).contains("Queued for a.") => Turn::say("waiting"),
        ("lead", _) if whole(call).contains("kind=\"request\"") => {
            Turn::call([("send_message", json!({"to": "a", "text": yes}))])
        }
        ("lead", _) => Turn::say("waiting"),
        _ => writes(call),
    };
    let say = |agents: Agents| agents.tool(tool).tool(narrow(child("child")));
    let world = World::with(script, say).await;
    let lead = world.agent("lead").await;
    let child = world.child("agent-1/a").await;
    until_asked(&child, 1).await;
    let sent = || world.model.asked().iter().any(|call| whole(call).contains("Queued for a."));
    while !sent() {
        tokio::task::yield_now().await;
    }
    assert_eq!(until_asked(&child, 1).await.len(), 1);
    assert!(ledger.lines().is_empty());
    PendingApproval::decide(&child, 1, &Decision::Denied { reason: None }).await?;
    let told: String = child.wait().await?.decode()?;
    let (result, message) = told.split_once(" | ").unwrap();
    assert!(result.contains("denied"), "{told}");
    assert!(message.contains("from=\"parent\"") && message.contains("verdict"), "{told}");
    lead.wait().await?;
    assert!(ledger.lines().is_empty());
    Ok(())
}

#[tokio::test]
async fn s7_1_the_owner_does_not_see_requests_for_a_person() -> Test {
    for background in [true, false] {
        let ledger = Ledger::default();
        let tool = ledger.tool();
        let script = move |call: &Call| match (purpose(call), answers(call)) {
            ("lead", 0) => {
                let child = json!({"name": "a", "task": "child", "background": background});
                Turn::call([("spawn_agent", child)])
            }
            ("lead", 1) if background => Turn::call([(
                "answer_request",
                json!({"task": "a", "request": 1, "verdict": "allow"}),
            )]),
            ("lead", 2) if background => {
                let wait = json!({"tasks": ["a"], "timeout_seconds": 3_600});
                Turn::call([("wait_tasks", wait)])
            }
            ("lead", _) => Turn::say(heard(call).join(" | ")),
            _ => writes(call),
        };
        let world = World::with(script, |agents| agents.tool(tool)).await;
        let lead = world.agent_of(&world.asking("lead")).await;
        let child = world.child("agent-1/a").await;
        assert_eq!(until_asked(&child, 1).await[0].addressee, Addressee::Person);
        let waits = || async {
            let waits = lead.record().await.unwrap().state.phase();
            let steps = if background { 3 } else { 1 };
            let asked = world.model.asked();
            waits == offshoot_core::Phase::Waiting
                && asked.iter().filter(|call| purpose(call) == "lead").count() == steps
        };
        while !waits().await {
            tokio::task::yield_now().await;
        }
        PendingApproval::decide(&child, 1, &Decision::Once).await?;
        let told: String = lead.wait().await?.decode()?;
        assert!(told.contains("wrote a") && told.contains("outcome=\"completed\""), "{told}");
        let lead = world.model.asked().into_iter().filter(|call| purpose(call) == "lead");
        let said: Vec<_> = lead.map(|call| whole(&call)).collect();
        assert!(!said.concat().contains("kind=\"request\""), "{said:?}");
        assert_eq!(said.len(), if background { 4 } else { 2 }, "{said:?}");
        if background {
            let no = "Nothing was answered: a";
            assert!(said[2].contains(no) || said[2].contains("has no request 1"), "{}", said[2]);
        }
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn s8_2_a_child_whose_time_is_over_asks_its_owner_no_more() -> Test {
    let ledger = Ledger::default();
    let tool = ledger.tool();
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("narrow", json!({}))]),
        ("lead", 1) => Turn::call([("wait_tasks", json!({"tasks": ["a"]}))]),
        // The owner thinks for longer than the timeout.
        ("lead", 2) => Turn::Hang(Vec::new()),
        _ => writes(call),
    };
    let brief = child("child").time(Duration::from_secs(60));
    let say = |agents: Agents| agents.tool(tool).tool(narrow(brief));
    let world = World::with(script, say).await;
    world.agent("lead").await;
    let child = world.child("agent-1/a").await;
    until_asked(&child, 1).await;
    let ended = loop {
        let waited = child.wait().timeout(Duration::from_secs(30)).await?;
        if waited.is_ended() {
            break waited;
        }
        tokio::time::sleep(Duration::from_secs(30)).await;
    };
    assert!(format!("{:?}", ended.outcome()).contains("the agent's time was over"), "{ended:?}");
    let [question] = &child.questions().await?[..] else { panic!("one question") };
    assert!(matches!(question.closed, Some(Resolution::Withdrawn { .. })), "{question:?}");
    assert!(ledger.lines().is_empty());
    Ok(())
}

#[tokio::test]
async fn s7_3_an_agent_cannot_approve_its_own_call() -> Test {
    let ledger = Ledger::default();
    let tool = ledger.tool();
    let forge = |cx: ToolContext, _: Map<String, Value>| async move {
        let own = cx.task().task(&cx.task().id().to_string()).await?;
        while own.questions().await?.is_empty() {
            tokio::task::yield_now().await;
        }
        own.answer(1, &Decision::Always).await?;
        Ok::<_, ToolError>("answered")
    };
    let forge = Function::new("forge", "Answers its own request.", forge).read_only();
    let script = |call: &Call| match answers(call) {
        0 => Turn::call([("write", json!({"text": "a"})), ("forge", json!({}))]),
        _ => Turn::say(heard(call).join(" | ")),
    };
    let world = World::with(script, |agents| agents.tool(tool).tool(forge)).await;
    let agent = world.agent_of(&world.asking("write")).await;
    let told: String = ended(&agent).await.decode()?;
    assert!(told.contains("cannot approve it") && told.ends_with("| answered"), "{told}");
    assert!(ledger.lines().is_empty());
    Ok(())
}
