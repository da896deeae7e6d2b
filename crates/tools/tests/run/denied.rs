//! Commands that are denied or not approved.

use offshoot_agent::{Decision, PendingApproval};
use offshoot_core::permissions::{Approver, PermissionMode, Permissions, PolicyLayer, Verdict};
use offshoot_models::{ToolResult, Turn};
use serde_json::json;

use crate::support::{Confined, Test, TestDirs, World, answers, calls, results};

/// Runs a command under these permissions and returns its result.
async fn run(place: &TestDirs, command: &str, authority: &Permissions) -> ToolResult {
    let script = calls(json!({"command": command}));
    let world = World::open(place, Confined::No, script).await;
    let request = world.agents.request(&world.brief().authority(authority.clone())).unwrap();
    world.session.spawn(request).await.unwrap().wait().await.unwrap().decode::<String>().unwrap();
    results(&world.model.asked()[1]).remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn s7_3_a_denied_prefix_is_not_run_however_it_is_spelled() {
    let deny = |rule: &str| (rule.parse().unwrap(), Verdict::Deny);
    let mut layer = PolicyLayer::mode(PermissionMode::Auto);
    layer.rules = vec![deny("run_command(rm)"), deny("run_command(git push)")];
    let authority = Permissions::of(layer).with_approver(Approver::None);
    let place = TestDirs::new();
    std::fs::write(place.at("work/x"), "kept").unwrap();
    for command in [
        "rm x",
        "\"rm\" x",
        "r'm' x",
        "r\\m x",
        "/bin/rm x",
        "$(echo rm) x",
        "env rm x",
        "command rm x",
        "true && rm x",
        "true\nrm x",
        "sh -c 'rm x'",
        "echo x | xargs rm",
        "find . -name x -exec rm {} +",
        "find . -name x -delete",
        "A=rm; $A x",
        "git -C . rm --cached x; rm x",
        "python3 -c 'import os; os.remove(\"x\")'",
        "git -C . push && echo > x",
        "rm x &",
        "(rm x)",
        "eval rm x",
    ] {
        let result = run(&place, command, &authority).await;
        assert!(result.failed && !result.text.contains("Exit code"), "{command}: {result:?}");
        assert_eq!(place.read("work/x"), "kept", "{command}");
    }
    let fine = run(&place, "cat x", &authority).await;
    assert!(!fine.failed && fine.text.ends_with("It wrote:\nkept"), "{fine:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_only_plans_runs_nothing() {
    let place = TestDirs::new();
    let plan = Permissions::of(PolicyLayer::mode(PermissionMode::Plan));
    let result = run(&place, "echo > made", &plan).await;
    assert!(result.failed && !place.at("work/made").exists(), "{result:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsandboxed_command_runs_only_with_an_approval() -> Test {
    for (decision, runs) in [(Decision::Once, true), (Decision::Denied { reason: None }, false)] {
        let place = TestDirs::new();
        let world = World::open(&place, Confined::Never, |call| match answers(call) {
            0 => Turn::call([("run_command", json!({"command": "echo made >> made"}))]),
            _ => Turn::say("over"),
        })
        .await;
        let agent = world.agent().await;
        let asked = loop {
            match PendingApproval::of_task(&agent).await?.pop() {
                Some(asked) => break asked,
                None => tokio::task::yield_now().await,
            }
        };
        assert!(!place.at("work/made").exists(), "nothing is run before");
        PendingApproval::decide(&agent, asked.number, &decision).await?;
        while !agent.wait().await?.is_ended() {}
        assert_eq!(place.read("work/made"), if runs { "made\n" } else { "" });
        let result = results(world.model.asked().last().unwrap()).remove(0);
        assert_eq!(result.failed, !runs, "{result:?}");
    }
    Ok(())
}
