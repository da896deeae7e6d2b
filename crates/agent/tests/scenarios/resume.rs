//! Agents that a crash interrupts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use offshoot_agent::{
    Agents, Brief, Function, KIND, ModelSource, ModelUnavailable, ToolContext, ToolError,
};
use offshoot_core::SessionId;
use offshoot_models::{Call, Endpoint, Gate, Keys, Model, ModelName, Provider, Scripted, Turn};
use offshoot_runtime::{BoxFuture, Runtime};
use offshoot_sqlite::Sqlite;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::support::{Test, answers, heard};

type Nothing = Map<String, Value>;

/// The number of calls of a tool, and the start of a call that waits.
#[derive(Clone, Default)]
struct Probe {
    calls: Arc<AtomicU32>,
    begun: Arc<Notify>,
}

impl Probe {
    /// A tool that never returns from its first call.
    async fn stick(self) -> Result<String, ToolError> {
        let before = self.calls.fetch_add(1, Ordering::SeqCst);
        self.begun.notify_one();
        match before {
            0 => std::future::pending().await,
            _ => Ok("returned".to_owned()),
        }
    }
}

fn agents(script: impl FnMut(&Call) -> Turn + Send + 'static) -> (Agents, Scripted) {
    let model = Scripted::new(script);
    (Agents::with_model(model.clone()), model)
}

fn script(call: &Call) -> Turn {
    match answers(call) {
        0 => Turn::call([("stick", json!({}))]),
        _ => Turn::say(heard(call).join(" ")),
    }
}

/// An agent whose process dies while its tool runs. Returns the answer after the restart.
async fn interrupted(agents: Agents, probe: &Probe) -> Result<String, Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let open = || async {
        let runtime = Runtime::builder(Sqlite::at(folder.path())).backend(KIND, agents.backend());
        runtime.open().await
    };
    let runtime = open().await?;
    let session = runtime.session("main").await?;
    let brief = Brief::new("scripted/model".parse()?, "stick");
    let id = session.spawn(agents.request(&brief)?).await?.id();
    probe.begun.notified().await;
    drop((session, runtime));
    let runtime = open().await?;
    let task = runtime.session("main").await?.task(&id.to_string()).await?;
    Ok(task.wait().await?.decode()?)
}

#[tokio::test(flavor = "multi_thread")]
async fn s9_3_answered_calls_stay_and_repeatable_calls_are_repeated() -> Test {
    let probe = Probe::default();
    let (agents, model) = agents(script);
    let tool = {
        let probe = probe.clone();
        move |_: ToolContext, _: Nothing| probe.clone().stick()
    };
    let agents = agents.tool(Function::new("stick", "Sticks.", tool).idempotent());
    assert_eq!(interrupted(agents, &probe).await?, "returned");
    assert_eq!(probe.calls.load(Ordering::SeqCst), 2);
    assert_eq!(model.asked().len(), 2, "the first answer was committed");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s9_3_a_lasting_effect_is_not_repeated_and_the_model_hears_so() -> Test {
    let probe = Probe::default();
    let (agents, model) = agents(script);
    let tool = {
        let probe = probe.clone();
        move |_: ToolContext, _: Nothing| probe.clone().stick()
    };
    let agents = agents.tool(Function::new("stick", "Sticks.", tool));
    let answer = interrupted(agents, &probe).await?;
    assert!(answer.contains("Whether this call took effect is unknown"), "{answer}");
    assert_eq!(probe.calls.load(Ordering::SeqCst), 1);
    assert_eq!(model.asked().len(), 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s9_4_a_spawn_that_is_repeated_finds_its_child() -> Test {
    let probe = Probe::default();
    let (agents, model) = agents(|call| match (call.messages.len(), answers(call)) {
        // The child ends at once, while another call hangs beside it.
        (_, 0) if heard(call)[0] == "stick" => Turn::call([
            ("spawn_agent", json!({"name": "a", "task": "child", "background": false})),
            ("stick", json!({})),
        ]),
        (_, 0) => Turn::say("child is done"),
        _ => Turn::say("over"),
    });
    let tool = {
        let probe = probe.clone();
        move |_: ToolContext, _: Nothing| probe.clone().stick()
    };
    let agents = agents.tool(Function::new("stick", "Sticks.", tool).idempotent());
    assert_eq!(interrupted(agents, &probe).await?, "over");
    let asked = model.asked();
    let children = asked.iter().filter(|call| heard(call)[0] == "child").count();
    assert!(children <= 2, "a call in flight is repeated, one that was answered is not");
    let whole = format!("{:?}", asked.last().unwrap().messages);
    assert_eq!(whole.matches("child is done").count(), 1, "told exactly once: {whole}");
    Ok(())
}

/// Models that need a key.
#[derive(Debug)]
struct Locked {
    model: Scripted,
    unlocked: tokio::sync::watch::Receiver<bool>,
}

impl ModelSource for Locked {
    fn find(
        &self,
        _: &ModelName,
        _: SessionId,
    ) -> Result<(Arc<dyn Model>, Gate), ModelUnavailable> {
        match *self.unlocked.borrow() {
            true => Ok((Arc::new(self.model.clone()), Gate::default())),
            false => {
                let missing = Keys::default().access(Provider::OpenAi).unwrap_err();
                Err(ModelUnavailable::NoKey(missing.into()))
            }
        }
    }

    fn has_key(&self, _: &ModelName, _: SessionId, _: Option<&Endpoint>) -> BoxFuture<()> {
        let mut unlocked = self.unlocked.clone();
        Box::pin(async move { drop(unlocked.wait_for(|unlocked| *unlocked).await) })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_without_its_key_stays_queued_and_why_names_the_variable() -> Test {
    let folder = tempfile::tempdir()?;
    let begun = Arc::new(Notify::new());
    let tell = begun.clone();
    let mut calls = 0;
    let model = Scripted::new(move |_| {
        calls += 1;
        tell.notify_one();
        if calls == 1 { Turn::Hang(Vec::new()) } else { Turn::say("again") }
    });
    let (unlock, unlocked) = tokio::sync::watch::channel(true);
    let agents = Agents::new(Locked { model, unlocked });
    let open = || async {
        let runtime = Runtime::builder(Sqlite::at(folder.path())).backend(KIND, agents.backend());
        runtime.open().await
    };
    let runtime = open().await?;
    let brief = Brief::new("scripted/model".parse()?, "think");
    let id = runtime.session("main").await?.spawn(agents.request(&brief)?).await?.id();
    begun.notified().await;
    drop(runtime);
    unlock.send_replace(false);
    let runtime = open().await?;
    runtime.recovered().await;
    let task = runtime.session("main").await?.task(&id.to_string()).await?;
    let why = task.why().await?.to_string();
    assert!(why.contains("queued") && why.contains("set OPENAI_API_KEY"), "{why}");
    unlock.send_replace(true);
    assert_eq!(task.wait().await?.decode::<String>()?, "again");
    Ok(())
}
