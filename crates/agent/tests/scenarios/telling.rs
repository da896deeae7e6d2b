//! The text of results in the conversation of the owner.

use std::sync::Arc;

use offshoot_agent::{Agents, Brief, Function, KIND, ToolContext, ToolError};
use offshoot_models::{Call, Scripted, Turn};
use offshoot_runtime::Runtime;
use offshoot_sqlite::Sqlite;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::support::{Test, World, answers, heard, purpose, whole};

/// The text between these words.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("{before}: {text}"));
    rest.split_once(after).unwrap_or_else(|| panic!("{after}: {rest}")).0
}

/// The notice of a task's end in a conversation.
fn notice<'a>(text: &'a str, task: &str) -> &'a str {
    between(text, &format!("<notice kind=\"result\" task=\"{task}\""), "</notice>")
}

#[tokio::test]
async fn s4_6_a_long_result_is_cut_at_the_allowance_and_can_be_read_on() -> Test {
    let long = format!("{}the end", "ü🦀".repeat(2_000));
    let said = long.clone();
    let world = World::new(move |call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("spawn_agent", json!({"name": "a", "task": "talk"}))]),
        ("lead", _) if heard(call)[0].contains("the end") => Turn::say("read"),
        ("lead", _) if whole(call).contains("kind=\"result\"") => {
            Turn::call([("inspect_task", json!({"task": "a", "result_from": 2_048}))])
        }
        ("lead", _) => Turn::say("waiting"),
        _ => Turn::say(said.clone()),
    })
    .await;
    assert_eq!(world.answer("lead").await, "read");
    let asked = world.model.asked();
    let last = whole(asked.iter().rfind(|call| purpose(call) == "lead").unwrap());
    let told = notice(&last, "a");
    let head: String = long.chars().take(2_048).collect();
    let more = long.chars().count() - 2_048;
    assert!(told.contains(&format!("{head} …(+{more} more chars)")), "{told}");
    assert!(told.contains("Read the rest by the handle a."), "{told}");
    assert!(told.chars().count() < 2_048 + 300, "{}", told.chars().count());
    let rest: String = long.chars().skip(2_048).collect();
    assert!(last.contains(&format!("<notice kind=\"result\" task=\"a\">\n{rest}")), "{last}");
    Ok(())
}

#[tokio::test]
async fn s4_6_a_result_says_how_many_steps_and_tools_it_took() -> Test {
    let world = World::new(|call| match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([
            ("spawn_agent", json!({"name": "idle", "task": "idle"})),
            ("spawn_agent", json!({"name": "busy", "task": "busy"})),
        ]),
        ("lead", _) => Turn::say("over"),
        ("busy", 0) => Turn::call([("list_tasks", json!({})), ("list_tasks", json!({}))]),
        ("busy", 1) => Turn::call([("list_tasks", json!({"all": true}))]),
        _ => Turn::say("done"),
    })
    .await;
    world.answer("lead").await;
    let asked = world.model.asked();
    let last = whole(asked.iter().rfind(|call| purpose(call) == "lead").unwrap());
    assert!(notice(&last, "idle").contains("did=\"1 step, used no tools\""), "{last}");
    assert!(notice(&last, "busy").contains("did=\"3 steps, 3 tool calls\""), "{last}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_6_a_loss_reads_like_no_other_end() -> Test {
    let folder = tempfile::tempdir()?;
    let begun = Arc::new(Notify::new());
    let (tell, mut asked) = (begun.clone(), 0);
    let model = Scripted::new(move |call: &Call| match answers(call) {
        0 => Turn::call([("start", json!({}))]),
        1 => {
            asked += 1;
            tell.notify_one();
            // The process dies while the lead thinks.
            if asked == 1 { Turn::Hang(Vec::new()) } else { Turn::say("waiting") }
        }
        _ => Turn::say("over"),
    });
    // A task that dies with its process.
    let start = |cx: ToolContext, _: Map<String, Value>| async move {
        let frail = |_| async { std::future::pending::<Result<(), ToolError>>().await };
        cx.task().spawn_ephemeral(frail).name("frail").await?;
        Ok::<_, ToolError>("started")
    };
    let agents = Agents::with_model(model.clone()).tool(Function::new("start", "Starts.", start));
    let open = || async {
        let runtime = Runtime::builder(Sqlite::at(folder.path())).backend(KIND, agents.backend());
        runtime.open().await
    };
    let runtime = open().await?;
    let session = runtime.session("main").await?;
    let brief = Brief::new("scripted/model".parse()?, "lead");
    let id = session.spawn(agents.request(&brief)?).await?.id();
    begun.notified().await;
    drop((session, runtime));
    let runtime = open().await?;
    runtime.task(&id.to_string()).await?.wait().await?;
    let told = whole(model.asked().last().unwrap());
    let told = notice(&told, "frail");
    assert!(told.contains("outcome=\"lost\""), "{told}");
    assert!(told.contains("frail lost: whether its work took effect is unknown"), "{told}");
    assert!(told.contains("runtime stopped while running"), "{told}");
    Ok(())
}
