//! Agents have `fetch` only if the user enables it.

use crate::model::Model;
use crate::support::World;

/// Returns the tools of an agent of a run with these flags.
fn offered(flags: &[&str]) -> Vec<String> {
    let (world, model) = (World::new(), Model::saying(["Done."]));
    let args: Vec<_> = ["run"].into_iter().chain(flags.iter().copied()).chain(["Look."]).collect();
    model.done(&world, &args);
    let asked = model.asked();
    let tools = asked[0].body["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn s7_3_fetch_is_offered_only_to_those_who_were_given_it() {
    let has = |flags: &[&str]| offered(flags).iter().any(|tool| tool == "fetch");
    assert!(!has(&["--mode", "auto"]));
    assert!(has(&["--fetch"]));
    assert!(!has(&["--fetch", "--profile", "explore"]), "a profile still narrows");
}
