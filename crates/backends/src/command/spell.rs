//! One turn of a pump's writer, on a thread that may block.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::told::Told;
use crate::log::{Batch, Live, Stream, Writer};

/// How much is read before it is written. So much is in memory for a command
/// that floods, and hardly anything for one that is silent.
pub(crate) const MOST: usize = 512 << 10;

/// How much a command must have written meanwhile to count as one that floods.
const MUCH: usize = 64 << 10;

/// How long a pipe is left to fill when little is in it.
const PAUSE: Duration = Duration::from_micros(300);

/// How long a turn takes at most: others flood, too.
const TURN: Duration = Duration::from_millis(50);

/// A batch to be written and, of a command that floods, the pipes to go on
/// reading from.
#[derive(Debug)]
pub(crate) struct Spell {
    pub(crate) writer: Box<Writer>,
    pub(crate) batch: Batch,
    pub(crate) told: Told,
    pub(crate) live: Arc<Live>,
    pub(crate) pipes: [Option<OwnedFd>; 2],
}

impl Spell {
    /// Writes the batch, and goes on as long as the command floods. What is in
    /// the batch afterwards waits for a reader.
    pub(crate) fn cast(&mut self) {
        self.write();
        let begun = Instant::now();
        while begun.elapsed() < TURN && self.pipes.iter().any(Option::is_some) {
            self.read();
            let mut floods = self.batch.len() >= MUCH;
            if !floods {
                std::thread::sleep(PAUSE);
                self.read();
                floods = self.batch.len() >= MUCH;
            }
            if self.writer.waits_for(self.batch.len()).is_some() {
                return;
            }
            self.write();
            if !floods {
                return;
            }
        }
    }

    fn write(&mut self) {
        self.writer.append(&self.batch);
        self.live.tell(self.writer.kept().end);
        // A large buffer is kept only while it is of use.
        if self.batch.len() < self.batch.bytes.capacity() / 4 {
            self.batch.bytes = Vec::new();
        }
        self.batch.clear();
    }

    /// Reads what is in the pipes.
    fn read(&mut self) {
        for (pipe, stream) in self.pipes.iter_mut().zip([Stream::Stdout, Stream::Stderr]) {
            let room = MOST.saturating_sub(self.batch.len());
            let Some(open) = pipe.as_ref().filter(|_| room > 0) else { continue };
            match self.told.read(&mut self.batch, open.as_fd(), (stream, room)) {
                Ok(1..) | Err(Errno::AGAIN) => {}
                // Closed, or not to be read any more.
                Ok(_) | Err(_) => *pipe = None,
            }
        }
    }
}
