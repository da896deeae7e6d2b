//! State of a live task that most tasks never need.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use offshoot_core::{Activity, Progress, WaitingOn};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::slots::Slot;
use super::step_locks::StepLocks;

/// State that most tasks never need.
#[derive(Debug, Default)]
pub(crate) struct RareState {
    /// The slot that the task holds while it executes.
    pub(crate) slot: Mutex<Option<Slot>>,
    /// Reports that are not in the store yet.
    pub(crate) reports: Mutex<Option<ReportBuffer>>,
    /// The waits of the body that are in progress.
    pub(crate) waits: tokio::sync::Mutex<OpenWaits>,
    /// Held while the crash count is reset.
    pub(crate) advancing: tokio::sync::Mutex<()>,
    /// The keys of the steps that are in progress.
    pub(crate) steps: StepLocks,
    pub(super) token: OnceLock<CancellationToken>,
    pub(super) read_mark: AtomicU64,
}

/// The waits of a body that are in progress.
#[derive(Debug, Default)]
pub(crate) struct OpenWaits {
    /// The events they wait on, oldest first.
    pub(crate) on: Vec<WaitingOn>,
    /// How many waits have begun so far. A body that queues for a slot sees by
    /// it that it has begun another wait.
    pub(crate) begun: u64,
}

/// Reports of a task, and when they are written.
#[derive(Debug, Default)]
pub(crate) struct ReportBuffer {
    /// Progress that is to be written.
    pub(crate) progress: Option<Arc<Progress>>,
    /// Activity that is to be written.
    pub(crate) activity: Option<Arc<Activity>>,
    /// The last progress, written or not.
    pub(crate) last_progress: Option<Arc<Progress>>,
    /// The last activity, written or not.
    pub(crate) last_activity: Option<Arc<Activity>>,
    /// When the last write began, by the monotonic clock.
    pub(crate) written: Option<Duration>,
    /// Whether a later write is scheduled.
    pub(crate) scheduled: bool,
}
