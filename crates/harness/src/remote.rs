//! A kind whose tasks are executed somewhere else: what became of them is
//! known there, even after a crash here.

use std::sync::Arc;

use offshoot_core::{Capabilities, Payload, Recovery, Task};
use offshoot_runtime::{Backend, BodyError, BodyResult, BoxFuture, Context, ReconcileResult};

use crate::bodies::Found;
use crate::body;
use crate::script::Script;
use crate::world::World;

/// What executes tasks somewhere else.
#[derive(Debug)]
pub struct Remote(pub Arc<World>);

impl Backend for Remote {
    fn capabilities(&self) -> Capabilities {
        Capabilities::CANCEL.with(Capabilities::MESSAGES)
    }

    fn recovery(&self) -> Recovery {
        Recovery::Restart
    }

    fn start(&self, cx: Context) -> BoxFuture<BodyResult> {
        let world = self.0.clone();
        Box::pin(async move {
            let script = cx.input::<Script>().await?;
            let value = body::perform(world, cx, script).await?;
            Ok(Payload::encode(&value)?)
        })
    }

    fn reconcile(&self, task: &Task) -> BoxFuture<ReconcileResult> {
        let (world, task) = (self.0.clone(), task.clone());
        Box::pin(async move {
            let pauses = world.draw(|rng| rng.below(3));
            world.sim.pause(pauses).await;
            let drawn = world.draw(Found::draw);
            let found = world.model(|model| model.reconciled(&task, drawn));
            match found {
                Found::Value(value) => {
                    ReconcileResult::Ended(Payload::encode(&value).map_err(BodyError::from))
                }
                Found::Error => ReconcileResult::Ended(Err(BodyError::message("it failed there"))),
                Found::Lost => ReconcileResult::Lost("nobody there knows it".to_owned()),
                Found::Nothing => ReconcileResult::ByPolicy,
                Found::Panic => std::panic::panic_any(body::PLANNED),
            }
        })
    }
}
