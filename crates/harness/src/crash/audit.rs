//! The comparison of the disk with the ledger.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use hashbrown::{HashMap, HashSet};
use offshoot_core::{
    IdHash, MessageId, Owner, Question, Resolution, RowId, SessionId, SessionRecord, StepState,
    Task, TaskId, sleep_key,
};
use offshoot_sqlite::Sqlite;
use offshoot_store::{OpenStore, Store, TaskQuery, TaskScope};

use crate::crash::ledger::{self, Entry};
use crate::violation::{Checked, Violation, ensure};

/// The size of an audit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Looked {
    /// Tasks on the disk.
    pub tasks: usize,
    /// Acknowledged operations in the ledger.
    pub operations: usize,
}

fn is_answered(question: &Question, answer: u64) -> bool {
    match &question.closed {
        Some(Resolution::Answered { answer: given, .. }) => given.decode().ok() == Some(answer),
        _ => false,
    }
}

/// The contents of the disk.
struct Books {
    store: Arc<dyn Store>,
    sessions: Vec<SessionRecord>,
    tasks: HashMap<TaskId, Task, IdHash>,
    /// The number of times each text is in a history.
    written: HashMap<String, usize>,
    /// The unread rows.
    unread: HashMap<RowId, usize, IdHash>,
    /// Rows that a job intended to acknowledge or to append.
    meant: HashSet<RowId, IdHash>,
    /// Rows that a job intended to acknowledge without an append.
    explicit: HashSet<RowId, IdHash>,
}

/// Compares the store in `folder` with the ledger beside it. With `over`, every task must have
/// ended.
pub fn audit(folder: &Path, over: bool) -> Result<(Looked, Checked)> {
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    executor.block_on(async {
        let entries = ledger::read(&folder.join("ledger"))?;
        let store = Sqlite::at(folder.join("data")).open_store().await?;
        let books = Books::open(store, &entries).await?;
        let looked = Looked { tasks: books.tasks.len(), operations: entries.len() };
        let checked = match books.check_records(over) {
            Ok(()) => books.check_ledger(&entries).await?,
            refused => refused,
        };
        let checked = checked.and_then(|()| books.check_results());
        Ok((looked, checked))
    })
}

impl Books {
    async fn open(store: Arc<dyn Store>, entries: &[Entry]) -> Result<Self> {
        let mut tasks = HashMap::default();
        let mut query = TaskQuery::new(TaskScope::Everything);
        query.limit = 500;
        loop {
            let page = store.tasks(query.clone()).await?;
            tasks.extend(page.items.into_iter().map(|task| (task.id(), task)));
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        let sessions = store.sessions(None, 100).await?.items;
        let owners = sessions.iter().map(|session| Owner::Session(session.id));
        let owners: Vec<_> = owners.chain(tasks.keys().map(|id| Owner::Task(*id))).collect();
        let (mut written, mut unread) = (HashMap::new(), HashMap::default());
        for owner in owners {
            // A task that continues another begins with a copy of its history.
            let continues = match owner {
                Owner::Task(id) => tasks.get(&id).and_then(|task: &Task| task.spec.terms.continues),
                Owner::Session(_) => None,
            };
            let first = match continues {
                Some(old) => store.history(Owner::Task(old), 0, 0).await?.total,
                None => 0,
            };
            for block in store.history(owner, first, usize::MAX).await?.blocks {
                *written.entry(block.text.to_string()).or_default() += 1;
            }
            for pending in store.inbox(owner, 0, usize::MAX).await? {
                *unread.entry(pending.row.id).or_default() += 1;
            }
        }
        let (mut meant, mut explicit) = (HashSet::default(), HashSet::default());
        for entry in entries {
            match entry {
                Entry::Acking(rows) => {
                    meant.extend(rows.iter().copied());
                    explicit.extend(rows.iter().copied());
                }
                Entry::Appending(rows) => meant.extend(rows.iter().copied()),
                _ => {}
            }
        }
        Ok(Self { store, sessions, tasks, written, unread, meant, explicit })
    }

    /// Checks the promises about single records.
    fn check_records(&self, over: bool) -> Checked {
        let passing = self.sessions.iter().find(|session| session.name.key() != "main");
        ensure(!over || passing.is_none(), "a removal is whole", || {
            format!("{passing:?} is still there at the end")
        })?;
        for session in self.sessions.iter().filter(|session| !session.sweeps.is_empty()) {
            ensure(!over, "S6.4 recovery finishes an interrupted cascade", || {
                format!("{session:?} is still being cancelled at the end")
            })?;
        }
        for task in self.tasks.values() {
            let id = task.id();
            ensure(!over || !task.is_live(), "all tasks end", || {
                format!("{id} is {} at the end", task.state)
            })?;
            let executes =
                task.is_live() && task.state != offshoot_core::TaskState::Queued && !task.is_held();
            ensure(
                executes == task.lease.worker.is_some(),
                "S9.1 nothing runs without a lease",
                || format!("{id} is {} with {:?}", task.state, task.lease),
            )?;
            let mut others = self.tasks.values();
            ensure(
                !task.is_held()
                    || others.any(|other| other.is_live() && other.owner() == Owner::Task(id)),
                "S2.9 a task that returned ends with its last child",
                || format!("{id} is {} and owns no live task", task.state),
            )?;
            if let Owner::Task(owner) = task.owner() {
                let live = self.tasks.get(&owner).is_some_and(Task::is_live);
                ensure(live || !task.is_live(), "S2.9 no task outlives its owner", || {
                    format!("{id} is {} and its owner {owner} has ended", task.state)
                })?;
            }
        }
        Ok(())
    }

    /// Checks that every result is in one place.
    fn check_results(&self) -> Checked {
        for task in self.tasks.values().filter(|task| !task.is_live()) {
            let row = RowId::from(task.id());
            let unread = self.unread.get(&row).copied().unwrap_or(0);
            let written = self.written.get(&row.to_string()).copied().unwrap_or(0);
            ensure(unread + written <= 1, "S4.3 no result is doubled", || {
                format!("the end of {} is {unread} times unread and {written} times read", row)
            })?;
            ensure(
                unread + written == 1 || self.explicit.contains(&row),
                "S4.3 no result is lost",
                || format!("the end of {row} ({}) is neither unread nor in a history", task.state),
            )?;
        }
        Ok(())
    }

    async fn check_ledger(&self, entries: &[Entry]) -> Result<Checked> {
        let mut keyed: HashMap<(Owner, &str), TaskId> = HashMap::new();
        let mut stepped: HashSet<(TaskId, &str)> = HashSet::new();
        let mut sent: HashMap<&str, MessageId> = HashMap::new();
        for entry in entries {
            let checked = match entry {
                Entry::Opened | Entry::Acking(_) | Entry::Appending(_) => Ok(()),
                Entry::Spawned { id, owner, name, key } => {
                    let same = key.as_deref().map(|key| *keyed.entry((*owner, key)).or_insert(*id));
                    self.check_spawn(*id, *owner, name.as_deref()).and_then(|()| {
                        ensure(
                            same.is_none_or(|same| same == *id),
                            "S9.4 a repeated key finds the same task",
                            || format!("the key {key:?} of {owner} gave {same:?}, then {id}"),
                        )
                    })
                }
                Entry::Ended(told) => {
                    let stored = self.tasks.get(&told.id());
                    ensure(stored == Some(told), "S2.1 an end is final", || {
                        format!("a waiter was told {told:?}, stored is {stored:?}")
                    })
                }
                Entry::Sent { message, task, key } => {
                    let same = key.as_deref().map(|key| *sent.entry(key).or_insert(*message));
                    let row = RowId::from(*message);
                    let state = self.store.message(Owner::Task(*task), *message).await?;
                    // A returned message has a reader, too.
                    let kept = self.unread.contains_key(&row) || self.meant.contains(&row);
                    ensure(kept, "S5.3 no message is lost", || {
                        format!("message {message} to {task} is {state:?}, unread nowhere")
                    })
                    .and_then(|()| {
                        ensure(
                            same.is_none_or(|same| same == *message),
                            "S5.3 a repeated key finds the same message",
                            || format!("{key:?} gave {same:?}, then {message}"),
                        )
                    })
                }
                Entry::Appended { rows, .. } => rows.iter().try_for_each(|row| {
                    let times = self.written.get(&row.to_string()).copied().unwrap_or(0);
                    ensure(times == 1, "S4.2 an appended row is in a history exactly once", || {
                        format!("row {row} is {times} times in a history")
                    })
                }),
                Entry::Removed(session) => self.check_removed(*session).await?,
                Entry::Cancelled(root) => self.check_cancel(*root),
                Entry::Swept(roots) => roots.iter().try_for_each(|root| self.check_swept(*root)),
                Entry::Answered { task, number, answer } => {
                    let asked = self.store.questions(*task).await?;
                    let given = asked.iter().find(|question| question.number == *number);
                    ensure(
                        given.is_some_and(|question| is_answered(question, *answer)),
                        "S5.5 no answer is lost",
                        || format!("{task} was answered {answer}, stored is {given:?}"),
                    )
                }
                Entry::Heard { task, answer } => {
                    let asked = self.store.questions(*task).await?;
                    ensure(
                        asked.iter().any(|question| is_answered(question, *answer)),
                        "S5.5 the answer is the one that was given",
                        || format!("{task} heard {answer}, stored is {asked:?}"),
                    )
                }
                Entry::Slept { task, key } => {
                    let stored = self.store.step(*task, &sleep_key(key)).await?;
                    ensure(
                        matches!(stored, Some(StepState::Committed(_))),
                        "S9.6 no sleep is slept twice",
                        || format!("{task} has slept {key:?}, stored is {stored:?}"),
                    )
                }
                Entry::Computing { task, key } => ensure(
                    !stepped.contains(&(*task, key.as_str())),
                    "S9.6 a committed step is never recomputed",
                    || format!("step {key:?} of {task} was computed again"),
                ),
                Entry::Stepped { task, key, value } => {
                    stepped.insert((*task, key.as_str()));
                    let stored = self.store.step(*task, key).await?;
                    let same = match &stored {
                        Some(StepState::Committed(found)) => found.decode().ok() == Some(*value),
                        _ => false,
                    };
                    ensure(same, "S9.6 a committed step is never lost", || {
                        format!("step {key:?} of {task} was {value}, stored is {stored:?}")
                    })
                }
            };
            if checked.is_err() {
                return Ok(checked);
            }
        }
        Ok(Ok(()))
    }

    /// Checks that nothing of a removed session is left.
    async fn check_removed(&self, id: SessionId) -> Result<Checked> {
        let session = self.sessions.iter().find(|session| session.id == id);
        let task = self.tasks.values().find(|task| task.spec.lineage.session == id);
        let owner = Owner::Session(id);
        let unread = self.store.unread(owner, 1).await?;
        let blocks = self.store.history(owner, 0, 0).await?.total;
        let empty = session.is_none() && task.is_none() && unread == 0 && blocks == 0;
        Ok(ensure(empty, "nothing of a removed session is left", || {
            format!("{id}: {session:?}, {task:?}, {unread} rows, {blocks} blocks")
        }))
    }

    fn check_spawn(&self, id: TaskId, owner: Owner, name: Option<&str>) -> Checked {
        let Some(task) = self.tasks.get(&id) else {
            return Err(Violation::new("S2.4 no task is lost", format!("{id} is not stored")));
        };
        ensure(task.owner() == owner, "S1.6 an owner never changes", || {
            format!("{id} was spawned under {owner}, stored is {}", task.owner())
        })?;
        ensure(name.is_none_or(|name| name == task.handle()), "S1.4 one winner for a name", || {
            format!("{id} was acknowledged as {name:?}, stored is {:?}", task.handle())
        })
    }

    fn check_cancel(&self, root: TaskId) -> Checked {
        let asked = self.tasks.get(&root).is_some_and(|task| task.cancel.is_some());
        ensure(asked, "S6.4 no cancel is lost", || {
            format!("the cancel of {root} is not on its record: {:?}", self.tasks.get(&root))
        })?;
        self.check_below(root)
    }

    /// A task that ended before the sweep reached it has no mark.
    fn check_swept(&self, root: TaskId) -> Checked {
        let missed = self.tasks.get(&root).filter(|task| task.is_live() && task.cancel.is_none());
        ensure(missed.is_none(), "S6.5 a cancel of many reaches them all", || {
            format!("{missed:?} was not reached")
        })?;
        self.check_below(root)
    }

    fn check_below(&self, root: TaskId) -> Checked {
        for task in self.tasks.values().filter(|task| task.is_live() && task.cancel.is_none()) {
            let mut above = task.owner();
            while let Owner::Task(owner) = above {
                ensure(owner != root, "S6.2 a cancel reaches all descendants", || {
                    format!("{} lives under {root}, which was cancelled", task.id())
                })?;
                let Some(next) = self.tasks.get(&owner) else { break };
                above = next.owner();
            }
        }
        Ok(())
    }
}
