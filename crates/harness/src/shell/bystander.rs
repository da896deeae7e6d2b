//! A process that belongs to no task, and that the daemon must leave alone.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::shell::processes::MARK;

/// A process of this harness in a group of its own. It looks as much like one
/// of the daemon's as a stranger can: it carries the mark of a task of
/// another owner.
#[derive(Debug)]
pub struct Bystander {
    child: Child,
}

impl Bystander {
    /// Starts one with this mark.
    pub fn start(mark: &str) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", "read x"]).env(MARK, mark).process_group(0);
        let child = command.stdin(Stdio::piped()).spawn()?;
        Ok(Self { child })
    }

    /// Its number.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap_or(0)
    }

    /// Whether it was left alone.
    pub fn is_untouched(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        // It may be gone already; that is told elsewhere.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
