//! A lead with a tool of its own sends two agents off and adds up what they
//! found. The model is scripted, so that it runs without a key; with one it is
//! `Agents::new(…)` over the providers.

use offshoot::agents::{Agents, Brief, Function, KIND, ToolContext, ToolError};
use offshoot::models::{Call, Part, Scripted, Turn};
use offshoot::{Memory, Runtime};
use serde_json::json;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Count {
    /// The word to count.
    word: String,
}

async fn count(_: ToolContext, Count { word }: Count) -> Result<String, ToolError> {
    let text = "send work off, keep going, get every result back: send, send";
    Ok(text.matches(word.as_str()).count().to_string())
}

/// What a model might do.
fn script(call: &Call) -> Turn {
    let said: Vec<String> =
        call.messages.iter().flat_map(|message| &message.parts).map(text).collect();
    let results = said.iter().filter(|text| text.starts_with("<notice kind=\"result\"")).count();
    match (said[0].as_str(), call.messages.len(), results) {
        ("How often?", 1, _) => Turn::call([
            ("spawn_agent", json!({ "name": "sends", "task": "send" })),
            ("spawn_agent", json!({ "name": "gets", "task": "get" })),
        ]),
        ("How often?", _, 2) => Turn::say("Both are home."),
        ("How often?", ..) => Turn::say("Two are on their way."),
        (word, 1, _) => Turn::call([("count", json!({ "word": word }))]),
        (word, ..) => Turn::say(format!("{word}: {}", said[said.len() - 1])),
    }
}

fn text(part: &Part) -> String {
    match part {
        Part::Text { text, .. } => text.clone(),
        Part::ToolResult(result) => result.text.clone(),
        _ => String::new(),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count = Function::new("count", "Counts a word in the text.", count).read_only();
    let agents = Agents::with_model(Scripted::new(script)).tool(count);
    let runtime = Runtime::builder(Memory::new()).backend(KIND, agents.backend()).open().await?;
    let session = runtime.session("main").await?;
    let brief = Brief::new("scripted/model".parse()?, "How often?");
    let lead = session.spawn(agents.request(&brief)?).name("lead").await?;
    println!("{}", lead.wait().await?.decode::<String>()?);
    for task in session.tasks().await?.items {
        println!("{}", offshoot::core::digest(&task, 200));
    }
    Ok(())
}
