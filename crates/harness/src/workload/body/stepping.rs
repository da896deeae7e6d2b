//! The steps and sleeps of a body: committed work is never repeated.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use offshoot_core::{StepState, TaskId};
use offshoot_runtime::{BodyError, Environment, Error};

use super::Attempt;
use crate::model::RuntimeModel;
use crate::violation::{Checked, ensure};
use crate::worker_context::WorkerContext;

/// Whether a step that began may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    Allowed,
    Never,
}

/// The result of the work of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Value(u64),
    Error,
}

/// The work of a step in progress.
struct Working {
    world: Arc<WorkerContext>,
    attempt: (TaskId, u32),
    key: String,
}

impl Attempt {
    pub(super) async fn sleep(&self, at: usize, span: Duration) -> Result<(), Error> {
        let began = self.world.sim.monotonic();
        let first = self.world.model(|model| model.bodies.computes(self.id(), &format!("z{at}")));
        self.cx.sleep(&format!("z{at}"), span).await?;
        let slept = self.world.sim.monotonic().saturating_sub(began);
        self.world.model(|model| {
            model.acknowledged("a durable sleep", |_| {
                ensure(first > 0 || slept >= span, "S9.1 a timer keeps its due time", || {
                    format!("{} slept {slept:?} instead of {span:?}", self.id())
                })
            });
        });
        Ok(())
    }

    pub(super) async fn step(&self, at: usize, repeat: Repeat) -> Result<(), Error> {
        let key = format!("s{at}");
        let first = self.world.model(|model| self.is_first(model, &key));
        let value = self.tag * 1_000 + at as u64;
        let stepping = self.cx.step(&key, self.work(&key, Work::Value(value), repeat));
        let stepped = match repeat {
            Repeat::Allowed => stepping.await,
            Repeat::Never => stepping.once().await,
        };
        // The runtime's own errors come wrapped; the body goes on after them.
        let Ok(found) = stepped else { return Ok(()) };
        self.world.model(|model| {
            model.acknowledged("a step", |model| {
                self.check_stored(model, &key, found)?;
                ensure(found == value, "S9.6 a committed step is never recomputed", || {
                    format!("step {key:?} of {} gave {found}, not {value}", self.id())
                })?;
                if first { self.check_advanced(model) } else { Ok(()) }
            });
        });
        Ok(())
    }

    /// Takes two steps of one key side by side, the first of which may fail: every returned
    /// value is the stored one.
    pub(super) async fn step_together(&self, at: usize) -> Result<(), Error> {
        let key = format!("t{at}");
        let value = self.tag * 1_000 + at as u64;
        let fails = self.world.draw(|rng| rng.happens(300));
        let first = if fails { Work::Error } else { Work::Value(value) };
        let one = self.cx.step(&key, self.work(&key, first, Repeat::Allowed));
        let two = self.cx.step(&key, self.work(&key, Work::Value(!value), Repeat::Allowed));
        let (one, two) = join(one.into_future(), two.into_future()).await;
        self.world.model(|model| {
            model.acknowledged("two steps of one key", |model| {
                one.iter().chain(&two).try_for_each(|found| self.check_stored(model, &key, *found))
            });
        });
        Ok(())
    }

    /// The work of a step: it takes a while, and must be alone.
    fn work(
        &self,
        key: &str,
        work: Work,
        repeat: Repeat,
    ) -> impl FnOnce() -> offshoot_runtime::BoxFuture<Result<u64, BodyError>> + Send + use<> {
        let (world, attempt, key) = (self.world.clone(), (self.id(), self.epoch), key.to_owned());
        move || {
            Box::pin(async move {
                let working = Working::begin(world, attempt, key, repeat);
                let pauses = working.world.draw(|rng| rng.below(3));
                working.world.sim.pause(pauses).await;
                match work {
                    Work::Value(value) => Ok(value),
                    Work::Error => Err(BodyError::message("planned error")),
                }
            })
        }
    }

    fn check_stored(&self, model: &RuntimeModel, key: &str, found: u64) -> Checked {
        let stored = model.shadow.steps.get(&(self.id(), key.into()));
        let same = match stored {
            Some(StepState::Committed(value)) => value.decode().ok() == Some(found),
            _ => false,
        };
        ensure(same, "S9.6 a step's value is durable before it is told", || {
            format!("step {key:?} of {} gave {found}, stored {stored:?}", self.id())
        })
    }

    /// Whether the attempt has committed nothing yet, and this step is still to be committed.
    fn is_first(&self, model: &RuntimeModel, key: &str) -> bool {
        let stored = model.shadow.steps.get(&(self.id(), key.into()));
        let known = model.shadow.tasks.get(&self.id());
        !matches!(stored, Some(StepState::Committed(_)))
            && known.is_some_and(|known| known.further < self.epoch)
    }

    /// An attempt that makes progress resets the number of crashes, at once if the store works.
    /// The commit before this step may be doing that just now.
    fn check_advanced(&self, model: &RuntimeModel) -> Checked {
        let Some(known) = model.shadow.tasks.get(&self.id()) else { return Ok(()) };
        let lease = known.task.lease;
        let held = lease.epoch == self.epoch && lease.worker == self.world.disk.worker();
        let further = held && known.further == self.epoch;
        ensure(
            !model.reliable || !further || known.task.crashes == 0,
            "S9.2 an attempt that gets further leaves the crashes behind",
            || format!("{} still has {} crashes", self.id(), known.task.crashes),
        )
    }
}

impl Working {
    fn begin(
        world: Arc<WorkerContext>,
        attempt: (TaskId, u32),
        key: String,
        repeat: Repeat,
    ) -> Self {
        let (id, epoch) = attempt;
        world.model(|model| {
            let before = model.bodies.computes(id, &key);
            let stored = model.shadow.steps.get(&(id, key.as_str().into()));
            let committed = matches!(stored, Some(StepState::Committed(_)));
            let repeated = repeat == Repeat::Never && before > 0;
            let checked = ensure(
                !model.holds(id, epoch) || (!committed && !repeated),
                "S9.6 a committed step is never recomputed",
                || format!("step {key:?} of {id} is computed again, stored {stored:?}"),
            );
            model.expect(checked);
            let checked = model.bodies.work_begins(attempt, &key);
            model.expect(checked);
        });
        Self { world, attempt, key }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.world.model(|model| model.bodies.work_ends(self.attempt, &self.key));
    }
}
