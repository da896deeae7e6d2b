//! The processes of this machine that concern the harness.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal};

/// The environment variable that identifies the processes of a task.
pub const MARK: &str = "OFFSHOOT_TASK";

/// A process at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The process id.
    pub pid: i32,
    /// A description for people.
    pub line: String,
    /// The task whose mark the process carries.
    pub mark: Option<String>,
    /// Whether its command line names the directory.
    pub ours: bool,
}

/// All processes that carry a mark, or whose command line names something in `folder`. The list
/// leaves out this process and processes that have ended and are not reaped.
pub fn concerning(folder: &Path) -> io::Result<Vec<Process>> {
    let ours = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let Ok(pid) = name.parse() else { continue };
        // A process that ends meanwhile is left out.
        let Ok(line) = std::fs::read(entry.path().join("cmdline")) else { continue };
        if name == ours || line.is_empty() {
            continue;
        }
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        let mark = mark_in(&environment);
        let ours = contains(&line, folder.as_os_str().as_bytes());
        if mark.is_some() || ours {
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            found.push(Process { pid, line, mark, ours });
        }
    }
    Ok(found)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len().max(1)).any(|window| window == part)
}

fn mark_in(environment: &[u8]) -> Option<String> {
    environment.split(|byte| *byte == 0).find_map(|variable| {
        let value = variable.strip_prefix(MARK.as_bytes())?.strip_prefix(b"=")?;
        Some(String::from_utf8_lossy(value).into_owned())
    })
}

/// The processes of this program that lead a session of their own and have no terminal: its
/// daemons, ready or not. The children of a daemon are left out, even before they execute
/// another program.
pub fn daemons(program: &Path) -> io::Result<Vec<i32>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if runs(pid, program) && session_of(pid) == Some(pid) {
            found.push(pid);
        }
    }
    Ok(found)
}

/// Whether this process runs this program.
pub fn runs(pid: i32, program: &Path) -> bool {
    std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| without_note(exe) == program)
}

/// The path without the suffix that the system appends once the file is gone.
fn without_note(exe: PathBuf) -> PathBuf {
    let bytes = exe.into_os_string().into_vec();
    let path = bytes.strip_suffix(b" (deleted)").unwrap_or(&bytes).to_vec();
    OsString::from_vec(path).into()
}

fn session_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain any character; the last bracket closes it.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(3)?.parse().ok()
}

/// Sends a signal. Returns whether the process existed.
pub fn signal(pid: i32, signal: Signal) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| rustix::process::kill_process(pid, signal).is_ok())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_found_by_its_mark_and_by_its_command_line() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        crate::shell::gate::put_up(&pipe).unwrap();
        let start = |arg: &Path, mark: Option<&str>| {
            let mut shell = Command::new("sh");
            shell.args(["-c", "echo up; read x <\"$1\"", "shell"]).arg(arg).process_group(0);
            shell.env_remove(MARK).current_dir(folder.path()).stdout(Stdio::piped());
            shell.envs(mark.map(|mark| (MARK, mark)));
            let mut child = shell.spawn().unwrap();
            // Until then the process may not have executed the shell yet.
            child.stdout.as_mut().unwrap().read_exact(&mut [0; 3]).unwrap();
            child
        };
        let mut children = [start(&pipe, None), start(Path::new("pipe"), Some("some-task"))];
        let found = concerning(folder.path()).unwrap();
        let mark = |at: usize| {
            let pid = children[at].id() as i32;
            let process = found.iter().find(|process| process.pid == pid);
            process.map(|process| process.mark.clone())
        };
        assert_eq!(mark(0), Some(None));
        assert_eq!(mark(1), Some(Some("some-task".into())));
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
