//! Pumps what a command writes to our own streams, across the death of a
//! daemon.
//!
//! The daemon tells now and then up to which place of the log it has sent. If
//! it dies, the next one is asked from the last such place on. What had come
//! after that place comes again, and is not written again.

use offshoot_client::wire::{Chunk, Reply, Request, StreamName, Tail, TailStart, Task};
use offshoot_client::{Error, ReplyStream as Stream, StreamItem};
use serde::Serialize;

use super::context::CommandContext;
use super::error::CliError;
use super::output::{OutputFilter, OutputStream};
use super::show::screen::json_line;
use super::show::{Format, size};

/// How often a stream may break in a row without having said anything.
const BREAKS: u32 = 5;

/// Pumps what a command writes.
#[derive(Debug)]
pub(crate) struct Pump {
    cx: CommandContext,
    /// What is asked for if the stream breaks.
    tail: Tail,
    out: Side,
    err: Side,
    /// The last attempt that was told of.
    attempt: u32,
    /// The task, as it was last told of.
    task: Option<Task>,
    /// How many bytes it wrote that nobody has.
    missing: u64,
}

/// What came of pumping.
#[derive(Debug)]
pub(crate) struct PumpResult {
    /// The task as it is now.
    pub(crate) task: Task,
    /// How many bytes it wrote that were not kept, and so not passed on.
    pub(crate) missing: u64,
}

/// One of the command's streams, and where it goes.
#[derive(Debug)]
struct Side {
    stream: OutputStream,
    filter: OutputFilter,
    /// What came since the last place.
    since: u64,
    /// What is to come again, and was written.
    again: u64,
}

/// What is said about the output, in its place.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Note {
    /// So many bytes were not kept.
    MissingBytes(u64),
    /// The next attempt begins.
    Attempt(u32),
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::MissingBytes(bytes) => {
                write!(f, "{} missing here, not kept", size::bytes(*bytes))
            }
            Self::Attempt(number) => write!(f, "attempt {number} begins here"),
        }
    }
}

/// Where each of the streams of a command goes.
#[derive(Debug)]
pub(crate) struct OutputStreams {
    /// Its standard output.
    pub(crate) out: (OutputStream, OutputFilter),
    /// Its standard error.
    pub(crate) err: (OutputStream, OutputFilter),
}

impl Side {
    fn new((stream, filter): (OutputStream, OutputFilter)) -> Self {
        Self { stream, filter, since: 0, again: 0 }
    }

    async fn write(&mut self, mut bytes: Vec<u8>) -> Result<(), CliError> {
        let length = bytes.len() as u64;
        self.since += length;
        let known = self.again.min(length);
        self.again -= known;
        // Not longer than the piece, whose length is a usize.
        bytes.drain(..known as usize);
        self.stream.write(self.filter.pass(bytes)).await
    }

    fn placed(&mut self) {
        self.since = 0;
    }

    fn broke(&mut self) {
        self.again += self.since;
        self.since = 0;
    }

    fn begins_anew(&mut self) {
        self.again = 0;
        self.since = 0;
    }
}

impl Pump {
    /// A pump of what is asked for.
    pub(crate) fn new(cx: CommandContext, tail: Tail, streams: OutputStreams) -> Self {
        let (out, err) = (Side::new(streams.out), Side::new(streams.err));
        Self { cx, tail, out, err, attempt: 0, task: None, missing: 0 }
    }

    /// Pumps until all is read that was asked for. What comes last is the task
    /// as it is then.
    pub(crate) async fn run(self) -> Result<PumpResult, CliError> {
        let stream = self.open().await?;
        self.run_on(stream).await
    }

    /// Pumps what comes from a stream that is open already.
    pub(crate) async fn run_on(mut self, mut stream: Stream) -> Result<PumpResult, CliError> {
        let mut breaks = 0;
        loop {
            match stream.next().await {
                Ok(None) => return self.finish().await,
                Ok(Some(item)) => {
                    breaks = 0;
                    self.take(item).await?;
                }
                Err(error) if error.is_broken_off() && breaks < BREAKS => {
                    breaks += 1;
                    self.out.broke();
                    self.err.broke();
                    self.cx.screen.tell("offshoot: the daemon went away; asking the next one");
                    stream = self.open().await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn open(&self) -> Result<Stream, CliError> {
        Ok(self.cx.client.follow(&Request::Tail(self.tail.clone())).await?)
    }

    async fn take(&mut self, item: StreamItem) -> Result<(), CliError> {
        match item {
            StreamItem::Output(Chunk { stream: StreamName::Stdout, bytes, .. }) => {
                self.out.write(bytes).await?;
            }
            StreamItem::Output(Chunk { stream: StreamName::Stderr, bytes, .. }) => {
                self.err.write(bytes).await?;
            }
            StreamItem::Reply(Reply::Position { at }) => {
                self.out.placed();
                self.err.placed();
                self.tail.reading = TailStart::From(at);
            }
            StreamItem::Reply(Reply::Gap { bytes }) => {
                self.missing = self.missing.saturating_add(bytes);
                self.note(Note::MissingBytes(bytes)).await?;
            }
            StreamItem::Reply(Reply::Attempt { number }) if number > self.attempt => {
                self.out.begins_anew();
                self.err.begins_anew();
                if number > 1 {
                    self.note(Note::Attempt(number)).await?;
                }
                self.attempt = number;
            }
            StreamItem::Reply(Reply::Task(task)) => self.task = Some(*task),
            StreamItem::Reply(_) => {}
        }
        Ok(())
    }

    /// Says something about the output, in its place.
    async fn note(&mut self, note: Note) -> Result<(), CliError> {
        match self.cx.screen.format {
            Format::Text => self.cx.screen.remark(&format!("offshoot: {note}")),
            Format::Json => {
                self.flush().await?;
                self.out.stream.write(json_line(&note)?.into_bytes()).await?;
            }
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), CliError> {
        for side in [&mut self.out, &mut self.err] {
            let rest = side.filter.rest();
            side.stream.write(rest).await?;
        }
        Ok(())
    }

    async fn finish(mut self) -> Result<PumpResult, CliError> {
        self.flush().await?;
        let task = self.task.ok_or(Error::WrongAnswer)?;
        Ok(PumpResult { task, missing: self.missing })
    }
}
