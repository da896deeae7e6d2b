//! What is answered from memory: sessions, live tasks, the newest finished
//! ones, counts, and the end of each log.
//!
//! The image shows what is committed and nothing else. The writer changes it
//! after a commit and before it answers, so whoever got an answer finds what
//! it says.

mod recent;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::{Event, IdHash, Name, Owner, Row, Session, SessionId, Space, Task, TaskId};
use offshoot_store::{Directory, Page, PageCursor, Pending, Removal};
use tokio::sync::Notify;

use self::recent::Recent;
use crate::error::Fault;
use crate::record::Sessions;

#[derive(Debug, Default)]
pub(crate) struct Image {
    pub(crate) directory: Directory,
    pub(crate) desks: HashMap<SessionId, Desk, IdHash>,
    names: HashMap<(Space, Box<str>), SessionId>,
    order: BTreeMap<u64, SessionId>,
    numbers: HashMap<i64, SessionId>,
    /// The unread rows that tell of the end of a task in the directory.
    pending: HashMap<TaskId, (u64, Row), IdHash>,
    /// What is unread in the inboxes that hold anything counted.
    pub(crate) mail: HashMap<Owner, Mail, IdHash>,
    /// Where the log stands.
    pub(crate) clock: u64,
}

/// What belongs to one session.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) session: Session,
    pub(crate) number: i64,
    /// Where it stands in the list of sessions.
    ordinal: u64,
    pub(crate) bell: Arc<Notify>,
    pub(crate) recent: Recent,
    /// The cursor of the newest event that is not kept any more.
    pub(crate) forgotten: u64,
    /// How many events the file holds, once somebody has counted them.
    pub(crate) logged: Option<u64>,
    /// Finished tasks in the directory, the first to leave first.
    finished: VecDeque<TaskId>,
}

/// What is unread in an inbox: of a task everything, of a session its
/// messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mail {
    pub(crate) rows: u64,
    pub(crate) messages: u64,
}

/// One change of the image, part of a committed batch.
#[derive(Debug)]
pub(crate) enum Op {
    Open { session: Session, number: i64, ordinal: u64 },
    PutSession(Session),
    Spawn { task: Task, ordinal: u64 },
    Put(Task),
    Event(Event),
    Told { task: TaskId, number: u64, row: Row },
    Read { task: TaskId, number: u64 },
    Mail(Owner, Mail),
}

impl Image {
    /// Makes one change; `keep` finished tasks stay per session.
    pub(crate) fn apply(&mut self, op: Op, keep: usize) {
        match op {
            Op::Spawn { task, ordinal } => self.directory.insert(task, ordinal),
            Op::Put(task) => self.put(task, keep),
            Op::Event(event) => {
                if let Some(desk) = self.desks.get_mut(&event.session) {
                    desk.recent.push(event);
                    desk.logged = desk.logged.map(|logged| logged + 1);
                }
            }
            Op::Told { task, number, row } => {
                if self.directory.task(task).is_some() {
                    self.pending.insert(task, (number, row));
                }
            }
            Op::Read { task, number } => {
                if self.pending.get(&task).is_some_and(|(pending, _)| *pending == number) {
                    self.pending.remove(&task);
                }
            }
            Op::Mail(owner, mail) if mail == Mail::default() => {
                self.mail.remove(&owner);
            }
            Op::Mail(owner, mail) => {
                self.mail.insert(owner, mail);
            }
            Op::Open { session, number, ordinal } => self.open(session, number, ordinal, 0),
            Op::PutSession(session) => {
                if let Some(desk) = self.desks.get_mut(&session.id) {
                    desk.session = session;
                }
            }
        }
    }

    /// Puts a session in.
    pub(crate) fn open(&mut self, session: Session, number: i64, ordinal: u64, forgotten: u64) {
        let id = session.id;
        self.names.insert((session.space.clone(), session.name.key().into()), id);
        self.order.insert(ordinal, id);
        self.numbers.insert(number, id);
        let desk = Desk {
            session,
            number,
            ordinal,
            bell: Arc::default(),
            recent: Recent::after(self.clock),
            forgotten,
            logged: None,
            finished: VecDeque::new(),
        };
        self.desks.insert(id, desk);
    }

    fn put(&mut self, task: Task, keep: usize) {
        let (session, id, ended) = (task.spec.lineage.session, task.id(), !task.is_live());
        let was_live = self.directory.task(id).is_some_and(|before| before.is_live());
        self.directory.replace(task);
        let Some(desk) = self.desks.get_mut(&session).filter(|_| ended && was_live) else { return };
        desk.finished.push_back(id);
        while desk.finished.len() > keep
            && let Some(oldest) = desk.finished.pop_front()
        {
            self.directory.remove(oldest, Removal::Evicted);
            self.pending.remove(&oldest);
        }
    }

    /// Takes a task out that is kept nowhere any more.
    pub(crate) fn delete(&mut self, task: &Task) {
        self.pending.remove(&task.id());
        self.mail.remove(&Owner::Task(task.id()));
        let session = task.spec.lineage.session;
        if self.directory.remove(task.id(), Removal::Deleted).is_none() {
            self.directory.discount(task.owner(), session, task.state.phase());
        } else if let Some(desk) = self.desks.get_mut(&session) {
            desk.finished.retain(|id| *id != task.id());
        }
    }

    /// Takes out a session of which nothing is kept any more.
    pub(crate) fn remove(&mut self, id: SessionId) -> Option<Desk> {
        let desk = self.desks.remove(&id)?;
        self.names.remove(&(desk.session.space.clone(), desk.session.name.key().into()));
        self.order.remove(&desk.ordinal);
        self.numbers.remove(&desk.number);
        self.mail.remove(&Owner::Session(id));
        self.directory.remove_session(id);
        Some(desk)
    }

    pub(crate) fn session(&self, id: SessionId) -> Option<&Session> {
        self.desks.get(&id).map(|desk| &desk.session)
    }

    pub(crate) fn session_named(&self, space: &Space, name: &Name) -> Option<&Session> {
        let id = self.names.get(&(space.clone(), name.key().into()))?;
        self.session(*id)
    }

    pub(crate) fn sessions(&self, after: Option<PageCursor>, limit: usize) -> Page<Session> {
        let start = after.map_or(Bound::Unbounded, |PageCursor(at)| Bound::Excluded(at));
        let mut found = self.order.range((start, Bound::Unbounded));
        let mut items = Vec::new();
        let mut next = None;
        for (ordinal, id) in found.by_ref().take(limit.max(1)) {
            items.extend(self.session(*id).cloned());
            next = Some(PageCursor(*ordinal));
        }
        Page { items, next: next.filter(|_| found.next().is_some()) }
    }

    /// The unread row that tells of the end of a task; `None` if the image
    /// does not know whether there is one.
    pub(crate) fn result_row(&self, id: TaskId) -> Option<Option<Pending>> {
        let task = self.directory.task(id)?;
        let pending = self.pending.get(&id);
        Some(pending.map(|(number, row)| Pending {
            number: *number,
            row: row.clone(),
            task: Some(task.clone()),
        }))
    }
}

impl Sessions for Image {
    fn numbered(&self, number: i64) -> Result<Option<(SessionId, Space)>, Fault> {
        let session = self.numbers.get(&number).and_then(|id| self.session(*id));
        Ok(session.map(|session| (session.id, session.space.clone())))
    }
}
