//! Progress and activity reports: the latest one counts, and at most one write
//! a second is made.

use std::sync::{Arc, Weak};
use std::time::Duration;

use offshoot_core::{Activity, ActivityKind, Intent, Payload, Progress, TooLarge};

use crate::engine::Engine;
use crate::engine::live_task::LiveTask;
use crate::engine::rare_state::ReportBuffer;
use crate::error::Error;

/// The least time between two writes of one task's reports.
const INTERVAL: Duration = Duration::from_secs(1);

/// Reports progress of a task.
pub(crate) async fn progress(
    engine: &Arc<Engine>,
    live: &Arc<LiveTask>,
    value: Payload,
) -> Result<(), Error> {
    engine.check_open()?;
    let bytes = usize::try_from(value.bytes()).unwrap_or(usize::MAX);
    TooLarge::check("progress report", bytes, engine.config.sizes.progress)?;
    let progress = Arc::new(Progress { value, at: engine.now() });
    add(engine, live, |buffer| {
        buffer.last_progress = Some(progress.clone());
        buffer.progress = Some(progress);
    })
    .await
}

/// The last progress that a task has reported, in this attempt or an earlier
/// one.
pub(crate) async fn last_progress(
    engine: &Engine,
    live: &LiveTask,
) -> Result<Option<Arc<Progress>>, Error> {
    let buffered =
        live.rare().reports.lock().as_ref().and_then(|buffer| buffer.last_progress.clone());
    match buffered {
        Some(progress) => Ok(Some(progress)),
        None => Ok(engine.task(live.spec.id).await?.and_then(|task| task.progress.clone())),
    }
}

/// Reports the activity of a task, unless it is the last one reported.
pub(crate) async fn activity(
    engine: &Arc<Engine>,
    live: &Arc<LiveTask>,
    step: u64,
    doing: ActivityKind,
) -> Result<(), Error> {
    engine.check_open()?;
    let is_same = |known: &Arc<Activity>| known.step == step && known.doing == doing;
    if live
        .rare()
        .reports
        .lock()
        .as_ref()
        .is_some_and(|buffer| buffer.last_activity.as_ref().is_some_and(is_same))
    {
        return Ok(());
    }
    let activity = Arc::new(Activity { step, doing, since: engine.now() });
    add(engine, live, |buffer| {
        buffer.last_activity = Some(activity.clone());
        buffer.activity = Some(activity);
    })
    .await
}

/// Adds to the buffer, and writes it now or once the interval is over.
async fn add(
    engine: &Arc<Engine>,
    live: &Arc<LiveTask>,
    edit: impl FnOnce(&mut ReportBuffer),
) -> Result<(), Error> {
    let now = engine.world.monotonic();
    let delay = {
        let mut buffer = live.rare().reports.lock();
        let buffer = buffer.get_or_insert_default();
        edit(buffer);
        match buffer.written {
            Some(written) if now.saturating_sub(written) < INTERVAL => {
                if buffer.scheduled {
                    return Ok(());
                }
                buffer.scheduled = true;
                Some(INTERVAL.saturating_sub(now.saturating_sub(written)))
            }
            _ => {
                buffer.written = Some(now);
                None
            }
        }
    };
    let Some(delay) = delay else { return write(engine, live).await };
    let (weak_engine, weak_live) = (Arc::downgrade(engine), Arc::downgrade(live));
    let world = engine.world.clone();
    engine.world.spawn(async move {
        world.sleep(delay).await;
        let (Some(engine), Some(live)) = (weak_engine.upgrade(), weak_live.upgrade()) else {
            return;
        };
        if let Some(buffer) = live.rare().reports.lock().as_mut() {
            buffer.scheduled = false;
            buffer.written = Some(world.monotonic());
        }
        drop(live);
        write_until_stored(&engine, weak_live).await;
    });
    Ok(())
}

/// Writes the buffer, and tries again while the task lives and the store fails.
async fn write_until_stored(engine: &Arc<Engine>, live: Weak<LiveTask>) {
    for tries in 0.. {
        let Some(live) = live.upgrade() else { return };
        match write(engine, &live).await {
            Err(Error::Store(_)) if !engine.is_closed() => {}
            Ok(()) => return,
            // The task has ended, and its last report is written.
            Err(error) => {
                tracing::debug!(task = %live.spec.id, %error, "progress was not written");
                return;
            }
        }
        drop(live);
        engine.back_off(tries).await;
    }
}

/// Writes the reports that the store does not have, in one commit.
pub(crate) async fn write(engine: &Arc<Engine>, live: &Arc<LiveTask>) -> Result<(), Error> {
    let (progress, activity) = match live.rare().reports.lock().as_mut() {
        Some(buffer) => (buffer.progress.take(), buffer.activity.take()),
        None => return Ok(()),
    };
    let intent = match (&progress, &activity) {
        (None, None) => return Ok(()),
        (Some(progress), None) => Intent::Progress(progress.clone()),
        (None, Some(activity)) => Intent::Activity(activity.clone()),
        (Some(progress), Some(activity)) => Intent::Report(progress.clone(), activity.clone()),
    };
    let (id, epoch) = (live.spec.id, live.epoch());
    let written =
        engine.change(id, |_, _| Ok(intent.clone()), |_, batch| batch.fenced(id, epoch)).await;
    if let (Err(Error::Store(_)), Some(buffer)) = (&written, live.rare().reports.lock().as_mut()) {
        // It is written with the next report, or at the end of the task.
        buffer.progress = buffer.progress.take().or(progress);
        buffer.activity = buffer.activity.take().or(activity);
    }
    if written.is_ok() {
        engine.notify_activity(live.spec.wake, live.spec.owner());
    }
    written.map(|_| ())
}
