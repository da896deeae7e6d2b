//! The records that a worker has left on the disk.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use hashbrown::HashMap;
use offshoot_core::{
    Block, BlockKind, Change, Cursor, Event, Owner, Row, RowBody, StepState, Task, TaskId, Timer,
    step_key,
};
use offshoot_sqlite::Sqlite;
use offshoot_store::{OpenStore, Store, TaskQuery, TaskScope};
use serde_json::Value;

use crate::agents::transcript::ANSWERED;

/// The tool whose calls must not be repeated.
const LASTING: &str = "note";

/// Every record on the disk.
#[derive(Debug, Default)]
pub struct TaskRecords {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// The handle of each task.
    pub names: HashMap<TaskId, String>,
    /// The histories.
    pub histories: HashMap<TaskId, Vec<Block>>,
    /// The unread rows, of sessions, too.
    pub unread: HashMap<Owner, Vec<Row>>,
    /// The log.
    pub events: Vec<Event>,
    /// The timers that are set.
    pub timers: Vec<Timer>,
    /// The started calls of tools that must not be repeated and have no result: the agent and
    /// the call.
    pub begun: Vec<(String, String)>,
}

impl TaskRecords {
    /// Reads the records in `folder`.
    pub async fn read(folder: &Path) -> Result<Self> {
        let store = Sqlite::at(folder.join("data")).open_store().await?;
        let mut query = TaskQuery::new(TaskScope::Everything);
        query.limit = 100;
        let mut books = Self { tasks: store.tasks(query).await?.items, ..Self::default() };
        for session in store.sessions(None, 100).await?.items {
            books.read_inbox(&store, Owner::Session(session.id)).await?;
        }
        for task in books.tasks.clone() {
            let id = task.id();
            books.names.insert(id, task.handle().to_owned());
            books.read_inbox(&store, Owner::Task(id)).await?;
            books.timers.extend(store.timers(id).await?);
            let history = store.history(Owner::Task(id), 0, usize::MAX).await?.blocks;
            for (call, key) in pending(&history) {
                if let Some(StepState::Started) = store.step(id, &step_key(&key)).await? {
                    books.begun.push((task.handle().to_owned(), call));
                }
            }
            books.histories.insert(id, history);
        }
        books.read_log(&store).await?;
        Ok(books)
    }

    async fn read_inbox(&mut self, store: &Arc<dyn Store>, owner: Owner) -> Result<()> {
        let pending = store.inbox(owner, 0, usize::MAX).await?;
        self.unread.insert(owner, pending.into_iter().map(|pending| pending.row).collect());
        Ok(())
    }

    async fn read_log(&mut self, store: &Arc<dyn Store>) -> Result<()> {
        let mut after = Cursor::START;
        loop {
            let page = store.events(None, after, 512).await??;
            if page.events.is_empty() {
                return Ok(());
            }
            self.events.extend(page.events);
            after = page.next;
        }
    }

    /// The number of answers in the conversation of the agent of this name.
    pub fn answers(&self, name: &str) -> usize {
        let named = self.tasks.iter().find(|task| task.handle() == name);
        let history = named.and_then(|task| self.histories.get(&task.id()));
        history.map_or(0, |blocks| blocks.iter().filter(|block| ends_answer(block)).count())
    }

    /// The number of times that a history contains a text.
    pub fn count_text(&self, whose: TaskId, text: &str) -> usize {
        let blocks = self.histories.get(&whose).into_iter().flatten();
        blocks.map(|block| block.text.matches(text).count()).sum()
    }

    /// The number of unread rows of an inbox that meet the condition.
    pub fn unread(&self, owner: Owner, wanted: impl Fn(&RowBody) -> bool) -> usize {
        let rows = self.unread.get(&owner).into_iter().flatten();
        rows.filter(|row| wanted(&row.body)).count()
    }

    /// The number of log entries of a task that meet the condition.
    pub fn logged(&self, task: TaskId, wanted: impl Fn(&Change) -> bool) -> usize {
        let events = self.events.iter().filter(|event| event.task == Some(task));
        events.filter(|event| wanted(&event.change)).count()
    }
}

fn ends_answer(block: &Block) -> bool {
    block.kind == BlockKind::Other && block.name.as_deref() == Some(ANSWERED)
}

/// The calls of the last answer that have no result in the history and must not be repeated,
/// each with the key of its step.
fn pending(history: &[Block]) -> Vec<(String, String)> {
    let Some(end) = history.iter().rposition(ends_answer) else { return Vec::new() };
    if history[end..].iter().any(|block| block.kind == BlockKind::ToolResult) {
        return Vec::new();
    }
    let step = history.iter().filter(|block| ends_answer(block)).count();
    let begins = history[..end].iter().rposition(ends_answer).map_or(0, |last| last + 1);
    let calls = history[begins..end].iter().filter(|block| block.kind == BlockKind::ToolUse);
    let lasting = calls.enumerate().filter(|(_, call)| call.name.as_deref() == Some(LASTING));
    let named = lasting.map(|(at, call)| {
        let data: Value = call.data.decode().unwrap_or_default();
        let id = data["id"].as_str().unwrap_or_default().to_owned();
        (id, format!("call {step}.{}", at + 1))
    });
    named.collect()
}
