//! The process that is killed: it runs the agents, and ends when they have ended.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use offshoot_agent::{Agents, Brief, KIND, ModelSource, ModelUnavailable};
use offshoot_core::SessionId;
use offshoot_models::{Gate, Keys, Model, ModelName, Models};
use offshoot_runtime::{RestartPolicy, Runtime};
use offshoot_sqlite::Sqlite;
use offshoot_store::{OpenStore, Store};
use offshoot_wiretest::WireProtocol;

use crate::agents::kill_point::KillPoint;
use crate::agents::kill_switch::KillSwitch;
use crate::agents::late::{Latecomer, Straggler};
use crate::agents::model_script::LEAD;
use crate::agents::tools::with_tools;
use crate::crash::stuck;
use crate::planted::{BuggyStore, PlantedBug};

/// The time after which the agents count as stuck. They take less than a second.
const PATIENCE: Duration = Duration::from_secs(30);

/// The settings of a worker.
#[derive(Clone, Debug)]
pub struct Orders {
    /// The directory of the data.
    pub folder: PathBuf,
    /// The address of the model.
    pub address: String,
    /// The protocol of the model.
    pub language: WireProtocol,
    /// The number of the worker in its directory, counted from 1.
    pub life: usize,
    /// The point at which it dies, if it does.
    pub point: Option<KillPoint>,
    /// The bug in its store, if there is one.
    pub bug: Option<PlantedBug>,
}

/// The API key of the worker of this number.
pub fn key(life: usize) -> String {
    format!("sk-worker-{life}")
}

/// The model for this protocol.
fn model(language: WireProtocol) -> &'static str {
    match language {
        WireProtocol::Chat => "openai/gpt-5",
        WireProtocol::Responses => "openai-responses/gpt-5",
        WireProtocol::Anthropic => "anthropic/claude-sonnet-4-5",
    }
}

/// Models behind one server.
#[derive(Debug)]
struct WorkerModels {
    models: Models,
    keys: Keys,
}

impl WorkerModels {
    fn at(address: &str, key: String) -> Self {
        let address = address.to_owned();
        let keys = Keys::from_lookup(move |name| match name {
            "OPENAI_BASE_URL" => Some(format!("{address}/v1")),
            "ANTHROPIC_BASE_URL" => Some(address.clone()),
            "OPENAI_API_KEY" | "ANTHROPIC_API_KEY" => Some(key.clone()),
            _ => None,
        });
        Self { models: Models::default(), keys }
    }
}

impl ModelSource for WorkerModels {
    fn find(
        &self,
        model: &ModelName,
        _: SessionId,
    ) -> Result<(Arc<dyn Model>, Gate), ModelUnavailable> {
        let found = self.models.open(model, &self.keys);
        Ok((found.map_err(|error| ModelUnavailable::Unknown(error.to_string()))?, Gate::default()))
    }
}

/// Runs the agents until they have ended or the process is killed.
pub fn run(orders: &Orders) -> Result<()> {
    let executor = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("no executor")?;
    executor.block_on(live(orders))
}

async fn live(orders: &Orders) -> Result<()> {
    let store = store(orders).await?;
    let agents = Agents::new(WorkerModels::at(&orders.address, key(orders.life)));
    let agents = with_tools(agents, &orders.folder);
    // No task waits for resumed agents, however often they resume.
    let back_off = Duration::from_millis(1);
    let restarts = RestartPolicy { max_attempts: 100, back_off, max_back_off: back_off };
    let runtime = Runtime::builder(store.clone())
        .backend(KIND, agents.backend())
        .restarts(restarts)
        .open()
        .await?;
    let session = runtime.session("main").await?;
    let brief = Brief::new(model(orders.language).parse()?, LEAD);
    let lead = session.spawn(agents.request(&brief)?).name("lead").key("lead").await?;
    match tokio::time::timeout(PATIENCE, lead.wait()).await {
        Ok(ended) => drop(ended?),
        Err(_) => bail!("{}", stuck::describe(&runtime, &*store, &lead).await?),
    }
    runtime.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

async fn store(orders: &Orders) -> Result<Arc<dyn Store>> {
    let mut store: Arc<dyn Store> = Sqlite::at(orders.folder.join("data")).open_store().await?;
    // A bug may split a commit in two, and a worker may die between the parts.
    store = Arc::new(KillSwitch::new(store, &orders.folder, orders.point.clone())?);
    if let Some(bug) = orders.bug {
        let spawner = Arc::new(|future| drop(tokio::spawn(future)));
        store = Arc::new(BuggyStore::new(store, bug, spawner));
    }
    // A late batch is as the runtime wrote it.
    if let Some(KillPoint::Late(at)) = orders.point {
        store = Arc::new(Straggler::new(store, &orders.folder, at));
    }
    Ok(Arc::new(Latecomer::new(store, &orders.folder)?))
}
