//! The pump: it moves output from the pipes of a command into its log.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use tokio::net::unix::pipe;
use tokio::sync::{oneshot, watch};

use super::output_tally::OutputTally;
use super::report::Report;
use super::write_turn::{Pace, WriteTurn};
use crate::log::{Batch, LiveLog, LogWriteGuard, ReaderPosition, Stream, Writer};
use crate::workers::Workers;

/// The bytes of one read of a command that does not flood.
const CHUNK: usize = 16 << 10;

/// The size of the pipe of a command that floods.
const WIDE: usize = 1 << 20;

/// Reads the pipes of a command and writes its log.
///
/// It does not read during a write: the command fills its pipe meanwhile, and the next read
/// takes all of it at once.
#[derive(Debug)]
pub(crate) struct Pump {
    sources: [Option<OutputPipe>; 2],
    batch: Batch,
    writer: LogWriterState,
    tally: OutputTally,
    pace: Pace,
    guard: LogWriteGuard,
    report: Arc<watch::Sender<Report>>,
    workers: Workers,
    stage: PumpStage,
}

/// The state of the log writer.
#[derive(Debug)]
enum LogWriterState {
    Idle(Box<Writer>),
    Writing(oneshot::Receiver<WriteTurn>),
    /// Its thread is gone, as when the process ends.
    Lost,
}

/// Whether the pump waits for output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PumpStage {
    Pumping,
    /// It reads only the present content of the pipes.
    Finishing,
}

#[derive(Debug)]
struct OutputPipe {
    pipe: pipe::Receiver,
    stream: Stream,
}

/// The log of a command's output.
#[derive(Debug)]
pub(crate) struct OutputDestination {
    pub(crate) writer: Writer,
    pub(crate) live: Arc<LiveLog>,
    pub(crate) report: Arc<watch::Sender<Report>>,
    pub(crate) workers: Workers,
}

impl Pump {
    /// Makes a pump between pipes and a log. Must be called within Tokio.
    pub(crate) fn new(
        stdout: Option<OwnedFd>,
        stderr: Option<OwnedFd>,
        to: OutputDestination,
    ) -> Self {
        let OutputDestination { writer, live, report, workers } = to;
        let guard = LogWriteGuard::take(live, writer.kept().end);
        let source = |pipe, stream| OutputPipe::new(pipe?, stream);
        Self {
            sources: [source(stdout, Stream::Stdout), source(stderr, Stream::Stderr)],
            batch: Batch::default(),
            writer: LogWriterState::Idle(Box::new(writer)),
            tally: OutputTally::default(),
            pace: Pace::default(),
            guard,
            report,
            workers,
            stage: PumpStage::Pumping,
        }
    }

    /// Pumps until both pipes are closed, or until `finish` resolves and their content at
    /// that time is read. Then makes the log durable.
    ///
    /// Returns the last lines of the standard error.
    pub(crate) async fn run(mut self, finish: oneshot::Receiver<()>) -> Vec<String> {
        let mut finish = std::pin::pin!(finish);
        loop {
            let held = self.write();
            let writing = matches!(self.writer, LogWriterState::Writing(_));
            if self.sources.iter().all(Option::is_none) && self.batch.is_empty() && !writing {
                break;
            }
            let read = self.batch.is_empty() && !writing;
            let [stdout, stderr] = &mut self.sources;
            tokio::select! {
                turn = done(&mut self.writer) => self.take_back(turn),
                () = passed(held) => {}
                _ = &mut finish, if self.stage == PumpStage::Pumping => {
                    self.stage = PumpStage::Finishing;
                    // A running write has the tally of the output.
                    if !writing {
                        self.empty();
                    }
                }
                () = ready(stdout), if read => self.read(0),
                () = ready(stderr), if read => self.read(1),
            }
        }
        self.close().await
    }

    /// Starts to write the output that was read, if the writer is idle.
    ///
    /// Returns the position that a lossless reader must reach before that, if it must.
    fn write(&mut self) -> Option<(ReaderPosition, u64)> {
        if self.batch.is_empty() {
            return None;
        }
        if let LogWriterState::Idle(writer) = &self.writer
            && self.stage == PumpStage::Pumping
            && let Some(held) = writer.waits_for(self.batch.len())
        {
            return Some(held);
        }
        match std::mem::replace(&mut self.writer, LogWriterState::Lost) {
            LogWriterState::Idle(writer) => {
                let mut turn = WriteTurn {
                    writer,
                    batch: std::mem::take(&mut self.batch),
                    tally: std::mem::take(&mut self.tally),
                    live: self.guard.live().clone(),
                    pipes: self.lend(),
                    pace: self.pace,
                };
                self.writer = LogWriterState::Writing(self.workers.run(move || {
                    turn.run();
                    turn
                }));
            }
            LogWriterState::Lost => self.batch.clear(),
            writing => self.writer = writing,
        }
        None
    }

    /// Lends the pipes of a command that floods to the thread that writes.
    /// Otherwise every piece of output would wake this task.
    fn lend(&mut self) -> [Option<OwnedFd>; 2] {
        if !self.pace.floods() || self.stage == PumpStage::Finishing {
            return [None, None];
        }
        let lend = |source: OutputPipe| source.pipe.into_nonblocking_fd().ok();
        self.sources.each_mut().map(|source| source.take().and_then(lend))
    }

    /// Takes the writer back, and publishes its output.
    fn take_back(&mut self, turn: Option<WriteTurn>) {
        let Some(WriteTurn { writer, batch, tally, pipes, pace, .. }) = turn else {
            self.writer = LogWriterState::Lost;
            return;
        };
        (self.tally, self.pace) = (tally, pace);
        let streams = [Stream::Stdout, Stream::Stderr];
        for (at, (pipe, stream)) in pipes.into_iter().zip(streams).enumerate() {
            if let Some(pipe) = pipe {
                self.sources[at] = OutputPipe::new(pipe, stream);
            }
        }
        if self.batch.is_empty() {
            self.batch = batch;
        }
        self.publish(&writer);
        self.writer = LogWriterState::Idle(writer);
        if self.stage == PumpStage::Finishing {
            self.empty();
        }
    }

    fn publish(&self, writer: &Writer) {
        let kept = writer.kept();
        self.guard.live().advance(kept.end);
        let tally = &self.tally;
        self.report.send_if_modified(|report| {
            let before = report.clone();
            tally.write_to(report);
            report.output.dropped = kept.dropped;
            report.log_error = kept.trouble.clone();
            *report != before
        });
    }

    /// Reads once from a pipe that is ready.
    fn read(&mut self, which: usize) {
        let Some(source) = &mut self.sources[which] else { return };
        let from = self.batch.bytes.len();
        self.batch.bytes.reserve(CHUNK);
        match source.pipe.try_read_buf(&mut self.batch.bytes) {
            Ok(0) => self.sources[which] = None,
            Ok(read) => {
                self.tally.note(&mut self.batch, source.stream, from);
                if self.pace.note(read) {
                    source.widen();
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                tracing::debug!(%error, "a command's output cannot be read");
                self.sources[which] = None;
            }
        }
    }

    /// Reads the present content of the pipes, and closes them.
    ///
    /// A process that still has them open does not belong to this task.
    fn empty(&mut self) {
        for source in &mut self.sources {
            let Some(OutputPipe { pipe, stream, .. }) = source.take() else { continue };
            let mut left = WIDE;
            while left > 0 {
                match self.tally.read(&mut self.batch, pipe.as_fd(), (stream, CHUNK)) {
                    Ok(read @ 1..) => left = left.saturating_sub(read),
                    Ok(_) | Err(_) => break,
                }
            }
        }
    }

    /// Makes the log durable, and closes it.
    async fn close(self) -> Vec<String> {
        let Self { writer, guard, report, tally, workers, .. } = self;
        let LogWriterState::Idle(mut writer) = writer else { return tally.errors() };
        let flushed = workers.run(move || {
            writer.flush();
            writer
        });
        let Ok(mut writer) = flushed.await else { return tally.errors() };
        if let Some(trouble) = &writer.kept().trouble {
            report.send_modify(|report| report.log_error = Some(trouble.clone()));
        }
        if let Some((hold, place)) = writer.held_back() {
            tokio::spawn(async move {
                hold.passed(place).await;
                let _ = workers.run(move || writer.drop_middle()).await;
            });
        }
        drop(guard);
        tally.errors()
    }
}

impl OutputPipe {
    fn new(pipe: OwnedFd, stream: Stream) -> Option<Self> {
        let pipe = pipe::Receiver::from_owned_fd(pipe);
        let pipe = pipe.inspect_err(|error| tracing::warn!(%error, "a pipe cannot be read"));
        Some(Self { pipe: pipe.ok()?, stream })
    }

    /// Enlarges the pipe of a command that floods.
    ///
    /// Other pipes stay small, because a user has a limited number of pages for pipes.
    fn widen(&self) {
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(self.pipe.as_fd(), WIDE);
    }
}

async fn ready(source: &mut Option<OutputPipe>) {
    match source {
        // The next read returns the error.
        Some(source) => {
            let _ = source.pipe.readable().await;
        }
        None => std::future::pending().await,
    }
}

async fn done(writer: &mut LogWriterState) -> Option<WriteTurn> {
    match writer {
        LogWriterState::Writing(writing) => writing.await.ok(),
        _ => std::future::pending().await,
    }
}

async fn passed(held: Option<(ReaderPosition, u64)>) {
    match held {
        Some((hold, place)) => hold.passed(place).await,
        None => std::future::pending().await,
    }
}
