//! The resource limits of this process and its children.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::limits::ResourceLimits;

/// The preference for killing a confined program when memory runs out: as if it used half
/// of the memory more.
const FIRST_TO_END: i32 = 500;

/// The processes of a namespace beside the program: the leader and process 1.
const OF_NAMESPACE: u64 = 2;

/// Sets the limits. The files of `/proc` must still be readable and writable.
pub(super) fn apply(limits: &ResourceLimits) -> io::Result<()> {
    prefer_to_end()?;
    set(Resource::Core, 0, 0)?;
    limit_processes(limits.most_processes())?;
    limit_memory(limits.most_memory())?;
    limit_files(limits)
}

/// Sets the limit on processes from the number of tasks on the system.
///
/// Linux counts the processes of a user, not those of a program. All tasks on the system
/// are an upper bound of the present processes of the user.
fn limit_processes(count: u64) -> io::Result<()> {
    let wanted = tasks_on_system()?.saturating_add(count);
    let most = getrlimit(Resource::Nproc).maximum.map_or(u64::MAX, |most| most - most / 4);
    set(Resource::Nproc, wanted.min(most), wanted.min(most))
}

/// Sets the exact limit on processes in a user namespace.
///
/// There Linux counts the processes of the namespace alone. The earlier limit still applies
/// to the user as a whole.
pub(super) fn within_user_namespace(limits: &ResourceLimits) -> io::Result<()> {
    let count = limits.most_processes().saturating_add(OF_NAMESPACE);
    set(Resource::Nproc, count, count)
}

fn limit_memory(bytes: Option<u64>) -> io::Result<()> {
    match bytes {
        Some(bytes) => set(Resource::Data, bytes, bytes),
        None => set(Resource::Data, memory_of_machine()?, u64::MAX),
    }
}

fn limit_files(limits: &ResourceLimits) -> io::Result<()> {
    let most = limits.most_open_files();
    let first = limits.first_open_files().or(getrlimit(Resource::Nofile).current);
    set(Resource::Nofile, first.unwrap_or(most).min(most), most)
}

/// Sets a limit, unless there is a lower one already.
fn set(resource: Resource, soft: u64, hard: u64) -> io::Result<()> {
    let before = getrlimit(resource);
    let hard = hard.min(before.maximum.unwrap_or(u64::MAX));
    let soft = soft.min(hard);
    let limit = |value| (value != u64::MAX).then_some(value);
    Ok(setrlimit(resource, Rlimit { current: limit(soft), maximum: limit(hard) })?)
}

fn prefer_to_end() -> io::Result<()> {
    const FILE: &str = "/proc/self/oom_score_adj";
    let now: i32 = std::fs::read_to_string(FILE)?.trim().parse().map_err(io::Error::other)?;
    match now < FIRST_TO_END {
        true => std::fs::write(FILE, FIRST_TO_END.to_string()),
        false => Ok(()),
    }
}

/// Returns the number of processes and threads on the system.
fn tasks_on_system() -> io::Result<u64> {
    let load = std::fs::read_to_string("/proc/loadavg")?;
    let tasks = load.split_ascii_whitespace().nth(3).and_then(|tasks| tasks.split_once('/'));
    let tasks = tasks.and_then(|(_, tasks)| tasks.parse().ok());
    tasks.ok_or_else(|| io::Error::other("/proc/loadavg names no number of tasks"))
}

fn memory_of_machine() -> io::Result<u64> {
    let memory = std::fs::read_to_string("/proc/meminfo")?;
    let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let total = total.and_then(|total| total.split_ascii_whitespace().next()?.parse::<u64>().ok());
    let total = total.ok_or_else(|| io::Error::other("/proc/meminfo names no MemTotal"))?;
    Ok(total << 10)
}
