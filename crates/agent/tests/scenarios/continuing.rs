//! Agents that continue the conversation of an ended agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use offshoot_agent::{Agents, Brief, Function, KIND, ToolContext, ToolError};
use offshoot_core::Caps;
use offshoot_models::{Call, Part, Scripted, ToolCall, Turn};
use offshoot_runtime::{Runtime, TaskRef};
use offshoot_sqlite::Sqlite;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::support::{Test, World, answers, heard, last, purpose, whole};

/// Sends a message to an ended agent. Returns the agent that continues for it.
async fn go_on(world: &World, ended: &TaskRef, said: &str) -> TaskRef {
    let receipts = ended.send(said).await.unwrap();
    world.session.task(&receipts.first().unwrap().task.to_string()).await.unwrap()
}

#[tokio::test]
async fn s11_3_a_continuation_after_rejected_results_may_submit_again() -> Test {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let world = World::new(|call| match heard(call).contains(&"an integer, please") {
        true => Turn::call([("finish", json!({"n": 3}))]),
        false => Turn::call([("finish", json!({"n": "many"}))]),
    })
    .await;
    let agent = world.agent_of(&world.brief("count").result_schema(schema)).await;
    assert!(agent.wait().await?.decode::<Value>().is_err());
    let next = go_on(&world, &agent, "an integer, please").await;
    assert_eq!(next.wait().await?.decode::<Value>()?, json!({"n": 3}));
    Ok(())
}

#[tokio::test]
async fn ids_stay_apart_when_another_goes_on() -> Test {
    async fn nothing(_: ToolContext, _: Map<String, Value>) -> Result<String, ToolError> {
        Ok("nothing".into())
    }
    let world = World::with(
        |call| match last(call).iter().any(|part| matches!(part, Part::ToolResult(_))) {
            true => Turn::say("done"),
            false => {
                let (id, name, arguments) = (String::new(), "nothing".into(), "{}".into());
                let item = Value::Null;
                Turn::parts(vec![Part::ToolCall(ToolCall { id, name, arguments, item })])
            }
        },
        |agents| agents.tool(Function::new("nothing", "Does nothing.", nothing).read_only()),
    )
    .await;
    let agent = world.agent("one").await;
    agent.wait().await?;
    go_on(&world, &agent, "two").await.wait().await?;
    let asked = world.model.asked();
    let parts = asked.last().unwrap().messages.iter().flat_map(|message| &message.parts);
    let mut ids: Vec<_> = parts
        .filter_map(|part| match part {
            Part::ToolCall(call) => Some(call.id.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), 2);
    ids.dedup();
    assert_eq!(ids.len(), 2, "{ids:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s9_3_a_continuation_repeats_no_call_of_the_ended_agent() -> Test {
    let (calls, begun) = (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
    let (counted, tell) = (calls.clone(), begun.clone());
    let pay = move |_: ToolContext, _: Map<String, Value>| {
        let before = counted.fetch_add(1, Ordering::SeqCst);
        tell.notify_one();
        async move {
            if before == 0 {
                std::future::pending::<()>().await;
            }
            Ok::<_, ToolError>("paid".to_owned())
        }
    };
    let model = Scripted::new(|call: &Call| match answers(call) {
        0 => Turn::call([("pay", json!({}))]),
        _ => Turn::say(heard(call).join(" | ")),
    });
    let agents = Agents::with_model(model).tool(Function::new("pay", "Pays.", pay));
    let folder = tempfile::tempdir()?;
    let open = |caps: Caps| async {
        let runtime = Runtime::builder(Sqlite::at(folder.path())).backend(KIND, agents.backend());
        runtime.caps(caps).open().await
    };
    let runtime = open(Caps::default()).await?;
    let session = runtime.session("main").await?;
    let brief = Brief::new("scripted/model".parse()?, "pay");
    let id = session.spawn(agents.request(&brief)?).await?.id().to_string();
    begun.notified().await;
    drop((session, runtime));
    // Nothing executes for now: the agent is queued, and a person cancels it.
    let mut caps = Caps::default();
    caps.executing.space = Some(0);
    let runtime = open(caps).await?;
    runtime.recovered().await;
    let task = runtime.task(&id).await?;
    task.cancel("stop").await?;
    task.wait().await?;
    drop((task, runtime));
    let runtime = open(Caps::default()).await?;
    let receipts = runtime.task(&id).await?.send("what became of it?").await?;
    let next = runtime.task(&receipts.first().unwrap().task.to_string()).await?;
    let said: String = next.wait().await?.decode()?;
    assert_eq!(calls.load(Ordering::SeqCst), 1, "{said}");
    assert!(said.contains("Whether this call took effect is unknown"), "{said}");
    Ok(())
}

#[tokio::test]
async fn a_fork_that_never_began_keeps_its_conversation() -> Test {
    let mut caps = Caps::default();
    caps.executing.space = Some(1);
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("the word is plum", 0) => Turn::call([(
            "spawn_agent",
            json!({"name": "a", "task": "what is it", "context": "fork"}),
        )]),
        ("the word is plum", 1) => Turn::call([("cancel_task", json!({"task": "a"}))]),
        ("the word is plum", 2) => {
            Turn::call([("send_message", json!({"to": "a", "text": "do it after all"}))])
        }
        _ => Turn::say("over"),
    };
    let world = World::under(script, caps).await;
    world.answer("the word is plum").await;
    let asked = world.model.asked();
    let known: Vec<_> = asked.iter().map(whole).collect();
    let child =
        known.iter().find(|said| !said.contains("spawn_agent") && said.contains("after all"));
    assert!(child.is_some_and(|said| said.contains("plum")), "{known:?}");
    Ok(())
}
