//! Tasks of other backends, which agents spawn like agents.

use offshoot_agent::{Agents, Brief, KIND};
use offshoot_core::permissions::{Permissions, PolicyLayer};
use offshoot_core::{Capabilities, Payload, Recovery};
use offshoot_dialects::Dialect;
use offshoot_models::{Call, Scripted, Turn};
use offshoot_runtime::{Backend, BodyResult, BoxFuture, Context, Runtime};
use offshoot_store::Memory;
use serde_json::json;

use crate::support::{Test, answers, heard, purpose};

/// A backend that answers with its input and its permissions.
#[derive(Debug)]
struct Stub {
    description: Option<&'static str>,
}

impl Backend for Stub {
    fn capabilities(&self) -> Capabilities {
        Capabilities::CANCEL
    }

    fn agent_description(&self) -> Option<&str> {
        self.description
    }

    fn recovery(&self) -> Recovery {
        Recovery::Lose
    }

    fn start(&self, cx: Context) -> BoxFuture<BodyResult> {
        Box::pin(async move {
            let brief = cx.input::<Brief>().await?;
            let may_write = brief.authority.is_none_or(|authority| authority.offers("write"));
            Ok(Payload::encode(&format!("did {:?}; may write: {may_write}", brief.task))?)
        })
    }
}

/// A lead whose runtime has a backend `helper`, and the results of its calls.
async fn lead(
    stub: Stub,
    brief: impl FnOnce(Brief) -> Brief,
    script: impl FnMut(&Call) -> Turn + Send + 'static,
) -> Result<(Scripted, String), Box<dyn std::error::Error>> {
    let model = Scripted::new(script);
    let agents = Agents::with_model(model.clone()).dialects(Dialect::tool_maps());
    let runtime = Runtime::builder(Memory::new()).backend(KIND, agents.backend());
    let runtime = runtime.backend("helper", stub).open().await?;
    let session = runtime.session("main").await?;
    let brief = brief(Brief::new("scripted/model".parse()?, "lead"));
    let answer = session.spawn(agents.request(&brief)?).await?.wait().await?.decode()?;
    Ok((model, answer))
}

fn spawn(more: serde_json::Value) -> Turn {
    let mut arguments = json!({"task": "x", "profile": "helper", "background": false});
    for (name, value) in more.as_object().into_iter().flatten() {
        arguments[name.as_str()] = value.clone();
    }
    Turn::call([("spawn_agent", arguments)])
}

/// Spawns one helper, and answers with the result.
fn once(more: serde_json::Value) -> impl FnMut(&Call) -> Turn + Send + 'static {
    move |call| match (purpose(call), answers(call)) {
        ("lead", 0) => spawn(more.clone()),
        _ => Turn::say(heard(call).join("\n")),
    }
}

const DECLARED: Stub = Stub { description: Some("Helps from outside.") };

#[tokio::test]
async fn an_agent_of_another_backend_is_spawned_by_its_kind() -> Test {
    let layer = PolicyLayer::default().tools(["spawn_agent"]);
    let narrowed = |brief: Brief| brief.authority(Permissions::of(layer));
    let (model, answer) = lead(DECLARED, narrowed, once(json!({}))).await?;
    assert!(answer.contains("did \"x\"; may write: false"), "{answer}");
    let asked = model.asked();
    let tool = asked[0].tools.iter().find(|tool| &*tool.name == "spawn_agent").unwrap();
    assert!(tool.description.contains("- helper: Helps from outside."), "{}", tool.description);
    assert!(!tool.description.contains("- agent:"), "{}", tool.description);
    Ok(())
}

#[tokio::test]
async fn a_backend_that_does_not_declare_itself_is_no_agent() -> Test {
    let (model, answer) = lead(Stub { description: None }, |brief| brief, once(json!({}))).await?;
    assert!(answer.contains("Nothing was started"), "{answer}");
    assert!(model.asked()[0].tools.iter().all(|tool| !tool.description.contains("helper")));
    Ok(())
}

#[tokio::test]
async fn a_brief_that_lists_other_profiles_allows_no_other_backend() -> Test {
    let only = |brief: Brief| Brief { agents: Some(["explore".to_owned()].into()), ..brief };
    let (_, answer) = lead(DECLARED, only, once(json!({}))).await?;
    assert!(answer.contains("may not be"), "{answer}");
    Ok(())
}

#[tokio::test]
async fn options_that_another_backend_cannot_follow_are_refused() -> Test {
    for (more, why) in [
        (json!({"context": "fork"}), "cannot know your conversation"),
        (json!({"isolation": "worktree"}), "no worktree of its own"),
        (json!({"result_schema": {"type": "object"}}), "takes no result_schema"),
    ] {
        let (_, answer) = lead(DECLARED, |brief| brief, once(more)).await?;
        assert!(answer.contains(why), "{answer}");
    }
    Ok(())
}

#[tokio::test]
async fn a_dialect_spawns_an_agent_of_another_backend() -> Test {
    let script = |call: &Call| match (purpose(call), answers(call)) {
        ("lead", 0) => {
            Turn::call([("InvokeAgent", json!({"prompt": "x", "agent_name": "helper"}))])
        }
        _ => Turn::say(heard(call).join("\n")),
    };
    let (_, answer) = lead(DECLARED, |brief| brief.dialect(Dialect::Koda), script).await?;
    assert!(answer.contains("did \"x\""), "{answer}");
    Ok(())
}
