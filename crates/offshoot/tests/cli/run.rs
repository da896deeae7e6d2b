//! `offshoot run` with one agent and one request.

use std::process::Stdio;

use offshoot_wiretest::{ReplyPart, ScriptedReply, WireProtocol};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::model::{KEY, Model, fed, hangs, says, talk};
use crate::support::{ProgramOutput, Started, World};

#[test]
fn the_answer_alone_is_on_the_standard_output() {
    let (world, model) = (World::new(), Model::saying(["Forty-two."]));
    let said = model.run(&world, &["run", "What is", "six by seven?"]);
    assert_eq!((said.out.as_str(), said.code), ("Forty-two.\n", 0), "{said:?}");
    let asked = model.asked();
    assert_eq!(asked[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(talk(&asked[0]), [("user".into(), "What is six by seven?".into())]);
}

#[test]
fn piped_text_is_added_to_the_typed_task() {
    let (world, model) = (World::new(), Model::saying(["one", "two"]));
    let said = fed(model.command(&world, &["run"]), "Do this.\n");
    assert_eq!((said.out.as_str(), said.code), ("one\n", 0), "{said:?}");
    let said = fed(model.command(&world, &["run", "Shorten it:"]), "a\nb\n");
    assert_eq!((said.out.as_str(), said.code), ("two\n", 0), "{said:?}");
    let heard: Vec<String> = model.asked().iter().map(|asked| talk(asked)[0].1.clone()).collect();
    assert_eq!(heard, ["Do this.", "Shorten it:\n\na\nb"]);
}

#[test]
fn an_open_pipe_is_reported() {
    let (world, model) = (World::new(), Model::saying(["Done."]));
    let mut command = model.command(&world, &["run", "Do it."]);
    command.stdin(Stdio::piped());
    let mut run = Started::new(command);
    run.until_remark("from the standard input; `</dev/null` skips that");
    drop(run.child.stdin.take());
    let said = run.finish();
    assert_eq!((said.out.as_str(), said.code), ("Done.\n", 0), "{said:?}");
}

#[test]
fn nothing_to_do_makes_no_sense() {
    let (world, model) = (World::new(), Model::saying([]));
    for said in [
        model.run(&world, &["run"]),
        model.run(&world, &["run", "  "]),
        fed(model.command(&world, &["run"]), " \n"),
    ] {
        assert_eq!((said.out.as_str(), said.code), ("", 2), "{said:?}");
        assert!(said.err.contains("the prompt is missing"), "{said:?}");
    }
    assert_eq!(world.json(&["sessions", "ls"])["sessions"], json!([]));
}

#[test]
fn a_script_gets_everything_in_json() {
    let (world, model) = (World::new(), Model::saying(["Done."]));
    let said = model.run(&world, &["--json", "run", "Do it."]);
    let told: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert_eq!(told["state"], "completed");
    assert_eq!(told["outcome"]["value"], "Done.");
    let agent = json!({
        "task": "Do it.", "model": "openai/test", "profile": "lead", "mode": "ask", "asks": "nobody",
    });
    assert_eq!(told["agent"], agent);
}

#[test]
fn one_that_is_left_alone_can_be_waited_for() {
    let (world, model) = (World::new(), Model::saying(["Done."]));
    let said = model.run(&world, &["run", "--detach", "Do it."]);
    assert_eq!((said.err.as_str(), said.code), ("", 0), "{said:?}");
    let session = said.out.trim_end();
    let waited = world.run(&["tasks", "wait", "--session", session, "lead"]);
    assert_eq!(waited.code, 0, "{waited:?}");
    let shown = world.json(&["--session", session, "tasks", "show", "lead"]);
    assert_eq!(shown["outcome"]["value"], "Done.");
}

#[test]
fn one_that_fails_says_why_and_nothing_on_the_standard_output() {
    let refuse =
        |_: &_| ScriptedReply::status(400, &[], &json!({"error": {"message": "no such thing"}}));
    let (world, model) = (World::new(), Model::new(refuse));
    let said = model.run(&world, &["run", "Do it."]);
    assert_eq!((said.out.as_str(), said.code), ("", 1), "{said:?}");
    assert!(said.err.contains("lead failed") && said.err.contains("no such thing"), "{said:?}");
}

#[test]
fn ctrl_c_stops_the_agent_and_hangs_up_on_its_model() {
    let (world, model) = (World::new(), Model::new(|_| hangs()));
    let run = Started::new(model.command(&world, &["run", "--session", "s", "Do it."]));
    model.was_asked(1);
    run.signal(Signal::INT);
    let said = run.finish();
    assert_eq!((said.out.as_str(), said.code), ("", 130), "{said:?}");
    assert!(said.err.contains("stopping; Ctrl-C again"), "{said:?}");
    model.hung_up(1);
    let shown = world.json(&["--session", "s", "tasks", "show", "lead"]);
    assert_eq!(shown["outcome"]["cancelled"]["reason"], "Ctrl-C");
}

#[test]
fn an_agent_stopped_elsewhere_is_cancelled() {
    let (world, model) = (World::new(), Model::new(|_| hangs()));
    let run = Started::new(model.command(&world, &["run", "--session", "s", "Do it."]));
    model.was_asked(1);
    world.done(&["--session", "s", "tasks", "cancel", "lead"]);
    assert_eq!(run.finish().code, 3);
}

#[test]
fn spawned_agents_are_shown_awaited_and_reported_once() {
    let (world, model) = (
        World::new(),
        Model::new(|asked| {
            let said = talk(asked);
            let home = said.iter().map(|(_, text)| text.matches("<notice kind=\"result\"").count());
            match (said[0].1.as_str(), said.len(), home.sum::<usize>()) {
                ("Lead.", 1, _) => {
                    let send = |name: &str| {
                        let arguments = json!({"name": name, "task": format!("Count {name}.")});
                        ReplyPart::call(name, "spawn_agent", &arguments.to_string())
                    };
                    WireProtocol::Chat.reply(&[send("ants"), send("bees")])
                }
                ("Lead.", _, 2) => says("Both are home."),
                ("Lead.", ..) => says("Waiting."),
                (other, ..) => says(&format!("{other} Done.")),
            }
        }),
    );
    let said = model.run(&world, &["run", "--session", "s", "Lead."]);
    assert_eq!((said.out.as_str(), said.code), ("Both are home.\n", 0), "{said:?}");
    for child in ["ants", "bees"] {
        assert!(said.err.contains(&format!("{child} completed")), "{said:?}");
    }
    let last = model.asked().into_iter().rfind(|asked| talk(asked)[0].1 == "Lead.").unwrap();
    for child in ["ants", "bees"] {
        let answer = format!("Count {child}. Done.");
        let told = talk(&last).iter().map(|(_, text)| text.matches(&answer).count()).sum::<usize>();
        assert_eq!(told, 1, "{:?}", talk(&last));
    }
}

#[test]
fn s11_6_a_waiting_lead_shows_the_running_tasks() {
    let (world, model) = (
        World::new(),
        Model::new(|asked| {
            let said = talk(asked);
            let home = said.iter().any(|(_, text)| text.contains("outcome=\"cancelled\""));
            match (said[0].1.as_str(), said.len()) {
                ("Lead.", 1) => {
                    let arguments = json!({"name": "ants", "task": "Count."}).to_string();
                    WireProtocol::Chat.reply(&[ReplyPart::call("c", "spawn_agent", &arguments)])
                }
                ("Lead.", _) if home => says("It was stopped."),
                ("Lead.", _) => says("All is counted, believe me."),
                _ => hangs(),
            }
        }),
    );
    let mut run = Started::new(model.command(&world, &["run", "--session", "s", "Lead."]));
    run.until_remark("lead waits; still running: ants");
    world.done(&["--session", "s", "tasks", "cancel", "lead/ants"]);
    let said = run.finish();
    assert_eq!((said.out.as_str(), said.code), ("It was stopped.\n", 0), "{said:?}");
}

#[test]
fn s11_6_foreground_commands_are_not_listed_and_failures_have_codes() {
    let world = World::new();
    let model = Model::new(|asked| match talk(asked).len() {
        1 => {
            let arguments = json!({"command": "exit 7"}).to_string();
            WireProtocol::Chat.reply(&[ReplyPart::call("c", "run_command", &arguments)])
        }
        _ => says("It failed."),
    });
    let mut run = model.command(&world, &["run", "--mode", "auto", "Run it."]);
    // Where nothing is that must be hidden.
    let tree = world.folder.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    let said = ProgramOutput::of(run.current_dir(tree).output().unwrap());
    assert_eq!((said.out.as_str(), said.code), ("It failed.\n", 0), "{said:?}");
    assert!(!said.err.contains("still running"), "{said:?}");
    let failed = said.err.lines().find(|line| line.contains("command-1 failed after"));
    assert!(failed.is_some_and(|line| line.ends_with(": exit 7")), "{said:?}");
}

#[test]
fn the_offline_model_needs_no_key_and_counts_files() {
    let world = World::new();
    for file in ["tree/a/one", "tree/b/two", "tree/three"] {
        let file = world.folder.path().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "x\n").unwrap();
    }
    let mut command = world.command(&["run", "--model", "offline/survey", "What is here?"]);
    command.current_dir(world.folder.path().join("tree"));
    let said = ProgramOutput::of(command.output().unwrap());
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("offline model") && said.out.contains("3 files"), "{said:?}");
    assert_eq!(said.err.matches(" completed").count(), 2, "{said:?}");
}

#[test]
fn an_answer_of_megabytes_is_printed_whole() {
    let long = "x".repeat(3 << 20);
    let event = |choice: &Value| {
        let said = json!({"id": "a", "object": "chat.completion.chunk", "created": 1,
            "model": "test", "choices": [choice]});
        format!("data: {said}\n\n")
    };
    let events = [
        event(&json!({"index": 0, "delta": {"role": "assistant", "content": long}})),
        event(&json!({"index": 0, "delta": {}, "finish_reason": "stop"})),
        "data: [DONE]\n\n".to_owned(),
    ];
    let (world, model) = (World::new(), Model::new(move |_| ScriptedReply::events(events.clone())));
    let said = model.run(&world, &["run", "--session", "s", "Do it."]);
    assert_eq!((said.out.len(), said.code), ((3 << 20) + 1, 0), "{}", said.err);
    let listed = world.done(&["--session", "s", "tasks", "ls", "--all"]);
    assert!(listed.contains("returned 3.1 MB"), "{listed}");
    let whole = world.done(&["--session", "s", "tasks", "show", "--result", "lead"]);
    assert_eq!(whole, said.out);
}

#[test]
fn a_task_that_is_too_long_is_refused_before_anything_begins() {
    let (world, model) = (World::new(), Model::saying([]));
    for long in ["x".repeat((1 << 20) + 1), "\u{1}".repeat(1 << 19)] {
        let said = fed(model.command(&world, &["run"]), &long);
        assert_eq!((said.out.as_str(), said.code), ("", 2), "{said:?}");
        assert!(said.err.contains("long") && said.err.contains("shorten it"), "{said:?}");
        assert!(!said.err.contains("file"), "{said:?}");
    }
    assert_eq!(world.json(&["sessions", "ls"])["sessions"], json!([]));
}
