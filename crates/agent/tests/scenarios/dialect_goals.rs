//! Results that are submitted with the completion tool of a dialect.

use offshoot_agent::{Function, ToolContext, ToolError};
use offshoot_core::permissions::{Permissions, PolicyLayer, Verdict};
use offshoot_dialects::Dialect;
use offshoot_models::{Call, Turn};
use serde_json::{Value, json};

use crate::dialects::results;
use crate::support::{Test, World, answers, heard, whole};

fn summary() -> Value {
    let properties = json!({"summary": {"type": "string"}});
    json!({"type": "object", "properties": properties, "required": ["summary"]})
}

fn status() -> Value {
    let properties = json!({"status": {"enum": ["complete", "blocked"]}});
    json!({"type": "object", "properties": properties, "required": ["status"]})
}

fn names(call: &Call) -> Vec<&str> {
    call.tools.iter().map(|tool| &*tool.name).collect()
}

#[tokio::test]
async fn s11_7_a_goal_that_is_done_is_a_result_where_its_schema_takes_it() -> Test {
    let said = [
        (Dialect::Defect, summary(), "goal_done", json!({"summary": "all green"})),
        (Dialect::Codex, status(), "update_goal", json!({"status": "complete"})),
        (Dialect::CodexV2, status(), "update_goal", json!({"status": "blocked"})),
    ];
    for (dialect, schema, word, result) in said {
        let handed_in = result.clone();
        let world = World::new(move |call| match answers(call) {
            // The prompt names the completion tool of the dialect.
            0 => Turn::say("done"),
            1 => Turn::call([(word, json!({"status": "paused"}))]),
            _ => Turn::call([(word, handed_in.clone())]),
        })
        .await;
        let brief = world.brief("count").dialect(dialect).result_schema(schema);
        let agent = world.agent_of(&brief).await;
        assert_eq!(agent.wait().await?.decode::<Value>()?, result);
        let asked = world.model.asked();
        assert!(names(&asked[0]).contains(&word) && !names(&asked[0]).contains(&"finish"));
        let told = heard(&asked[1]).join("\n");
        assert!(told.contains(&format!("Call the tool {word} now")), "{told}");
        let misfit = &results(&asked[2])[0];
        assert!(misfit.failed && misfit.text.contains(&format!("Call {word} again")), "{misfit:?}");
    }
    Ok(())
}

#[tokio::test]
async fn s11_7_a_result_that_a_goal_cannot_be_is_handed_in_with_finish() -> Test {
    let number =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let said = [
        (Dialect::Defect, number, json!({"n": 1})),
        // Its final turn would be a pause.
        (Dialect::Codex, json!({"type": "object"}), json!({"status": "complete"})),
        (Dialect::Koda, summary(), json!({"summary": "all green"})),
    ];
    for (dialect, schema, result) in said {
        let handed_in = result.clone();
        let world = World::new(move |_| Turn::call([("finish", handed_in.clone())])).await;
        let brief = world.brief("count").dialect(dialect).result_schema(schema);
        let agent = world.agent_of(&brief).await;
        assert_eq!(agent.wait().await?.decode::<Value>()?, result, "{dialect:?}");
    }
    Ok(())
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Anything {}

async fn brought(_: ToolContext, _: Anything) -> Result<String, ToolError> {
    Ok("brought".to_owned())
}

#[tokio::test]
async fn s11_7_a_tool_of_the_users_is_no_goal_and_a_goal_is_finish_to_every_rule() -> Test {
    let script = |call: &Call| match answers(call) {
        0 => Turn::call([("goal_done", json!({"summary": "not yet"}))]),
        _ => Turn::call([("finish", json!({"summary": "now"}))]),
    };
    let own = Function::new("goal_done", "Something else.", brought);
    let world = World::with(script, |agents| agents.tool(own)).await;
    let brief = world.brief("count").dialect(Dialect::Defect).result_schema(summary());
    let agent = world.agent_of(&brief).await;
    assert_eq!(agent.wait().await?.decode::<Value>()?, json!({"summary": "now"}));
    assert!(whole(&world.model.asked()[1]).contains("brought"));

    let done = |_: &Call| Turn::call([("goal_done", json!({"summary": "now"}))]);
    let world = World::new(done).await;
    let denied = PolicyLayer::default().rule("goal_done".parse()?, Verdict::Deny);
    let brief = world.brief("count").dialect(Dialect::Defect).result_schema(summary());
    let agent = world.agent_of(&brief.authority(Permissions::of(denied))).await;
    let result = agent.wait().await?.decode::<Value>()?;
    assert_eq!(result, json!({"summary": "now"}), "a rule is written for ours");
    Ok(())
}
