//! The load: trees of tasks that take steps, write to each other and read
//! what comes home.

use std::sync::Arc;

use offshoot_core::{Block, BlockKind, Owner, Payload, RowId, Stamp};
use offshoot_runtime::{
    Address, Appending, BodyError, Context, Error, Kind, Request, Rows, Session, TaskRef,
};
use serde::{Deserialize, Serialize};

use crate::crash::ledger::{Entry, Ledger};
use crate::rng::Rng;

/// The name of the kind that does jobs.
pub const KIND: &str = "job";

/// What a task does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// How many steps it takes.
    pub steps: u64,
    /// The jobs it sends off.
    pub children: Vec<Job>,
    /// How it ends.
    pub end: End,
}

/// How a task ends.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum End {
    /// With a value.
    Value,
    /// With an error.
    Error,
    /// When it is asked to.
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
        Self { steps: rng.below(3) as u64, children, end }
    }

    /// The request to have it done.
    pub fn request(&self) -> Result<Request, Error> {
        Ok(Request::new(KIND, Payload::encode(self)?))
    }
}

/// The kind that does jobs and writes down what it is told.
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
    let mut children = Vec::new();
    for (number, child) in job.children.iter().enumerate() {
        let key = format!("child-{number}");
        let task = cx.spawn(child.request()?).key(&key).await?;
        note_spawn(&ledger, &task, None, Some(key))?;
        children.push(task);
    }
    // The owner may have ended, and then there is nobody to tell.
    if let Ok(receipts) = cx.send(Address::Parent, "on it").await {
        note_receipts(&ledger, &receipts)?;
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

/// Writes down a spawn.
pub fn note_spawn(
    ledger: &Ledger,
    task: &TaskRef,
    name: Option<String>,
    key: Option<String>,
) -> std::io::Result<()> {
    ledger.note(&Entry::Spawned { id: task.id(), owner: task.spec().owner(), name, key })
}

/// Writes down messages that were queued.
pub fn note_receipts(
    ledger: &Ledger,
    receipts: &offshoot_runtime::Receipts,
) -> std::io::Result<()> {
    for receipt in receipts {
        ledger.note(&Entry::Sent { message: receipt.message, task: receipt.task })?;
    }
    Ok(())
}

/// Appends rows to a history; whether anything was there.
pub async fn take_in(
    ledger: &Ledger,
    rows: &Rows,
    owner: Owner,
    append: impl FnOnce(Vec<Block>) -> Appending,
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

/// One program that does everything at random, until the process ends.
pub async fn host(session: Session, ledger: Arc<Ledger>, mut rng: Rng) -> Result<(), BodyError> {
    let mut known: Vec<TaskRef> = Vec::new();
    loop {
        match rng.below(10) {
            0..=3 => {
                let job = Job::draw(&mut rng, 0);
                let name = rng.happens(700).then(|| format!("name-{}", rng.below(2)));
                let mut spawn = session.spawn(job.request()?);
                if let Some(name) = &name {
                    spawn = spawn.name(name);
                }
                match spawn.await {
                    Ok(task) => {
                        note_spawn(&ledger, &task, name, None)?;
                        known.push(task);
                    }
                    Err(Error::NameTaken { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            4..=5 => {
                if let Some(task) = rng.pick(&known) {
                    let timeout = std::time::Duration::from_millis(2);
                    let waited = task.wait().timeout(timeout).await?;
                    if waited.is_ended() {
                        ledger.note(&Entry::Ended(waited.task))?;
                    }
                }
            }
            6 => {
                if let Some(task) = rng.pick(&known) {
                    match task.send("faster").await {
                        Ok(receipts) => note_receipts(&ledger, &receipts)?,
                        Err(Error::Ended { .. }) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            7 => {
                // The newest is the one most likely to be ending just now.
                let newest = rng.happens(600);
                let task = if newest { known.last() } else { rng.pick(&known) };
                if let Some(task) = task {
                    match task.cancel("enough").await {
                        Ok(_) => ledger.note(&Entry::Cancelled(task.id()))?,
                        Err(Error::Ended { .. }) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            8 => {
                let rows = session.drain(2).await?;
                ledger.note(&Entry::Acking(rows.iter().map(|row| row.id()).collect()))?;
                rows.ack().await?;
            }
            _ => {
                let owner = Owner::Session(session.id());
                let rows = session.drain(8).await?;
                take_in(&ledger, &rows, owner, |blocks| session.append(blocks)).await?;
            }
        }
    }
}
