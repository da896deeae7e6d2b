//! The moment at which a process is started.
//!
//! Some of what a process has it takes over from whoever starts it, and nobody
//! can give it: a brand, and which permissions its files lack. So this process
//! has them itself for that moment, one birth at a time.

use std::io;
use std::process::{Child, Command};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::fs::Mode;
use rustix::process::umask;

use super::brand::Brand;

/// Of what is taken away, what concerns others than the owner. This process
/// makes files at the same moment, and its owner must be able to read them.
const OTHERS: Mode = Mode::RWXG.union(Mode::RWXO);

/// How long a birth waits for the one before it. A program on a file system
/// that does not answer may never begin, and must not hold up all others.
const PATIENCE: Duration = Duration::from_secs(1);

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What a process is born with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth {
    pub(crate) brand: Brand,
    /// Which permissions its files lack; as those of this process if nobody
    /// says.
    pub(crate) umask: Option<u32>,
}

impl Birth {
    /// Starts the process. Blocks until its program is loaded.
    pub(crate) fn give(self, command: &mut Command) -> io::Result<Child> {
        let Some(_turn) = ONE_AT_A_TIME.try_lock_for(PATIENCE) else {
            tracing::warn!("a program is slow to begin: another one begins without its umask");
            return command.spawn();
        };
        let _brand = self.brand.wear();
        let before = self.umask.map(|mask| umask(Mode::from_raw_mode(mask) & OTHERS));
        let born = command.spawn();
        if let Some(before) = before {
            umask(before);
        }
        born
    }
}
