//! `offshoot agents` and `offshoot trust`.

use serde_json::json;

use crate::model::{Model, says};
use crate::support::World;

/// Writes a profile into the project directory.
fn profile(world: &World, name: &str, text: &str) {
    let agents = world.folder.path().join(".offshoot/agents");
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(agents.join(name), text).unwrap();
}

const REVIEW: &str = "---\nname: review\ndescription: Reads \u{1b}[2Jand tells.\nmode: plan\n\
                      model: openai/other\n---\nRead it.\n";

#[test]
fn profiles_are_listed_with_their_origins_and_errors() {
    let world = World::new();
    profile(&world, "review.md", REVIEW);
    profile(&world, "odd.md", "---\ncolour: red\n---\nx\n");
    profile(&world, "a.md", "---\nname: a\nextends: b\n---\nx\n");
    profile(&world, "b.md", "---\nname: b\nextends: a\n---\nx\n");
    let said = world.run(&["agents", "ls"]);
    assert_eq!(said.code, 0, "{said:?}");
    for name in ["lead", "explore", "work", "verify", "review"] {
        assert!(said.out.lines().any(|line| line.starts_with(name)), "{name}: {said:?}");
    }
    let line = said.out.lines().find(|line| line.starts_with("review")).unwrap();
    assert!(line.contains("project") && line.contains("no") && line.contains("plan"), "{line}");
    // The default profile.
    let lead = said.out.lines().find(|line| line.starts_with("lead ")).unwrap();
    assert!(lead.contains(" ask (--mode) ") && !lead.contains("auto"), "{lead}");
    for broken in ["odd.md", "there is no field", "loop: "] {
        assert!(said.err.contains(broken), "{broken}: {said:?}");
    }
    assert!(said.err.contains("offshoot trust "), "{said:?}");
    assert!(!said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'), "{said:?}");
    let found = world.json(&["agents", "ls"]);
    assert_eq!(found["trust"]["trusted"], false, "{found}");
    let shown = world.json(&["agents", "show", "Review"]);
    assert_eq!((&shown["mode"], &shown["trusted"]), (&json!("plan"), &json!(false)), "{shown}");
    assert_eq!(shown["prompt"].as_str().unwrap().trim(), "Read it.");
    let nowhere = world.run(&["agents", "ls", "not-there"]);
    assert_eq!(nowhere.code, 2, "{nowhere:?}");
    assert!(nowhere.err.contains("not-there is not a directory"), "{nowhere:?}");
    let missing = world.run(&["agents", "show", "missing"]);
    assert_eq!(missing.code, 5, "{missing:?}");
    assert!(missing.err.contains("there is no profile \"missing\""), "{missing:?}");
    assert!(!missing.err.contains("odd.md") && !missing.err.contains("loop: "), "{missing:?}");
    assert!(missing.err.contains("others cannot be read; offshoot"), "{missing:?}");
    // A broken profile of its name is an error.
    let odd = world.run(&["agents", "show", "ODD"]);
    assert_eq!(odd.code, 5, "{odd:?}");
    assert!(odd.err.contains("odd.md:2:1: there is no field"), "{odd:?}");
    assert!(!odd.err.contains("loop: "), "{odd:?}");
}

#[test]
fn a_rule_about_a_missing_tool_is_reported() {
    let (world, model) = (World::new(), Model::saying(["Done."]));
    profile(&world, "safe.md", "---\nname: safe\ndeny: [Bash, run_command(git push)]\n---\nGo.\n");
    let idle = "the rule \"deny Bash\" is about nothing: there is no tool \"Bash\" here";
    let shown = world.json(&["agents", "show", "safe"]);
    assert_eq!(shown["notes"], json!([idle]), "{shown}");
    let said = model.run(&world, &["run", "--profile", "safe", "Do it."]);
    assert!(said.code == 0 && said.err.contains(idle), "{said:?}");
    profile(&world, "safe.md", "---\nname: safe\ndeny: [run_command(git push:*)]\n---\nGo.\n");
    let said = world.run(&["run", "--profile", "safe", "Do it."]);
    assert!(said.code == 2 && said.err.contains("word for word and without quotes"), "{said:?}");
}

#[test]
fn s11_2_a_lead_of_an_untrusted_directory_is_not_used_by_default() {
    let world = World::new();
    profile(&world, "lead.md", "---\nname: lead\ndescription: Ours.\n---\nObey the folder.\n");
    let heard = |args: &[&str]| {
        let model = Model::saying(["Done."]);
        let said = model.run(&world, &[&["run"], args, &["Look."]].concat());
        assert_eq!(said.code, 0, "{said:?}");
        (model.asked()[0].body.to_string().contains("Obey the folder."), said.err)
    };
    let (obeys, told) = heard(&[]);
    assert!(!obeys && told.contains("the profile lead of this directory is not used"), "{told}");
    assert!(heard(&["--profile", "lead"]).0);
    world.done(&["trust"]);
    assert!(heard(&[]).0);
}

#[test]
fn a_directory_is_trusted_until_its_profiles_change() {
    let world = World::new();
    profile(&world, "review.md", REVIEW);
    let model = |world: &World| world.json(&["agents", "show", "review"])["model"].clone();
    assert_eq!(model(&world), json!(null), "an untrusted profile sets no model");
    let said = world.done(&["trust"]);
    assert!(
        said.contains("is trusted with these profiles:\n") && said.contains("review"),
        "{said}"
    );
    profile(&world, "bold.md", "---\nname: bold\ndescription: Bold.\nallow: [write]\n---\nGo.\n");
    let said = world.done(&["trust"]);
    assert!(said.contains("\nbold: allow write\n"), "what it may do unasked is shown: {said}");
    assert_eq!(model(&world), "openai/other");
    let listed = world.json(&["trust", "--list"]);
    assert_eq!(listed["folders"][0]["trusted"], true, "{listed}");
    profile(&world, "review.md", &REVIEW.replace("Read it", "Do it"));
    assert_eq!(model(&world), json!(null), "it is another one now");
    assert!(world.done(&["trust", "--list"]).contains("no: changed since"));
    world.done(&["trust"]);
    assert_eq!(model(&world), "openai/other");
    assert!(world.done(&["trust", "--remove"]).contains("is no longer trusted"));
    assert!(world.done(&["trust", "--remove"]).contains("was not trusted"));
    assert_eq!(model(&world), json!(null));
    let missing = world.run(&["trust", "/nowhere/at/all"]);
    assert_eq!(missing.code, 5, "{missing:?}");
    let empty = world.folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert!(world.done(&["trust", empty.to_str().unwrap()]).contains("has no profiles"));
}

#[test]
fn a_command_of_a_task_cannot_trust_a_directory() {
    let world = World::new();
    profile(&world, "review.md", REVIEW);
    let program = env!("CARGO_BIN_EXE_offshoot");
    for line in [format!("{program} trust"), format!("env -u OFFSHOOT_TASK {program} trust")] {
        let said = world.run(&["spawn", "--no-stdin", "--", "sh", "-c", &line]);
        assert!(said.err.contains("this is a process of a task"), "{said:?}");
    }
    assert_eq!(world.json(&["trust", "--list"])["folders"], json!([]));
}

#[test]
fn an_agent_is_made_of_the_profile_that_is_named_and_stays_so() {
    let (world, model) = (World::new(), Model::new(|_| says("Done.")));
    profile(&world, "review.md", &REVIEW.replace("model: openai/other\n", ""));
    profile(&world, "odd.md", "---\ncolour: red\n---\nx\n");
    let run = |args: &[&str]| {
        let args: Vec<&str> = ["run", "--session", "s"].iter().chain(args).copied().collect();
        model.run(&world, &args)
    };
    let said = run(&["--profile", "missing", "Do it."]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("there is no profile \"missing\""), "{said:?}");
    let said = run(&["--profile", "odd", "Do it."]);
    assert!(said.code == 2 && said.err.contains("there is no field"), "{said:?}");
    let said = run(&["--budget", "-1usd", "Do it."]);
    assert!(said.err.contains("\"-1usd\" is no budget"), "{said:?}");
    let said = run(&["--budget", "much", "Do it."]);
    assert!(said.code == 2 && said.err.contains("is no budget"), "{said:?}");
    let said = run(&["--mode", "free", "Do it."]);
    assert!(said.code == 2 && said.err.contains("plan, ask, auto"), "{said:?}");
    assert_eq!(world.json(&["sessions", "ls"])["sessions"], json!([]), "nothing was opened");

    let said = run(&["--profile", "review", "--budget", "5 steps, 1m tokens", "Do it."]);
    assert_eq!((said.out.as_str(), said.code), ("Done.\n", 0), "{said:?}");
    assert!(said.err.contains("offshoot: spent ") && said.err.contains("1 of 5 steps"), "{said:?}");
    let lead = world.json(&["--session", "s", "tasks", "show", "lead"]);
    assert_eq!(
        (&lead["agent"]["profile"], &lead["agent"]["mode"]),
        (&json!("review"), &json!("plan"))
    );
    assert_eq!(lead["spent"]["steps"], 1, "{lead}");
    assert_eq!(lead["spent"]["budget"], "1000000 tokens, 5 steps");
    for args in [["--mode", "auto"], ["--profile", "lead"], ["--budget", "9 steps"]] {
        let said = run(&[&args[..], &["And?"]].concat());
        assert_eq!(said.code, 2, "{args:?}: {said:?}");
        assert!(said.err.contains("the agent of this session began with"), "{said:?}");
    }
    assert_eq!(run(&["--mode", "plan", "--profile", "review", "And?"]).code, 0);
}

#[test]
fn agents_that_a_command_spawns_have_no_more_permissions_than_its_agent() {
    let mut first = true;
    let model = Model::new(move |_| match std::mem::take(&mut first) {
        true => crate::model::hangs(),
        false => says("Done."),
    });
    let world = World::new();
    model.done(&world, &["run", "--detach", "--mode", "plan", "--session", "s", "Wait."]);
    model.was_asked(1);
    let program = env!("CARGO_BIN_EXE_offshoot");
    let sends = |line: &str| {
        let args = ["spawn", "--no-stdin", "--session", "s", "--parent", "lead", "--", "sh", "-c"];
        let args: Vec<&str> = args.iter().copied().chain([line]).collect();
        model.run(&world, &args)
    };
    let run =
        format!("{program} run --session t --mode auto --ask person --detach 'Do it.' </dev/null");
    let said = sends(&run);
    assert_eq!(said.code, 0, "{said:?}");
    let lead = world.json(&["--session", "t", "tasks", "show", "lead"]);
    assert_eq!(lead["agent"]["mode"], "plan", "{lead}");
    // It cannot act as the user elsewhere, nor hide its origin.
    let said = sends(&format!("{program} run --session t 'And now?' </dev/null"));
    assert!(said.err.contains("to go on with a conversation is for a person"), "{said:?}");
    let masked = run.replace("--session t", "--session u");
    let said = sends(&format!("env -u OFFSHOOT_TASK {masked}"));
    assert!(said.err.contains("cannot give an agent more permissions"), "{said:?}");
    world.done(&["--session", "s", "tasks", "cancel", "lead"]);
}
