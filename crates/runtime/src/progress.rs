//! Progress and activity: the latest stands, and at most one write a second.

use std::sync::{Arc, Weak};
use std::time::Duration;

use offshoot_core::{Activity, Doing, Intent, Payload, Progress, TooLarge};

use crate::cell::Cell;
use crate::engine::Engine;
use crate::error::Error;

/// The least time between two writes of one task's progress.
const INTERVAL: Duration = Duration::from_secs(1);

/// What a task has said and the store does not know yet.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    progress: Option<Arc<Progress>>,
    activity: Option<Arc<Activity>>,
    /// What it has reported last, known to the store or not.
    reported: Option<Arc<Progress>>,
    /// What it does, known to the store or not.
    doing: Option<Arc<Activity>>,
    written: Option<Duration>,
    scheduled: bool,
}

impl Engine {
    pub(crate) async fn report(
        self: &Arc<Self>,
        cell: &Arc<Cell>,
        value: Payload,
    ) -> Result<(), Error> {
        self.check_open()?;
        let bytes = usize::try_from(value.bytes()).unwrap_or(usize::MAX);
        TooLarge::check("progress report", bytes, self.config.sizes.progress)?;
        let progress = Arc::new(Progress { value, at: self.now() });
        self.say(cell, |throttle| {
            throttle.reported = Some(progress.clone());
            throttle.progress = Some(progress);
        })
        .await
    }

    /// What the task has reported last, in this attempt or an earlier one.
    pub(crate) async fn reported(&self, cell: &Cell) -> Result<Option<Arc<Progress>>, Error> {
        let said = cell.rare().throttle.lock().as_ref().and_then(|said| said.reported.clone());
        match said {
            Some(said) => Ok(Some(said)),
            None => Ok(self.task(cell.spec.id).await?.and_then(|task| task.progress.clone())),
        }
    }

    pub(crate) async fn act(
        self: &Arc<Self>,
        cell: &Arc<Cell>,
        step: u64,
        doing: Doing,
    ) -> Result<(), Error> {
        self.check_open()?;
        let same = |known: &Arc<Activity>| known.step == step && known.doing == doing;
        if cell
            .rare()
            .throttle
            .lock()
            .as_ref()
            .is_some_and(|said| said.doing.as_ref().is_some_and(same))
        {
            return Ok(());
        }
        let activity = Arc::new(Activity { step, doing, since: self.now() });
        self.say(cell, |throttle| {
            throttle.doing = Some(activity.clone());
            throttle.activity = Some(activity);
        })
        .await
    }

    async fn say(
        self: &Arc<Self>,
        cell: &Arc<Cell>,
        note: impl FnOnce(&mut Throttle),
    ) -> Result<(), Error> {
        let now = self.world.monotonic();
        let wait = {
            let mut throttle = cell.rare().throttle.lock();
            let throttle = throttle.get_or_insert_default();
            note(throttle);
            match throttle.written {
                Some(written) if now.saturating_sub(written) < INTERVAL => {
                    if throttle.scheduled {
                        return Ok(());
                    }
                    throttle.scheduled = true;
                    Some(INTERVAL.saturating_sub(now.saturating_sub(written)))
                }
                _ => {
                    throttle.written = Some(now);
                    None
                }
            }
        };
        let Some(wait) = wait else { return self.write_progress(cell).await };
        let (engine, weak) = (Arc::downgrade(self), Arc::downgrade(cell));
        let world = self.world.clone();
        self.world.spawn(async move {
            world.sleep(wait).await;
            let (Some(engine), Some(cell)) = (engine.upgrade(), weak.upgrade()) else { return };
            if let Some(throttle) = cell.rare().throttle.lock().as_mut() {
                throttle.scheduled = false;
                throttle.written = Some(world.monotonic());
            }
            drop(cell);
            engine.write_late(weak).await;
        });
        Ok(())
    }

    /// Writes what a task has said, as long as it lives and the store fails.
    async fn write_late(self: &Arc<Self>, cell: Weak<Cell>) {
        for tries in 0.. {
            let Some(cell) = cell.upgrade() else { return };
            match self.write_progress(&cell).await {
                Err(Error::Store(_)) if !self.is_closed() => {}
                Ok(()) => return,
                // The task has ended, and its last word is written.
                Err(error) => {
                    tracing::debug!(task = %cell.spec.id, %error, "progress was not written");
                    return;
                }
            }
            drop(cell);
            self.back_off(tries).await;
        }
    }

    /// Writes what a task has said and the store does not know, in one write.
    pub(crate) async fn write_progress(self: &Arc<Self>, cell: &Arc<Cell>) -> Result<(), Error> {
        let (progress, activity) = match cell.rare().throttle.lock().as_mut() {
            Some(throttle) => (throttle.progress.take(), throttle.activity.take()),
            None => return Ok(()),
        };
        let intent = match (&progress, &activity) {
            (None, None) => return Ok(()),
            (Some(progress), None) => Intent::Progress(progress.clone()),
            (None, Some(activity)) => Intent::Activity(activity.clone()),
            (Some(progress), Some(activity)) => Intent::Report(progress.clone(), activity.clone()),
        };
        let (id, epoch) = (cell.spec.id, cell.epoch());
        let written =
            self.change(id, |_, _| Ok(intent.clone()), |_, batch| batch.fenced(id, epoch)).await;
        if let (Err(Error::Store(_)), Some(throttle)) =
            (&written, cell.rare().throttle.lock().as_mut())
        {
            // Not lost: it is written with what is said next, or at the end.
            throttle.progress = throttle.progress.take().or(progress);
            throttle.activity = throttle.activity.take().or(activity);
        }
        if written.is_ok() {
            self.wake_for_activity(cell.spec.wake, cell.spec.owner());
        }
        written.map(|_| ())
    }
}
