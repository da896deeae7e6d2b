//! A denied command does not run by way of a program that may run others.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use offshoot_agent::{Decision, MemoryGrants, PendingApproval};
use offshoot_core::permissions::{Approver, PermissionMode, Permissions, PolicyLayer, Verdict};
use offshoot_models::ToolResult;
use offshoot_runtime::TaskRef;
use serde_json::json;

use crate::support::{Confined, Test, TestDirs, World, calls, results, variables};

/// A directory with a file, and programs that run their arguments.
fn place() -> TestDirs {
    let place = TestDirs::new();
    std::fs::write(place.at("work/x"), "kept").unwrap();
    std::fs::create_dir(place.at("bin")).unwrap();
    for program in ["bin/carrier", "bin/cargo"] {
        std::fs::write(place.at(program), "#!/bin/sh\nexec \"$@\"\n").unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(place.at(program), mode).unwrap();
    }
    place
}

/// A policy that allows every command except `rm`.
fn layer() -> PolicyLayer {
    PolicyLayer::mode(PermissionMode::Auto).rule("run_command(rm)".parse().unwrap(), Verdict::Deny)
}

async fn open(place: &TestDirs, command: &str) -> World {
    let path = format!("{}:/usr/bin:/bin", place.at("bin").display());
    let script = calls(json!({"command": command}));
    World::with(place, Confined::No, script, |runs| {
        runs.surroundings(move |_| variables(&[("PATH", &path)]))
    })
    .await
}

/// Runs a command without an approver and returns its result.
async fn run(place: &TestDirs, command: &str, layer: PolicyLayer) -> ToolResult {
    let world = open(place, command).await;
    let authority = Permissions::of(layer).with_approver(Approver::None);
    let request = world.agents.request(&world.brief().authority(authority)).unwrap();
    world.session.spawn(request).await.unwrap().wait().await.unwrap();
    results(&world.model.asked()[1]).remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_command_does_not_run_through_an_unknown_program() {
    let place = place();
    let refused = run(&place, "carrier rm x", layer()).await;
    assert_eq!(place.read("work/x"), "kept");
    assert!(refused.failed && refused.text.contains("may run `rm`"), "{refused:?}");
    let plain = run(&place, "cat x && echo rm x", layer()).await;
    assert!(!plain.failed, "cat and echo run no other program: {plain:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allow_rule_for_the_program_replaces_the_approval() {
    let place = place();
    let named = layer().rule("run_command(carrier echo)".parse().unwrap(), Verdict::Allow);
    let allowed = run(&place, "carrier echo made", named.clone()).await;
    assert!(!allowed.failed && allowed.text.contains("made"), "{allowed:?}");
    assert!(run(&place, "carrier rm x", named).await.failed);
    let whole = layer().rule("run_command".parse().unwrap(), Verdict::Allow);
    assert!(run(&place, "carrier rm x", whole).await.failed, "it names no program");
    assert_eq!(place.read("work/x"), "kept");
}

/// Returns the approval request of a command, if there is one.
async fn asked(agent: &TaskRef) -> Result<Option<PendingApproval>, Box<dyn std::error::Error>> {
    loop {
        if let Some(asked) = PendingApproval::of_task(agent).await?.pop() {
            return Ok(Some(asked));
        }
        if agent.record().await?.ended().is_some() {
            return Ok(None);
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_approval_request_names_the_rule_in_doubt() -> Test {
    let place = place();
    let world = open(&place, "carrier cat x").await;
    let request = world.agents.request(&world.brief().authority(Permissions::of(layer())))?;
    let agent = world.session.spawn(request).await?;
    let asked = asked(&agent).await?.expect("it ran unasked");
    let notes = asked.request.notes.join("; ");
    assert!(notes.contains("may run `rm`"), "{notes}");
    PendingApproval::decide(&agent, asked.number, &Decision::Once).await?;
    while !agent.wait().await?.is_ended() {}
    let result = results(world.model.asked().last().unwrap()).remove(0);
    assert!(result.text.contains("kept"), "{result:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_replaces_the_approval_of_a_program() -> Test {
    let place = place();
    let world = open(&place, "cargo test").await;
    let agents = world.agents.clone().grants(MemoryGrants::default());
    let brief = world.brief().authority(Permissions::of(layer()));
    let mut questions = 0;
    for _ in 0..3 {
        let request = agents.request(&brief)?.executed_by(Arc::new(agents.backend()));
        let agent = world.session.spawn(request).await?;
        if let Some(asked) = asked(&agent).await? {
            questions += 1;
            PendingApproval::decide(&agent, asked.number, &Decision::Always).await?;
        }
        while !agent.wait().await?.is_ended() {}
    }
    assert_eq!(questions, 1);
    Ok(())
}
