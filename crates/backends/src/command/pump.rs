//! From a command's pipes into its log.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use tokio::net::unix::pipe;
use tokio::sync::{oneshot, watch};

use super::report::Report;
use super::spell::{Pace, Spell};
use super::told::Told;
use crate::log::{Batch, Hold, Live, Pen, Stream, Writer};
use crate::workers::Workers;

/// How much is read at a time of a command that does not flood.
const CHUNK: usize = 16 << 10;

/// How large the pipe of a command that floods is made.
const WIDE: usize = 1 << 20;

/// Reads the pipes of a command and writes its log. While something is being
/// written nothing is read: the command fills its pipe meanwhile, and the next
/// read takes all of it at once.
#[derive(Debug)]
pub(crate) struct Pump {
    sources: [Option<Source>; 2],
    batch: Batch,
    writer: Pencil,
    told: Told,
    pace: Pace,
    pen: Pen,
    report: Arc<watch::Sender<Report>>,
    workers: Workers,
    stage: Stage,
}

/// Where the writer is.
#[derive(Debug)]
enum Pencil {
    Idle(Box<Writer>),
    Writing(oneshot::Receiver<Spell>),
    /// Its thread is gone, which happens when the process ends.
    Lost,
}

/// Whether the pipes are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Pumping,
    /// Only what is in them is still read.
    Finishing,
}

#[derive(Debug)]
struct Source {
    pipe: pipe::Receiver,
    stream: Stream,
}

/// The log a command's output goes to.
#[derive(Debug)]
pub(crate) struct Destination {
    pub(crate) writer: Writer,
    pub(crate) live: Arc<Live>,
    pub(crate) report: Arc<watch::Sender<Report>>,
    pub(crate) workers: Workers,
}

impl Pump {
    /// A pump between these pipes and a log. Must be called within Tokio.
    pub(crate) fn new(stdout: Option<OwnedFd>, stderr: Option<OwnedFd>, to: Destination) -> Self {
        let Destination { writer, live, report, workers } = to;
        let pen = Pen::take(live, writer.kept().end);
        let source = |pipe, stream| Source::new(pipe?, stream);
        Self {
            sources: [source(stdout, Stream::Stdout), source(stderr, Stream::Stderr)],
            batch: Batch::default(),
            writer: Pencil::Idle(Box::new(writer)),
            told: Told::default(),
            pace: Pace::default(),
            pen,
            report,
            workers,
            stage: Stage::Pumping,
        }
    }

    /// Pumps until both pipes are closed, or until what is in them when
    /// `finish` resolves is read; then makes the log durable. The last lines
    /// of the standard error.
    pub(crate) async fn run(mut self, finish: oneshot::Receiver<()>) -> Vec<String> {
        let mut finish = std::pin::pin!(finish);
        loop {
            let held = self.write();
            let writing = matches!(self.writer, Pencil::Writing(_));
            if self.sources.iter().all(Option::is_none) && self.batch.is_empty() && !writing {
                break;
            }
            let read = self.batch.is_empty() && !writing;
            let [stdout, stderr] = &mut self.sources;
            tokio::select! {
                spell = done(&mut self.writer) => self.take_back(spell),
                () = passed(held) => {}
                _ = &mut finish, if self.stage == Stage::Pumping => {
                    self.stage = Stage::Finishing;
                    // Whoever writes now has what is told of the output.
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

    /// Has what was read written, if the writer is idle. If a reader must read
    /// on before that, how far.
    fn write(&mut self) -> Option<(Hold, u64)> {
        if self.batch.is_empty() {
            return None;
        }
        if let Pencil::Idle(writer) = &self.writer
            && self.stage == Stage::Pumping
            && let Some(held) = writer.waits_for(self.batch.len())
        {
            return Some(held);
        }
        match std::mem::replace(&mut self.writer, Pencil::Lost) {
            Pencil::Idle(writer) => {
                let mut spell = Spell {
                    writer,
                    batch: std::mem::take(&mut self.batch),
                    told: std::mem::take(&mut self.told),
                    live: self.pen.live().clone(),
                    pipes: self.lend(),
                    pace: self.pace,
                };
                self.writer = Pencil::Writing(self.workers.run(move || {
                    spell.cast();
                    spell
                }));
            }
            Pencil::Lost => self.batch.clear(),
            writing => self.writer = writing,
        }
        None
    }

    /// The pipes of a command that floods, for the one who writes to read.
    /// Otherwise everybody here would be woken for every piece it writes.
    fn lend(&mut self) -> [Option<OwnedFd>; 2] {
        if !self.pace.floods() || self.stage == Stage::Finishing {
            return [None, None];
        }
        let lend = |source: Source| source.pipe.into_nonblocking_fd().ok();
        self.sources.each_mut().map(|source| source.take().and_then(lend))
    }

    /// Takes the writer back, and tells what it has written.
    fn take_back(&mut self, spell: Option<Spell>) {
        let Some(Spell { writer, batch, told, pipes, pace, .. }) = spell else {
            self.writer = Pencil::Lost;
            return;
        };
        (self.told, self.pace) = (told, pace);
        let streams = [Stream::Stdout, Stream::Stderr];
        for (at, (pipe, stream)) in pipes.into_iter().zip(streams).enumerate() {
            if let Some(pipe) = pipe {
                self.sources[at] = Source::new(pipe, stream);
            }
        }
        if self.batch.is_empty() {
            self.batch = batch;
        }
        self.tell(&writer);
        self.writer = Pencil::Idle(writer);
        if self.stage == Stage::Finishing {
            self.empty();
        }
    }

    fn tell(&self, writer: &Writer) {
        let kept = writer.kept();
        self.pen.live().tell(kept.end);
        let told = &self.told;
        self.report.send_if_modified(|report| {
            let before = report.clone();
            told.put_into(report);
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
                self.told.note(&mut self.batch, source.stream, from);
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

    /// Reads what is in the pipes now, and closes them: whoever still holds
    /// them is not this task's.
    fn empty(&mut self) {
        for source in &mut self.sources {
            let Some(Source { pipe, stream, .. }) = source.take() else { continue };
            let mut left = WIDE;
            while left > 0 {
                match self.told.read(&mut self.batch, pipe.as_fd(), (stream, CHUNK)) {
                    Ok(read @ 1..) => left = left.saturating_sub(read),
                    Ok(_) | Err(_) => break,
                }
            }
        }
    }

    /// Makes the log durable, and closes it.
    async fn close(self) -> Vec<String> {
        let Self { writer, pen, report, told, workers, .. } = self;
        let Pencil::Idle(mut writer) = writer else { return told.errors() };
        let flushed = workers.run(move || {
            writer.flush();
            writer
        });
        let Ok(mut writer) = flushed.await else { return told.errors() };
        if let Some(trouble) = &writer.kept().trouble {
            report.send_modify(|report| report.log_error = Some(trouble.clone()));
        }
        if let Some((hold, place)) = writer.held_back() {
            tokio::spawn(async move {
                hold.passed(place).await;
                let _ = workers.run(move || writer.drop_middle()).await;
            });
        }
        drop(pen);
        told.errors()
    }
}

impl Source {
    fn new(pipe: OwnedFd, stream: Stream) -> Option<Self> {
        let pipe = pipe::Receiver::from_owned_fd(pipe);
        let pipe = pipe.inspect_err(|error| tracing::warn!(%error, "a pipe cannot be read"));
        Some(Self { pipe: pipe.ok()?, stream })
    }

    /// Makes the pipe of a command that floods wide. Only of those: a user has
    /// so many pages for pipes.
    fn widen(&self) {
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(self.pipe.as_fd(), WIDE);
    }
}

async fn ready(source: &mut Option<Source>) {
    match source {
        // An error shows when it is read.
        Some(source) => {
            let _ = source.pipe.readable().await;
        }
        None => std::future::pending().await,
    }
}

async fn done(writer: &mut Pencil) -> Option<Spell> {
    match writer {
        Pencil::Writing(writing) => writing.await.ok(),
        _ => std::future::pending().await,
    }
}

async fn passed(held: Option<(Hold, u64)>) {
    match held {
        Some((hold, place)) => hold.passed(place).await,
        None => std::future::pending().await,
    }
}
