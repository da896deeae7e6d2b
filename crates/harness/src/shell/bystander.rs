//! A process outside every task, which the daemon must leave alone.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::shell::processes::MARK;

/// A process of this harness in a group of its own. It resembles a process of the daemon as
/// closely as a foreign one can: it carries the mark of a task of another owner.
#[derive(Debug)]
pub struct Bystander {
    child: Child,
}

impl Bystander {
    /// Starts a process with this mark.
    pub fn start(mark: &str) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", "read x"]).env(MARK, mark).process_group(0);
        let child = command.stdin(Stdio::piped()).spawn()?;
        Ok(Self { child })
    }

    /// The process id.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap_or(0)
    }

    /// Whether the process is still running.
    pub fn is_untouched(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        // The process may be gone already; another check reports that.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
