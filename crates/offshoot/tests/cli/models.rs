//! `offshoot models ls`

use crate::model::{KEY, Model};
use crate::support::World;

#[test]
fn without_keys_only_those_are_listed_that_need_none_and_the_variables_are_named() {
    let world = World::new();
    let said = world.run(&["models", "ls"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("offline/survey") && said.out.contains("ollama/"), "{said:?}");
    assert!(!said.out.contains("openai/") && !said.out.contains("anthropic/"), "{said:?}");
    for named in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY or GOOGLE_API_KEY"] {
        assert!(said.err.contains(named), "{named}: {said:?}");
    }
    let all = world.done(&["models", "ls", "--all"]);
    assert!(all.contains("openai/gpt") && all.contains("anthropic/claude"), "{all}");
}

#[test]
fn a_key_makes_models_usable() {
    let (world, model) = (World::new(), Model::saying([]));
    let said = model.run(&world, &["models", "ls"]);
    assert!(said.out.contains("openai/gpt"), "{said:?}");
    assert!(!said.err.contains("OPENAI_API_KEY"), "{said:?}");
    assert!(!format!("{said:?}").contains(KEY), "{said:?}");
}

#[test]
fn a_server_of_ones_own_needs_no_key() {
    let (world, model) = (World::new(), Model::saying(["here"]));
    let keyless = |args: &[&str]| {
        let mut command = model.command(&world, args);
        command.env_remove("OPENAI_API_KEY");
        crate::support::ProgramOutput::of(command.output().unwrap())
    };
    let listed = keyless(&["--json", "models", "ls"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    let usable = |name: &str| {
        let mut all = listed["providers"].as_array().unwrap().iter();
        all.find(|one| one["provider"] == name).unwrap()["usable"].clone()
    };
    assert_eq!((usable("openai"), usable("anthropic")), (true.into(), false.into()));
    assert_eq!(keyless(&["run", "Hello."]).out, "here\n");
}
