//! What was acknowledged, written down outside the store.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use offshoot_core::{MessageId, Owner, RowId, SessionId, Task, TaskId};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// One line of the ledger. Unless it says otherwise, it is written after the
/// runtime has acknowledged what it tells of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Entry {
    /// A process has opened the store.
    Opened,
    /// A task was spawned.
    Spawned {
        /// Which.
        id: TaskId,
        /// Who owns it.
        owner: Owner,
        /// The name it was given.
        name: Option<String>,
        /// The key it was given.
        key: Option<String>,
    },
    /// A waiter was told of an end.
    Ended(Task),
    /// A message was queued.
    Sent {
        /// The message.
        message: MessageId,
        /// For whom.
        task: TaskId,
        /// Who sent it to whom under which key, if it had one.
        key: Option<String>,
    },
    /// Rows are about to be acknowledged by themselves.
    Acking(Vec<RowId>),
    /// Rows are about to be appended to a history.
    Appending(Vec<RowId>),
    /// Rows were appended to a history.
    Appended {
        /// Whose.
        owner: Owner,
        /// Which.
        rows: Vec<RowId>,
    },
    /// A cancel has reached a task and all below it.
    Cancelled(TaskId),
    /// A cancel of many has reached them all, and these were among them.
    Swept(Vec<TaskId>),
    /// A session was removed.
    Removed(SessionId),
    /// A question was answered.
    Answered {
        /// Whose.
        task: TaskId,
        /// Which.
        number: u32,
        /// What.
        answer: u64,
    },
    /// A task got the answer to its question.
    Heard {
        /// Which task.
        task: TaskId,
        /// What.
        answer: u64,
    },
    /// A durable sleep is over.
    Slept {
        /// Whose.
        task: TaskId,
        /// Which.
        key: String,
    },
    /// A step is about to be computed.
    Computing {
        /// Whose.
        task: TaskId,
        /// Which.
        key: String,
    },
    /// A step's value was committed.
    Stepped {
        /// Whose.
        task: TaskId,
        /// Which.
        key: String,
        /// Its value.
        value: u64,
    },
}

/// The ledger, as the child writes it: one write for each line, so that what
/// is written survives the process.
#[derive(Debug)]
pub struct Ledger {
    file: Mutex<File>,
    telling: Telling,
}

/// Whether the child says on its standard output that a line was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// It says so: the parent counts.
    Aloud,
    /// It does not.
    Silent,
}

impl Ledger {
    /// The ledger at `path`, gone on with.
    pub fn open(path: &Path, telling: Telling) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { file: Mutex::new(file), telling })
    }

    /// Adds a line.
    pub fn note(&self, entry: &Entry) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        let mut file = self.file.lock();
        file.write_all(&line)?;
        if self.telling == Telling::Aloud {
            let mut out = io::stdout();
            out.write_all(b"\n")?;
            out.flush()?;
        }
        Ok(())
    }
}

/// Reads a ledger. A last line that was cut off in the middle is no line.
pub fn read(path: &Path) -> io::Result<Vec<Entry>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut entries = Vec::new();
    for line in BufReader::new(file).split(b'\n') {
        if let Ok(entry) = serde_json::from_slice(&line?) {
            entries.push(entry);
        }
    }
    Ok(entries)
}
