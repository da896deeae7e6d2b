//! The shared state of a runtime, and what every operation is made of.

use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hashbrown::HashMap;
use offshoot_core::{
    Cursor, IdHash, Intent, Owner, RowId, Seat, Session as Record, SessionId, Spec, Stamp, Task,
    TaskId, WorkerId, decide,
};
use offshoot_store::{Batch, CommitError, Conflict, Holding, Store, StoreError, Write};
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use crate::backend::Backend;
use crate::cell::{Cell, Eviction};
use crate::cells::Cells;
use crate::config::Config;
use crate::desk::Desk;
use crate::environment::World;
use crate::error::Error;
use crate::panic;
use crate::signal::Signal;
use crate::slots::Slots;

const OPEN: u8 = 0;
const DRAINING: u8 = 1;
const CLOSED: u8 = 2;

/// The kind of closures, which no registered kind may have.
pub(crate) const FUNCTION: &str = "function";

/// How often a decision is made again when its record keeps changing.
pub(crate) const DECISIONS: usize = 64;

// Aligned so that counting references to it, which every task does, disturbs
// nobody who reads it.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) world: World,
    pub(crate) config: Config,
    pub(crate) kinds: HashMap<Arc<str>, Arc<dyn Backend>>,
    pub(crate) slots: Slots,
    pub(crate) worker: WorkerId,
    /// Who else may hold the store; known once it is open.
    pub(crate) holding: OnceLock<Holding>,
    /// The kind of closures.
    pub(crate) function: Arc<str>,
    /// Told when a body here is gone.
    pub(crate) gone: Signal,
    /// Told when the runtime is over.
    pub(crate) closed: Signal,
    pub(crate) recovered: watch::Sender<bool>,
    cells: Cells,
    desks: Mutex<HashMap<SessionId, Arc<Desk>, IdHash>>,
    stage: AtomicU8,
    /// The latest moment that was shown to anybody, in microseconds.
    latest: AtomicI64,
}

impl Engine {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        world: World,
        config: Config,
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
            function: FUNCTION.into(),
            gone: Signal::default(),
            closed: Signal::default(),
            recovered: watch::Sender::new(false),
            cells: Cells::default(),
            desks: Mutex::default(),
            stage: AtomicU8::new(OPEN),
            latest: AtomicI64::new(i64::MIN),
        }
    }

    pub(crate) fn now(&self) -> Stamp {
        self.world.wall()
    }

    /// Now, or the latest moment this ever said if the clock has gone back.
    pub(crate) fn latest(&self) -> Stamp {
        let now = self.now().as_micros();
        Stamp::from_micros(self.latest.fetch_max(now, Ordering::AcqRel).max(now))
    }

    /// Whether nobody else can have a worker on the store.
    pub(crate) fn is_alone(&self) -> bool {
        self.holding.get() == Some(&Holding::Sole)
    }

    /// Whether operations are still accepted.
    pub(crate) fn check_open(&self) -> Result<(), Error> {
        if self.stage.load(Ordering::Acquire) == CLOSED { Err(Error::Closed) } else { Ok(()) }
    }

    /// Whether new tasks are still accepted.
    pub(crate) fn check_accepting(&self) -> Result<(), Error> {
        if self.stage.load(Ordering::Acquire) == OPEN { Ok(()) } else { Err(Error::Closed) }
    }

    pub(crate) fn drain(&self) {
        let _ = self.stage.compare_exchange(OPEN, DRAINING, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Whether bodies are being let go.
    pub(crate) fn is_draining(&self) -> bool {
        self.stage.load(Ordering::Acquire) == DRAINING
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.stage.load(Ordering::Acquire) == CLOSED
    }

    /// Drops every body and writes nothing: the next runtime on this store
    /// settles what is left.
    pub(crate) fn abandon(&self) {
        let closes = self.stage.swap(CLOSED, Ordering::AcqRel) != CLOSED;
        for cell in self.cells.take() {
            cell.evict(Eviction::Abandon);
            cell.tell_changed();
            cell.nudge.ring();
        }
        self.slots.close();
        let desks = std::mem::take(&mut *self.desks.lock());
        for desk in desks.into_values() {
            desk.nudge.ring();
        }
        for backend in self.kinds.values().filter(|_| closes) {
            panic::shield("close", || backend.close());
        }
        self.gone.ring();
        self.closed.ring();
        // Nobody judges any more, so nobody need wait for it.
        self.recovered.send_replace(true);
    }

    // Cells and desks.

    pub(crate) fn cell(&self, id: TaskId) -> Option<Arc<Cell>> {
        self.cells.get(id)
    }

    /// The cell of a live task, made if no body of it is here.
    pub(crate) fn cell_of(&self, spec: &Arc<Spec>) -> Arc<Cell> {
        self.cells.get_or_insert(spec.id, || Cell::unmanned(spec.clone()))
    }

    pub(crate) fn enter(&self, cell: Arc<Cell>) {
        self.cells.insert(cell);
    }

    /// Lets go of a task of which no body is here any more.
    pub(crate) fn leave(&self, id: TaskId) {
        self.depart(self.cells.remove(id));
    }

    /// Lets go of a task that has ended with this record.
    pub(crate) fn leave_ended(&self, last: &Task) {
        // Whoever does not find the cell any more finds the record in it.
        let leaves = |cell: &Cell| {
            cell.leave_last(last);
            true
        };
        self.depart(self.cells.remove_if(last.id(), leaves));
    }

    fn depart(&self, cell: Option<Arc<Cell>>) {
        if let Some(cell) = cell {
            cell.free_slot();
            cell.tell_changed();
            cell.nudge.ring();
            if cell.has_outside_mail() {
                self.nudge_above(&cell.spec);
            }
        }
        self.tell_gone();
    }

    /// Tells a shutdown that a body here is gone. A shutdown looks for bodies
    /// after it has begun, so whoever leaves before it looks need not tell.
    pub(crate) fn tell_gone(&self) {
        if self.stage.load(Ordering::Acquire) != OPEN {
            self.gone.ring();
        }
    }

    /// Tells everybody above a task that unread messages may have come back.
    pub(crate) fn nudge_above(&self, spec: &Spec) {
        let mut parent = spec.lineage.parent;
        while let Some(cell) = parent.and_then(|id| self.cell(id)) {
            cell.nudge.ring();
            parent = cell.spec.lineage.parent;
        }
        self.nudge(Owner::Session(spec.lineage.session));
    }

    /// Drops the cell of a task that has ended, if no body of it is here.
    pub(crate) fn forget_passive(&self, id: TaskId, last: Option<&Task>) {
        let passive = |cell: &Cell| {
            let passive = cell.epoch() == 0;
            if let Some(last) = last.filter(|_| passive) {
                cell.leave_last(last);
            }
            passive
        };
        let cell = self.cells.remove_if(id, passive);
        // Others may listen to it, and whoever tells of the end will not find
        // it any more.
        if let Some(cell) = cell {
            cell.tell_changed();
            cell.nudge.ring();
        }
    }

    pub(crate) fn cells(&self) -> Vec<Arc<Cell>> {
        self.cells.all()
    }

    /// Tells those who wait for the task that its record has changed.
    pub(crate) fn touch(&self, id: TaskId) {
        if let Some(cell) = self.cell(id) {
            cell.tell_changed();
        }
    }

    /// Tells an owner that its inbox has something new.
    pub(crate) fn nudge(&self, owner: Owner) {
        match owner {
            Owner::Task(id) => {
                if let Some(cell) = self.cell(id) {
                    cell.nudge.ring();
                }
            }
            Owner::Session(id) => {
                let desks = self.desks.lock();
                let heard = desks.get(&id).filter(|desk| desk.nudge.is_heard()).cloned();
                drop(desks);
                if let Some(desk) = heard {
                    desk.nudge.wake();
                }
            }
        }
    }

    /// The desk of a session, made when it is first needed.
    pub(crate) fn desk(&self, session: SessionId) -> Arc<Desk> {
        if let Some(desk) = self.desks.lock().get(&session) {
            return desk.clone();
        }
        // Numbers start after all that were used before. A store that cannot
        // tell at once costs a few taken numbers, no more.
        let counts = self.store.counts_within(Some(session)).try_now();
        let spawned = counts.ok().and_then(Result::ok).map_or(0, |counts| counts.spawned());
        let made = || Arc::new(Desk::new(spawned));
        let desk = self.desks.lock().entry(session).or_insert_with(made).clone();
        // Whoever holds something of a session that is gone gets a desk that
        // says so, and nobody keeps it.
        let there = self.store.session(session).try_now();
        if matches!(there, Ok(Ok(there)) if there.as_ref().is_none_or(Record::is_removing)) {
            self.close_desk(session);
        }
        desk
    }

    #[cfg(test)]
    pub(crate) fn desks(&self) -> usize {
        self.desks.lock().len()
    }

    /// Lets go of the desk of a session that is being removed.
    pub(crate) fn close_desk(&self, session: SessionId) {
        let desk = self.desks.lock().remove(&session);
        if let Some(desk) = desk {
            desk.remove();
        }
    }

    // Ids.

    pub(crate) fn mint_task(&self, at: Stamp) -> TaskId {
        TaskId::mint(at, self.world.random())
    }

    pub(crate) fn mint_row(&self, at: Stamp) -> RowId {
        RowId::mint(at, self.world.random())
    }

    // Decisions.

    pub(crate) async fn task(&self, id: TaskId) -> Result<Option<Task>, Error> {
        self.check_open()?;
        Ok(self.store.task(id).await?)
    }

    /// Decides and commits one change of a record, again whenever somebody
    /// else was faster. `with` adds what else the commit holds.
    pub(crate) async fn change(
        self: &Arc<Self>,
        id: TaskId,
        intent: impl Fn(&Task, Stamp) -> Result<Intent, Error>,
        with: impl Fn(&Task, Batch) -> Batch,
    ) -> Result<Task, Error> {
        for _ in 0..DECISIONS {
            let task = self.task(id).await?.ok_or_else(|| Error::not_found(id))?;
            let now = self.now();
            let decided = decide(&task, intent(&task, now)?, now)
                .map_err(|_| Error::Ended { id, state: task.state })?;
            let batch = with(&task, Batch::new(now));
            let next = decided.task.clone();
            let batch = batch.write(Write::Put(decided.task, decided.change));
            match self.commit(batch, Concerns::Record(id)).await {
                Ok(_) => return Ok(next),
                Err(CommitError::Conflict(Conflict::Stale(stale))) if stale == id => {}
                Err(error) => return Err(Error::from_commit(error)),
            }
        }
        Err(Error::Contended)
    }

    /// Commits a batch and wakes whom it concerns, even if whoever asked for it
    /// gives up meanwhile, and even if the store does not say whether it wrote.
    pub(crate) async fn commit(
        self: &Arc<Self>,
        batch: Batch,
        concerns: Concerns,
    ) -> Result<Cursor, CommitError> {
        let pending = match self.store.commit(batch).try_now() {
            Ok(committed) => return self.tell(committed, concerns),
            Err(pending) => pending,
        };
        let (tell, told) = oneshot::channel();
        let engine = self.clone();
        self.world.spawn(async move {
            drop(tell.send(engine.tell(pending.await, concerns)));
        });
        told.await.unwrap_or(Err(CommitError::Store(StoreError::Closed)))
    }

    fn tell(
        &self,
        committed: Result<Cursor, CommitError>,
        concerns: Concerns,
    ) -> Result<Cursor, CommitError> {
        if committed.is_ok() || committed.as_ref().is_err_and(is_uncertain) {
            match concerns {
                Concerns::Record(task) => self.touch(task),
                Concerns::Inbox(owner) => self.nudge(owner),
                Concerns::Question(task) => {
                    self.nudge(Owner::Task(task));
                    self.touch(task);
                }
            }
        }
        committed
    }

    /// Waits before a write is tried again; each time longer, and never long.
    pub(crate) async fn back_off(&self, tries: u32) {
        let millis = 10u64 << tries.min(8);
        self.world.sleep(Duration::from_millis(millis)).await;
    }
}

/// Whom a commit concerns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Concerns {
    /// Those who wait for the task.
    Record(TaskId),
    /// The owner, whose inbox has something new.
    Inbox(Owner),
    /// The task that asked, and those who wait for it.
    Question(TaskId),
}

/// Whose slots a task takes.
pub(crate) fn seat(spec: &Spec) -> Seat {
    Seat { session: spec.lineage.session, owner: spec.owner() }
}

/// Whether a commit that failed may have happened all the same.
pub(crate) fn is_uncertain(error: &CommitError) -> bool {
    matches!(error, CommitError::Store(StoreError::Unknown(_)))
}
