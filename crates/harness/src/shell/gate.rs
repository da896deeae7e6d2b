//! A gate at which a command waits without polling.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags};

/// The number of passes: every attempt of a command takes one line.
const ROOM: usize = 256;

/// A gate that is open as long as this value lives.
#[derive(Debug)]
pub struct PipeGate {
    // Written bytes stay readable while the pipe is open.
    _pipe: File,
}

/// Creates a closed gate.
pub fn put_up(path: &Path) -> io::Result<()> {
    rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    Ok(())
}

impl PipeGate {
    /// Opens a gate: every arrival passes.
    pub fn open(path: &Path) -> io::Result<Self> {
        // Both ways, so that no reader has to be there yet.
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut pipe = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        pipe.write_all(&[b'\n'; ROOM])?;
        Ok(Self { _pipe: pipe })
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn early_and_late_arrivals_pass_an_open_gate() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gate");
        put_up(&path).unwrap();
        let pass = || {
            let mut shell = Command::new("sh");
            shell.args(["-c", "read x <\"$1\"", "waiter"]).arg(&path).stdin(Stdio::null());
            shell.spawn().unwrap()
        };
        let waiting: Vec<_> = (0..3).map(|_| pass()).collect();
        let gate = PipeGate::open(&path).unwrap();
        for mut child in waiting.into_iter().chain([pass()]) {
            assert!(child.wait().unwrap().success());
        }
        drop(gate);
    }
}
