//! One turn of a pump's writer, on a thread that may block.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::output_tally::OutputTally;
use crate::log::{Batch, LiveLog, Stream, Writer};

/// The number of bytes that are read before a write.
///
/// A command that floods has so much in memory, and a silent one hardly any.
const MOST: usize = 512 << 10;

/// The number of bytes written meanwhile that makes a command one that floods.
const MUCH: usize = 64 << 10;

/// The time that an almost empty pipe gets to fill, before the command is no longer one
/// that floods.
const PAUSES: [Duration; 3] =
    [Duration::from_micros(300), Duration::from_millis(1), Duration::from_millis(2)];

/// The longest turn. Other commands may flood, too.
const TURN: Duration = Duration::from_millis(50);

/// The rate at which a command writes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    since: Option<Instant>,
    bytes: usize,
    floods: bool,
}

impl Pace {
    /// Enough bytes in a short enough time are a flood.
    const FLOOD: (usize, Duration) = (256 << 10, Duration::from_millis(10));

    /// Notes the bytes of a read. Returns whether they are a flood.
    pub(crate) fn note(&mut self, bytes: usize) -> bool {
        let (much, soon) = Self::FLOOD;
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        if now.duration_since(since) > soon {
            (self.since, self.bytes) = (Some(now), 0);
        }
        self.bytes = self.bytes.saturating_add(bytes);
        let begins = !self.floods && self.bytes >= much;
        self.floods |= begins;
        begins
    }

    pub(crate) fn floods(&self) -> bool {
        self.floods
    }
}

/// A batch to write and, for a command that floods, the pipes to read on from.
#[derive(Debug)]
pub(crate) struct WriteTurn {
    pub(crate) writer: Box<Writer>,
    pub(crate) batch: Batch,
    pub(crate) tally: OutputTally,
    pub(crate) live: Arc<LiveLog>,
    pub(crate) pipes: [Option<OwnedFd>; 2],
    pub(crate) pace: Pace,
}

impl WriteTurn {
    /// Writes the batch, and continues as long as the command floods.
    ///
    /// The rest of the batch waits for a lossless reader.
    pub(crate) fn run(&mut self) {
        self.write();
        let begun = Instant::now();
        while begun.elapsed() < TURN && self.pipes.iter().any(Option::is_some) {
            self.fill();
            if self.batch.len() < MUCH {
                self.pace = Pace::default();
            }
            if self.writer.waits_for(self.batch.len()).is_some() {
                return;
            }
            self.write();
            if !self.pace.floods() {
                return;
            }
        }
    }

    /// Reads until the batch is large, as long as the output comes quickly.
    fn fill(&mut self) {
        self.read();
        for pause in PAUSES {
            if self.batch.len() >= MUCH || self.pipes.iter().all(Option::is_none) {
                return;
            }
            std::thread::sleep(pause);
            self.read();
        }
    }

    fn write(&mut self) {
        self.writer.append(&self.batch);
        self.live.advance(self.writer.kept().end);
        // A large buffer is kept only while it is used.
        if self.batch.len() < self.batch.bytes.capacity() / 4 {
            self.batch.bytes = Vec::new();
        }
        self.batch.clear();
    }

    /// Reads the present content of the pipes.
    fn read(&mut self) {
        for (pipe, stream) in self.pipes.iter_mut().zip([Stream::Stdout, Stream::Stderr]) {
            let room = MOST.saturating_sub(self.batch.len());
            let Some(open) = pipe.as_ref().filter(|_| room > 0) else { continue };
            match self.tally.read(&mut self.batch, open.as_fd(), (stream, room)) {
                Ok(1..) | Err(Errno::AGAIN) => {}
                // The pipe is closed, or is not read any more.
                Ok(_) | Err(_) => *pipe = None,
            }
        }
    }
}
