//! What a person has said about agents is for no agent to say instead.

use offshoot_wiretest::{Language, Say};
use serde_json::json;

use crate::model::{Model, says, talk};
use crate::support::World;

#[test]
fn s7_3_an_agent_writes_neither_the_profiles_of_a_person_nor_the_list_of_trusted_folders() {
    let (world, places) =
        (World::new(), ["config/offshoot/agents/own.md", "state/offshoot/trust.json"]);
    let model = Model::new(move |asked| {
        if talk(asked).len() > 1 {
            return says("Done.");
        }
        let write = |path: &str| {
            let write = json!({"path": path, "content": "x"});
            Say::call(path, "write", &write.to_string())
        };
        let line =
            json!({"command": format!("mkdir -p {0} && cp -r {0} taken", "config/offshoot")});
        let run = Say::call("run", "run_command", &line.to_string());
        Language::Chat.reply(&[write(places[0]), write(places[1]), run])
    });
    // It works in the folder that holds them, as an agent in one's home does.
    model.done(&world, &["run", "--mode", "auto", "Go."]);
    for place in [places[0], places[1], "taken", "config/offshoot"] {
        assert!(!world.folder.path().join(place).exists(), "{place}");
    }
}
