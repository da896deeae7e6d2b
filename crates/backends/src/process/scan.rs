//! One scan of all processes that misses none.
//!
//! # Problem
//! A listing of `/proc` is no snapshot. A process that forks and exits between the moment it is
//! listed and the moment it is examined, or that is born behind the end of the listing, is missed
//! together with its child.
//!
//! # What makes a scan complete
//! A scan reads the kernel's [`PidCursor`] first, lists all processes twice, and then examines the
//! numbers given out meanwhile, oldest first, until no more are. A process that is alive then and
//! was not examined alive must have been invisible when its turn came: its parent was still in
//! the middle of `fork`, and so alive. The parent has an older number, so it was examined before,
//! and the same holds for it. The chain ends at a process older than the first reading; that one
//! was visible throughout one of the two listings. The second listing is for numbers that start
//! over: a child may have a lower number than its parent.
//!
//! # Processes that keep forking
//! A process on the [`KillList`] is stopped as soon as it is found, and all of them are killed once
//! the scan is complete. If they were killed one by one, each would make room under the limit of
//! processes for a new child of the others.
//!
//! # Cgroups
//! The cgroup of a command is read last, so its content at the end of the scan is known. The kernel
//! reports whether a cgroup is empty, and kills all its processes at once.

use std::os::fd::OwnedFd;

use hashbrown::{HashMap, HashSet};
use rustix::io::Errno;
use rustix::process::Signal;

use super::census::{Census, Coverage, mark_in};
use super::cgroup::Cgroup;
use super::identity::Identity;
use super::inherited_mark::InheritedMark;
use super::pid_cursor::{PidCursor, RecentPids};
use super::proc::{Proc, is_shortage};
use super::roots::Roots;
use super::stat::Stat;

/// The largest number of process numbers that a scan examines after its listings.
///
/// A scan serves many commands, and one of them must not delay the others.
const MOST: usize = 32_768;

/// The most ancestors of a process that are searched.
const ABOVE: usize = 64;

/// The commands whose processes a scan kills.
#[derive(Clone, Debug, Default)]
struct KillList {
    by_mark: HashMap<InheritedMark, Roots>,
    by_main: HashMap<i32, InheritedMark>,
}

impl KillList {
    fn add(&mut self, roots: &Roots) {
        let mark = InheritedMark::of(roots.mark);
        self.by_main.extend(roots.main.map(|main| (main.pid, mark)));
        self.by_mark.insert(mark, roots.clone());
    }

    fn is_empty(&self) -> bool {
        self.by_mark.is_empty()
    }
}

/// The purpose of a scan.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScanRequest {
    /// Marks are read of processes that started no earlier.
    pub(crate) since: u64,
    /// Processes that are not examined.
    pub(crate) passed_over: HashSet<i32>,
    /// The cgroups whose processes are members in any case.
    cgroups: HashMap<Cgroup, InheritedMark>,
    kill: KillList,
}

impl ScanRequest {
    /// For the marks of processes that started no earlier.
    pub(crate) fn since(since: u64) -> Self {
        Self { since, ..Self::default() }
    }

    /// Has the members of a command found in its cgroups, too.
    pub(crate) fn enter_cgroups(&mut self, roots: &Roots) {
        let mark = InheritedMark::of(roots.mark);
        self.cgroups.extend(roots.cgroups.iter().map(|cgroup| (cgroup.clone(), mark)));
    }

    /// Has the members of a command killed.
    pub(crate) fn kill(&mut self, roots: &Roots) {
        self.enter_cgroups(roots);
        self.kill.add(roots);
    }
}

/// A scan under way.
struct Scan<'a> {
    request: &'a ScanRequest,
    proc: &'a mut Proc,
    census: Census,
    /// Members of commands on the kill list.
    stopped: HashSet<i32>,
}

/// Examines every process except the skipped ones. Blocks for as long as the system takes.
pub(super) fn take(request: &ScanRequest, proc: &mut Proc) -> Census {
    let mut look = Scan { request, proc, census: Census::empty(), stopped: HashSet::new() };
    look.census.coverage = match look.examine_all_and_cgroups() {
        Ok(coverage) => coverage,
        // A system without `/proc` has no process that could be found.
        Err(Errno::NOENT) => Coverage::Complete,
        Err(_) => Coverage::Partial,
    };
    look.census.spare_own();
    if look.census.coverage == Coverage::Complete {
        look.kill();
    }
    look.census
}

impl Scan<'_> {
    fn examine_all_and_cgroups(&mut self) -> Result<Coverage, Errno> {
        self.kill_cgroups()?;
        let mut coverage = self.examine_all()?;
        for (cgroup, mark) in &self.request.cgroups {
            if self.examine_cgroup(cgroup, *mark)? == Coverage::Partial {
                coverage = Coverage::Partial;
            }
        }
        Ok(coverage)
    }

    /// Kills all processes in the cgroups of commands on the kill list.
    ///
    /// Processes in a cgroup with this process or one of its ancestors are killed one by one.
    fn kill_cgroups(&mut self) -> Result<(), Errno> {
        let mut above = None;
        for cgroup in self.request.kill.by_mark.values().flat_map(|roots| &roots.cgroups) {
            let members = cgroup.members(self.proc)?;
            if !members.populated {
                continue;
            }
            let above = match &above {
                Some(above) => above,
                None => above.insert(self.above()?),
            };
            if !members.pids.iter().any(|pid| above.contains(pid)) {
                cgroup.kill(self.proc)?;
            }
        }
        Ok(())
    }

    /// Returns this process and its ancestors.
    fn above(&mut self) -> Result<HashSet<i32>, Errno> {
        let (mut above, mut next) = (HashSet::new(), Identity::own().pid);
        while above.insert(next) {
            next = self.stat(next)?.map_or(0, |stat| stat.parent);
        }
        Ok(above)
    }

    /// Adds the processes of a cgroup.
    ///
    /// The list of a cgroup whose processes fork and end may miss all of them.
    fn examine_cgroup(&mut self, cgroup: &Cgroup, mark: InheritedMark) -> Result<Coverage, Errno> {
        let members = cgroup.members(self.proc)?;
        let mut met = !members.populated;
        for pid in members.pids {
            // A process of another namespace, which was moved there from outside.
            if pid == 0 {
                met = true;
                continue;
            }
            self.examine(pid)?;
            self.census.enter_in_cgroup(pid, mark);
            met |= self.census.is_alive(pid);
        }
        Ok(if met { Coverage::Complete } else { Coverage::Partial })
    }

    fn examine_all(&mut self) -> Result<Coverage, Errno> {
        let mut cursor = self.cursor()?;
        let mut listed = HashSet::new();
        for _ in 0..2 {
            for pid in self.proc.list()? {
                if listed.insert(pid) && !self.request.passed_over.contains(&pid) {
                    self.examine(pid)?;
                }
            }
        }
        if cursor.is_none() {
            // The kernel does not report new processes, so the listing is repeated until it is empty.
            return self.list_until_nothing_is_new(listed);
        }
        let mut left = MOST;
        loop {
            let now = self.cursor()?;
            let (Some(earlier), Some(later)) = (cursor, now) else {
                return Ok(Coverage::Partial);
            };
            let RecentPids::These(new) = later.since(earlier, self.highest()?) else {
                return Ok(Coverage::Partial);
            };
            if new.is_empty() {
                return Ok(Coverage::Complete);
            }
            let Some(rest) = left.checked_sub(new.len()) else { return Ok(Coverage::Partial) };
            left = rest;
            for pid in new {
                self.examine_new(pid)?;
            }
            cursor = now;
        }
    }

    fn list_until_nothing_is_new(&mut self, mut listed: HashSet<i32>) -> Result<Coverage, Errno> {
        for _ in 0..ABOVE {
            let new: Vec<i32> =
                self.proc.list()?.into_iter().filter(|pid| listed.insert(*pid)).collect();
            if new.is_empty() {
                return Ok(Coverage::Complete);
            }
            for pid in new {
                self.examine(pid)?;
            }
        }
        Ok(Coverage::Partial)
    }

    fn cursor(&mut self) -> Result<Option<PidCursor>, Errno> {
        Ok(self.proc.read("/proc/loadavg")?.and_then(PidCursor::parse))
    }

    /// Above the highest number that the kernel gives.
    fn highest(&mut self) -> Result<i32, Errno> {
        let text = self.proc.read("/proc/sys/kernel/pid_max")?.unwrap_or_default();
        let number = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok());
        Ok(number.unwrap_or(i32::MAX))
    }

    /// Examines the process with a number.
    ///
    /// Threads also have numbers; each belongs to a process that is examined itself.
    fn examine_new(&mut self, pid: i32) -> Result<(), Errno> {
        match hold(self.proc, pid) {
            Ok(_) | Err(Errno::NOSYS) => self.examine(pid),
            Err(error) if is_shortage(error) => Err(error),
            Err(_) => Ok(()),
        }
    }

    fn examine(&mut self, pid: i32) -> Result<(), Errno> {
        let Some(stat) = self.stat(pid)? else { return Ok(()) };
        let mark = match stat.started >= self.request.since {
            true => self.mark(pid)?,
            false => None,
        };
        self.census.enter(stat, mark);
        if !self.request.kill.is_empty() && stat.is_alive() && self.is_to_be_killed(stat, mark)? {
            self.stopped.insert(pid);
            self.send(stat.identity(), Signal::STOP)?;
        }
        Ok(())
    }

    fn stat(&mut self, pid: i32) -> Result<Option<Stat>, Errno> {
        let line = self.proc.read(&format!("/proc/{pid}/stat"))?;
        Ok(line.and_then(|line| Stat::parse(pid, line)))
    }

    /// Returns the mark of a process, or the task that its environment names if it could not be
    /// marked.
    fn mark(&mut self, pid: i32) -> Result<Option<InheritedMark>, Errno> {
        let limits = self.proc.read(&format!("/proc/{pid}/limits"))?.unwrap_or_default();
        if let Some(mark) = std::str::from_utf8(limits).ok().and_then(InheritedMark::in_limits) {
            return Ok(Some(mark));
        }
        let environment = self.proc.read(&format!("/proc/{pid}/environ"))?.unwrap_or_default();
        Ok(mark_in(environment).map(InheritedMark::of))
    }

    /// Whether a process is recognized at once as a member of a command on the kill list.
    ///
    /// Members that are recognized later are killed with the others.
    fn is_to_be_killed(&mut self, stat: Stat, mark: Option<InheritedMark>) -> Result<bool, Errno> {
        if self.stopped.contains(&stat.parent) {
            return Ok(true);
        }
        let list = &self.request.kill;
        let group = list.by_main.get(&stat.group).copied();
        let Some(roots) = mark.or(group).and_then(|mark| list.by_mark.get(&mark)) else {
            return Ok(false);
        };
        let in_group = roots.main.is_some_and(|main| {
            main.pid == stat.group && self.census.identity_of(main.pid) == Some(main)
        });
        if mark != Some(InheritedMark::of(roots.mark)) && !in_group {
            return Ok(false);
        }
        self.enter_ancestors(stat)?;
        Ok(!self.census.is_spared(stat.pid) && !self.census.is_anothers(stat.pid, roots))
    }

    /// Adds the ancestors of a process that were not found yet.
    fn enter_ancestors(&mut self, mut stat: Stat) -> Result<(), Errno> {
        for _ in 0..ABOVE {
            if stat.parent <= 1 || self.census.identity_of(stat.parent).is_some() {
                break;
            }
            let Some(parent) = self.stat(stat.parent)? else { break };
            self.census.enter(parent, None);
            stat = parent;
        }
        Ok(())
    }

    /// Kills all members of the commands on the kill list.
    fn kill(&mut self) {
        for roots in self.request.kill.by_mark.values() {
            for member in self.census.members(roots) {
                if self.send(member, Signal::KILL).is_err() {
                    self.census.coverage = Coverage::Partial;
                }
            }
        }
    }

    /// Sends a signal to exactly this process.
    ///
    /// A process that has ended, or that we may not signal, gets none. After an error it may
    /// get the signal later.
    fn send(&mut self, to: Identity, signal: Signal) -> Result<(), Errno> {
        let held = match hold(self.proc, to.pid) {
            Ok(held) => held,
            Err(error) if is_shortage(error) => return Err(error),
            Err(_) => return Ok(()),
        };
        if self.stat(to.pid)?.is_some_and(|stat| stat.identity() == to && stat.is_alive()) {
            // It ends by itself, or runs with the rights of another user.
            signal_held(&held, signal).ok();
        }
        Ok(())
    }
}

/// A descriptor of the process of this number.
#[cfg(target_os = "linux")]
fn hold(proc: &mut Proc, pid: i32) -> Result<OwnedFd, Errno> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    let pid = Pid::from_raw(pid).ok_or(Errno::SRCH)?;
    proc.opening(|| pidfd_open(pid, PidfdFlags::empty()))
}

/// Other systems have no process descriptors.
#[cfg(not(target_os = "linux"))]
fn hold(_proc: &mut Proc, _pid: i32) -> Result<OwnedFd, Errno> {
    Err(Errno::SRCH)
}

#[cfg(target_os = "linux")]
use rustix::process::pidfd_send_signal as signal_held;

#[cfg(not(target_os = "linux"))]
fn signal_held(_held: &OwnedFd, _signal: Signal) -> Result<(), Errno> {
    Err(Errno::SRCH)
}
