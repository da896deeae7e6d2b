//! From a command's pipes into its log.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::SystemTime;

use offshoot_core::Stamp;
use rustix::io::Errno;
use tokio::net::unix::pipe;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::recent::Recent;
use super::report::Report;
use crate::log::{Batch, Live, Pen, Stream, Writer};

/// How much is read before it is written. So much is in memory for a command
/// that floods, and hardly anything for one that is silent.
const MOST: usize = 512 << 10;

/// How much is read at first, and of a command that writes little.
const LEAST: usize = 8 << 10;

/// How large the pipe of a command that floods is made.
const WIDE: usize = 1 << 20;

/// Reads the pipes of a command and writes its log. While one batch is being
/// written nothing is read: the command fills its pipe meanwhile, and the next
/// read takes all of it at once.
#[derive(Debug)]
pub(crate) struct Pump {
    sources: [Option<Source>; 2],
    batch: Batch,
    writer: Pencil,
    pen: Pen,
    report: Arc<watch::Sender<Report>>,
    told: Told,
}

/// Where the writer is.
#[derive(Debug)]
enum Pencil {
    Idle(Box<Writer>),
    Writing(JoinHandle<(Box<Writer>, Batch)>),
    /// Its thread is gone, which happens when the process ends.
    Lost,
}

/// What is known of the output beside what is in the log.
#[derive(Debug, Default)]
struct Told {
    stdout: u64,
    stderr: u64,
    line: Recent,
    errors: Recent,
    last: Option<Stream>,
}

#[derive(Debug)]
struct Source {
    pipe: pipe::Receiver,
    stream: Stream,
    chunk: usize,
}

/// The log a command's output goes to.
#[derive(Debug)]
pub(crate) struct Destination {
    pub(crate) writer: Writer,
    pub(crate) live: Arc<Live>,
    pub(crate) report: Arc<watch::Sender<Report>>,
}

impl Pump {
    /// A pump between these pipes and a log. Must be called within Tokio.
    pub(crate) fn new(stdout: Option<OwnedFd>, stderr: Option<OwnedFd>, to: Destination) -> Self {
        let Destination { writer, live, report } = to;
        let pen = Pen::take(live, writer.kept().end);
        let source = |pipe, stream| Source::new(pipe?, stream);
        Self {
            sources: [source(stdout, Stream::Stdout), source(stderr, Stream::Stderr)],
            batch: Batch::default(),
            writer: Pencil::Idle(Box::new(writer)),
            pen,
            report,
            told: Told::default(),
        }
    }

    /// Pumps until both pipes are closed, or until what is in them when
    /// `finish` resolves is read; then makes the log durable. The last lines
    /// of the standard error.
    pub(crate) async fn run(mut self, finish: oneshot::Receiver<()>) -> Vec<String> {
        let mut finish = std::pin::pin!(finish);
        let mut finishing = false;
        loop {
            let held = self.write(finishing);
            if self.sources.iter().all(Option::is_none)
                && self.batch.is_empty()
                && !matches!(self.writer, Pencil::Writing(_))
            {
                break;
            }
            let room = self.batch.is_empty() && !matches!(self.writer, Pencil::Writing(_));
            let [stdout, stderr] = &mut self.sources;
            tokio::select! {
                back = done(&mut self.writer) => self.take_back(back),
                () = passed(held) => {}
                _ = &mut finish, if !finishing => {
                    finishing = true;
                    self.empty();
                }
                () = ready(stdout), if room => self.read(0),
                () = ready(stderr), if room => self.read(1),
            }
        }
        self.close().await
    }

    /// Has the writer write what was read, if it is idle. If a reader must
    /// read on before that, how far.
    fn write(&mut self, finishing: bool) -> Option<(crate::log::Hold, u64)> {
        if self.batch.is_empty() {
            return None;
        }
        if let Pencil::Idle(writer) = &self.writer
            && !finishing
            && let Some(held) = writer.waits_for(self.batch.len())
        {
            return Some(held);
        }
        match std::mem::replace(&mut self.writer, Pencil::Lost) {
            Pencil::Idle(mut writer) => {
                let batch = std::mem::take(&mut self.batch);
                self.writer = Pencil::Writing(tokio::task::spawn_blocking(move || {
                    writer.append(&batch);
                    (writer, batch)
                }));
            }
            Pencil::Lost => self.batch.clear(),
            writing => self.writer = writing,
        }
        None
    }

    /// Takes the writer back, and tells what it has written.
    fn take_back(&mut self, back: Option<(Box<Writer>, Batch)>) {
        let Some((writer, mut batch)) = back else {
            self.writer = Pencil::Lost;
            return;
        };
        // A large buffer is kept only while it is of use.
        if batch.len() < batch.bytes.capacity() / 4 {
            batch.bytes = Vec::new();
        }
        batch.clear();
        if self.batch.is_empty() {
            self.batch = batch;
        }
        self.tell(&writer);
        self.writer = Pencil::Idle(writer);
    }

    fn tell(&self, writer: &Writer) {
        let kept = writer.kept();
        self.pen.tell(kept.end);
        let told = &self.told;
        self.report.send_if_modified(|report| {
            let before = report.clone();
            report.output.stdout = told.stdout;
            report.output.stderr = told.stderr;
            report.output.bytes = told.stdout + told.stderr;
            report.output.dropped = kept.dropped;
            report.last_line = told.line.line();
            report.log_error = kept.trouble.clone();
            *report != before
        });
    }

    /// Reads once from a pipe that is ready.
    fn read(&mut self, which: usize) {
        let Some(source) = &mut self.sources[which] else { return };
        let from = self.batch.bytes.len();
        self.batch.bytes.reserve(source.chunk);
        match source.pipe.try_read_buf(&mut self.batch.bytes) {
            Ok(0) => self.sources[which] = None,
            Ok(read) => {
                source.grow(read);
                self.note(which, from);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                tracing::debug!(%error, "a command's output cannot be read");
                self.sources[which] = None;
            }
        }
    }

    fn note(&mut self, which: usize, from: usize) {
        let Some(source) = &self.sources[which] else { return };
        let (stream, bytes) = (source.stream, &self.batch.bytes[from..]);
        self.told.add(stream, bytes);
        self.batch.note(stream, from, now());
    }

    /// Reads what is in the pipes now, and closes them: whoever still holds
    /// them is not this task's.
    fn empty(&mut self) {
        for which in 0..self.sources.len() {
            let mut left = WIDE;
            while let Some(source) = &self.sources[which]
                && left > 0
            {
                let from = self.batch.bytes.len();
                self.batch.bytes.reserve(LEAST);
                let spare = rustix::buffer::spare_capacity(&mut self.batch.bytes);
                match rustix::io::read(source.pipe.as_fd(), spare) {
                    Ok(read @ 1..) => {
                        self.note(which, from);
                        left = left.saturating_sub(read);
                    }
                    Err(Errno::INTR) => {}
                    Ok(_) | Err(_) => break,
                }
            }
            self.sources[which] = None;
        }
    }

    /// Makes the log durable, and closes it.
    async fn close(self) -> Vec<String> {
        let Self { writer, pen, report, told, .. } = self;
        let Pencil::Idle(mut writer) = writer else { return told.errors.lines() };
        let flushed = tokio::task::spawn_blocking(move || {
            writer.flush();
            writer
        });
        let Ok(mut writer) = flushed.await else { return told.errors.lines() };
        if let Some(trouble) = &writer.kept().trouble {
            report.send_modify(|report| report.log_error = Some(trouble.clone()));
        }
        if let Some((hold, place)) = writer.held_back() {
            tokio::spawn(async move {
                hold.passed(place).await;
                let _ = tokio::task::spawn_blocking(move || writer.drop_middle()).await;
            });
        }
        drop(pen);
        told.errors.lines()
    }
}

impl Source {
    fn new(pipe: OwnedFd, stream: Stream) -> Option<Self> {
        let pipe = pipe::Receiver::from_owned_fd(pipe);
        let pipe = pipe.inspect_err(|error| tracing::warn!(%error, "a pipe cannot be read"));
        Some(Self { pipe: pipe.ok()?, stream, chunk: LEAST })
    }

    /// Reads more at a time of a command that writes much.
    fn grow(&mut self, read: usize) {
        if read < self.chunk || self.chunk >= MOST {
            return;
        }
        self.chunk = (self.chunk * 4).min(MOST);
        #[cfg(target_os = "linux")]
        if self.chunk == MOST {
            // Only those that need it: a user has so many pages for pipes.
            let _ = rustix::pipe::fcntl_setpipe_size(self.pipe.as_fd(), WIDE);
        }
    }
}

impl Told {
    fn add(&mut self, stream: Stream, bytes: &[u8]) {
        match stream {
            Stream::Stdout => self.stdout += bytes.len() as u64,
            Stream::Stderr => {
                self.stderr += bytes.len() as u64;
                self.errors.add(bytes);
            }
        }
        // A line of one stream does not go on in the other.
        if self.last.replace(stream).is_some_and(|last| last != stream) {
            self.line.add(b"\n");
        }
        self.line.add(bytes);
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

async fn done(writer: &mut Pencil) -> Option<(Box<Writer>, Batch)> {
    match writer {
        Pencil::Writing(writing) => writing.await.ok(),
        _ => std::future::pending().await,
    }
}

async fn passed(held: Option<(crate::log::Hold, u64)>) {
    match held {
        Some((hold, place)) => hold.passed(place).await,
        None => std::future::pending().await,
    }
}

fn now() -> Stamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Stamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
