//! The shared base of a runtime: store, clock, settings, registered backends,
//! live tasks and sessions, and slots.
//!
//! Every other module works on an [`Engine`]. The modules in here import none
//! of those above.

pub(crate) mod ambient;
pub(crate) mod backend;
pub(crate) mod body;
mod commit;
pub(crate) mod handle;
pub(crate) mod kind;
mod live;
pub(crate) mod live_session;
pub(crate) mod live_task;
mod live_tasks;
pub(crate) mod rare_state;
pub(crate) mod slots;
pub(crate) mod step_locks;
mod values;

use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use offshoot_core::{IdHash, RowId, SessionId, SlotKey, Spec, Stamp, Task, TaskId, WorkerId};
use offshoot_store::{ClaimKind, Store};
use parking_lot::Mutex;
use tokio::sync::watch;

use self::backend::Backend;
pub(crate) use self::commit::NotifyTarget;
use self::live_session::LiveSession;
use self::live_task::Eviction;
use self::live_tasks::LiveTasks;
use self::slots::Slots;
use crate::config::RuntimeConfig;
use crate::environment::EnvironmentHandle;
use crate::error::Error;
use crate::panic;
use crate::signal::Signal;

const OPEN: u8 = 0;
const DRAINING: u8 = 1;
const CLOSED: u8 = 2;

/// The kind of closures, which is reserved.
pub(crate) const CLOSURE_KIND: &str = "function";

/// The number of times a decision is repeated while its record keeps changing.
pub(crate) const MAX_DECISIONS: usize = 64;

/// The state that all handles and bodies of one runtime share.
// Aligned so that the reference count, which every task changes, does not share
// a cache line with the fields, which every task reads.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) world: EnvironmentHandle,
    pub(crate) config: RuntimeConfig,
    pub(crate) kinds: HashMap<Arc<str>, Arc<dyn Backend>>,
    pub(crate) slots: Slots,
    pub(crate) worker: WorkerId,
    /// Whether other processes can hold the store; set once it is open.
    pub(crate) holding: OnceLock<ClaimKind>,
    /// [`CLOSURE_KIND`], shared by the specs of all closures.
    pub(crate) closure_kind: Arc<str>,
    /// Notified when a body in this process is gone.
    pub(crate) body_gone: Signal,
    /// Notified when the runtime closes.
    pub(crate) closed: Signal,
    /// Whether recovery has finished.
    pub(crate) recovered: watch::Sender<bool>,
    live_tasks: LiveTasks,
    live_sessions: Mutex<HashMap<SessionId, Arc<LiveSession>, IdHash>>,
    stage: AtomicU8,
    /// The latest time that was shown, in microseconds.
    latest: AtomicI64,
}

impl Engine {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        world: EnvironmentHandle,
        config: RuntimeConfig,
        kinds: HashMap<Arc<str>, Arc<dyn Backend>>,
    ) -> Self {
        let worker = WorkerId::mint(world.wall(), world.random());
        Self {
            slots: Slots::new(config.caps.executing),
            store,
            world,
            config,
            kinds,
            worker,
            holding: OnceLock::new(),
            closure_kind: CLOSURE_KIND.into(),
            body_gone: Signal::default(),
            closed: Signal::default(),
            recovered: watch::Sender::new(false),
            live_tasks: LiveTasks::default(),
            live_sessions: Mutex::default(),
            stage: AtomicU8::new(OPEN),
            latest: AtomicI64::new(i64::MIN),
        }
    }

    pub(crate) fn now(&self) -> Stamp {
        self.world.wall()
    }

    /// The current time, or the latest time this returned if the clock has gone
    /// back.
    pub(crate) fn latest(&self) -> Stamp {
        let now = self.now().as_micros();
        Stamp::from_micros(self.latest.fetch_max(now, Ordering::AcqRel).max(now))
    }

    pub(crate) fn mint_task(&self, at: Stamp) -> TaskId {
        TaskId::mint(at, self.world.random())
    }

    pub(crate) fn mint_row(&self, at: Stamp) -> RowId {
        RowId::mint(at, self.world.random())
    }

    /// Whether this is the only worker that the store can have.
    pub(crate) fn is_sole_worker(&self) -> bool {
        self.holding.get() == Some(&ClaimKind::Exclusive)
    }

    /// Whether this process executes tasks of the kind of this one.
    pub(crate) fn executes(&self, task: &Task) -> bool {
        *task.spec.kind == *CLOSURE_KIND || self.kinds.contains_key(&task.spec.kind)
    }

    /// Whether the task has no worker: the one that executed it is dead, and
    /// this process cannot take it over before its kind is registered again.
    pub(crate) fn is_orphaned(&self, task: &Task) -> bool {
        let ours = task.lease.worker == Some(self.worker);
        self.is_sole_worker() && !ours && !self.executes(task) && task.is_live() && !task.is_held()
    }

    /// Returns [`Error::Closed`] once the runtime is closed.
    pub(crate) fn check_open(&self) -> Result<(), Error> {
        if self.is_closed() { Err(Error::Closed) } else { Ok(()) }
    }

    /// Returns [`Error::Closed`] once the runtime accepts no new tasks.
    pub(crate) fn check_accepting(&self) -> Result<(), Error> {
        if self.stage.load(Ordering::Acquire) == OPEN { Ok(()) } else { Err(Error::Closed) }
    }

    /// Stops accepting new tasks.
    pub(crate) fn start_draining(&self) {
        let _ = self.stage.compare_exchange(OPEN, DRAINING, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Whether a shutdown is stopping the bodies.
    pub(crate) fn is_draining(&self) -> bool {
        self.stage.load(Ordering::Acquire) == DRAINING
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.stage.load(Ordering::Acquire) == CLOSED
    }

    /// Drops every body and writes nothing. The next runtime on this store
    /// settles the tasks.
    pub(crate) fn abandon(&self) {
        let closes = self.stage.swap(CLOSED, Ordering::AcqRel) != CLOSED;
        for live in self.live_tasks.take() {
            live.evict(Eviction::Abandon);
            live.notify_changed();
            live.wakeup.notify();
        }
        self.slots.close();
        let sessions = std::mem::take(&mut *self.live_sessions.lock());
        for session in sessions.into_values() {
            session.wakeup.notify();
        }
        for backend in self.kinds.values().filter(|_| closes) {
            panic::shield("close", || backend.close());
        }
        self.body_gone.notify();
        self.closed.notify();
        // Recovery stops here, so waiting for it ends here as well.
        self.recovered.send_replace(true);
    }

    /// Notifies a shutdown that a body is gone. A shutdown counts the bodies
    /// after it has begun, so bodies that go earlier notify nothing.
    pub(crate) fn notify_body_gone(&self) {
        if self.stage.load(Ordering::Acquire) != OPEN {
            self.body_gone.notify();
        }
    }
}

/// The key of the slots that a task takes.
pub(crate) fn seat(spec: &Spec) -> SlotKey {
    SlotKey { session: spec.lineage.session, owner: spec.owner() }
}
