//! The reference model of the store: its expected contents, computed from the commits alone.
//!
//! The model knows the meaning of a batch and nothing about the store itself. It applies every
//! commit at the moment that the commit takes effect. The promises about single commits are
//! checked against the model as they happen, and the store is compared with it at rest.

mod inboxes;

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::{
    Block, Caller, Change, IdHash, InboxMessage, Owner, Phase, Resolution, RowBody, RowId,
    SessionId, SessionRecord, StepState, Task, TaskId, WorkerId,
};
use offshoot_store::{Batch, EndWrite, Write};

use crate::model::invariants::removal;
use crate::model::invariants::sweeps::{self, SweepStart};
use crate::violation::{Checked, Violation, ensure};

/// The expected contents of the store.
#[derive(Debug, Default)]
pub struct StoreModel {
    /// Every task, by its id.
    pub tasks: HashMap<TaskId, ModelTask, IdHash>,
    /// The ids of all tasks, in the order of their spawns.
    pub order: Vec<TaskId>,
    /// Every row, past and present.
    pub rows: HashMap<RowId, ModelRow, IdHash>,
    /// The pending rows of each owner, in order.
    pub inboxes: HashMap<Owner, BTreeMap<u64, RowId>, IdHash>,
    /// The texts of each history, in order.
    pub histories: HashMap<Owner, Vec<Arc<str>>, IdHash>,
    /// The journal of each task.
    pub steps: HashMap<(TaskId, Arc<str>), StepState>,
    /// The questions of each task, with the resolution of each closed one.
    pub questions: HashMap<TaskId, Vec<Option<Resolution>>, IdHash>,
    /// The changes of records of each session, in order.
    pub log: HashMap<SessionId, Vec<(Option<TaskId>, Change)>, IdHash>,
    /// The record of each session.
    pub sessions: HashMap<SessionId, SessionRecord, IdHash>,
    /// The sweeps that have begun.
    pub sweeps: Vec<SweepStart>,
    /// The tasks of each session that were deleted with an event.
    pub deleted: HashMap<SessionId, Vec<TaskId>, IdHash>,
    /// The messages of each sender to each owner under a key.
    pub keyed: HashMap<(Owner, Caller), Vec<Arc<InboxMessage>>>,
    /// The number of commits that have taken effect.
    pub commits: u64,
    clock: u64,
}

/// A task, according to the commits.
#[derive(Debug)]
pub struct ModelTask {
    /// Its record.
    pub task: Task,
    /// Its live children that it owns.
    pub live_children: u64,
    /// All tasks that it owns or owned.
    pub children: Vec<TaskId>,
    /// The time of its end, counted in writes of commits.
    pub ended: Option<u64>,
    /// The holder of each epoch, in order.
    pub holders: Vec<WorkerId>,
    /// The last epoch that has committed something that is never repeated.
    pub further: u32,
    /// The time at which its end was read, counted in writes of commits.
    pub read: Option<u64>,
    /// Whether the store still has it.
    pub kept: TaskPresence,
}

/// Whether the store still has a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskPresence {
    /// The store has it.
    Stored,
    /// The store keeps newer tasks instead.
    Forgotten,
    /// Its retention has ended.
    Deleted,
    /// It is deleted with its session.
    Removed,
}

impl ModelTask {
    /// The last epoch of this worker; zero if it never had one.
    pub fn epoch_of(&self, worker: WorkerId) -> u32 {
        let last = self.holders.iter().rposition(|holder| *holder == worker);
        last.map_or(0, |at| at as u32 + 1)
    }
}

/// A row, according to the commits.
#[derive(Debug)]
pub struct ModelRow {
    /// The owner it was written for.
    pub to: Owner,
    /// The owner whose inbox has it, or had it last.
    pub owner: Owner,
    /// Its position in the order of all rows.
    pub number: u64,
    /// Its body.
    pub body: RowBody,
    /// Its state.
    pub fate: RowFate,
}

impl ModelRow {
    /// The message in the row.
    pub fn message(&self) -> Option<&InboxMessage> {
        match &self.body {
            RowBody::Message(message) | RowBody::Returned(message) => Some(message),
            _ => None,
        }
    }

    /// Whether the owner it was written for has ended without reading it.
    pub fn is_passed_on(&self) -> bool {
        self.owner != self.to
    }
}

/// The state of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFate {
    /// It is unread.
    Pending,
    /// It was acknowledged without an append.
    Acked,
    /// It was acknowledged by the commit that appended it to a history.
    Appended,
    /// It was deleted unread, together with the task it reports.
    Deleted,
    /// It was unread when its session was removed.
    Removed,
}

impl StoreModel {
    /// The record of a task.
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(&id).map(|known| &known.task)
    }

    /// The live tasks, oldest first.
    pub fn live(&self) -> impl Iterator<Item = &ModelTask> {
        self.order.iter().filter_map(|id| self.tasks.get(id)).filter(|known| known.task.is_live())
    }

    /// Whether work is left for another process: a live task, or a session that is being
    /// removed.
    pub fn is_unfinished(&self) -> bool {
        self.live().next().is_some() || self.sessions.values().any(SessionRecord::is_removing)
    }

    /// The live tasks below `root` that end with it.
    pub fn live_below(&self, root: TaskId) -> Vec<&Task> {
        let mut found = Vec::new();
        let mut level = vec![root];
        while let Some(id) = level.pop() {
            let Some(known) = self.tasks.get(&id) else { continue };
            for child in &known.children {
                level.push(*child);
                found.extend(self.task(*child).filter(|task| task.is_live()));
            }
        }
        found
    }

    /// Applies a commit that took effect.
    pub fn apply(&mut self, batch: &Batch) -> Checked {
        self.commits += 1;
        self.note_further(batch);
        let appends = batch.writes.iter().any(|write| matches!(write, Write::Append { .. }));
        for write in &batch.writes {
            self.apply_write(write, if appends { RowFate::Appended } else { RowFate::Acked })?;
        }
        Ok(())
    }

    /// Records the attempts that make progress by a commit.
    fn note_further(&mut self, batch: &Batch) {
        for write in &batch.writes {
            let task = match write {
                Write::Step(step) => Some(step.task),
                Write::Append { owner: Owner::Task(task), .. } => Some(*task),
                Write::Ack(ack) => batch
                    .fence
                    .map(|fence| fence.task)
                    .filter(|task| ack.owner == Owner::Task(*task)),
                Write::Ask(question) => Some(question.task),
                Write::CloseQuestion { task, .. } => Some(*task),
                Write::Spawn(spawn) if spawn.task.spec.terms.key.is_some() => {
                    spawn.task.spec.lineage.parent
                }
                _ => None,
            };
            if let Some(known) = task.and_then(|task| self.tasks.get_mut(&task)) {
                known.further = known.task.lease.epoch;
            }
        }
    }

    fn apply_write(&mut self, write: &Write, read: RowFate) -> Checked {
        match write {
            Write::OpenSession(session) => {
                self.sessions.insert(session.id, (**session).clone());
                self.record(session.id, None, Change::SessionOpened);
            }
            Write::PutSession(session, change) => {
                sweeps::check(self, session)?;
                removal::check(self, session)?;
                self.sessions.insert(session.id, (**session).clone());
                self.record(session.id, None, change.clone());
            }
            Write::Spawn(spawn) => return self.spawn(&spawn.task),
            Write::Put(task, change) => return self.put(task, change),
            Write::End(EndWrite { task, change, recipient }) => {
                self.put(task, change)?;
                self.close_inbox(task.id(), *recipient);
                let id = task.id();
                return self.deliver(id.into(), *recipient, &RowBody::Result(id));
            }
            Write::Deliver(row) => return self.deliver(row.id, row.owner, &row.body),
            Write::Send { message, to, .. } => {
                let body = RowBody::Message(message.clone());
                return self.deliver(message.id.into(), *to, &body);
            }
            Write::Ack(ack) => {
                for row in &ack.rows {
                    self.acknowledge(ack.owner, row.id, read);
                }
            }
            Write::Append { owner, blocks } => {
                removal::check_there(self, *owner)?;
                let texts = blocks.iter().map(|block: &Block| block.text.clone());
                self.histories.entry(*owner).or_default().extend(texts);
            }
            Write::Adopt { from, to } => {
                let stored = match from {
                    Owner::Task(task) => self.is_stored(*task),
                    Owner::Session(_) => true,
                };
                let history = self.histories.get(from).filter(|_| stored);
                let history = history.cloned().unwrap_or_default();
                self.histories.insert(*to, history);
            }
            Write::Step(step) => {
                let key = (step.task, step.key.clone());
                let before = self.steps.insert(key, step.state.clone());
                ensure(
                    !matches!(before, Some(StepState::Committed(_))),
                    "S9.6 a committed step is never recomputed",
                    || format!("step {:?} of {} was written again", step.key, step.task),
                )?;
            }
            Write::Ask(question) => {
                let asked = self.questions.entry(question.task).or_default();
                asked.push(None);
                ensure(
                    asked.len() == question.number as usize,
                    "S5.5 questions are counted without gaps",
                    || format!("question {} of {}", question.number, question.task),
                )?;
            }
            Write::CloseQuestion { task, number, closed } => {
                let asked = self.questions.entry(*task).or_default();
                let question = asked.get_mut((*number as usize).wrapping_sub(1));
                let open = question.filter(|question| question.is_none());
                let Some(open) = open else {
                    return Err(Violation::new(
                        "S5.5 the first answer stands",
                        format!("question {number} of {task} was closed twice"),
                    ));
                };
                *open = Some((**closed).clone());
            }
            Write::Arm(_) | Write::Disarm { .. } | Write::Count(_) => {}
        }
        Ok(())
    }

    fn spawn(&mut self, task: &Task) -> Checked {
        let id = task.id();
        ensure(!self.tasks.contains_key(&id), "S1.1 an id is never reused", || id.to_string())?;
        let change = match task.state.phase() {
            Phase::Queued => Change::Spawned,
            _ => Change::SpawnedRunning,
        };
        if let Owner::Task(owner) = task.owner()
            && let Some(owner) = self.tasks.get_mut(&owner)
        {
            owner.live_children += 1;
            owner.children.push(id);
        }
        let known = ModelTask {
            task: task.clone(),
            live_children: 0,
            children: Vec::new(),
            ended: None,
            holders: task.lease.worker.into_iter().collect(),
            further: 0,
            read: None,
            kept: TaskPresence::Stored,
        };
        self.tasks.insert(id, known);
        self.order.push(id);
        self.record(task.spec.lineage.session, Some(id), change);
        Ok(())
    }

    fn put(&mut self, task: &Task, change: &Change) -> Checked {
        self.clock += 1;
        let (id, clock) = (task.id(), self.clock);
        let Some(known) = self.tasks.get_mut(&id) else {
            return Err(Violation::new("S2.4 a record begins with its spawn", id.to_string()));
        };
        let ends = known.task.is_live() && !task.is_live();
        if task.lease.epoch > known.task.lease.epoch {
            known.holders.extend(task.lease.worker);
        }
        known.task = task.clone();
        if ends {
            known.ended = Some(clock);
        }
        if let Owner::Task(owner) = task.owner()
            && ends
            && let Some(owner) = self.tasks.get_mut(&owner)
        {
            owner.live_children -= 1;
        }
        self.record(task.spec.lineage.session, Some(id), change.clone());
        Ok(())
    }

    fn record(&mut self, session: SessionId, task: Option<TaskId>, change: Change) {
        self.log.entry(session).or_default().push((task, change));
    }
}
