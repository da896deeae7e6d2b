//! A kind whose tasks are executed elsewhere: their outcome is known there, even after a crash
//! here.

use std::sync::Arc;

use offshoot_core::{Capabilities, Payload, Recovery, Task};
use offshoot_runtime::{Backend, BodyError, BodyResult, BoxFuture, Context, ReconcileResult};

use crate::panics::PLANNED;
use crate::running_bodies::BackendFinding;
use crate::task_script::TaskScript;
use crate::worker_context::WorkerContext;
use crate::workload::body;

/// The backend that executes tasks elsewhere.
#[derive(Debug)]
pub struct RemoteBackend(pub Arc<WorkerContext>);

impl Backend for RemoteBackend {
    fn capabilities(&self) -> Capabilities {
        Capabilities::CANCEL.with(Capabilities::MESSAGES)
    }

    fn recovery(&self) -> Recovery {
        Recovery::Restart
    }

    fn start(&self, cx: Context) -> BoxFuture<BodyResult> {
        let world = self.0.clone();
        Box::pin(async move {
            let script = cx.input::<TaskScript>().await?;
            let value = body::perform(world, cx, script).await?;
            Ok(Payload::encode(&value)?)
        })
    }

    fn reconcile(&self, task: &Task) -> BoxFuture<ReconcileResult> {
        let (world, task) = (self.0.clone(), task.clone());
        Box::pin(async move {
            let pauses = world.draw(|rng| rng.below(3));
            world.sim.pause(pauses).await;
            let drawn = world.draw(BackendFinding::draw);
            let found = world.model(|model| model.reconciled(&task, drawn));
            match found {
                BackendFinding::Value(value) => {
                    ReconcileResult::Ended(Payload::encode(&value).map_err(BodyError::from))
                }
                BackendFinding::Error => {
                    ReconcileResult::Ended(Err(BodyError::message("it failed there")))
                }
                BackendFinding::Lost => ReconcileResult::Lost("it is unknown there".to_owned()),
                BackendFinding::Nothing => ReconcileResult::ByPolicy,
                BackendFinding::Panic => std::panic::panic_any(PLANNED),
            }
        })
    }
}
