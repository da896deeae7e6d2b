//! The processes that one scan has found.

use hashbrown::{HashMap, HashSet};
use offshoot_core::TaskId;

use super::MARK_VARIABLE;
use super::identity::Identity;
use super::inherited_mark::InheritedMark;
use super::roots::Roots;
use super::stat::Stat;

/// All processes at one moment, indexed by the properties that make them members of a task.
#[derive(Debug, Default)]
pub(crate) struct Census {
    all: HashMap<i32, Stat>,
    marked: HashMap<InheritedMark, Vec<i32>>,
    /// The processes in the cgroups of tasks.
    grouped: HashMap<InheritedMark, HashSet<i32>>,
    groups: HashMap<i32, Vec<i32>>,
    children: HashMap<i32, Vec<i32>>,
    /// This process and its ancestors, which are never ended.
    spared: HashSet<i32>,
    /// This process.
    own: i32,
    pub(crate) coverage: Coverage,
}

/// Whether a scan has found every process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// Processes may have been missed, so one that was not found may exist.
    #[default]
    Partial,
    /// A process that the scan has not found does not exist.
    Complete,
}

impl Census {
    /// Makes an empty census.
    pub(super) fn empty() -> Self {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        Self { own, ..Self::default() }
    }

    /// Excludes this process and its ancestors.
    pub(super) fn spare_own(&mut self) {
        self.spare(self.own);
    }

    pub(super) fn is_spared(&self, pid: i32) -> bool {
        pid == self.own || self.spared.contains(&pid)
    }

    /// Returns the process of a number, if the scan has found it.
    pub(super) fn identity_of(&self, pid: i32) -> Option<Identity> {
        self.all.get(&pid).map(Stat::identity)
    }

    /// Adds a process, or updates its state.
    pub(super) fn enter(&mut self, stat: Stat, mark: Option<InheritedMark>) {
        let pid = stat.pid;
        if let Some(mark) = mark {
            let marked = self.marked.entry(mark).or_default();
            if !marked.contains(&pid) {
                marked.push(pid);
            }
        }
        let known = self.all.insert(pid, stat);
        if known.is_some_and(|known| (known.parent, known.group) == (stat.parent, stat.group)) {
            return;
        }
        self.groups.entry(stat.group).or_default().push(pid);
        self.children.entry(stat.parent).or_default().push(pid);
    }

    /// Notes that an added process is in a cgroup of a task.
    pub(super) fn enter_in_cgroup(&mut self, pid: i32, of: InheritedMark) {
        self.grouped.entry(of).or_default().insert(pid);
    }

    /// Whether a process was found alive.
    pub(super) fn is_alive(&self, pid: i32) -> bool {
        self.all.get(&pid).is_some_and(Stat::is_alive)
    }

    fn spare(&mut self, mut pid: i32) {
        while self.spared.insert(pid) {
            match self.all.get(&pid) {
                Some(stat) => pid = stat.parent,
                None => break,
            }
        }
        self.spared.insert(1);
    }

    /// Returns the live members of a task.
    pub(crate) fn members(&self, of: &Roots) -> Vec<Identity> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut next: Vec<i32> = self.roots(of);
        while let Some(pid) = next.pop() {
            if self.spared.contains(&pid) || !seen.insert(pid) {
                continue;
            }
            next.extend(self.children.get(&pid).into_iter().flatten());
            found.extend(self.all.get(&pid).filter(|stat| stat.is_alive()).map(Stat::identity));
        }
        found
    }

    fn roots(&self, of: &Roots) -> Vec<i32> {
        let mark = InheritedMark::of(of.mark);
        let marked = self.marked.get(&mark).into_iter().flatten().copied();
        let mut roots: Vec<i32> = marked.filter(|pid| !self.is_anothers(*pid, of)).collect();
        roots.extend(self.grouped.get(&mark).into_iter().flatten());
        let Some(main) = of.main else { return roots };
        let led = self.all.get(&main.pid).is_some_and(|stat| stat.identity() == main);
        if led {
            roots.push(main.pid);
        }
        let who = |pid| self.all.get(&pid).copied();
        let group = self.groups.get(&main.pid).into_iter().flatten().copied();
        roots.extend(group.filter(|pid| {
            led || who(*pid).is_some_and(|stat| of.dead_holders.left_session(stat.session, who))
        }));
        roots
    }

    /// Whether a marked process descends from one that this process has started for another
    /// purpose, possibly at the same moment.
    pub(super) fn is_anothers(&self, mut pid: i32, of: &Roots) -> bool {
        // Reused numbers could form a loop.
        for _ in 0..self.all.len() {
            let Some(stat) = self.all.get(&pid) else { return false };
            if Some(stat.identity()) == of.main {
                return false;
            }
            // The first process adopts the children of all others.
            if stat.parent == self.own && self.own != 1 {
                return true;
            }
            pid = stat.parent;
        }
        false
    }

    /// Returns the group of a process, if it exists.
    pub(crate) fn group_of(&self, process: Identity) -> Option<i32> {
        let stat = self.all.get(&process.pid).filter(|stat| stat.identity() == process)?;
        Some(stat.group)
    }

    /// Whether a process is a child of another.
    pub(crate) fn is_child(&self, pid: i32, of: i32) -> bool {
        self.all.get(&pid).is_some_and(|stat| stat.parent == of)
    }

    /// Returns the processes in the sessions of dead holders that had them to themselves,
    /// without the holders.
    pub(crate) fn left_in_sessions(&self, dead_holders: &super::DeadHolders) -> Vec<Identity> {
        let who = |pid| self.all.get(&pid).copied();
        let left = self.all.values().filter(|stat| {
            stat.is_alive()
                && !self.spared.contains(&stat.pid)
                && dead_holders.left_sole_session(stat.session, who)
        });
        left.map(Stat::identity).collect()
    }
}

/// Returns the task that an environment names.
pub(super) fn mark_in(environment: &[u8]) -> Option<TaskId> {
    environment.split(|byte| *byte == 0).find_map(|variable| {
        let value = variable.strip_prefix(MARK_VARIABLE.as_bytes())?.strip_prefix(b"=")?;
        std::str::from_utf8(value).ok()?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use offshoot_core::Stamp;

    use super::*;

    fn stat(pid: i32, parent: i32, group: i32, session: i32) -> Stat {
        let line = format!(
            "{pid} (x) S {parent} {group} {session} 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {} 0",
            pid * 10
        );
        Stat::parse(pid, line.as_bytes()).unwrap()
    }

    fn id(random: u128) -> TaskId {
        TaskId::mint(Stamp::from_millis(1), random)
    }

    fn pids(mut members: Vec<Identity>) -> Vec<i32> {
        members.sort_by_key(|member| member.pid);
        members.into_iter().map(|member| member.pid).collect()
    }

    #[test]
    fn members_are_the_group_the_marked_and_their_descendants() {
        let mut census = Census::default();
        census.enter(stat(100, 50, 100, 50), Some(InheritedMark::of(id(1))));
        census.enter(stat(101, 100, 100, 50), None);
        census.enter(stat(102, 1, 102, 102), Some(InheritedMark::of(id(1))));
        census.enter(stat(103, 102, 103, 103), None);
        census.enter(stat(200, 50, 200, 50), Some(InheritedMark::of(id(2))));
        census.enter(stat(300, 1, 300, 300), None);
        let roots = Roots::ours(id(1), Identity { pid: 100, started: 1_000 }, None);
        assert_eq!(pids(census.members(&roots)), [100, 101, 102, 103]);
    }

    #[test]
    fn this_process_and_its_ancestors_are_no_members() {
        let mut census = Census::default();
        census.enter(stat(100, 1, 100, 100), Some(InheritedMark::of(id(1))));
        census.enter(stat(101, 100, 100, 100), Some(InheritedMark::of(id(1))));
        census.enter(stat(102, 101, 102, 100), None);
        census.enter(stat(103, 100, 100, 100), Some(InheritedMark::of(id(1))));
        census.spare(101);
        let roots = Roots::ours(id(1), Identity { pid: 100, started: 1_000 }, None);
        assert_eq!(pids(census.members(&roots)), [103], "nor what this process started");
    }

    #[test]
    fn a_number_used_again_is_a_stranger() {
        let mut census = Census::default();
        census.enter(stat(100, 1, 100, 100), None);
        census.enter(stat(101, 1, 100, 100), None);
        let before = Identity { pid: 100, started: 7 };
        let roots = Roots::ours(id(1), before, None);
        assert_eq!(census.members(&roots), []);
        let same = Identity { pid: 100, started: 1_000 };
        let roots = Roots::ours(id(1), same, None);
        assert_eq!(pids(census.members(&roots)), [100, 101]);
    }

    #[test]
    fn a_mark_is_read_wherever_it_stands() {
        let mark = format!("A=1\0{MARK_VARIABLE}={}\0B=2\0", id(3));
        assert_eq!(mark_in(mark.as_bytes()), Some(id(3)));
        assert_eq!(mark_in(format!("X{MARK_VARIABLE}={}\0", id(3)).as_bytes()), None);
        assert_eq!(mark_in(format!("{MARK_VARIABLE}=no\0").as_bytes()), None);
    }
}
