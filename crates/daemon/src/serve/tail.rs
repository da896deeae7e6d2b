//! What a command wrote, and writes; of an agent, what was said.

use offshoot_backends::{Follower, Log, Piece, Seat, Stream, Writing};
use offshoot_client::wire::{Chunk, Code, Reply, StreamName, Tail, TailMode, TailStart, WireError};
use offshoot_core::TaskId;
use offshoot_runtime::{Error, TaskRef};

use super::{Answer, Out, Stopped};
use crate::house::House;
use crate::view;

/// How much is read at a time.
const MOST: usize = 256 << 10;

/// Passes on what a command wrote, or what was said to an agent and by it, and, if wanted, what it writes until it ends.
/// The task as it is then comes last.
pub(super) async fn tail(
    house: &House,
    tail: &Tail,
    within: Option<TaskId>,
    out: &mut Out<'_>,
) -> Answer {
    let task = house.task(&tail.task).await?;
    if *task.spec().kind == *offshoot_agent::KIND {
        super::talk::talk(house, &task, (tail, within), out).await?;
        return end(house, &task, out).await;
    }
    let log = house.commands.log(task.id());
    let from = match tail.reading {
        TailStart::Start => 0,
        TailStart::From(place) => place,
        TailStart::Lines(lines) => {
            let lines = usize::try_from(lines).unwrap_or(usize::MAX);
            log.tail(lines).await.map_err(|error| unreadable(task.id(), &error))?
        }
    };
    let reader = Reader { task: &task, log: &log, at: from, attempt: 0 };
    match tail.following {
        TailMode::Stop => reader.read_on(out).await?,
        TailMode::Follow => {
            let live = task.record().await?.is_live();
            let waiter = house.waiters.enter(within.filter(|_| live))?;
            let follower = log.follow(from).at_most(MOST);
            waiter.during(house, reader.follow(follower, out)).await?;
        }
    }
    end(house, &task, out).await
}

/// Stays until a command ends. With a seat everything that it writes is passed
/// on, and it is held up rather than that anything is missed.
pub(super) async fn attend(
    house: &House,
    task: &TaskRef,
    seat: Option<Seat>,
    out: &mut Out<'_>,
) -> Answer {
    if let Some(seat) = seat {
        let log = house.commands.log(task.id());
        let follower = log.follow_seated(seat).at_most(MOST);
        Reader { task, log: &log, at: 0, attempt: 0 }.follow(follower, out).await?;
    }
    until_ended(task).await?;
    end(house, task, out).await
}

/// The task as it is now, and no more.
async fn end(house: &House, task: &TaskRef, out: &mut Out<'_>) -> Answer {
    let shown = view::task(house, task.snapshot().await?).await?;
    out.say(&Reply::Task(Box::new(shown))).await?;
    Ok(Reply::Done)
}

async fn until_ended(task: &TaskRef) -> Result<(), Error> {
    let mut records = task.watch();
    while let Some(record) = records.next().await {
        record?;
    }
    Ok(())
}

/// Who reads a log for a visitor.
struct Reader<'a> {
    task: &'a TaskRef,
    log: &'a Log,
    at: u64,
    attempt: u32,
}

impl Reader<'_> {
    /// Passes on what is written until the task has ended and everything is
    /// read. Whoever follows with a seat keeps it until then.
    async fn follow(mut self, mut follower: Follower, out: &mut Out<'_>) -> Result<(), Stopped> {
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
                Some(piece) => self.pass(piece, out).await?,
                None => return Ok(()),
            }
        }
        // Whoever wrote the log has closed it by now; one that nobody wrote is
        // not waited for.
        let written = self.log.read(self.at, 1).await.map_err(unreadable)?.writing;
        if written == Writing::Idle {
            return self.read_on(out).await;
        }
        while let Some(piece) = follower.next().await.map_err(unreadable)? {
            self.pass(piece, out).await?;
        }
        Ok(())
    }

    /// Passes on what there is.
    async fn read_on(mut self, out: &mut Out<'_>) -> Result<(), Stopped> {
        loop {
            let piece = self.log.read(self.at, MOST).await;
            let piece = piece.map_err(|error| unreadable(self.task.id(), &error))?;
            if piece.is_empty() {
                return Ok(());
            }
            self.pass(piece, out).await?;
        }
    }

    async fn pass(&mut self, piece: Piece, out: &mut Out<'_>) -> Result<(), Stopped> {
        if piece.gap > 0 {
            out.say(&Reply::Gap { bytes: piece.gap }).await?;
        }
        for chunk in piece.chunks {
            if chunk.attempt != self.attempt {
                self.attempt = chunk.attempt;
                out.say(&Reply::Attempt { number: chunk.attempt }).await?;
            }
            let stream = match chunk.stream {
                Stream::Stdout => StreamName::Stdout,
                Stream::Stderr => StreamName::Stderr,
            };
            out.pass(Chunk { stream, at: chunk.at.as_micros(), bytes: chunk.bytes }).await?;
        }
        self.at = piece.next;
        out.say(&Reply::Position { at: self.at }).await
    }
}

fn unreadable(task: TaskId, error: &std::io::Error) -> Stopped {
    let text = format!("the output of task {task} cannot be read");
    WireError { causes: vec![error.to_string()], ..WireError::new(Code::Store, text) }.into()
}
