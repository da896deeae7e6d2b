//! Approval requests, decided from another terminal.

use std::process::Command;

use offshoot_wiretest::{ReceivedRequest, ReplyPart, ScriptedReply, WireProtocol};
use serde_json::{Value, json};

use crate::model::{Model, says, talk};
use crate::support::{ProgramOutput, Started, World};

/// A profile whose agents and their children ask before they count.
pub(crate) fn careful(world: &World) {
    let agents = world.folder.path().join(".offshoot/agents");
    std::fs::create_dir_all(&agents).unwrap();
    let text = "---\nname: careful\ndescription: asks\nask: [survey]\n---\nBe careful.\n";
    std::fs::write(agents.join("careful.md"), text).unwrap();
}

fn sends(name: &str) -> ScriptedReply {
    let arguments = json!({"name": name, "task": format!("I am {name}.")});
    WireProtocol::Chat.reply(&[ReplyPart::call(name, "spawn_agent", &arguments.to_string())])
}

fn counts(path: &str) -> ScriptedReply {
    WireProtocol::Chat.reply(&[ReplyPart::call(
        "count",
        "survey",
        &json!({"path": path}).to_string(),
    )])
}

fn is_home(asked: &ReceivedRequest, name: &str) -> bool {
    let home = format!("<notice kind=\"result\" task=\"{name}\"");
    talk(asked).iter().any(|(_, text)| text.contains(&home))
}

/// Returns the last message to a model.
fn last(asked: &ReceivedRequest) -> String {
    talk(asked).last().map(|(_, text)| text.clone()).unwrap_or_default()
}

/// A lead that spawns `mid`, which spawns `deep`, which counts.
pub(crate) fn family() -> Model {
    Model::new(|asked| {
        let said = talk(asked);
        match (said[0].1.as_str(), said.len()) {
            ("Lead.", 1) => sends("mid"),
            ("Lead.", _) if is_home(asked, "mid") => says("All are home."),
            ("I am mid.", 1) => sends("deep"),
            ("I am mid.", _) if is_home(asked, "deep") => says("Deep is home."),
            ("I am deep.", 1) => counts("."),
            ("I am deep.", _) => says(&format!("I was told: {}", last(asked))),
            _ => says("I wait."),
        }
    })
}

/// Starts these agents, and returns the request of `deep`.
fn asked(world: &World, model: &Model) -> Value {
    careful(world);
    model.done(world, &["run", "--detach", "--profile", "careful", "--session", "s", "Lead."]);
    model.was_asked(5);
    let waited = world.run(&["--session", "s", "tasks", "wait", "mid/deep"]);
    assert_eq!(waited.code, 6, "{waited:?}");
    let page = world.json(&["approvals", "ls"]);
    assert_eq!(page["approvals"].as_array().unwrap().len(), 1, "{page}");
    page["approvals"][0].clone()
}

fn id(asked: &Value) -> String {
    asked["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_grandchild_asks_and_is_answered_from_elsewhere_after_the_daemon_died() {
    let (world, model) = (World::new(), family());
    let asked = asked(&world, &model);
    let id = id(&asked);
    assert_eq!(asked["agent"], "lead/mid/deep");
    assert_eq!((&asked["tool"], &asked["session"]), (&json!("survey"), &json!("s")));
    assert_eq!(asked["arguments"], r#"{"path":"."}"#);
    for told in [
        world.done(&["--session", "s", "tasks", "why", "lead"]),
        world.done(&["--session", "s", "tasks", "why", "mid/deep"]),
        world.done(&["--session", "s", "tasks", "ls"]),
    ] {
        assert!(told.contains(&format!("offshoot approve {id}")), "{told}");
    }
    let shown = world.done(&["approvals", "show", &id]);
    assert!(shown.contains("lead/mid/deep wants to use survey"), "{shown}");
    assert!(shown.contains("  path\n    │ .\n"), "{shown}");

    world.kill_daemon();
    assert_eq!(world.json(&["approvals", "ls"])["approvals"][0]["id"], id.as_str());
    let approved = model.done(&world, &["approve", &id]);
    assert_eq!(approved, "allowed once: lead/mid/deep may use survey\n");
    // The command has also brought the key.
    let waited = world.run(&["--session", "s", "tasks", "wait", "lead"]);
    assert_eq!(waited.code, 0, "{waited:?}");
    let deep = world.json(&["--session", "s", "tasks", "show", "mid/deep"]);
    let said = deep["outcome"]["value"].as_str().unwrap();
    assert!(said.contains("\"files\""), "{said}");
    let page = world.json(&["approvals", "ls"]);
    assert_eq!(page["approvals"], json!([]));
    let shown = world.done(&["approvals", "show", &id]);
    assert!(shown.contains("closed: allowed once by a person"), "{shown}");
}

#[test]
fn the_second_of_two_decisions_learns_of_the_first() {
    let (world, model) = (World::new(), family());
    let id = id(&asked(&world, &model));
    let answers: Vec<Started> = [["approve", &id], ["deny", &id]]
        .iter()
        .cycle()
        .take(6)
        .map(|args| Started::new(model.command(&world, args)))
        .collect();
    let said: Vec<ProgramOutput> = answers.into_iter().map(Started::finish).collect();
    let (won, lost): (Vec<_>, Vec<_>) = said.into_iter().partition(|said| said.code == 0);
    assert_eq!((won.len(), lost.len()), (1, 5), "{won:?} {lost:?}");
    let word = if won[0].out.contains("allowed") { "allowed it once" } else { "denied it" };
    for said in lost {
        assert_eq!(said.code, 125, "{said:?}");
        let told = format!("was answered before: a person has {word}");
        assert!(said.err.contains(&told), "{said:?}");
    }
    assert_eq!(model.run(&world, &["--session", "s", "tasks", "wait", "lead"]).code, 0);
}

#[test]
fn a_denial_has_a_reason_and_the_agent_continues() {
    let (world, model) = (World::new(), family());
    let id = id(&asked(&world, &model));
    let denied = model.done(&world, &["deny", &id, "--reason", "not on a Friday"]);
    assert!(denied.starts_with("denied (not on a Friday): lead/mid/deep may not"), "{denied}");
    assert_eq!(model.run(&world, &["--session", "s", "tasks", "wait", "lead"]).code, 0);
    let deep = world.json(&["--session", "s", "tasks", "show", "mid/deep"]);
    assert!(deep["outcome"]["value"].as_str().unwrap().contains("not on a Friday"), "{deep}");
}

#[test]
fn a_withdrawn_request_cannot_be_decided() {
    let (world, model) = (World::new(), family());
    let id = id(&asked(&world, &model));
    world.done(&["--session", "s", "tasks", "cancel", "lead"]);
    assert_eq!(world.run(&["--session", "s", "tasks", "wait", "lead"]).code, 3);
    let late = world.run(&["approve", &id]);
    assert_eq!(late.code, 125, "{late:?}");
    assert!(late.err.contains("is not asked for any more"), "{late:?}");
    assert!(late.err.contains(" ago (") || late.err.contains("just now ("), "{late:?}");
    assert_eq!(world.json(&["approvals", "ls"])["approvals"], json!([]));
}

#[test]
fn a_bad_decision_is_refused_and_changes_nothing() {
    let (world, model) = (World::new(), family());
    let id = id(&asked(&world, &model));
    for (args, code, told) in [
        (&["approve", "ffffff-1"][..], 5, "no approval request has the id \"ffffff-1\""),
        (&["approve", "\u{1b}[2J"], 5, "no approval request has the id"),
        (&["deny", ""], 5, "no approval request has the id"),
        (&["approve", &id, "--always"], 2, "cannot have a standing grant"),
        (&["approve"], 2, "required"),
        (&["approvals", "show", "nobody-7"], 5, "`offshoot approvals ls` lists"),
        (&["approvals", "ls", "--cursor", "x"], 2, "is no cursor"),
        (&["approvals", "revoke", "run_command("], 2, "is no rule"),
        (&["approvals", "revoke", "write"], 5, "there is no standing grant for write"),
    ] {
        let said = world.run(args);
        assert_eq!(said.code, code, "{args:?}: {said:?}");
        assert!(said.err.contains(told) && !said.err.contains('\u{1b}'), "{args:?}: {said:?}");
    }
    let long = "x".repeat(20 << 10);
    assert_eq!(world.run(&["deny", &id, "--reason", &long]).code, 2);
    // A message never approves a call.
    let said = world.run(&["--session", "s", "tasks", "send", "mid/deep", "yes"]);
    assert!(!said.out.contains("answered"), "{said:?}");
    assert_eq!(world.json(&["approvals", "ls"])["approvals"][0]["id"], id.as_str());
    // A task with one request can be named instead.
    assert!(model.done(&world, &["--session", "s", "deny", "mid/deep"]).starts_with("denied"));
}

#[test]
fn a_command_of_a_task_cannot_decide() {
    let (world, model) = (World::new(), family());
    let id = id(&asked(&world, &model));
    let program = env!("CARGO_BIN_EXE_offshoot");
    for line in [
        format!("{program} approve {id}"),
        // Without its mark, its environment and its parent.
        format!("unset OFFSHOOT_TASK; {program} approve {id}"),
        format!("env -u OFFSHOOT_TASK {program} deny {id}"),
        format!("(env -u OFFSHOOT_TASK setsid {program} approve {id} 2>&1; true) | cat"),
        format!("OFFSHOOT_TASK=0197f000-0000-7000-8000-000000000000 {program} approve {id}"),
        format!("{program} approvals revoke --all"),
    ] {
        let said = world.run(&["spawn", "--no-stdin", "--", "sh", "-c", &line]);
        let told = format!("{}{}", said.out, said.err);
        assert!(told.contains("this is a process of a task"), "{line}: {said:?}");
    }
    assert_eq!(world.json(&["approvals", "ls"])["approvals"][0]["id"], id.as_str());
    world.done(&["approve", &id]);
}

#[test]
fn without_a_terminal_requests_are_denied_with_a_hint() {
    let (world, model) = (World::new(), family());
    careful(&world);
    for json in [false, true] {
        let args: &[&str] = if json { &["--json", "run"] } else { &["run"] };
        let args: Vec<&str> =
            args.iter().chain(&["--profile", "careful", "Lead."]).copied().collect();
        let said = model.run(&world, &args);
        assert_eq!(said.code, 0, "{said:?}");
        assert!(said.out.contains("All are home."), "{said:?}");
        assert!(said.err.contains("deep may not use survey"), "{said:?}");
        assert!(said.err.contains(": survey needs approval"), "{said:?}");
        assert_eq!(
            said.err.matches("with --ask person they wait").count(),
            usize::from(!json),
            "{said:?}"
        );
    }
    assert_eq!(world.json(&["approvals", "ls"])["approvals"], json!([]));
}

#[test]
fn requests_of_a_script_can_be_decided_from_another_terminal() {
    let (world, model) = (World::new(), family());
    careful(&world);
    let args = ["run", "--ask", "person", "--profile", "careful", "--session", "s", "Lead."];
    let mut run = Started::new(model.command(&world, &args));
    run.until_remark("lead/mid/deep wants to use survey");
    run.until_remark("to answer: offshoot approve ");
    let page = world.json(&["--session", "s", "approvals", "ls"]);
    let id = id(&page["approvals"][0]);
    world.done(&["approve", &id]);
    run.until_remark("lead/mid/deep: survey (.): allowed once by a person");
    let said = run.finish();
    assert_eq!((said.out.as_str(), said.code), ("All are home.\n", 0), "{said:?}");
}

#[test]
fn a_wait_reports_the_approval_requests_below_a_task() {
    let (world, model) = (World::new(), family());
    let id = id(&asked(&world, &model));
    let mut wait =
        Started::new(model.command(&world, &["--session", "s", "tasks", "wait", "lead"]));
    wait.until_remark(&format!("offshoot approve {id}"));
    // As it would be if the lead itself asked.
    assert_eq!(wait.finish().code, 6);
    for args in [&["wait", "--any", "lead"][..], &["wait", "lead", "mid"]] {
        let args = [&["--json", "--session", "s", "tasks"], args].concat();
        let said = model.run(&world, &args);
        assert_eq!(said.code, 6, "{args:?}: {said:?}");
        assert!(said.err.contains("lead/mid/deep wants to use survey"), "{said:?}");
        let answer: Value = serde_json::from_str(&said.out).unwrap();
        for task in answer["tasks"].as_array().unwrap() {
            assert_eq!(task["waited"], "needs_input", "{answer}");
        }
    }
    world.done(&["approve", &id]);
    assert_eq!(model.run(&world, &["--session", "s", "tasks", "wait", "lead"]).code, 0);
}

#[test]
fn why_names_the_command_that_answers() {
    let (world, model) = (World::new(), family());
    let id = id(&asked(&world, &model));
    let why = world.done(&["--session", "s", "tasks", "why", "mid/deep"]);
    assert!(why.contains("waits for approval: it wants to use survey; to answer: "), "{why}");
    assert!(why.contains(&format!("offshoot approve {id}")), "{why}");
}

#[test]
fn ids_are_completed() {
    let (world, model) = (World::new(), family());
    let id = id(&asked(&world, &model));
    let mut command: Command = world.command(&["--", "offshoot", "approve", &id[..3]]);
    command.env("OFFSHOOT_COMPLETE", "fish");
    let said = ProgramOutput::of(command.output().unwrap());
    assert!(said.out.contains(&id) && said.out.contains("lead/mid/deep"), "{said:?}");
}

#[test]
fn several_requests_of_a_task_are_decided_by_their_ids() {
    let world = World::new();
    let model = Model::new(|asked| match talk(asked).len() {
        1 => WireProtocol::Chat.reply(
            &["a", "b"]
                .map(|path| ReplyPart::call(path, "survey", &json!({"path": path}).to_string())),
        ),
        _ => says("Done."),
    });
    careful(&world);
    model.done(&world, &["run", "--detach", "--profile", "careful", "--session", "s", "Lead."]);
    let both = loop {
        let page = world.json(&["approvals", "ls"]);
        let open = page["approvals"].as_array().unwrap().clone();
        if open.len() == 2 {
            break open;
        }
    };
    let said = world.run(&["--session", "s", "approve", "lead"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(both.iter().all(|one| said.err.contains(&id(one))), "{said:?}");
    // A page may end between them, and the next one continues.
    let page = world.json(&["approvals", "ls", "--limit", "1"]);
    assert!(!page["approvals"].as_array().unwrap().is_empty(), "{page}");
    for one in &both {
        world.done(&["deny", &id(one)]);
    }
    assert_eq!(world.run(&["--session", "s", "tasks", "wait", "lead"]).code, 0);
}

/// A lead that spawns `deep`, which counts, and runs a given command.
fn obedient() -> Model {
    Model::new(|asked| {
        let said = talk(asked);
        let told = last(asked);
        match (said[0].1.as_str(), said.len()) {
            ("Lead.", 1) => sends("deep"),
            ("Lead.", _) => match told.split_once("RUN ") {
                Some((_, line)) => {
                    let command = line.split(" END").next().unwrap_or_default();
                    let arguments = json!({"command": command}).to_string();
                    WireProtocol::Chat.reply(&[ReplyPart::call("run", "run_command", &arguments)])
                }
                None => says("I wait."),
            },
            (_, 1) => counts("."),
            _ => says("Counted."),
        }
    })
}

#[test]
fn a_command_of_an_agent_cannot_decide_for_its_child() {
    let (world, model) = (World::new(), obedient());
    careful(&world);
    let run =
        ["run", "--detach", "--mode", "auto", "--profile", "careful", "--session", "s", "Lead."];
    model.done(&world, &run);
    model.was_asked(3);
    assert_eq!(world.run(&["--session", "s", "tasks", "wait", "deep"]).code, 6);
    let survey = world.json(&["approvals", "ls"])["approvals"][0].clone();
    assert_eq!(survey["tool"], "survey", "{survey}");
    let (program, data) = (env!("CARGO_BIN_EXE_offshoot"), world.data());
    let line = format!("{program} --data {} approve {}", data.display(), id(&survey));
    world.done(&["--session", "s", "tasks", "send", "lead", &format!("RUN {line} END")]);
    // It may have to be allowed first. The child, the lead three times, and once
    // more with what the command said.
    while model.asked().len() < 5 {
        let page = world.json(&["approvals", "ls"]);
        let open = page["approvals"].as_array().unwrap();
        if let Some(command) = open.iter().find(|one| one["tool"] == "run_command") {
            assert_eq!(command["agent"], "lead", "{command}");
            world.done(&["approve", command["id"].as_str().unwrap()]);
        }
    }
    let asked = model.asked();
    let told = last(asked.last().unwrap());
    assert!(told.contains("xit code") && !told.contains("allowed once"), "{told}");
    let page = world.json(&["approvals", "ls"]);
    assert_eq!(page["approvals"][0]["id"], survey["id"], "{page}");
    world.done(&["--session", "s", "tasks", "cancel", "lead"]);
}
