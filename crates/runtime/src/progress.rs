//! Progress and activity: the latest stands, and at most one write a second.

use std::sync::Arc;
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
        self.say(cell, |throttle| throttle.progress = Some(progress)).await
    }

    pub(crate) async fn act(
        self: &Arc<Self>,
        cell: &Arc<Cell>,
        step: u64,
        doing: Doing,
    ) -> Result<(), Error> {
        self.check_open()?;
        let activity = Arc::new(Activity { step, doing, since: self.now() });
        self.say(cell, |throttle| throttle.activity = Some(activity)).await
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
        let (engine, cell) = (Arc::downgrade(self), Arc::downgrade(cell));
        let world = self.world.clone();
        self.world.spawn(async move {
            world.sleep(wait).await;
            let (Some(engine), Some(cell)) = (engine.upgrade(), cell.upgrade()) else { return };
            if let Some(throttle) = cell.rare().throttle.lock().as_mut() {
                throttle.scheduled = false;
                throttle.written = Some(world.monotonic());
            }
            // The task may have ended, and then its last word is written.
            if let Err(error) = engine.write_progress(&cell).await {
                tracing::debug!(task = %cell.spec.id, %error, "progress was not written");
            }
        });
        Ok(())
    }

    /// Writes what a task that ends has said last.
    pub(crate) async fn flush_progress(self: &Arc<Self>, cell: &Arc<Cell>) {
        if cell.known_rare().is_none_or(|rare| rare.throttle.lock().is_none()) {
            return;
        }
        if let Err(error) = self.write_progress(cell).await {
            tracing::debug!(task = %cell.spec.id, %error, "the last progress was not written");
        }
    }

    async fn write_progress(self: &Arc<Self>, cell: &Arc<Cell>) -> Result<(), Error> {
        let (progress, activity) = match cell.rare().throttle.lock().as_mut() {
            Some(throttle) => (throttle.progress.take(), throttle.activity.take()),
            None => return Ok(()),
        };
        let (id, epoch) = (cell.spec.id, cell.epoch());
        if let Some(progress) = progress {
            self.change(
                id,
                |_, _| Ok(Intent::Progress(progress.clone())),
                |_, batch| batch.fenced(id, epoch),
            )
            .await?;
        }
        if let Some(activity) = activity {
            self.change(
                id,
                |_, _| Ok(Intent::Activity(activity.clone())),
                |_, batch| batch.fenced(id, epoch),
            )
            .await?;
        }
        Ok(())
    }
}
