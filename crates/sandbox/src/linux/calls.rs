//! The filter of system calls, for operations without a path that a file rule could match.
//!
//! Programs of another architecture, such as 32-bit ones, are killed at their first call,
//! because their call numbers differ.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

use super::ConfineError;

/// Calls and when they are refused; without a rule, always.
type Refused = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that are always refused.
const NEVER: &[i64] = &[
    // Reads and writes files without passing these filters.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Other processes, their memory and their files.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    // Keys of the user in the kernel.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Interfaces of the kernel that few programs need and many exploits use.
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    // The mounts of the file system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    // Access to files by handle instead of path.
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // The machine.
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
];

/// Calls with arguments in memory, which a filter cannot read. Programs fall back on older
/// calls.
const ABSENT: &[i64] = &[libc::SYS_openat2, libc::SYS_clone3];

/// Memory, queues and semaphores that processes share by number or name.
///
/// They have no path, so no file rule can limit them.
const SHARED: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Calls that change how a process is scheduled or where its memory is. The first
/// argument is the process, and zero is the caller.
const OF_PROCESS: &[i64] = &[
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];

/// Calls that set a priority, with the first argument for which zero in the second is the
/// caller.
const PRIORITIES: [(i64, i32); 2] = [
    (libc::SYS_setpriority, libc::PRIO_PROCESS as i32),
    // `IOPRIO_WHO_PROCESS`.
    (libc::SYS_ioprio_set, 1),
];

/// Calls that set extended attributes, including access lists.
///
/// Landlock has no rule for them. Programs copy files without attributes if there are none.
const UNSUPPORTED: &[i64] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
];

// Newer than the C library.
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const FILE_SETATTR: i64 = 469;

/// Set flags of a file that is open for reading: `FS_IOC_SETFLAGS`,
/// `FS_IOC32_SETFLAGS`, `FS_IOC_FSSETXATTR`, `FS_IOC_SETVERSION`,
/// `FS_IOC32_SETVERSION`, `FS_IOC_SET_ENCRYPTION_POLICY`, `FS_IOC_ENABLE_VERITY`.
const FILE_FLAGS: [u64; 7] =
    [0x4008_6602, 0x4004_6602, 0x401c_5820, 0x4008_7602, 0x4004_7602, 0x800c_6613, 0x4080_6685];

/// Requests of Btrfs with a name: they create and remove subvolumes, which no file rule
/// covers.
const BTRFS_BY_NAME: (u64, u64) = (0xffff_ff00, 0x5000_9400);

/// Changes the attributes of a mount while it copies it.
const OPEN_TREE_ATTR: i64 = 467;

/// The C library defines it on some processors only.
const FCHMODAT2: i64 = 452;

/// An unnamed file in a directory, which can get a name later.
const UNNAMED_FILE: u64 = 0o20_000_000;

/// Requests that insert text into the input of a terminal: `TIOCSTI`, `TIOCLINUX`.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541c];

/// The limit on real-time computation, which marks a task's processes.
const MARKED_LIMIT: u64 = 15;

/// The setuid and setgid bits of a mode.
const LENDING: [u64; 2] = [libc::S_ISUID as u64, libc::S_ISGID as u64];

/// Whether filters support this processor.
pub(super) fn known_processor() -> bool {
    TargetArch::try_from(std::env::consts::ARCH).is_ok()
}

/// Whether this kernel has filters.
pub(super) fn supported() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.starts_with("Seccomp_filters:"))
        || std::path::Path::new("/proc/sys/kernel/seccomp/actions_avail").exists()
}

/// Installs the filter.
pub(super) fn refuse() -> Result<(), ConfineError> {
    let failed = |error: &dyn std::fmt::Display| ConfineError::Calls(error.to_string());
    let always = |calls: &[i64]| calls.iter().map(|call| (*call, Vec::new())).collect();
    let refused = refused().map_err(|error| failed(&error))?;
    let filters = [
        (refused, libc::EPERM),
        (always(ABSENT), libc::ENOSYS),
        (always(UNSUPPORTED), libc::ENOTSUP),
    ];
    for (calls, errno) in filters {
        let program = program(calls, errno).map_err(|error| failed(&error))?;
        seccompiler::apply_filter(&program).map_err(|error| failed(&error))?;
    }
    Ok(())
}

fn program(calls: Refused, errno: i32) -> Result<BpfProgram, BackendError> {
    let errno = SeccompAction::Errno(errno.unsigned_abs());
    let processor = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(under_all_numbers(calls), SeccompAction::Allow, errno, processor)?.try_into()
}

fn refused() -> Result<Refused, BackendError> {
    let mut calls: Refused = NEVER.iter().chain(SHARED).map(|call| (*call, Vec::new())).collect();
    calls.insert(OPEN_TREE_ATTR, Vec::new());
    calls.insert(
        libc::SYS_socket,
        vec![rule([
            // Only internet sockets, and kernel queries about them.
            is_not(0, libc::AF_INET),
            is_not(0, libc::AF_INET6),
            is_not(0, libc::AF_NETLINK),
        ])?],
    );
    // An end of such a pair could be sent to any socket.
    let loose = [libc::SOCK_DGRAM, libc::SOCK_RAW];
    let loose = loose.map(|kind| rule([masked(1, (0xf, u64::from(kind.unsigned_abs())))]));
    calls.insert(libc::SYS_socketpair, loose.into_iter().collect::<Result<_, _>>()?);
    let requests = TERMINAL_INPUT.iter().chain(&FILE_FLAGS).map(|request| rule([is(1, *request)]));
    let requests = requests.chain([rule([masked(1, BTRFS_BY_NAME)])]);
    calls.insert(libc::SYS_ioctl, requests.collect::<Result<_, _>>()?);
    for call in OF_PROCESS {
        calls.insert(*call, vec![rule([is_not(0, 0)])?]);
    }
    for (call, process) in PRIORITIES {
        calls.insert(call, vec![rule([is_not(0, process)])?, rule([is_not(1, 0)])?]);
    }
    // A program may not set the limits of others.
    let sets = || SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0);
    calls.insert(libc::SYS_setrlimit, vec![rule([is(0, MARKED_LIMIT)])?]);
    calls.insert(
        libc::SYS_prlimit64,
        vec![rule([is(1, MARKED_LIMIT), sets()])?, rule([is_not(0, 0), sets()])?],
    );
    // Root in its own namespace reaches more code of the kernel.
    let own_users = u64::from(libc::CLONE_NEWUSER.unsigned_abs());
    for call in [libc::SYS_clone, libc::SYS_unshare] {
        calls.insert(call, vec![rule([masked(0, (own_users, own_users))])?]);
    }
    for (call, mode) in MODES {
        calls.insert(*call, lending(*mode, None)?);
    }
    for (call, flags) in OPENING {
        let mut rules = Vec::new();
        for making in [u64::from(libc::O_CREAT.unsigned_abs()), UNNAMED_FILE] {
            rules.extend(lending(flags + 1, Some(masked(*flags, (making, making))?))?);
        }
        calls.insert(*call, rules);
    }
    Ok(calls)
}

/// Calls that set a mode, with the index of that argument.
const MODES: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    (libc::SYS_mknodat, 2),
];

/// Calls that open a file, with the index of the flags. The mode is the next argument, and
/// is used only if a file is created.
const OPENING: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
    (libc::SYS_openat, 2),
];

/// Refuses modes with the setuid or setgid bit.
fn lending(mode: u8, only: Option<SeccompCondition>) -> Result<Vec<SeccompRule>, BackendError> {
    let rules = LENDING.iter().map(|bit| {
        let mut conditions = vec![masked(mode, (*bit, *bit))?];
        conditions.extend(only.clone());
        SeccompRule::new(conditions)
    });
    rules.collect()
}

type Condition = Result<SeccompCondition, BackendError>;

fn rule<const N: usize>(conditions: [Condition; N]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into_iter().collect::<Result<_, _>>()?)
}

/// The kernel uses only the lower half of these arguments.
fn is(argument: u8, value: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: i32) -> Condition {
    let value = u64::from(value.unsigned_abs());
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

/// Whether these bits of an argument have this value.
fn masked(argument: u8, (mask, value): (u64, u64)) -> Condition {
    let masked = SeccompCmpOp::MaskedEq(mask);
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, masked, value)
}

/// Each call has a second number, and some a third, for programs with short
/// pointers on this processor.
#[cfg(target_arch = "x86_64")]
fn under_all_numbers(calls: Refused) -> Refused {
    const SHORT: i64 = 0x4000_0000;
    const OTHERS: [(i64, i64); 5] = [
        (libc::SYS_ioctl, 514),
        (libc::SYS_ptrace, 521),
        (libc::SYS_kexec_load, 528),
        (libc::SYS_process_vm_readv, 539),
        (libc::SYS_process_vm_writev, 540),
    ];
    let others = OTHERS.iter().filter_map(|(call, other)| Some((*other, calls.get(call)?.clone())));
    let mut all = calls.clone();
    all.extend(others);
    let short: Vec<_> = all.iter().map(|(call, rules)| (call | SHORT, rules.clone())).collect();
    all.extend(short);
    all
}

#[cfg(not(target_arch = "x86_64"))]
fn under_all_numbers(calls: Refused) -> Refused {
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_are_programs_that_the_kernel_takes() {
        let length = program(refused().unwrap(), libc::EPERM).unwrap().len();
        assert!((100..4096).contains(&length), "{length}");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_call_is_refused_by_each_of_its_numbers() {
        let all = under_all_numbers(refused().unwrap());
        for number in [libc::SYS_ptrace, 521, libc::SYS_ptrace | 0x4000_0000, 521 | 0x4000_0000] {
            assert!(all[&number].is_empty(), "{number} whatever it is asked for");
        }
        assert_eq!(all[&libc::SYS_ioctl], all[&(514 | 0x4000_0000)]);
    }
}
