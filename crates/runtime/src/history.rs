//! Histories: what is appended, and a look at the end of it.

use std::future::IntoFuture;
use std::sync::Arc;

use offshoot_core::{Block, BlockKind, Owner, Payload, SessionId, Spec, TaskId};
use offshoot_store::{Ack, Batch, Count, RowRef, Strictness, Write};

use crate::cell::Cell;
use crate::engine::Engine;
use crate::environment::BoxFuture;
use crate::error::Error;
use crate::inbox::Rows;
use crate::task_ref::TaskRef;

/// Who writes a history.
#[derive(Clone, Debug)]
pub(crate) enum Writer {
    Task(Arc<Cell>),
    Session(SessionId),
}

impl Writer {
    fn owner(&self) -> Owner {
        match self {
            Self::Task(cell) => Owner::Task(cell.spec.id),
            Self::Session(session) => Owner::Session(*session),
        }
    }

    /// Whose rows enter the history: a task that its session owns tells what is
    /// in that one's inbox for it.
    fn reads(&self) -> Vec<Owner> {
        let mut owners = vec![self.owner()];
        if let Self::Task(cell) = self
            && let session @ Owner::Session(_) = cell.spec.owner()
        {
            owners.push(session);
        }
        owners
    }
}

/// Blocks about to be appended. Await it to append them.
#[must_use = "nothing is appended until it is awaited"]
#[derive(Debug)]
pub struct Appending {
    engine: Arc<Engine>,
    writer: Writer,
    blocks: Vec<Block>,
    acks: Vec<(Owner, RowRef)>,
    counts: Vec<Count>,
    /// Whether some of them are for others.
    intrudes: bool,
}

impl Appending {
    pub(crate) fn new(
        engine: Arc<Engine>,
        writer: Writer,
        blocks: impl IntoIterator<Item = Block>,
    ) -> Self {
        let blocks = blocks.into_iter().collect();
        let (acks, counts) = (Vec::new(), Vec::new());
        Self { engine, writer, blocks, acks, counts, intrudes: false }
    }

    /// Acknowledges rows in the same commit: they are in the history exactly
    /// once, or still unread.
    pub fn acking(mut self, rows: &Rows) -> Self {
        let owner = rows.owner();
        self.intrudes |= !rows.is_empty() && !rows.are_for(self.writer.owner());
        self.acks.extend(rows.references().map(|row| (owner, row)));
        self
    }

    /// Changes counters in the same commit: what was spent on the blocks is
    /// counted exactly once, or they are not there. [`Error::Limit`] if one would
    /// leave its bounds. Each counter is named at most once.
    pub fn counting(mut self, counts: impl IntoIterator<Item = Count>) -> Self {
        self.counts.extend(counts);
        self
    }

    /// Acknowledges the rows that tell the writer of the ends of these tasks,
    /// as [`Appending::acking`] does: it has waited for them. One that was read
    /// before is no row any more.
    pub async fn acking_ends(mut self, tasks: &[TaskId]) -> Result<Self, Error> {
        let own = self.writer.owner();
        for task in tasks {
            let Some(pending) = self.engine.store.result_row(*task).await? else { continue };
            let is_for_it = match &self.writer {
                _ if pending.row.owner == own => true,
                Writer::Task(cell) => self.engine.is_bequest(cell, &pending).await?,
                Writer::Session(_) => false,
            };
            if is_for_it {
                self.acks.push((pending.row.owner, pending.reference()));
            }
        }
        Ok(self)
    }

    async fn append(self) -> Result<(), Error> {
        let Self { engine, writer, blocks, acks, counts, intrudes } = self;
        engine.check_open()?;
        let mut batch = Batch::new(engine.now());
        let owner = writer.owner();
        if let Writer::Task(cell) = &writer {
            batch = batch.fenced(cell.spec.id, cell.epoch());
        }
        if intrudes {
            return Err(Error::NoContext("rows can only enter their owner's own history"));
        }
        for owner in writer.reads() {
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
        if let Writer::Task(cell) = &writer {
            engine.advance(cell).await;
        }
        Ok(())
    }
}

impl IntoFuture for Appending {
    type Output = Result<(), Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.append())
    }
}

impl Engine {
    /// Refuses a task from which the one of this spec does not come.
    pub(crate) async fn check_descent(&self, spec: &Spec, from: TaskId) -> Result<(), Error> {
        let before = |spec: &Spec| [spec.lineage.parent, spec.terms.continues];
        let mut next: Vec<TaskId> = before(spec).into_iter().flatten().collect();
        let mut seen = Vec::new();
        while let Some(id) = next.pop() {
            if id == from {
                return Ok(());
            }
            if seen.contains(&id) {
                continue;
            }
            seen.push(id);
            if let Some(task) = self.task(id).await? {
                next.extend(before(&task.spec).into_iter().flatten());
            }
        }
        Err(Error::Forbidden(from))
    }
}

/// A look at the end of a history. Await it.
#[must_use = "nothing is read until it is awaited"]
#[derive(Debug)]
pub struct Peeking {
    task: TaskRef,
    last: usize,
    since: Option<u64>,
    limit: usize,
}

/// The end of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peek {
    /// The blocks, oldest first.
    pub blocks: Vec<PeekedBlock>,
    /// How many blocks the history has; hand it to [`Peeking::since`] to get
    /// only what is new.
    pub total: u64,
}

/// A block of a history, cut to size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeekedBlock {
    /// Where it stands.
    pub position: u64,
    /// What it is.
    pub kind: BlockKind,
    /// The tool's name, if it is a tool's.
    pub name: Option<Arc<str>>,
    /// Its text, cut, unless the limit is zero.
    pub text: Option<String>,
    /// What else is kept with it.
    pub data: Payload,
}

impl Peeking {
    pub(crate) fn new(task: TaskRef) -> Self {
        Self { task, last: 10, since: None, limit: 400 }
    }

    /// How many blocks; ten unless said, and at least one.
    pub fn last(mut self, blocks: usize) -> Self {
        self.last = blocks.max(1);
        self
    }

    /// Only blocks from this position on.
    pub fn since(mut self, position: u64) -> Self {
        self.since = Some(position);
        self
    }

    /// How many Unicode scalars of each text; zero gives kinds only.
    pub fn limit(mut self, scalars: usize) -> Self {
        self.limit = scalars;
        self
    }

    async fn peek(self) -> Result<Peek, Error> {
        let engine = &self.task.engine;
        engine.touchable(&self.task.viewer, self.task.id()).await?;
        let owner = Owner::Task(self.task.id());
        let total = engine.store.history(owner, u64::MAX, 0).await?.total;
        let first = total.saturating_sub(self.last as u64).max(self.since.unwrap_or(0));
        let page = engine.store.history(owner, first, self.last).await?;
        let blocks = page.blocks.iter().zip(page.first..).map(|(block, position)| PeekedBlock {
            position,
            kind: block.kind,
            name: block.name.clone(),
            text: block.shown(self.limit),
            data: block.data.clone(),
        });
        Ok(Peek { blocks: blocks.collect(), total: page.total })
    }
}

impl IntoFuture for Peeking {
    type Output = Result<Peek, Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.peek())
    }
}
