//! Copies a command's output to the streams of this program, across the death of
//! a daemon.
//!
//! The daemon reports its position in the log from time to time. If it dies, the
//! next one sends the output from the last position on, and the part that was
//! already written is skipped.

use offshoot_client::wire::{Chunk, Reply, Request, StreamName, Tail, TailStart, Task};
use offshoot_client::{Error, ReplyStream as Stream, StreamItem};
use serde::Serialize;

use super::context::CommandContext;
use super::error::CliError;
use super::output::{OutputFilter, OutputStream};
use super::show::screen::json_line;
use super::show::{Format, size};

/// The number of failures in a row before a stream is given up.
const BREAKS: u32 = 5;

/// Copies the output of a command.
#[derive(Debug)]
pub(crate) struct Pump {
    cx: CommandContext,
    /// The request to repeat if the stream breaks.
    tail: Tail,
    out: Side,
    err: Side,
    /// The last reported attempt.
    attempt: u32,
    /// The last reported record of the task.
    task: Option<Task>,
    /// The number of output bytes that were not kept.
    missing: u64,
}

/// The result of copying the output.
#[derive(Debug)]
pub(crate) struct PumpResult {
    /// The task at the end.
    pub(crate) task: Task,
    /// The number of output bytes that were not kept.
    pub(crate) missing: u64,
}

/// One stream of the command, and its target.
#[derive(Debug)]
struct Side {
    stream: OutputStream,
    filter: OutputFilter,
    /// The bytes since the last position.
    since: u64,
    /// The bytes to skip, because they were already written.
    again: u64,
}

/// A note about the output, printed in its place.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Note {
    /// This number of bytes was not kept.
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

/// The targets of both streams of a command.
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
    /// Makes a pump for a request.
    pub(crate) fn new(cx: CommandContext, tail: Tail, streams: OutputStreams) -> Self {
        let (out, err) = (Side::new(streams.out), Side::new(streams.err));
        Self { cx, tail, out, err, attempt: 0, task: None, missing: 0 }
    }

    /// Copies all requested output.
    pub(crate) async fn run(self) -> Result<PumpResult, CliError> {
        let stream = self.open().await?;
        self.run_on(stream).await
    }

    /// Copies the output of an open stream.
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
                    self.cx.screen.tell("offshoot: the daemon died; connecting to the next one");
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

    /// Prints a note in its place in the output.
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
