//! Approvals: a call that needs one waits for it, and for nothing else.

use std::sync::Arc;

use offshoot_agent::{
    Agents, ApprovalError, ApprovalRequest, Brief, Decision, Function, PendingApproval, Tool,
    ToolContext, ToolError,
};
use offshoot_core::permissions::{
    Access, Action, Approver, PermissionMode, Permissions, PolicyLayer, Rule, Verdict,
};
use offshoot_core::{Addressee, Caps, Ceiling, Resolution, TaskState, WaitingOn};
use offshoot_models::{Call, Turn};
use offshoot_runtime::{Error, TaskRef, WaitResult};
use parking_lot::Mutex;
use serde_json::json;

use crate::support::{Doors, Test, World, answers, heard, until_called};

/// The texts that approved calls wrote.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger(Arc<Mutex<Vec<String>>>);

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    /// The text to write.
    pub(crate) text: String,
}

impl Ledger {
    /// The texts written, in order.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().clone()
    }

    pub(crate) fn push(&self, line: String) {
        self.0.lock().push(line);
    }

    /// The tool with which an agent writes. A text that begins with a dot always needs an
    /// approval.
    pub(crate) fn tool(&self) -> impl Tool + use<> {
        let ledger = self.clone();
        let write = move |_: ToolContext, Line { text }: Line| {
            ledger.push(text.clone());
            async move { Ok::<_, ToolError>(format!("wrote {text}")) }
        };
        Function::new("write", "Writes.", write).wishing(|_, line| {
            let wish = Access::new("write", Action::Change).lasting(Rule::tool("write"));
            if line.text.starts_with('.') { wish.guarded("it begins with a dot") } else { wish }
        })
    }
}

/// An agent in a mode that asks before each change.
pub(crate) fn asking() -> Permissions {
    Permissions::of(PolicyLayer::mode(PermissionMode::Ask))
}

/// The approval requests of an agent, once `count` are open at the same time.
pub(crate) async fn until_asked(agent: &TaskRef, count: usize) -> Vec<PendingApproval> {
    loop {
        let asked = PendingApproval::of_task(agent).await.unwrap();
        if asked.len() == count {
            return asked;
        }
        tokio::task::yield_now().await;
    }
}

/// The end of an agent, with every request approved once.
pub(crate) async fn ended(agent: &TaskRef) -> WaitResult {
    loop {
        let waited = agent.wait().await.unwrap();
        if waited.is_ended() {
            return waited;
        }
        tokio::task::yield_now().await;
    }
}

/// A script that writes this text and answers with the result.
pub(crate) fn writes(lines: &'static [&'static str]) -> impl FnMut(&Call) -> Turn + Send {
    move |call| match answers(call) {
        0 => Turn::call(lines.iter().map(|line| ("write", json!({"text": line})))),
        _ => Turn::say(heard(call).join(" | ")),
    }
}

async fn world(lines: &'static [&'static str]) -> (World, Ledger) {
    world_with(lines, |agents| agents).await
}

async fn world_with(
    lines: &'static [&'static str],
    say: impl FnOnce(Agents) -> Agents,
) -> (World, Ledger) {
    let ledger = Ledger::default();
    let tool = ledger.tool();
    (World::with(writes(lines), |agents| say(agents.tool(tool))).await, ledger)
}

impl World {
    /// A brief for an agent that asks before each change.
    pub(crate) fn asking(&self, task: &str) -> Brief {
        self.brief(task).authority(asking())
    }
}

#[tokio::test]
async fn s5_5_a_call_waits_for_its_approval_and_is_made_as_shown() -> Test {
    let (world, ledger) = world(&["a"]).await;
    let agent = world.agent_of(&world.asking("write")).await;
    let asked = until_asked(&agent, 1).await.remove(0);
    let ApprovalRequest { tool, arguments, grant, .. } = &asked.request;
    assert_eq!((&**tool, &**arguments), ("write", r#"{"text":"a"}"#));
    assert_eq!(grant, &Some(Rule::tool("write")));
    assert_eq!((asked.number, asked.addressee), (1, Addressee::Person));
    let mut records = agent.watch();
    while records.next().await.unwrap()?.state != TaskState::Waiting(WaitingOn::Approval(1)) {}
    let why = agent.why().await?.to_string();
    assert!(why.contains("waits for approval 1"), "{why}");
    assert_eq!(PendingApproval::list(world.runtime()).await?, [asked]);
    assert!(ledger.lines().is_empty());
    PendingApproval::decide(&agent, 1, &Decision::Once).await?;
    assert_eq!(agent.wait().await?.decode::<String>()?, "wrote a");
    assert_eq!(ledger.lines(), ["a"]);
    assert!(PendingApproval::list(world.runtime()).await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn s7_3_a_denied_call_is_not_made_and_the_model_hears_why() -> Test {
    let (world, ledger) = world(&["a"]).await;
    let agent = world.agent_of(&world.asking("write")).await;
    until_asked(&agent, 1).await;
    let reason = Some("not in my house".to_owned());
    PendingApproval::decide(&agent, 1, &Decision::Denied { reason }).await?;
    let told: String = agent.wait().await?.decode()?;
    assert!(told.contains("denied") && told.contains("not in my house"), "{told}");
    assert!(ledger.lines().is_empty());
    Ok(())
}

#[tokio::test]
async fn s7_3_an_answer_that_is_no_decision_denies_the_call() -> Test {
    let words = [json!("yes"), json!(r#"{"verdict":"once"}"#), json!(true), json!({"once": {}})];
    for word in words {
        let (world, ledger) = world(&["a"]).await;
        let agent = world.agent_of(&world.asking("write")).await;
        until_asked(&agent, 1).await;
        agent.answer(1, &word).await?;
        let told: String = agent.wait().await?.decode()?;
        assert!(told.contains("so it is denied"), "{word}: {told}");
        assert!(ledger.lines().is_empty(), "{word}");
    }
    Ok(())
}

#[tokio::test]
async fn s5_5_only_approval_requests_are_decided() -> Test {
    let (world, _) = world(&["a"]).await;
    let agent = world.agent_of(&world.asking("write")).await;
    until_asked(&agent, 1).await;
    let none = PendingApproval::decide(&agent, 7, &Decision::Once).await;
    assert!(matches!(none, Err(ApprovalError::NotFound { number: 7, .. })), "{none:?}");
    let task = world.session.spawn_ephemeral(|cx| async move {
        cx.ask("which?").await?;
        Ok::<_, offshoot_runtime::BodyError>(())
    });
    let task = task.await?;
    while task.questions().await?.is_empty() {
        tokio::task::yield_now().await;
    }
    let words = PendingApproval::decide(&task, 1, &Decision::Once).await;
    assert!(matches!(words, Err(ApprovalError::WantsWords { .. })), "{words:?}");
    assert!(task.questions().await?[0].closed.is_none());
    Ok(())
}

#[tokio::test]
async fn s5_5_of_two_answers_at_once_one_stands() -> Test {
    for allow_first in [true, false] {
        let (world, ledger) = world(&["a"]).await;
        let agent = world.agent_of(&world.asking("write")).await;
        until_asked(&agent, 1).await;
        let (yes, no) = (Decision::Once, Decision::Denied { reason: None });
        let (yes, no) = if allow_first {
            tokio::join!(
                PendingApproval::decide(&agent, 1, &yes),
                PendingApproval::decide(&agent, 1, &no)
            )
        } else {
            let (no, yes) = tokio::join!(
                PendingApproval::decide(&agent, 1, &no),
                PendingApproval::decide(&agent, 1, &yes)
            );
            (yes, no)
        };
        let (stands, fails) = if allow_first { (yes, no) } else { (no, yes) };
        stands?;
        let refused = |error| matches!(error, ApprovalError::Refused(Error::QuestionClosed { .. }));
        assert!(fails.is_err_and(refused));
        agent.wait().await?;
        assert_eq!(ledger.lines().len(), usize::from(allow_first));
    }
    Ok(())
}

#[tokio::test]
async fn s5_5_two_calls_that_ask_at_once_are_each_answered_by_themselves() -> Test {
    for order in [[1, 2], [2, 1]] {
        let (world, ledger) = world(&["a", "b"]).await;
        let agent = world.agent_of(&world.asking("write")).await;
        let asked = until_asked(&agent, 2).await;
        for number in order {
            let asked = asked.iter().find(|asked| asked.number == number).unwrap();
            let decision = match asked.request.arguments.contains("\"b\"") {
                true => Decision::Once,
                false => Decision::Denied { reason: Some("not this".to_owned()) },
            };
            PendingApproval::decide(&agent, number, &decision).await?;
        }
        let told: String = agent.wait().await?.decode()?;
        assert!(told.contains("not this") && told.ends_with(" | wrote b"), "{told}");
        assert_eq!(ledger.lines(), ["b"]);
    }
    Ok(())
}

#[tokio::test]
async fn s7_3_an_approval_does_not_cover_the_same_call_made_again() -> Test {
    let ledger = Ledger::default();
    let tool = ledger.tool();
    let script = |call: &Call| match answers(call) {
        0 | 1 => Turn::call([("write", json!({"text": "a"}))]),
        _ => Turn::say(heard(call).join(" | ")),
    };
    let world = World::with(script, |agents| agents.tool(tool)).await;
    let agent = world.agent_of(&world.asking("write")).await;
    until_asked(&agent, 1).await;
    PendingApproval::decide(&agent, 1, &Decision::Once).await?;
    loop {
        if until_asked(&agent, 1).await[0].number == 2 {
            break;
        }
    }
    assert_eq!(ledger.lines(), ["a"]);
    PendingApproval::decide(&agent, 2, &Decision::Denied { reason: None }).await?;
    agent.wait().await?;
    assert_eq!(ledger.lines(), ["a"]);
    Ok(())
}

#[tokio::test]
async fn s7_3_a_call_is_denied_at_once_without_an_approver() -> Test {
    let (world, ledger) = world(&["a"]).await;
    let authority = asking().with_approver(Approver::None);
    let agent = world.agent_of(&world.brief("write").authority(authority)).await;
    let told: String = agent.wait().await?.decode()?;
    assert!(told.contains("no approver"), "{told}");
    assert!(ledger.lines().is_empty() && agent.questions().await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn s7_3_a_forbidden_call_is_refused_without_a_request() -> Test {
    // A tool that is not offered is reported like an unknown tool.
    let deny = PolicyLayer::default().rule(Rule::tool("write"), Verdict::Deny);
    let cases = [
        (PolicyLayer::mode(PermissionMode::Plan), "only look and plan"),
        (PolicyLayer::default().tools(["stand"]), "There is no tool \"write\""),
        (deny, "There is no tool \"write\""),
    ];
    for (layer, words) in cases {
        let (world, ledger) = world(&["a"]).await;
        let agent = world.agent_of(&world.brief("write").authority(Permissions::of(layer))).await;
        let told: String = agent.wait().await?.decode()?;
        assert!(told.contains(words), "{told}");
        assert!(ledger.lines().is_empty() && agent.questions().await?.is_empty());
    }
    Ok(())
}

#[tokio::test]
async fn s7_3_a_guarded_call_needs_an_approval_under_every_grant() -> Test {
    let allow = PolicyLayer::default().rule(Rule::tool("write"), Verdict::Allow);
    for authority in [None, Some(Permissions::default()), Some(Permissions::of(allow))] {
        let (world, ledger) = world(&["a", ".git"]).await;
        let mut brief = world.brief("write");
        brief.authority = authority.map(Arc::new);
        let agent = world.agent_of(&brief).await;
        let asked = until_asked(&agent, 1).await;
        assert_eq!(asked[0].request.why.as_deref(), Some("it begins with a dot"));
        while ledger.lines() != ["a"] {
            tokio::task::yield_now().await;
        }
        PendingApproval::decide(&agent, 1, &Decision::Once).await?;
        assert_eq!(agent.wait().await?.decode::<String>()?, "wrote a | wrote .git");
    }
    Ok(())
}

#[tokio::test]
async fn bad_arguments_are_refused_without_a_request() -> Test {
    let ledger = Ledger::default();
    let tool = ledger.tool();
    let script = |call: &Call| match answers(call) {
        0 => Turn::call([("write", json!({"words": "a"}))]),
        _ => Turn::say(heard(call).join(" | ")),
    };
    let world = World::with(script, |agents| agents.tool(tool)).await;
    let agent = world.agent_of(&world.asking("write")).await;
    let told: String = agent.wait().await?.decode()?;
    assert!(told.contains("words"), "{told}");
    assert!(agent.questions().await?.is_empty() && ledger.lines().is_empty());
    Ok(())
}

#[tokio::test]
async fn s5_5_the_other_calls_of_an_answer_go_on() -> Test {
    let (ledger, doors) = (Ledger::default(), Doors::default());
    let tool = ledger.tool();
    let script = |call: &Call| match answers(call) {
        0 => Turn::call([
            ("write", json!({"text": "a"})),
            ("stand", json!({"door": "d"})),
            ("list_tasks", json!({})),
        ]),
        _ => Turn::say(heard(call).join(" | ")),
    };
    let say = |agents: Agents| agents.tool(tool).tool(doors.tool());
    let world = World::with(script, say).await;
    let agent = world.agent_of(&world.asking("write")).await;
    until_asked(&agent, 1).await;
    until_called(&agent, "stand").await?;
    doors.open("d");
    // The call has passed the door: a second one would have to wait.
    while doors.is_open("d") {
        tokio::task::yield_now().await;
    }
    assert_eq!(until_asked(&agent, 1).await.len(), 1);
    PendingApproval::decide(&agent, 1, &Decision::Once).await?;
    let told: String = agent.wait().await?.decode()?;
    assert!(told.starts_with("wrote a | went through d | "), "{told}");
    Ok(())
}

#[tokio::test]
async fn s8_3_an_agent_that_waits_for_an_approval_has_no_slot() -> Test {
    let ledger = Ledger::default();
    let tool = ledger.tool();
    let caps = Caps { executing: Ceiling { space: Some(1), ..Ceiling::NONE }, ..Caps::default() };
    let script = |call: &Call| match (crate::support::purpose(call), answers(call)) {
        ("write", 0) => Turn::call([("write", json!({"text": "a"}))]),
        _ => Turn::say("done"),
    };
    let world = World::with_caps(script, |agents| agents.tool(tool), caps).await;
    let agent = world.agent_of(&world.asking("write")).await;
    until_asked(&agent, 1).await;
    assert_eq!(world.answer("other").await, "done");
    assert!(ledger.lines().is_empty());
    PendingApproval::decide(&agent, 1, &Decision::Once).await?;
    assert_eq!(agent.wait().await?.decode::<String>()?, "done");
    let [question] = &agent.questions().await?[..] else { panic!("one question") };
    assert!(matches!(question.closed, Some(Resolution::Answered { .. })), "{question:?}");
    Ok(())
}
