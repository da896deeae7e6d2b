//! One cgroup (version 2) for the processes of each command.
//!
//! A process and its children stay in its cgroup, even if it changes its environment, its limits,
//! its group or its parents. It leaves only if a process with that right writes its number into
//! another cgroup. The kernel kills all processes of a cgroup at once (`cgroup.kill`, since Linux
//! 5.14), and reports when it is empty.
//!
//! # No window
//! The process of a command is the [`Helper`] at first, which writes itself into the cgroup and
//! then becomes the program. So the program never runs outside. If the daemon moved the process
//! after its start, the program might have forked before.
//!
//! # Location
//! Each process that executes commands makes a directory below its own cgroup, named after itself,
//! and in it one for each task. Only commands are moved, and no controller is turned on,
//! so the rule against processes in inner cgroups does not apply. A user may do that where the
//! cgroup is delegated, as below a systemd user manager; a [trial](Cgroups::open) tells. Where it
//! fails, commands are known by their marks alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use offshoot_core::TaskId;
use offshoot_sandbox::Helper;
use rustix::io::Errno;

use super::identity::Identity;
use super::proc::Proc;

/// The prefix of the directory of a process that executes commands.
const PREFIX: &str = "offshoot-";

/// The counter that makes the directories of one process unique.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Lists the processes of a cgroup, and moves one into it.
const PROCESSES: &str = "cgroup.procs";

/// The largest depth of the cgroups that a command makes. Their paths are shorter than the
/// longest that the system accepts.
const DEEPEST: usize = 12;

/// The reason for which commands have no cgroups of their own.
#[derive(Debug, thiserror::Error)]
pub enum CgroupLack {
    /// This program does not use them.
    #[error("this program does not use them")]
    Off,
    /// No helper could enter one.
    #[error("this program was not told how to enter one")]
    Helper,
    /// The system has no cgroups.
    #[error("no cgroup file system of version 2 is mounted")]
    Absent,
    /// The cgroup of this process cannot be seen.
    #[error("the cgroup of this process is not in what is mounted")]
    Hidden,
    /// No cgroup can be made.
    #[error("none can be made in {directory:?}: {source}")]
    Denied {
        /// The cgroup of this process.
        directory: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// No cgroup can be entered.
    #[error("none can be entered below {directory:?}: {reason}")]
    Closed {
        /// The cgroup of this process.
        directory: PathBuf,
        /// The error of the system.
        reason: String,
    },
}

/// The cgroups of the commands that this process executes.
#[derive(Clone, Debug)]
pub(crate) struct Cgroups(Arc<Result<Tree, CgroupLack>>);

/// The directory in which this process makes cgroups.
#[derive(Debug)]
struct Tree {
    directory: PathBuf,
    helper: Helper,
}

/// The cgroup of one command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cgroup(Arc<Path>);

impl Cgroups {
    pub(crate) fn off() -> Self {
        Self(Arc::new(Err(CgroupLack::Off)))
    }

    /// Finds out whether commands can be started in cgroups, by starting a process in one.
    pub(crate) fn open(helper: Option<&Helper>) -> Self {
        Self(Arc::new(Tree::open(helper)))
    }

    /// Returns the directory of the cgroups, or the reason for which there are none.
    pub(crate) fn directory(&self) -> Result<&Path, &CgroupLack> {
        self.0.as_ref().as_ref().map(|tree| &*tree.directory)
    }

    /// Makes the cgroup of a task. The helper enters it.
    pub(crate) fn make(&self, task: TaskId) -> Option<(Cgroup, Helper)> {
        let tree = self.0.as_ref().as_ref().ok()?;
        let cgroup = Cgroup::of(&tree.directory, task);
        let made = fs::create_dir_all(&cgroup.0)
            .and_then(|()| fs::write(cgroup.0.join("cgroup.max.depth"), DEEPEST.to_string()));
        match made {
            Ok(()) => Some((cgroup.clone(), tree.helper.clone().in_cgroup(&*cgroup.0))),
            Err(error) => {
                tracing::warn!(%task, %error, "a command gets no cgroup; it is known by its marks");
                None
            }
        }
    }

    /// Removes the directory, if it is empty.
    pub(crate) fn remove(&self) {
        if let Ok(tree) = self.0.as_ref() {
            tree.remove();
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.remove();
    }
}

impl Tree {
    fn open(helper: Option<&Helper>) -> Result<Self, CgroupLack> {
        let own = own_directory()?;
        let helper = helper.ok_or(CgroupLack::Helper)?.clone();
        let Identity { pid, started } = Identity::own();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = own.join(format!("{PREFIX}{pid}-{started}-{number}"));
        // Records have text only.
        if directory.to_str().is_none() {
            return Err(CgroupLack::Hidden);
        }
        let tried = directory.join("trial");
        let denied = |source| CgroupLack::Denied { directory: own.clone(), source };
        fs::create_dir_all(&tried).map_err(denied)?;
        let entered = try_to_enter(&helper, &tried);
        remove(&tried, DEEPEST);
        match entered {
            Ok(()) => Ok(Self { directory, helper }),
            Err(reason) => {
                remove(&directory, DEEPEST);
                Err(CgroupLack::Closed { directory: own, reason })
            }
        }
    }

    fn remove(&self) {
        remove(&self.directory, DEEPEST);
    }
}

fn try_to_enter(helper: &Helper, directory: &Path) -> Result<(), String> {
    let mut trial = helper.clone().in_cgroup(directory).trial();
    trial.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let ended = trial.output().map_err(|error| error.to_string())?;
    match ended.status.success() {
        true => Ok(()),
        false => Err(crate::text::safe_text(ended.stderr.trim_ascii(), 200)),
    }
}

impl Cgroup {
    pub(super) fn of(directory: &Path, task: TaskId) -> Self {
        Self(directory.join(task.to_string()).into())
    }

    pub(super) fn exists(&self) -> bool {
        self.0.is_dir()
    }

    /// Removes it, if it is empty.
    pub(crate) fn remove(&self) {
        remove(&self.0, DEEPEST);
    }

    /// Removes it and, if it was the last one there, the directory of a dead process.
    pub(crate) fn remove_left(&self) {
        self.remove();
        self.0.parent().map(fs::remove_dir);
    }

    /// Returns the processes in it and in the cgroups below it.
    pub(super) fn members(&self, proc: &mut Proc) -> Result<Members, Errno> {
        let path = |file: &str| format!("{}/{file}", self.0.display());
        // This is one value of the whole subtree, unlike the lists.
        match proc.read(&path("cgroup.events"))? {
            Some(events) if populated(events) => {}
            _ => return Ok(Members::default()),
        }
        let mut members = Members { populated: true, pids: Vec::new() };
        let mut within = vec![(self.0.to_path_buf(), DEEPEST)];
        while let Some((directory, depth)) = within.pop() {
            let listed = proc.read(&directory.join(PROCESSES).to_string_lossy())?;
            let text = std::str::from_utf8(listed.unwrap_or_default()).unwrap_or_default();
            members.pids.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()));
            if let Some(depth) = depth.checked_sub(1) {
                let below = proc.subdirectories(&directory)?;
                within.extend(below.into_iter().map(|name| (directory.join(name), depth)));
            }
        }
        Ok(members)
    }

    /// Kills all its processes, including those being forked. Kernels before 5.14 cannot.
    pub(super) fn kill(&self, proc: &mut Proc) -> Result<(), Errno> {
        proc.write(&self.0.join("cgroup.kill").to_string_lossy(), b"1")
    }
}

/// The processes in a cgroup.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// Whether a live process is.
    pub(super) populated: bool,
    /// Their numbers; 0 for those that this process cannot see.
    pub(super) pids: Vec<i32>,
}

fn populated(events: &[u8]) -> bool {
    events.split(|byte| *byte == b'\n').any(|line| line == b"populated 1")
}

/// Removes a cgroup with those below it.
fn remove(directory: &Path, depth: usize) {
    let below = fs::read_dir(directory).into_iter().flatten().flatten();
    if depth > 0 {
        for entry in below.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            remove(&entry.path(), depth - 1);
        }
    }
    match fs::remove_dir(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::debug!(?directory, %error, "a cgroup was not removed");
        }
        _ => {}
    }
}

/// Kills the processes in the directory of a dead process and removes it, unless one of `spared` is
/// in it.
pub(super) fn clear(directory: &Path, spared: impl Fn(i32) -> bool) {
    let left = Cgroup(directory.into());
    let mut proc = Proc::default();
    let Ok(members) = left.members(&mut proc) else { return };
    if members.populated && !members.pids.into_iter().any(spared) {
        left.kill(&mut proc).ok();
    }
    left.remove();
}

/// Moves this process out of the cgroup of the command that started it, if it is in one.
pub(super) fn leave_command() {
    let Ok(own) = own_directory() else { return };
    let Some(outside) = outside_commands(&own) else { return };
    if let Err(error) = fs::write(outside.join(PROCESSES), "0") {
        tracing::warn!(?outside, %error, "the cgroup of a command cannot be left");
    }
}

/// Returns the parent of the outermost directory of a process that executes commands, among the
/// ancestors of this cgroup.
fn outside_commands(own: &Path) -> Option<&Path> {
    let made = |path: &&Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        let numbers = name.and_then(|name| name.strip_prefix(PREFIX)).unwrap_or_default();
        numbers.split('-').filter(|number| number.parse::<u64>().is_ok()).count() == 3
    };
    own.ancestors().filter(made).last()?.parent()
}

/// The directory of the cgroup of this process.
fn own_directory() -> Result<PathBuf, CgroupLack> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(|_| CgroupLack::Absent)?;
    let cgroups = fs::read_to_string("/proc/self/cgroup").map_err(|_| CgroupLack::Absent)?;
    let own = cgroups.lines().find_map(|line| line.strip_prefix("0::"));
    let own = own.ok_or(CgroupLack::Absent)?;
    let mut mounted = mounts.lines().filter_map(Mount::parse).peekable();
    mounted.peek().ok_or(CgroupLack::Absent)?;
    let pid = Identity::own().pid.to_string();
    let holds_own = |directory: &PathBuf| {
        fs::read_to_string(directory.join(PROCESSES))
            .is_ok_and(|listed| listed.lines().any(|line| line == pid))
    };
    // Behind a namespace the path alone can mislead.
    mounted.filter_map(|mount| mount.directory(own)).find(holds_own).ok_or(CgroupLack::Hidden)
}

/// A mount of the file system of cgroups.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    /// The cgroup that is mounted.
    root: String,
    at: PathBuf,
}

impl Mount {
    /// Reads a line of `mountinfo`, if it is one of version 2.
    fn parse(line: &str) -> Option<Self> {
        let (what, kind) = line.split_once(" - ")?;
        if kind.split(' ').next() != Some("cgroup2") {
            return None;
        }
        let mut fields = what.split(' ').skip(3);
        let (root, at) = (fields.next()?, fields.next()?);
        Some(Self { root: unescape(root), at: unescape(at).into() })
    }

    /// The directory of this cgroup below the mount.
    fn directory(&self, cgroup: &str) -> Option<PathBuf> {
        let below = Path::new(cgroup).strip_prefix(&self.root).ok()?;
        Some(self.at.join(below).components().collect())
    }
}

/// `mountinfo` writes white space and backslashes as octal numbers.
fn unescape(field: &str) -> String {
    let codes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    codes.iter().fold(field.to_owned(), |text, (code, means)| text.replace(code, means))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_is_found_where_version_2_is_mounted() {
        let hybrid = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";
        let mount = Mount::parse(hybrid).unwrap();
        assert_eq!(mount.directory("/"), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(mount.directory("/a/b"), Some("/sys/fs/cgroup/unified/a/b".into()));
        let part = "29 23 0:26 /a /mnt/a\\040b ro shared:4 - cgroup2 cgroup rw,nsdelegate";
        let mount = Mount::parse(part).unwrap();
        assert_eq!(mount.directory("/a/b"), Some("/mnt/a b/b".into()));
        assert_eq!(mount.directory("/c"), None);
        assert_eq!(Mount::parse("32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"), None);
    }

    #[test]
    fn what_leaves_a_command_goes_outside_of_the_outermost() {
        let outside = |own: &str| outside_commands(Path::new(own)).map(Path::to_path_buf);
        assert_eq!(outside("/a/offshoot-7-8-0/task"), Some("/a".into()));
        assert_eq!(outside("/a/offshoot-7-8-0/task/offshoot-9-1-0/other"), Some("/a".into()));
        assert_eq!(outside("/a/offshoot-daemon.service/b"), None);
    }

    #[test]
    fn a_cgroup_says_whether_anything_is_in_it() {
        assert!(populated(b"populated 1\nfrozen 0\n"));
        assert!(!populated(b"populated 0\nfrozen 1\n"));
    }
}
