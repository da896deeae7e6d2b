//! The reference model of the runtime: the commits that took effect, the running bodies and the
//! acknowledged operations. The [`invariants`] relate them.

pub mod invariants;
pub mod store_model;

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use offshoot_core::{
    Caller, Caps, Event, IdHash, MessageId, Owner, Phase, Receipt, RowId, SessionId, Spec, Task,
    TaskId, WorkerId,
};
use offshoot_runtime::{InboxRows, WaitEnd, WaitResult};
use offshoot_store::{Batch, Conflict, EndWrite, Memory, Write};
use parking_lot::Mutex;

use crate::figures::Figures;
use crate::model::invariants::retention::{self, DeletionCause};
use crate::model::invariants::{
    births, crashes, endings, leases, messages, removal, slots, transitions,
};
use crate::model::store_model::{ModelRow, ModelTask, RowFate, StoreModel};
use crate::running_bodies::{BackendFinding, BodyEnd, RunningBodies};
use crate::scenario::{RetentionPolicy, Scenario, WorkerCount};
use crate::trace::Trace;
use crate::violation::{Checked, Violation, ensure};

/// The model that the parts of a simulation share.
pub type SharedModel = Arc<Mutex<RuntimeModel>>;

/// The contents of the model.
#[derive(Debug)]
pub struct RuntimeModel {
    /// The expected contents of the store.
    pub shadow: StoreModel,
    /// The running bodies.
    pub bodies: RunningBodies,
    /// The trace of events.
    pub trace: Trace,
    /// The counters.
    pub figures: Figures,
    /// The caps of the runtime.
    pub caps: Caps,
    /// The worker that claimed the store last. At rest it is alone.
    pub worker: Option<WorkerId>,
    /// The maximum number of workers that hold the store at once.
    pub workers: WorkerCount,
    /// The retention of ended tasks.
    pub keeping: RetentionPolicy,
    /// The maximum number of unread messages in an inbox.
    pub room: usize,
    /// Whether the store works while the process lives.
    pub reliable: bool,
    /// The first broken promise.
    pub violation: Option<Violation>,
    /// The log entries that readers have read, by session and lane.
    pub read: HashMap<(SessionId, usize), Vec<Event>>,
    /// The rows that a reader acknowledged without an append.
    pub explicit: HashSet<RowId, IdHash>,
    /// Whether the runtime is shutting down.
    pub closing: bool,
    /// Whether the run is in its last phase, which only counts slots.
    pub probing: bool,
    keyed: HashMap<(Owner, String), TaskId>,
    named: HashMap<(Owner, String), Vec<TaskId>>,
}

impl RuntimeModel {
    /// An empty model.
    pub fn new(plan: &Scenario, trace: Trace) -> Self {
        Self {
            shadow: StoreModel::default(),
            bodies: RunningBodies::default(),
            trace,
            figures: Figures::default(),
            caps: plan.caps.clone(),
            worker: None,
            workers: plan.workers,
            keeping: plan.keeping,
            room: plan.sizes.inbox,
            reliable: plan.odds.is_reliable(),
            violation: None,
            read: HashMap::new(),
            explicit: HashSet::default(),
            closing: false,
            probing: false,
            keyed: HashMap::new(),
            named: HashMap::new(),
        }
    }

    /// Keeps the first violation.
    pub fn expect(&mut self, checked: Checked) {
        if let Err(violation) = checked
            && self.violation.is_none()
        {
            self.trace.note(|| format!("VIOLATION {violation}"));
            self.violation = Some(violation);
        }
    }

    /// Records that a commit of this worker has taken effect.
    pub fn committed(&mut self, batch: &Batch, by: Option<WorkerId>) {
        self.figures.commits += 1;
        self.trace.note(|| format!("commit {}{}", signed(self.workers, by), describe(batch)));
        let checked = self.check_commit(batch, by);
        self.expect(checked);
    }

    /// Records that a commit was refused.
    pub fn conflicted(&mut self, batch: &Batch, conflict: &Conflict) {
        self.trace.note(|| format!("conflict {conflict}"));
        let checked = messages::check_refusal(&self.shadow, batch, conflict);
        self.expect(checked);
    }

    /// Returns the finding of a backend that is asked for the outcome of an attempt.
    pub fn reconciled(&mut self, task: &Task, drawn: BackendFinding) -> BackendFinding {
        let (id, epoch) = (task.id(), task.lease.epoch);
        let found = self.bodies.finds(id, epoch, drawn);
        self.trace.note(|| format!("backend finds of {id} @{epoch}: {found:?}"));
        let alive = self.workers == WorkerCount::One && self.bodies.inside(id, epoch).is_some();
        let checked = ensure(!alive, "S12.4 only what a crash left is reconciled", || {
            format!("{id} is asked after while its body runs")
        });
        self.expect(checked);
        found
    }

    /// Checks the store after an event that may have made it forget tasks.
    pub fn may_have_gone(&mut self, memory: &Memory, cause: DeletionCause) {
        if let RetentionPolicy::Some(retention) = self.keeping {
            let checked = retention::check(&mut self.shadow, memory, &retention, cause);
            self.expect(checked);
        }
    }

    /// Records that a part of a session was deleted by its removal.
    pub fn removed(&mut self, memory: &Memory, session: SessionId, deleted: usize) {
        self.trace.note(|| format!("removal of {session}: {deleted} things"));
        let checked = removal::check_removed(&mut self.shadow, memory, session, deleted);
        self.expect(checked);
        self.figures.removed +=
            u64::from(!self.shadow.sessions.contains_key(&session) && deleted > 0);
    }

    fn check_commit(&mut self, batch: &Batch, by: Option<WorkerId>) -> Checked {
        leases::check_fence(&self.shadow, batch, by)?;
        for write in &batch.writes {
            match write {
                Write::Spawn(spawn) => {
                    self.figures.tasks += 1;
                    births::check(&self.shadow, &spawn.task, &self.caps)?;
                    leases::check_record(None, &spawn.task, &self.bodies, by)?;
                }
                Write::Send { message, to, .. } => {
                    messages::check(&self.shadow, message, *to, self.room)?;
                }
                Write::Put(task, change) | Write::End(EndWrite { task, change, .. }) => {
                    let Some(before) = self.shadow.task(task.id()) else { continue };
                    transitions::check(before, task)?;
                    leases::check_record(Some(before), task, &self.bodies, by)?;
                    crashes::check(&self.shadow, (before, task), change, by)?;
                    crashes::check_policy(&self.bodies, before, change, by)?;
                    if !self.probing {
                        endings::check_truth(before, task, &self.bodies, by)?;
                    }
                }
                _ => {}
            }
        }
        self.shadow.apply(batch)?;
        for write in &batch.writes {
            if let Some(task) = write.next_record().filter(|task| !task.is_live()) {
                endings::check_notice(&self.shadow, batch, task)?;
            }
        }
        // A runtime that shuts down gives no more slots to running tasks.
        if self.closing { Ok(()) } else { slots::check(&self.shadow, &self.caps, by) }
    }

    /// Records the start of a body at a worker and returns its epoch. A worker that is taken
    /// for dead does not know of it: the lease may then belong to another worker.
    pub fn entered(&mut self, task: TaskId, tag: u64, at: Option<WorkerId>) -> u32 {
        self.trace.note(|| format!("body of {task} starts ({tag})"));
        let Some(at) = at else { return 0 };
        let known = self.shadow.tasks.get(&task);
        let epoch = known.map_or(0, |known| known.epoch_of(at));
        let leased = known.is_some_and(|ModelTask { task, .. }| {
            task.state.phase() == Phase::Running && task.lease.epoch == epoch
        });
        let stolen = self.workers == WorkerCount::Two && epoch > 0;
        let checked = ensure(leased || stolen, "S9.1 nothing runs without a lease", || {
            format!("the body of {task} starts at {at} on {known:?}")
        });
        self.expect(checked);
        let checked = self.bodies.enter((task, epoch), at, tag);
        self.expect(checked);
        epoch
    }

    /// Whether this attempt holds its task's lease. The effects of an attempt without the lease
    /// are ignored.
    pub fn holds(&self, task: TaskId, epoch: u32) -> bool {
        let lease = self.shadow.task(task).map(|task| task.lease);
        lease.is_some_and(|lease| lease.epoch == epoch && lease.worker.is_some())
    }

    /// Records the result with which a body is about to end.
    pub fn returning(&mut self, task: TaskId, epoch: u32, returned: BodyEnd) {
        self.trace.note(|| format!("body of {task} ends: {returned:?}"));
        self.bodies.returns(task, epoch, returned);
    }

    /// Records an acknowledged operation and checks its promise.
    pub fn acknowledged(&mut self, what: &'static str, check: impl FnOnce(&mut Self) -> Checked) {
        self.figures.operations += 1;
        self.trace.note(|| format!("acknowledged: {what}"));
        let checked = check(self);
        self.expect(checked);
    }

    /// Records a refused or failed operation.
    pub fn refused(&mut self, what: &'static str, error: &offshoot_runtime::Error) {
        self.figures.refusals += 1;
        self.trace.note(|| format!("refused: {what}: {error}"));
    }

    /// Checks an acknowledged spawn.
    pub fn spawned(&mut self, spec: &Spec, name: Option<&str>, key: Option<&str>) -> Checked {
        let (id, owner) = (spec.id, spec.owner());
        self.trace.note(|| format!("acknowledged: spawn of {id} {:?}", spec.handle.as_str()));
        let Some(record) = self.shadow.task(id) else {
            return Err(Violation::new(
                "S2.4 a spawn is durable before it is acknowledged",
                format!("{id} is not stored"),
            ));
        };
        if let Some(name) = name {
            let others = self.named.entry((owner, name.to_owned())).or_default();
            others.retain(|other| *other != id);
            let rival = others
                .iter()
                .filter_map(|other| self.shadow.task(*other))
                .find(|other| other.is_live());
            ensure(
                rival.is_none() || !record.is_live(),
                "S1.4 a name is unique among the live tasks of one owner",
                || format!("{id} and {:?} are both called {name:?}", rival.map(Task::id)),
            )?;
            others.push(id);
        }
        ensure(*record.spec == *spec, "S2.3 the record is what was acknowledged", || {
            format!("{spec:?} is stored as {:?}", record.spec)
        })?;
        if let Some(key) = key {
            // A key lives as long as its task.
            let shadow = &self.shadow;
            let first = self.keyed.entry((owner, key.to_owned())).or_insert(id);
            let both = *first != id && shadow.is_stored(*first) && shadow.is_stored(id);
            ensure(!both, "S9.4 a repeated key finds the same task", || {
                format!("the key {key:?} of {owner} gave {first}, then {id}")
            })?;
            *first = id;
        }
        Ok(())
    }

    /// Checks the result of a wait.
    pub fn waited(&self, waited: &WaitResult) -> Checked {
        let id = waited.task.id();
        let Some(record) = self.shadow.task(id) else {
            return Err(Violation::new("S3.4 a result stays readable", id.to_string()));
        };
        match waited.end {
            WaitEnd::Ended => ensure(*record == waited.task, "S2.1 an end is final", || {
                format!("a waiter saw {:?}, stored is {record:?}", waited.task)
            }),
            WaitEnd::NeedsInput | WaitEnd::TimedOut => ensure(
                waited.task.seq <= record.seq,
                "S3.2 a timeout returns a record that was stored",
                || format!("a waiter saw {:?}, stored is {record:?}", waited.task),
            ),
        }
    }

    /// Checks that the cancel of a tree has reached every task in it.
    pub fn cancelled(&self, root: TaskId) -> Checked {
        let own = self.shadow.task(root).filter(|task| task.is_live());
        let missed: Vec<_> = own
            .into_iter()
            .chain(self.shadow.live_below(root))
            .filter(|task| task.cancel.is_none())
            .map(|task| task.id().to_string())
            .collect();
        ensure(missed.is_empty(), "S6.2 cancel cascades over all descendants", || {
            format!("the cancel of {root} did not reach {}", missed.join(", "))
        })
    }

    /// Checks a message that was acknowledged as queued.
    pub fn sent(&self, receipt: Receipt, text: &str) -> Checked {
        let known = self.shadow.message(receipt.message).and_then(ModelRow::message);
        ensure(known.is_some(), "S5.3 a message is durable before \"queued\" is said", || {
            format!("message {} to {} is not stored", receipt.message, receipt.task)
        })?;
        ensure(
            known.is_some_and(|message| *message.text == *text),
            "S5.3 a key finds what was sent under it, and nothing else",
            || format!("{text:?} was acknowledged as {known:?}"),
        )
    }

    /// Checks the refusal of a key that another message has used.
    pub fn key_reused(&self, message: MessageId, text: &str, from: Option<Caller>) -> Checked {
        let known = self.shadow.message(message).and_then(ModelRow::message);
        let other = known.is_some_and(|known| {
            *known.text != *text && from.is_none_or(|from| known.from == from)
        });
        ensure(other, "S5.3 a key is its sender's own", || {
            format!("{text:?} of {from:?} was refused because of {known:?}")
        })
    }

    /// Checks drained rows: they belong to the owner, are in order, and are truthful.
    pub fn drained(&self, rows: &InboxRows, owner: Owner) -> Checked {
        let mut last = 0;
        for row in rows.iter() {
            let Some(known) = self.shadow.rows.get(&row.id()) else {
                return Err(Violation::new("S3.4 rows have stable ids", row.id().to_string()));
            };
            ensure(known.number > last, "S3.5 rows come in completion order", || {
                format!("row {} of {owner} came after number {last}", row.id())
            })?;
            last = known.number;
            if let Some(task) = row.task().filter(|task| !task.is_live()) {
                let stored = self.shadow.task(task.id());
                ensure(stored == Some(task), "S2.1 an end is final", || {
                    format!("a reader saw {task:?}, stored is {stored:?}")
                })?;
            }
        }
        Ok(())
    }

    /// Records that a reader is about to acknowledge rows without an append.
    pub fn acking(&mut self, rows: &InboxRows) {
        self.explicit.extend(rows.iter().map(|row| row.id()));
    }

    /// Checks that acknowledged or appended rows are no longer pending with this owner.
    pub fn acked(&self, rows: &InboxRows, owner: Owner) -> Checked {
        for row in rows.iter() {
            let pending = self
                .shadow
                .rows
                .get(&row.id())
                .is_some_and(|known| known.fate == RowFate::Pending && known.owner == owner);
            ensure(!pending, "S3.4 an acknowledged row is not delivered again", || {
                format!("row {} of {owner} is still pending", row.id())
            })?;
        }
        Ok(())
    }

    /// Checks appended blocks.
    pub fn appended(&self, owner: Owner, text: &str) -> Checked {
        let history = self.shadow.histories.get(&owner);
        let times = history.map_or(0, |texts| texts.iter().filter(|had| ***had == *text).count());
        ensure(times == 1, "S4.2 an acknowledged block is in the history exactly once", || {
            format!("{text:?} is {times} times in the history of {owner}")
        })
    }
}

/// The committer, where it is not clear from the change.
fn signed(workers: WorkerCount, by: Option<WorkerId>) -> String {
    match (workers, by) {
        (WorkerCount::Two, Some(by)) => format!("by {by}: "),
        _ => String::new(),
    }
}

/// A commit as one line of text.
fn describe(batch: &Batch) -> String {
    let mut line = String::new();
    if let Some(fence) = batch.fence {
        line += &format!("[{} @{}] ", fence.task, fence.epoch);
    }
    for write in &batch.writes {
        line += &match write {
            Write::Spawn(spawn) => {
                format!(
                    "spawn {} {} of {}; ",
                    spawn.task.id(),
                    spawn.task.state,
                    spawn.task.owner()
                )
            }
            Write::Put(task, change) => format!("put {} #{} {change:?}; ", task.id(), task.seq),
            Write::Deliver(row) => format!("deliver {} to {}; ", row.id, row.owner),
            Write::Send { message, to, .. } => format!("send {} to {to}; ", message.id),
            Write::Ack(ack) => format!("ack {} rows of {}; ", ack.rows.len(), ack.owner),
            Write::Append { owner, blocks } => format!("append {} to {owner}; ", blocks.len()),
            Write::End(EndWrite { task, recipient, .. }) => {
                format!("end {} #{} {}, told {recipient}; ", task.id(), task.seq, task.state)
            }
            other => format!("{other:?}; "),
        };
    }
    line
}

/// A listener of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionListener {
    /// A reader of its log.
    Follower,
    /// A reader of its inbox.
    Reader,
}
