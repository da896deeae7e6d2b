//! Writes of a checked batch.

use offshoot_core::{Change, Cursor, Owner, Phase, Row, Stamp, StepState, Task, TaskId};
use smallvec::SmallVec;

use super::state::{MemoryState, SessionEntry};
use crate::batch::{Batch, Counter, EndWrite, Write};

impl MemoryState {
    /// Applies the writes of a checked batch. It cannot fail.
    pub(super) fn apply(&mut self, batch: &mut Batch) -> Cursor {
        let mut ended = SmallVec::<[TaskId; 1]>::new();
        for write in batch.writes.drain(..) {
            if let Write::Put(task, _) = &write
                && !task.is_live()
            {
                ended.push(task.id());
            }
            self.apply_write(write, batch.at);
        }
        self.note_ended_without_row(&ended);
        self.cursor()
    }

    fn apply_write(&mut self, write: Write, at: Stamp) {
        match write {
            Write::Spawn(spawn) => {
                let task = spawn.task;
                let change = match task.state.phase() {
                    Phase::Queued => Change::Spawned,
                    _ => Change::SpawnedRunning,
                };
                let (session, id) = (task.spec.lineage.session, task.id());
                let ordinal = self.tick();
                self.index.insert(task, ordinal);
                self.record(session, Some(id), at, change);
            }
            Write::Put(task, change) => self.put(task, at, change),
            Write::End(end) => self.end(end, at),
            Write::Deliver(row) => self.deliver(*row),
            Write::Send { message, to, .. } => {
                let id = message.id;
                self.deliver(Row::message(message, to));
                self.record_of(to, at, Change::MessageQueued(id));
            }
            Write::Ack(ack) => {
                // The session is read first, because acknowledging can delete the task.
                let session = self.session_of(ack.owner);
                let rows = self.acknowledge(&ack);
                if let Some(session) = session.filter(|_| rows > 0) {
                    let task = match ack.owner {
                        Owner::Task(task) => Some(task),
                        Owner::Session(_) => None,
                    };
                    self.record(session, task, at, Change::Acknowledged { rows });
                }
            }
            Write::OpenSession(session) => {
                let (id, ordinal) = (session.id, self.tick());
                let name = (session.space.clone(), session.name.key().into());
                self.session_names.insert(name, id);
                self.session_order.insert(ordinal, id);
                self.sessions.insert(id, SessionEntry::new(*session, ordinal));
                self.record(id, None, at, Change::SessionOpened);
            }
            Write::PutSession(session, change) => {
                let id = session.id;
                if let Some(entry) = self.sessions.get_mut(&id) {
                    entry.session = *session;
                }
                self.record(id, None, at, change);
            }
            Write::Append { owner, blocks } => {
                let history = &mut self.owner_data_mut(owner).history;
                history.extend(blocks);
                let total = history.len() as u64;
                self.record_of(owner, at, Change::HistoryGrew(total));
            }
            Write::Adopt { from, to } => {
                let blocks = self.owner_data.get(&from).map(|data| data.history.clone());
                // Histories only grow, so existing blocks are kept.
                self.owner_data_mut(to).history.splice(0..0, blocks.unwrap_or_default());
            }
            Write::Step(step) => {
                let owner = Owner::Task(step.task);
                let committed = matches!(step.state, StepState::Committed(_));
                self.owner_data_mut(owner).steps.insert(step.key.clone(), step.state);
                if committed {
                    self.record_of(owner, at, Change::StepCommitted(step.key));
                }
            }
            Write::Ask(question) => {
                let (owner, number) = (Owner::Task(question.task), question.number);
                self.owner_data_mut(owner).questions.push(*question);
                self.record_of(owner, at, Change::Asked(number));
            }
            Write::CloseQuestion { task, number, closed } => {
                let owner = Owner::Task(task);
                let at_index = (number as usize).wrapping_sub(1);
                if let Some(question) = self.owner_data_mut(owner).questions.get_mut(at_index) {
                    question.closed = Some(*closed);
                }
                self.record_of(owner, at, Change::QuestionClosed(number));
            }
            Write::Arm(timer) => {
                let timers = &mut self.owner_data_mut(Owner::Task(timer.task)).timers;
                timers.retain(|other| other.key != timer.key);
                timers.push(timer);
            }
            Write::Disarm { task, key } => {
                self.owner_data_mut(Owner::Task(task)).timers.retain(|timer| timer.key != key);
            }
            Write::Count(count) => {
                let Counter { owner, name } = count.counter;
                let value = self.counters.entry(owner).or_default().entry(name).or_default();
                *value = value.saturating_add_signed(count.by);
            }
        }
    }

    fn put(&mut self, task: Task, at: Stamp, change: Change) {
        let (session, id) = (task.spec.lineage.session, task.id());
        self.index.replace(task);
        self.record(session, Some(id), at, change);
    }

    fn end(&mut self, end: EndWrite, at: Stamp) {
        let EndWrite { task, change, recipient } = end;
        let (session, id) = (task.spec.lineage.session, task.id());
        self.index.replace(task);
        self.record(session, Some(id), at, change);
        self.close_inbox(id, recipient);
        self.deliver(Row::result(id, recipient, at));
        self.note_unread(session, id);
    }

    fn record_of(&mut self, owner: Owner, at: Stamp, change: Change) {
        let task = match owner {
            Owner::Task(task) => Some(task),
            Owner::Session(_) => None,
        };
        if let Some(session) = self.session_of(owner) {
            self.record(session, task, at, change);
        }
    }
}
