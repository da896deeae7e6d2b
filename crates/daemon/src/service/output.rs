//! Reading the output of a command, or the conversation of an agent.

use offshoot_backends::{Follower, LogPiece, LosslessReader, OutputLog, Stream, Writing};
use offshoot_client::wire::{Chunk, Code, Reply, StreamName, Tail, TailMode, TailStart, WireError};
use offshoot_core::TaskId;
use offshoot_runtime::{Error, TaskRef};

use super::view;
use super::{Answer, ReplySink, ServiceError};
use crate::host::Daemon;

/// The most bytes of one read.
const MOST: usize = 256 << 10;

/// Sends the output of a command, or the conversation of an agent, and on request what
/// follows until the task ends. The last reply but one is the task.
pub(super) async fn tail(
    daemon: &Daemon,
    tail: &Tail,
    within: Option<TaskId>,
    replies: &mut impl ReplySink,
) -> Answer {
    let task = daemon.task(&tail.task).await?;
    if *task.spec().kind == *offshoot_agent::KIND {
        super::conversation::follow(daemon, &task, (tail, within), replies).await?;
        return end(daemon, &task, replies).await;
    }
    let log = daemon.commands.log(task.id());
    let from = match tail.reading {
        TailStart::Start => 0,
        TailStart::From(position) => position,
        TailStart::Lines(lines) => {
            let lines = usize::try_from(lines).unwrap_or(usize::MAX);
            log.tail(lines).await.map_err(|error| unreadable(task.id(), &error))?
        }
    };
    let reader = Reader { task: &task, log: &log, at: from, attempt: 0 };
    match tail.following {
        TailMode::Stop => reader.read_on(replies).await?,
        TailMode::Follow => {
            let live = task.record().await?.is_live();
            let waiter = daemon.command_waits.enter(within.filter(|_| live))?;
            let follower = log.follow(from).at_most(MOST);
            waiter.during(daemon, reader.follow(follower, replies)).await?;
        }
    }
    end(daemon, &task, replies).await
}

/// Stays until a command ends. With a lossless, a slow caller holds the command up, and
/// no output is dropped.
pub(super) async fn attend(
    daemon: &Daemon,
    task: &TaskRef,
    lossless: Option<LosslessReader>,
    replies: &mut impl ReplySink,
) -> Answer {
    if let Some(lossless) = lossless {
        let log = daemon.commands.log(task.id());
        let follower = log.follow_lossless(lossless).at_most(MOST);
        Reader { task, log: &log, at: 0, attempt: 0 }.follow(follower, replies).await?;
    }
    until_ended(task).await?;
    end(daemon, task, replies).await
}

/// Sends the task in its current state, as the end of the stream.
async fn end(daemon: &Daemon, task: &TaskRef, replies: &mut impl ReplySink) -> Answer {
    let shown = view::task(daemon, task.snapshot().await?).await?;
    replies.reply(&Reply::Task(Box::new(shown))).await?;
    Ok(Reply::Done)
}

async fn until_ended(task: &TaskRef) -> Result<(), Error> {
    let mut records = task.watch();
    while let Some(record) = records.next().await {
        record?;
    }
    Ok(())
}

/// Sends a log to a caller.
struct Reader<'a> {
    task: &'a TaskRef,
    log: &'a OutputLog,
    at: u64,
    attempt: u32,
}

impl Reader<'_> {
    /// Sends the output until the task has ended and all of it is read. A follower with a
    /// lossless keeps the lossless until then.
    async fn follow(
        mut self,
        mut follower: Follower,
        replies: &mut impl ReplySink,
    ) -> Result<(), ServiceError> {
        let unreadable = |error| unreadable(self.task.id(), &error);
        let mut ended = std::pin::pin!(until_ended(self.task));
        loop {
            let next = tokio::select! {
                biased;
                next = follower.next() => next,
                ended = &mut ended => {
                    ended?;
                    break;
                }
            };
            match next.map_err(unreadable)? {
                Some(piece) => self.pass(piece, replies).await?,
                None => return Ok(()),
            }
        }
        // The writer of the log has closed it by now. A log without a writer is not waited
        // for.
        let written = self.log.read(self.at, 1).await.map_err(unreadable)?.writing;
        if written == Writing::Idle {
            return self.read_on(replies).await;
        }
        while let Some(piece) = follower.next().await.map_err(unreadable)? {
            self.pass(piece, replies).await?;
        }
        Ok(())
    }

    /// Sends the output that there is.
    async fn read_on(mut self, replies: &mut impl ReplySink) -> Result<(), ServiceError> {
        loop {
            let piece = self.log.read(self.at, MOST).await;
            let piece = piece.map_err(|error| unreadable(self.task.id(), &error))?;
            if piece.is_empty() {
                return Ok(());
            }
            self.pass(piece, replies).await?;
        }
    }

    async fn pass(
        &mut self,
        piece: LogPiece,
        replies: &mut impl ReplySink,
    ) -> Result<(), ServiceError> {
        if piece.gap > 0 {
            replies.reply(&Reply::Gap { bytes: piece.gap }).await?;
        }
        for chunk in piece.chunks {
            if chunk.attempt != self.attempt {
                self.attempt = chunk.attempt;
                replies.reply(&Reply::Attempt { number: chunk.attempt }).await?;
            }
            let stream = match chunk.stream {
                Stream::Stdout => StreamName::Stdout,
                Stream::Stderr => StreamName::Stderr,
            };
            replies.output(Chunk { stream, at: chunk.at.as_micros(), bytes: chunk.bytes }).await?;
        }
        self.at = piece.next;
        Ok(replies.reply(&Reply::Position { at: self.at }).await?)
    }
}

fn unreadable(task: TaskId, error: &std::io::Error) -> ServiceError {
    let text = format!("the output of task {task} cannot be read");
    WireError { causes: vec![error.to_string()], ..WireError::new(Code::Store, text) }.into()
}
