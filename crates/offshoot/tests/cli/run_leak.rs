//! A provider that repeats the key in whatever goes wrong: it is kept nowhere.

use std::collections::HashSet;
use std::process::Command;

use offshoot_wiretest::{ReceivedRequest, ReplyPart, ScriptedReply, WireProtocol};
use serde_json::json;

use crate::model::{KEY, Model};
use crate::run_keys::grep;
use crate::support::{ProgramOutput, World};

#[test]
fn no_fault_of_a_chat_leaves_the_key_anywhere() {
    leaves_no_key(WireProtocol::Chat);
}

#[test]
fn no_fault_of_responses_leaves_the_key_anywhere() {
    leaves_no_key(WireProtocol::Responses);
}

#[test]
fn no_fault_of_anthropic_leaves_the_key_anywhere() {
    leaves_no_key(WireProtocol::Anthropic);
}

/// Has one agent for each fault, which meets it once.
fn leaves_no_key(language: WireProtocol) {
    let faults = faults(language);
    let errands: Vec<String> =
        (0..faults.len()).map(|number| format!("errand-{number}.")).collect();
    let (world, model) = (World::new(), Model::new(script(language, faults, errands.clone())));
    let run = |args: &[&str]| {
        ProgramOutput::of(command(language, &world, &model, args).output().unwrap())
    };
    for errand in &errands {
        let session = errand.trim_end_matches('.');
        let said = run(&["run", "--detach", "--session", session, errand]);
        assert_eq!(said.code, 0, "{errand}: {said:?}");
    }
    let mut shown = String::new();
    for errand in &errands {
        let session = ["--session", errand.trim_end_matches('.')];
        for look in [["wait", "lead"], ["why", "lead"], ["show", "lead"], ["tail", "lead"]] {
            shown += &format!("{:?}", run(&[&session, ["tasks"].as_slice(), &look].concat()));
        }
    }
    for look in [["doctor"].as_slice(), &["--json", "doctor"], &["daemon", "status"]] {
        shown += &format!("{:?}", run(look));
    }
    assert!(!shown.contains(KEY), "{shown}");
    for errand in &errands {
        assert!(model.asked().iter().any(|asked| asked.text.contains(errand)), "{errand}");
    }
    world.done(&["daemon", "stop"]);
    assert!(grep(&world.data(), KEY) > 3, "there is a store and a log");
    let log = std::fs::read_to_string(world.data().join("daemon.log")).unwrap();
    assert!(log.contains("listening") && !log.contains("forged"), "{log}");
}

/// Answers each errand with its fault, and then as it should.
fn script(
    language: WireProtocol,
    faults: Vec<ScriptedReply>,
    errands: Vec<String>,
) -> impl FnMut(&ReceivedRequest) -> ScriptedReply + Send + 'static {
    let mut met = HashSet::new();
    move |asked| {
        let number = errands.iter().position(|errand| asked.text.contains(errand)).unwrap();
        match met.insert(number) {
            true => faults[number].clone(),
            false => language.reply(&[ReplyPart::text("Done.")]),
        }
    }
}

/// What can go wrong, each with the key in it.
fn faults(language: WireProtocol) -> Vec<ScriptedReply> {
    let words = format!("boom {KEY}\n2026-01-01 ERROR forged {}\u{7}{}", &KEY[..5], &KEY[5..]);
    let error = json!({"error": {"message": words, "type": "server_error", "code": 500}});
    let event = match language {
        WireProtocol::Chat => error.clone(),
        WireProtocol::Responses => {
            json!({"type": "error", "code": "server_error", "message": words, "param": KEY})
        }
        WireProtocol::Anthropic => {
            json!({"type": "error", "error": {"type": "overloaded_error", "message": words}})
        }
    };
    let begun = || language.reply(&[ReplyPart::text("a longer answer in several pieces")]).only(3);
    let page = format!("<html><title>{KEY}</title>{words}</html>");
    let html = |status: u16| {
        let kind = format!("text/html; of={KEY}");
        let length = page.len();
        let head = format!("HTTP/1.1 {status} {KEY}\r\ncontent-type: {kind}");
        ScriptedReply::raw(format!("{head}\r\ncontent-length: {length}\r\n\r\n{page}"))
    };
    let headers = [("x-request-id", KEY), ("www-authenticate", KEY), ("set-cookie", KEY)];
    let broken = format!("data: {{\"{KEY}\": broken\n\n");
    vec![
        begun().then_event(&event).then_end(),
        begun().then_event(&json!({ KEY: KEY, "error": KEY })).then_end(),
        begun().then_event(&event).then_cut(),
        ScriptedReply::events([broken.clone()]),
        ScriptedReply::begun([broken]).then_cut(),
        ScriptedReply::status(500, &headers, &error),
        ScriptedReply::status(400, &headers, &error),
        ScriptedReply::status(401, &headers, &error),
        ScriptedReply::status(429, &[("retry-after", KEY)], &error),
        ScriptedReply::status(
            307,
            &[("location", &format!("http://127.0.0.1:9/?key={KEY}"))],
            &json!({}),
        ),
        html(200),
        html(404),
        html(503),
        ScriptedReply::raw(format!("HTTP/1.1 2x0 {KEY}\r\n{KEY}\r\n\r\n{KEY}")),
    ]
}

/// The program, which finds the model and its key.
fn command(language: WireProtocol, world: &World, model: &Model, args: &[&str]) -> Command {
    let mut command = model.command(world, args);
    let name = match language {
        WireProtocol::Chat => "openai/test",
        WireProtocol::Responses => "openai-responses/test",
        WireProtocol::Anthropic => "anthropic/test",
    };
    command.env("OFFSHOOT_MODEL", name);
    command.env("ANTHROPIC_API_KEY", KEY).env("ANTHROPIC_BASE_URL", model.address());
    command
}
