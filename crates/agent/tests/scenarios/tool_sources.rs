//! Tools that appear and disappear while an agent runs.

use std::sync::Arc;

use offshoot_agent::{Agents, Function, Tool, ToolContext, ToolError, ToolSource};
use offshoot_core::SessionId;
use offshoot_core::permissions::{PermissionMode, Permissions, PolicyLayer, Verdict};
use offshoot_models::{Call, Turn};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::support::{Test, World, answers, heard, purpose};

type BoardTools = Arc<[Arc<dyn Tool>]>;

/// A source whose tools the test changes, for one session.
#[derive(Clone, Debug)]
struct Board {
    tools: Arc<Mutex<BoardTools>>,
    session: Arc<Mutex<Option<SessionId>>>,
}

impl Board {
    fn new() -> Self {
        Self { tools: Arc::new(Mutex::new(Arc::new([]))), session: Arc::default() }
    }

    fn set(&self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) {
        *self.tools.lock() = tools.into_iter().collect();
    }

    /// Tools that put the weather on the board and take it off, and the board.
    fn give(&self, agents: Agents) -> Agents {
        let (on, off) = (self.clone(), self.clone());
        let hang = move |_: ToolContext, _: Map<String, Value>| {
            let board = on.clone();
            async move {
                // A source cannot replace a built-in tool.
                board.set([weather("weather"), weather("list_tasks"), weather("weather")]);
                Ok::<_, ToolError>("hung".to_owned())
            }
        };
        let clear = move |_: ToolContext, _: Map<String, Value>| {
            let board = off.clone();
            async move {
                board.set([]);
                Ok::<_, ToolError>("cleared".to_owned())
            }
        };
        agents
            .tool(Function::new("hang", "Hangs it.", hang).read_only())
            .tool(Function::new("clear", "Clears it.", clear).read_only())
            .tool_source(self.clone())
    }
}

impl ToolSource for Board {
    fn tools(&self, session: SessionId) -> Arc<[Arc<dyn Tool>]> {
        match *self.session.lock() {
            Some(only) if only != session => Arc::new([]),
            _ => self.tools.lock().clone(),
        }
    }
}

async fn look(_: ToolContext, _: Map<String, Value>) -> Result<String, ToolError> {
    Ok("sunny".to_owned())
}

fn weather(name: &str) -> Arc<dyn Tool> {
    Arc::new(Function::new(name, "Tells the weather.", look))
}

fn script(call: &Call) -> Turn {
    match (purpose(call), answers(call)) {
        ("lead", 0) => Turn::call([("hang", json!({}))]),
        ("lead", 1) => Turn::call([("weather", json!({})), ("clear", json!({}))]),
        ("lead", 2) => Turn::call([("weather", json!({}))]),
        _ => Turn::say("done"),
    }
}

/// The number of tools called `name` in each request to the model.
fn offered(world: &World, name: &str) -> Vec<usize> {
    let count = |call: &Call| call.tools.iter().filter(|tool| &*tool.name == name).count();
    world.model.asked().iter().map(count).collect()
}

/// The last result that the model read before each request.
fn results(world: &World) -> Vec<Vec<String>> {
    let asked = world.model.asked();
    asked.iter().map(|call| heard(call).into_iter().map(str::to_owned).collect()).collect()
}

#[tokio::test]
async fn a_sources_tool_appears_is_called_and_disappears() -> Test {
    let board = Board::new();
    let world = World::with(script, |agents| board.give(agents)).await;
    world.answer("lead").await;
    assert_eq!(offered(&world, "weather"), [0, 1, 0, 0]);
    assert_eq!(offered(&world, "list_tasks"), [1, 1, 1, 1]);
    let results = results(&world);
    assert!(results[2].iter().any(|result| result == "sunny"), "{results:?}");
    assert!(results[3].iter().any(|result| result.contains("no tool \"weather\"")), "{results:?}");
    Ok(())
}

#[tokio::test]
async fn a_sources_tool_belongs_to_its_session() -> Test {
    let board = Board::new();
    let world = World::with(script, |agents| board.give(agents)).await;
    let other = world.runtime().session("other").await?;
    *board.session.lock() = Some(other.id());
    world.answer("lead").await;
    assert_eq!(offered(&world, "weather"), [0, 0, 0, 0]);
    Ok(())
}

#[tokio::test]
async fn a_sources_tool_obeys_permissions() -> Test {
    let listed = PolicyLayer::default().tools(["hang", "clear"]);
    let denied = PolicyLayer::default().rule("weather".parse()?, Verdict::Deny);
    for layer in [listed, denied] {
        let board = Board::new();
        let world = World::with(script, |agents| board.give(agents)).await;
        let brief = world.brief("lead").authority(Permissions::of(layer));
        world.agent_of(&brief).await.wait().await?;
        assert_eq!(offered(&world, "weather"), [0, 0, 0, 0]);
    }
    // In mode `plan` a tool that changes something is offered and refused.
    let board = Board::new();
    let world = World::with(script, |agents| board.give(agents)).await;
    let layer = PolicyLayer { mode: PermissionMode::Plan, ..PolicyLayer::default() };
    let brief = world.brief("lead").authority(Permissions::of(layer));
    world.agent_of(&brief).await.wait().await?;
    assert_eq!(offered(&world, "weather"), [0, 1, 0, 0]);
    assert!(results(&world).iter().flatten().all(|result| result != "sunny"));
    Ok(())
}
