//! A lead with a custom tool spawns two agents and gets their results.
//!
//! The model is scripted, so the example runs without a key. With a key,
//! `Agents::new(Providers::own())` uses the models of the providers.
//!
//! `cargo run --release -p offshoot --example agents`

use offshoot::agents::{Agents, Brief, Function, KIND, ToolContext, ToolError};
use offshoot::models::{Call, Scripted, Turn, json};
use offshoot::{Memory, Runtime};

/// The arguments of the tool. A model gets their schema.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Count {
    /// The word to count.
    word: String,
}

async fn count(_: ToolContext, Count { word }: Count) -> Result<String, ToolError> {
    if word.is_empty() {
        return Err(ToolError::new("The word is empty. Say which one to count."));
    }
    let text = "send work off, keep going, get every result back: send, send";
    Ok(text.matches(word.as_str()).count().to_string())
}

/// The script of a model.
fn script(call: &Call) -> Turn {
    match (call.asked(), call.messages.len()) {
        ("How often?", 1) => Turn::call([
            ("spawn_agent", json!({ "name": "sends", "task": "send" })),
            ("spawn_agent", json!({ "name": "gets", "task": "get" })),
        ]),
        ("How often?", _) => match call.results().len() {
            2 => Turn::say("Both are home."),
            home => Turn::say(format!("{home} of two are home.")),
        },
        (word, 1) => Turn::call([("count", json!({ "word": word }))]),
        (word, _) => Turn::say(format!("{word}: {}", call.last())),
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
        println!("{}", offshoot::digest(&task, 200));
    }
    Ok(())
}
