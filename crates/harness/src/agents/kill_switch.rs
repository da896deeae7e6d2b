//! A store that kills its process at one commit, which it knows by name, and records the names
//! of all commits.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::{Block, Owner, StepState, TaskId};
use offshoot_store::{
    Batch, CommitFuture, EndWrite, SpawnWrite, Store, StoreError, StoreWrapper, Write,
};
use parking_lot::Mutex;

use crate::agents::kill_point::{CommitRef, KillPoint};
use crate::crash::kill_switch::{die, die_after};

/// The file beside the data with the names of the commits of the last worker.
const COMMITS: &str = "commits";

/// A store that kills its process at one commit.
#[derive(Debug)]
pub struct KillSwitch {
    inner: Arc<dyn Store>,
    point: Option<KillPoint>,
    log: Mutex<Log>,
}

/// The commits so far.
#[derive(Debug)]
struct Log {
    file: File,
    number: u64,
    /// The number of commits with the same writes.
    times: HashMap<String, u32>,
    handles: HashMap<TaskId, String>,
}

impl KillSwitch {
    /// `inner`, and the commit at which the process dies, if it does.
    pub fn new(inner: Arc<dyn Store>, folder: &Path, point: Option<KillPoint>) -> io::Result<Self> {
        let path = folder.join(COMMITS);
        let file = OpenOptions::new().create(true).write(true).truncate(true).open(path)?;
        let (number, times, handles) = (0, HashMap::new(), HashMap::new());
        Ok(Self { inner, point, log: Mutex::new(Log { file, number, times, handles }) })
    }
}

impl StoreWrapper for KillSwitch {
    fn inner(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(self.inner.clone())
    }

    fn wrap_commit(&self, batch: Batch) -> CommitFuture {
        let (number, name) = self.log.lock().note(&batch);
        let is = |which: &CommitRef| match which {
            CommitRef::Number(wanted) => *wanted == number,
            CommitRef::Named(wanted) => *wanted == name,
        };
        match &self.point {
            Some(KillPoint::Before(which)) if is(which) => die(),
            Some(KillPoint::After(which)) if is(which) => die_after(self.inner.commit(batch)),
            _ => self.inner.commit(batch),
        }
    }
}

impl Log {
    /// Records a commit. Returns its number and its name.
    fn note(&mut self, batch: &Batch) -> (u64, String) {
        let writes: Vec<_> = batch.writes.iter().map(|write| self.describe(write)).collect();
        let name = writes.join(" + ");
        let times = self.times.entry(name.clone()).or_default();
        *times += 1;
        let name = format!("{name} #{times}");
        self.number += 1;
        // A commit without a record is never tried, but all others are.
        drop(writeln!(self.file, "{name}"));
        (self.number, name)
    }

    fn describe(&mut self, write: &Write) -> String {
        match write {
            Write::OpenSession(_) => "a session opens".to_owned(),
            Write::PutSession(_, change) => format!("the session: {change:?}"),
            Write::Spawn(SpawnWrite { task, .. }) => {
                self.handles.insert(task.id(), task.handle().to_owned());
                format!("{} is spawned", task.handle())
            }
            Write::Put(task, change) => format!("{}: {change:?}", task.handle()),
            Write::End(EndWrite { task, .. }) => format!("{} ends", task.handle()),
            Write::Deliver(row) => format!("a row for {}", self.handle(row.owner)),
            Write::Send { to, .. } => format!("a message for {}", self.handle(*to)),
            Write::Ack(ack) => format!("{} acks {}", self.handle(ack.owner), ack.rows.len()),
            Write::Append { owner, blocks } => {
                let blocks: Vec<_> = blocks.iter().map(block).collect();
                format!("{} gets {}", self.handle(*owner), blocks.join(", "))
            }
            Write::Adopt { to, .. } => format!("{} adopts a history", self.handle(*to)),
            Write::Step(step) => {
                let state = match step.state {
                    StepState::Started => "begins",
                    StepState::Committed(_) => "is done",
                };
                let key = without_step(&step.key);
                format!("{}: {key} {state}", self.handle(Owner::Task(step.task)))
            }
            Write::Ask(question) => format!("{} asks", self.handle(Owner::Task(question.task))),
            Write::CloseQuestion { task, .. } => {
                format!("{} is answered", self.handle(Owner::Task(*task)))
            }
            Write::Arm(timer) => format!("{} arms", self.handle(Owner::Task(timer.task))),
            Write::Disarm { task, .. } => format!("{} disarms", self.handle(Owner::Task(*task))),
            Write::Count(count) => format!("{} counts", self.handle(count.counter.owner)),
        }
    }

    fn handle(&self, owner: Owner) -> &str {
        match owner {
            Owner::Session(_) => "the session",
            Owner::Task(id) => self.handles.get(&id).map_or("unknown", String::as_str),
        }
    }
}

fn block(block: &Block) -> String {
    match &block.name {
        Some(name) => format!("{:?} {name}", block.kind),
        None => format!("{:?}", block.kind),
    }
}

/// The key of a call without the number of its answer, which depends on the number of idle
/// turns before.
fn without_step(key: &str) -> String {
    match key.split_once('.') {
        Some((step, call)) => {
            format!("{} {call}", step.trim_end_matches(|c: char| c.is_ascii_digit()).trim())
        }
        None => key.to_owned(),
    }
}

/// The names of the commits of the last worker in `folder`, in order.
pub fn commits(folder: &Path) -> io::Result<Vec<String>> {
    match std::fs::read_to_string(folder.join(COMMITS)) {
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
