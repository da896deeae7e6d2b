//! Histories: appending blocks, and reading the last ones.

use std::future::IntoFuture;
use std::sync::Arc;

use offshoot_core::{Block, BlockKind, Owner, Payload, SessionId, TaskId};
use offshoot_store::{Ack, Batch, CounterChange, RowRef, Strictness, Write};

use crate::access;
use crate::deliver::{InboxRows, is_inherited};
use crate::engine::Engine;
use crate::engine::handle::TaskRef;
use crate::engine::live_task::LiveTask;
use crate::environment::BoxFuture;
use crate::error::Error;

/// The writer of a history.
#[derive(Clone, Debug)]
pub(crate) enum HistoryWriter {
    Task(Arc<LiveTask>),
    Session(SessionId),
}

impl HistoryWriter {
    fn owner(&self) -> Owner {
        match self {
            Self::Task(live) => Owner::Task(live.spec.id),
            Self::Session(session) => Owner::Session(*session),
        }
    }

    /// The owners whose rows may enter the history: the writer, and the session
    /// from which a task inherits rows.
    fn row_owners(&self) -> Vec<Owner> {
        let mut owners = vec![self.owner()];
        if let Self::Task(live) = self
            && let session @ Owner::Session(_) = live.spec.owner()
        {
            owners.push(session);
        }
        owners
    }
}

/// An append to a history. Await it to commit it.
#[must_use = "nothing is appended until it is awaited"]
#[derive(Debug)]
pub struct AppendRequest {
    engine: Arc<Engine>,
    writer: HistoryWriter,
    blocks: Vec<Block>,
    acks: Vec<(Owner, RowRef)>,
    counts: Vec<CounterChange>,
    /// Whether one of the rows belongs to another history.
    has_foreign_rows: bool,
}

impl AppendRequest {
    pub(crate) fn new(
        engine: Arc<Engine>,
        writer: HistoryWriter,
        blocks: impl IntoIterator<Item = Block>,
    ) -> Self {
        let blocks = blocks.into_iter().collect();
        let (acks, counts) = (Vec::new(), Vec::new());
        Self { engine, writer, blocks, acks, counts, has_foreign_rows: false }
    }

    /// Acknowledges rows in the same commit: each is either in the history once,
    /// or still unread.
    pub fn acking(mut self, rows: &InboxRows) -> Self {
        let owner = rows.owner();
        self.has_foreign_rows |= !rows.is_empty() && !rows.are_for(self.writer.owner());
        self.acks.extend(rows.references().map(|row| (owner, row)));
        self
    }

    /// Changes counters in the same commit: all of them with the blocks, or
    /// none. [`Error::Limit`] if one would leave its bounds. Each counter is
    /// named at most once.
    pub fn counting(mut self, counts: impl IntoIterator<Item = CounterChange>) -> Self {
        self.counts.extend(counts);
        self
    }

    /// Acknowledges the rows of the ends of these tasks, as
    /// [`AppendRequest::acking`] does, for a writer that has waited for them. Ends
    /// that were read before are skipped.
    pub async fn acking_ends(mut self, tasks: &[TaskId]) -> Result<Self, Error> {
        let own = self.writer.owner();
        for task in tasks {
            let Some(pending) = self.engine.store.result_row(*task).await? else { continue };
            let is_for_writer = match &self.writer {
                _ if pending.row.owner == own => true,
                HistoryWriter::Task(live) => is_inherited(&self.engine, live, &pending).await?,
                HistoryWriter::Session(_) => false,
            };
            if is_for_writer {
                self.acks.push((pending.row.owner, pending.reference()));
            }
        }
        Ok(self)
    }

    async fn append(self) -> Result<(), Error> {
        let Self { engine, writer, blocks, acks, counts, has_foreign_rows } = self;
        engine.check_open()?;
        let mut batch = Batch::new(engine.now());
        let owner = writer.owner();
        if let HistoryWriter::Task(live) = &writer {
            batch = batch.fenced(live.spec.id, live.epoch());
        }
        if has_foreign_rows {
            return Err(Error::NoContext("rows can only enter their owner's own history"));
        }
        for owner in writer.row_owners() {
            let mut rows =
                acks.iter().filter(|(of, _)| *of == owner).map(|(_, row)| *row).peekable();
            if rows.peek().is_some() {
                let (rows, strictness) = (rows.collect(), Strictness::MustBePending);
                batch = batch.write(Write::Ack(Ack { owner, rows, strictness }));
            }
        }
        batch = batch.write(Write::Append { owner, blocks });
        batch.writes.extend(counts.into_iter().map(Write::Count));
        engine.store.commit(batch).await.map_err(Error::from_commit)?;
        if let HistoryWriter::Task(live) = &writer {
            engine.advance(live).await;
        }
        Ok(())
    }
}

impl IntoFuture for AppendRequest {
    type Output = Result<(), Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.append())
    }
}

/// A read of the last blocks of a history. Await it.
#[must_use = "nothing is read until it is awaited"]
#[derive(Debug)]
pub struct PeekRequest {
    task: TaskRef,
    last: usize,
    since: Option<u64>,
    limit: usize,
}

/// The last blocks of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peek {
    /// The blocks, oldest first.
    pub blocks: Vec<PeekBlock>,
    /// The number of blocks in the history. Pass it to [`PeekRequest::since`] to get
    /// only newer ones.
    pub total: u64,
}

/// A block of a history, cut to size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeekBlock {
    /// The position in the history.
    pub position: u64,
    /// The kind of block.
    pub kind: BlockKind,
    /// The tool's name, for blocks of tools.
    pub name: Option<Arc<str>>,
    /// The text, cut to the limit; `None` if the limit is zero.
    pub text: Option<String>,
    /// Further data stored with the block.
    pub data: Payload,
}

impl PeekRequest {
    pub(crate) fn new(task: TaskRef) -> Self {
        Self { task, last: 10, since: None, limit: 400 }
    }

    /// Sets how many blocks to read, at least one. The default is ten.
    pub fn last(mut self, blocks: usize) -> Self {
        self.last = blocks.max(1);
        self
    }

    /// Reads only blocks from this position on.
    pub fn since(mut self, position: u64) -> Self {
        self.since = Some(position);
        self
    }

    /// Sets how many Unicode scalars of each text to return. Zero returns only
    /// kinds.
    pub fn limit(mut self, scalars: usize) -> Self {
        self.limit = scalars;
        self
    }

    async fn peek(self) -> Result<Peek, Error> {
        let engine = &self.task.engine;
        access::touchable(engine, &self.task.viewer, self.task.spec.id).await?;
        let owner = Owner::Task(self.task.spec.id);
        let total = engine.store.history(owner, u64::MAX, 0).await?.total;
        let first = total.saturating_sub(self.last as u64).max(self.since.unwrap_or(0));
        let page = engine.store.history(owner, first, self.last).await?;
        let blocks = page.blocks.iter().zip(page.first..).map(|(block, position)| PeekBlock {
            position,
            kind: block.kind,
            name: block.name.clone(),
            text: block.shown(self.limit),
            data: block.data.clone(),
        });
        Ok(Peek { blocks: blocks.collect(), total: page.total })
    }
}

impl IntoFuture for PeekRequest {
    type Output = Result<Peek, Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.peek())
    }
}
