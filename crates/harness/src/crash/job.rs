//! The load: trees of tasks that take steps, send each other messages and read the results.

use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{Block, BlockKind, Caller, Owner, Payload, RowId, Stamp};
use offshoot_runtime::{
    AppendRequest, BodyError, Context, Error, InboxRows, Kind, MessageRecipient, TaskRef,
    TaskRequest,
};
use serde::{Deserialize, Serialize};

use crate::crash::ledger::{Entry, Ledger};
use crate::rng::Rng;

/// The name of the kind that does jobs.
pub const KIND: &str = "job";

/// The work of a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The number of its steps.
    pub steps: u64,
    /// The length of its sleep by a stored timer, in milliseconds.
    pub sleep: Option<u64>,
    /// Its question to its owner, if it asks one.
    pub asks: Option<String>,
    /// The jobs it spawns.
    pub children: Vec<Job>,
    /// Its end.
    pub end: End,
}

/// The end of a task.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum End {
    /// With a value.
    Value,
    /// With an error.
    Error,
    /// On a cancel.
    Obey,
}

impl Job {
    /// A job at this depth.
    pub fn draw(rng: &mut Rng, depth: u32) -> Self {
        let most = if depth == 0 { 3 } else { 2 };
        let children = match depth {
            0..=1 => (0..rng.below(most)).map(|_| Self::draw(rng, depth + 1)).collect(),
            _ => Vec::new(),
        };
        let end = match rng.below(10) {
            0 => End::Error,
            1 => End::Obey,
            _ => End::Value,
        };
        let sleep = rng.happens(300).then(|| rng.below(4) as u64);
        // Only the programs answer, and they own the top-level tasks.
        let asks = (depth == 0 && rng.happens(250)).then(|| "which?".to_owned());
        Self { steps: rng.below(3) as u64, sleep, asks, children, end }
    }

    /// The request for this job.
    pub fn request(&self) -> Result<TaskRequest, Error> {
        Ok(TaskRequest::new(KIND, Payload::encode(self)?))
    }
}

/// The kind that does jobs and records each acknowledgement.
pub fn kind(ledger: Arc<Ledger>) -> Kind<Job, u64> {
    Kind::new(KIND, move |cx: Context, job: Job| perform(cx, job, ledger.clone())).resumable()
}

async fn perform(cx: Context, job: Job, ledger: Arc<Ledger>) -> Result<u64, BodyError> {
    let id = cx.id();
    for number in 0..job.steps {
        let key = format!("step-{number}");
        let (noted, computing) = (ledger.clone(), Entry::Computing { task: id, key: key.clone() });
        let work = move || async move {
            noted.note(&computing)?;
            Ok::<u64, std::io::Error>(number)
        };
        let value = cx.step(&key, work).await?;
        ledger.note(&Entry::Stepped { task: id, key, value })?;
    }
    if let Some(millis) = job.sleep {
        cx.sleep("nap", Duration::from_millis(millis)).await?;
        ledger.note(&Entry::Slept { task: id, key: "nap".to_owned() })?;
    }
    if let Some(asks) = &job.asks {
        let answer = cx.ask(asks).key("question").await?;
        ledger.note(&Entry::Heard { task: id, answer: answer.decode()? })?;
    }
    let mut children = Vec::new();
    for (number, child) in job.children.iter().enumerate() {
        let key = format!("child-{number}");
        let task = cx.spawn(child.request()?).key(&key).await?;
        note_spawn(&ledger, &task, None, Some(key))?;
        children.push(task);
    }
    // The owner may have ended, and then there is no recipient. A later attempt sends the same
    // message again, and siblings use the same key.
    if let Ok(receipts) = cx.send(MessageRecipient::Parent, "on it").key("on-it").await {
        let keyed = Keyed { from: Caller::Task(id), to: MessageRecipient::Parent, key: "on-it" };
        note_receipts(&ledger, &receipts, Some(keyed))?;
    }
    if let Some(first) = children.first() {
        first.wait().await?;
    }
    let rows = cx.drain(8).await?;
    take_in(&ledger, &rows, Owner::Task(id), |blocks| cx.append(blocks)).await?;
    match job.end {
        End::Value => Ok(job.steps),
        End::Error => Err(BodyError::message("planned error")),
        End::Obey => {
            cx.cancelled().await;
            Err(BodyError::Cancelled)
        }
    }
}

/// Records a spawn.
pub fn note_spawn(
    ledger: &Ledger,
    task: &TaskRef,
    name: Option<String>,
    key: Option<String>,
) -> std::io::Result<()> {
    ledger.note(&Entry::Spawned { id: task.id(), owner: task.spec().owner(), name, key })
}

/// The sender and recipient of a message under a key.
#[derive(Clone, Copy, Debug)]
pub struct Keyed<'a> {
    /// The sender.
    pub from: Caller,
    /// The addressed recipient.
    pub to: MessageRecipient<'a>,
    /// The key.
    pub key: &'a str,
}

/// Records messages that were queued.
pub fn note_receipts(
    ledger: &Ledger,
    receipts: &offshoot_runtime::Receipts,
    keyed: Option<Keyed<'_>>,
) -> std::io::Result<()> {
    for receipt in receipts {
        let key = keyed.map(|Keyed { from, to, key }| match to {
            MessageRecipient::Task(task) => format!("{from:?} to {}: {key}", task.id()),
            _ => format!("{from:?} to its owner: {key}"),
        });
        ledger.note(&Entry::Sent { message: receipt.message, task: receipt.task, key })?;
    }
    Ok(())
}

/// Appends rows to a history. Returns whether there were any.
pub async fn take_in(
    ledger: &Ledger,
    rows: &InboxRows,
    owner: Owner,
    append: impl FnOnce(Vec<Block>) -> AppendRequest,
) -> Result<bool, BodyError> {
    if rows.is_empty() {
        return Ok(false);
    }
    let ids: Vec<RowId> = rows.iter().map(|row| row.id()).collect();
    ledger.note(&Entry::Appending(ids.clone()))?;
    let block = |id: &RowId| Block::new(BlockKind::Notice, id.to_string(), Stamp::from_millis(0));
    let blocks = ids.iter().map(block).collect();
    match append(blocks).acking(rows).await {
        Ok(()) => {
            ledger.note(&Entry::Appended { owner, rows: ids })?;
            Ok(true)
        }
        // Another reader was faster.
        Err(Error::RowGone(_)) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
