//! The acknowledged operations, recorded outside the store.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use offshoot_core::{MessageId, Owner, RowId, SessionId, Task, TaskId};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// One line of the ledger. Except where noted, it is written after the runtime has acknowledged
/// the operation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Entry {
    /// A process has opened the store.
    Opened,
    /// A task was spawned.
    Spawned {
        /// The task.
        id: TaskId,
        /// Its owner.
        owner: Owner,
        /// The name it was given.
        name: Option<String>,
        /// The key it was given.
        key: Option<String>,
    },
    /// A waiter received an end.
    Ended(Task),
    /// A message was queued.
    Sent {
        /// The message.
        message: MessageId,
        /// The recipient.
        task: TaskId,
        /// The sender, recipient and key, if it had a key.
        key: Option<String>,
    },
    /// Rows are about to be acknowledged without an append.
    Acking(Vec<RowId>),
    /// Rows are about to be appended to a history.
    Appending(Vec<RowId>),
    /// Rows were appended to a history.
    Appended {
        /// The owner of the history.
        owner: Owner,
        /// The rows.
        rows: Vec<RowId>,
    },
    /// A cancel has reached a task and all below it.
    Cancelled(TaskId),
    /// A cancel of several tasks has reached all of them, these among them.
    Swept(Vec<TaskId>),
    /// A session was removed.
    Removed(SessionId),
    /// A question was answered.
    Answered {
        /// The task that asked.
        task: TaskId,
        /// The number of the question.
        number: u32,
        /// The answer.
        answer: u64,
    },
    /// A task received the answer to its question.
    Heard {
        /// The task.
        task: TaskId,
        /// The answer.
        answer: u64,
    },
    /// A durable sleep is over.
    Slept {
        /// The task.
        task: TaskId,
        /// The timer.
        key: String,
    },
    /// A step is about to be computed.
    Computing {
        /// The task.
        task: TaskId,
        /// The step.
        key: String,
    },
    /// A step's value was committed.
    Stepped {
        /// The task.
        task: TaskId,
        /// The step.
        key: String,
        /// Its value.
        value: u64,
    },
}

/// The ledger, as the child writes it: one write for each line, so that every written line
/// survives the process.
#[derive(Debug)]
pub struct Ledger {
    file: Mutex<File>,
    telling: Telling,
}

/// Whether the child reports each new line on its standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// It does: the parent counts.
    Aloud,
    /// It does not.
    Silent,
}

impl Ledger {
    /// The ledger at `path`, continued.
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

/// Reads a ledger. A last line that is cut off is left out.
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
