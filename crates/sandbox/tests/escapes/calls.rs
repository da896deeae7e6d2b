//! System calls, tried by their numbers.

use crate::support::{said, workspaces};

/// Makes each call and prints the number of its error.
const CALLER: &str = "import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
for call in sys.argv[1].split(';'):
    ctypes.set_errno(0)
    numbers = [ctypes.c_long(int(number, 0)) for number in call.split(',')]
    done = libc.syscall(*numbers)
    print(ctypes.get_errno() if done == -1 else 0)";

/// Calls that work unconfined, or fail there for another reason than a refusal: their
/// arguments make no sense.
const TRIED: &[(&str, i64, &str)] = &[
    ("io_uring_setup", libc::SYS_io_uring_setup, "1,0"),
    ("io_uring_enter", libc::SYS_io_uring_enter, "-1,0,0,0,0"),
    ("io_uring_register", libc::SYS_io_uring_register, "-1,0,0,0"),
    ("ptrace", libc::SYS_ptrace, "16,0x7fffffff,0,0"),
    ("process_vm_readv", libc::SYS_process_vm_readv, "0x7fffffff,0,0,0,0,0"),
    ("process_vm_writev", libc::SYS_process_vm_writev, "0x7fffffff,0,0,0,0,0"),
    ("pidfd_getfd", libc::SYS_pidfd_getfd, "-1,0,0"),
    ("keyctl", libc::SYS_keyctl, "0,-3,0"),
    ("add_key", libc::SYS_add_key, "0,0,0,0,-3"),
    ("request_key", libc::SYS_request_key, "0,0,0,0"),
    ("perf_event_open", libc::SYS_perf_event_open, "0,0,-1,-1,0"),
    ("setns", libc::SYS_setns, "-1,0"),
    ("ioctl TIOCSTI", libc::SYS_ioctl, "-1,0x5412,0"),
    ("ioctl TIOCSTI, with more above", libc::SYS_ioctl, "-1,0x100005412,0"),
    ("ioctl TIOCLINUX", libc::SYS_ioctl, "-1,0x541c,0"),
    ("socket AF_UNIX", libc::SYS_socket, "1,1,0"),
    ("socket AF_UNIX, with more above", libc::SYS_socket, "0x100000001,1,0"),
    ("socket AF_VSOCK", libc::SYS_socket, "40,1,0"),
    ("socket AF_ALG", libc::SYS_socket, "38,5,0"),
    ("socketpair of datagrams", libc::SYS_socketpair, "1,2,0,0"),
    ("socketpair, not inherited", libc::SYS_socketpair, "1,0x80002,0,0"),
    ("setrlimit RTTIME", libc::SYS_setrlimit, "15,0"),
    ("prlimit64 RTTIME", libc::SYS_prlimit64, "0,15,1,0"),
    ("mq_open", libc::SYS_mq_open, "0,0,0,0"),
    ("shmget", libc::SYS_shmget, "0x7fffffff,1,0"),
    ("shmat", libc::SYS_shmat, "-1,0,0"),
    ("shmctl", libc::SYS_shmctl, "-1,2,0"),
    ("msgget", libc::SYS_msgget, "0x7fffffff,0"),
    ("msgsnd", libc::SYS_msgsnd, "-1,0,0,0"),
    ("msgrcv", libc::SYS_msgrcv, "-1,0,0,0,0"),
    ("msgctl", libc::SYS_msgctl, "-1,2,0"),
    ("semget", libc::SYS_semget, "0x7fffffff,0,0"),
    ("semop", libc::SYS_semop, "-1,0,0"),
    ("semtimedop", libc::SYS_semtimedop, "-1,0,0,0"),
    ("semctl", libc::SYS_semctl, "-1,0,2,0"),
    ("setpriority of another", libc::SYS_setpriority, "0,0x7fffffff,0"),
    ("setpriority of a group", libc::SYS_setpriority, "1,0x7fffffff,0"),
    ("setpriority of a user", libc::SYS_setpriority, "2,0x7fffffff,0"),
    ("ioprio_set of another", libc::SYS_ioprio_set, "1,0x7fffffff,0"),
    ("ioprio_set of a group", libc::SYS_ioprio_set, "2,0x7fffffff,0"),
    ("sched_setaffinity of another", libc::SYS_sched_setaffinity, "0x7fffffff,0,0"),
    ("sched_setscheduler of another", libc::SYS_sched_setscheduler, "0x7fffffff,0,0"),
    ("sched_setparam of another", libc::SYS_sched_setparam, "0x7fffffff,0"),
    ("sched_setattr of another", libc::SYS_sched_setattr, "0x7fffffff,0,0"),
    ("migrate_pages of another", libc::SYS_migrate_pages, "0x7fffffff,0,0,0"),
    ("move_pages of another", libc::SYS_move_pages, "0x7fffffff,0,0,0,0,0"),
    ("ioctl FS_IOC_SETFLAGS", libc::SYS_ioctl, "-1,0x40086602,0"),
    ("ioctl FS_IOC_FSSETXATTR", libc::SYS_ioctl, "-1,0x401c5820,0"),
    ("ioctl BTRFS_IOC_SUBVOL_CREATE", libc::SYS_ioctl, "-1,0x5000940e,0"),
    ("fchmod to lend", libc::SYS_fchmod, "-1,0o4755"),
    ("fchmod to lend to a group", libc::SYS_fchmod, "-1,0o2755"),
    ("fchmodat to lend", libc::SYS_fchmodat, "-1,0,0o4755"),
    ("fchmodat2 to lend", 452, "-1,0,0o4755,0"),
    ("openat to make one that lends", libc::SYS_openat, "-1,0,0o101,0o4755"),
    ("openat, unnamed", libc::SYS_openat, "-1,0,0o20200001,0o2755"),
    ("mknodat to lend", libc::SYS_mknodat, "-1,0,0o104755,0"),
];

/// The same for calls that only root may make.
const TRIED_BY_ROOT: &[(&str, i64, &str)] = &[
    ("bpf", libc::SYS_bpf, "0,0,0"),
    ("userfaultfd", libc::SYS_userfaultfd, "0"),
    ("mount", libc::SYS_mount, "0,0,0,0,0"),
    ("umount2", libc::SYS_umount2, "0,0"),
    ("pivot_root", libc::SYS_pivot_root, "0,0"),
    ("chroot", libc::SYS_chroot, "0"),
    ("move_mount", libc::SYS_move_mount, "-1,0,-1,0,0"),
    ("open_tree", libc::SYS_open_tree, "-1,0,0"),
    ("fsopen", libc::SYS_fsopen, "0,0"),
    ("fsmount", libc::SYS_fsmount, "-1,0,0"),
    ("mount_setattr", libc::SYS_mount_setattr, "-1,0,0,0,0"),
    ("open_by_handle_at", libc::SYS_open_by_handle_at, "-1,0,0"),
    ("fanotify_init", libc::SYS_fanotify_init, "-1,0"),
    ("socket AF_PACKET", libc::SYS_socket, "17,3,0"),
    ("swapon", libc::SYS_swapon, "0,0"),
    ("init_module", libc::SYS_init_module, "0,0,0"),
];

/// Calls that seem missing rather than refused, so that programs do without.
const ABSENT: &[(&str, i64, &str)] =
    &[("openat2", libc::SYS_openat2, "-1,0,0,0"), ("clone3", libc::SYS_clone3, "0,0")];

/// Calls that fail as on a file system without extended attributes, so that programs copy
/// files without them.
const UNSUPPORTED: &[(&str, i64, &str)] = &[
    ("setxattr", libc::SYS_setxattr, "0,0,0,0,0"),
    ("lsetxattr", libc::SYS_lsetxattr, "0,0,0,0,0"),
    ("fsetxattr", libc::SYS_fsetxattr, "-1,0,0,0,0"),
    ("removexattr", libc::SYS_removexattr, "0,0"),
    ("lremovexattr", libc::SYS_lremovexattr, "0,0"),
    ("fremovexattr", libc::SYS_fremovexattr, "-1,0"),
    ("setxattrat", 463, "-1,0,0,0,0,0"),
    ("removexattrat", 466, "-1,0,0,0"),
    ("file_setattr", 469, "-1,0,0,0,0"),
];

/// Calls that a program needs, and that resemble some of the above.
const LEFT: &[(&str, i64, &str)] = &[
    ("fchmod", libc::SYS_fchmod, "-1,0o755"),
    ("fchmod of a folder for all", libc::SYS_fchmod, "-1,0o1777"),
    ("openat without making", libc::SYS_openat, "-1,0,0,0o4755"),
    ("openat that makes", libc::SYS_openat, "-1,0,0o101,0o755"),
    ("socket AF_INET", libc::SYS_socket, "2,1,0"),
    ("socket AF_INET6", libc::SYS_socket, "10,1,0"),
    ("socket AF_NETLINK", libc::SYS_socket, "16,3,0"),
    ("prlimit64 that asks", libc::SYS_prlimit64, "0,15,0,0"),
    ("prlimit64 of another that asks", libc::SYS_prlimit64, "0x7fffffff,7,0,0"),
    ("setpriority of its own", libc::SYS_setpriority, "0,0,19"),
    ("ioprio_set of its own", libc::SYS_ioprio_set, "1,0,0"),
    ("sched_setaffinity of its own", libc::SYS_sched_setaffinity, "0,0,0"),
    ("sched_getaffinity of another", libc::SYS_sched_getaffinity, "0x7fffffff,8,0"),
    ("getxattr", libc::SYS_getxattr, "0,0,0,0"),
    ("ioctl FICLONE", libc::SYS_ioctl, "-1,0x40049409,-1"),
    ("setrlimit NOFILE", libc::SYS_setrlimit, "7,0"),
    ("ioctl that asks", libc::SYS_ioctl, "-1,0x5401,0"),
];

const EPERM: &str = "1";
const ENOSYS: &str = "38";
const ENOTSUP: &str = "95";

/// Returns the result of each call, unconfined and confined.
fn results(tried: &[(&str, i64, &str)], short: i64) -> Vec<Vec<(String, String)>> {
    let numbers: Vec<_> =
        tried.iter().map(|(_, call, args)| format!("{},{args}", call | short)).collect();
    let args = ["-c", CALLER, &numbers.join(";")];
    let results = workspaces().into_iter().map(|workspace| {
        let (free, held) = (workspace.free("python3", &args), workspace.confined("python3", &args));
        assert!(free.status.success() && held.status.success(), "{free:?} {held:?}");
        let pairs = said(&free).lines().map(str::to_owned).collect::<Vec<_>>();
        let pairs: Vec<_> = pairs.into_iter().zip(said(&held).lines().map(str::to_owned)).collect();
        assert_eq!(pairs.len(), tried.len());
        pairs
    });
    results.collect()
}

#[test]
fn calls_around_the_confinement_are_refused() {
    for pairs in results(TRIED, 0) {
        for ((name, ..), (free, held)) in TRIED.iter().zip(pairs) {
            assert_ne!(free, EPERM, "{name} is not refused anyway");
            assert_eq!(held, EPERM, "{name} is refused");
        }
    }
}

#[test]
fn calls_that_root_alone_makes_are_refused_to_root() {
    // The first is this user.
    if let Some(pairs) = results(TRIED_BY_ROOT, 0).into_iter().next() {
        for ((name, ..), (free, held)) in TRIED_BY_ROOT.iter().zip(pairs) {
            if rustix::process::geteuid().is_root() {
                assert_ne!(free, EPERM, "{name} is not refused anyway");
            }
            assert_eq!(held, EPERM, "{name} is refused");
        }
    }
}

#[test]
fn calls_that_no_filter_can_look_into_are_absent() {
    for pairs in results(ABSENT, 0) {
        for ((name, ..), (free, held)) in ABSENT.iter().zip(pairs) {
            assert_ne!(free, ENOSYS, "{name} is there");
            assert_eq!(held, ENOSYS, "{name} is absent");
        }
    }
}

#[test]
fn extended_attributes_are_not_supported() {
    for pairs in results(UNSUPPORTED, 0) {
        for ((name, ..), (free, held)) in UNSUPPORTED.iter().zip(pairs) {
            assert_ne!(free, ENOTSUP, "{name} is supported");
            assert_eq!(held, ENOTSUP, "{name} is not");
        }
    }
}

#[test]
fn calls_that_programs_need_are_left_to_them() {
    for pairs in results(LEFT, 0) {
        for ((name, ..), (free, held)) in LEFT.iter().zip(pairs) {
            assert_eq!(held, free, "{name} does what it does");
            assert_ne!(held, EPERM, "{name}");
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_call_is_refused_under_its_number_for_short_pointers_too() {
    const SHORT: i64 = 0x4000_0000;
    let others: [(&str, i64, &str); 4] = [
        ("ioctl TIOCSTI", 514, "-1,0x5412,0"),
        ("ptrace", 521, "16,0x7fffffff,0,0"),
        ("process_vm_readv", 539, "0x7fffffff,0,0,0,0,0"),
        ("process_vm_writev", 540, "0x7fffffff,0,0,0,0,0"),
    ];
    for tried in [TRIED, &others] {
        for pairs in results(tried, SHORT) {
            for ((name, ..), (free, held)) in tried.iter().zip(pairs) {
                assert_ne!(free, EPERM, "{name} is not refused anyway");
                assert_eq!(held, EPERM, "{name} is refused");
            }
        }
    }
}

#[test]
fn a_world_with_users_of_its_own_is_refused() {
    // Where the system itself refuses it to all, it does so for another reason
    // or in the same way.
    let users = libc::CLONE_NEWUSER.to_string();
    let tried = [("unshare", libc::SYS_unshare, users.as_str())];
    for pairs in results(&tried, 0) {
        assert_eq!(pairs[0].1, EPERM);
        if pairs[0].0 != "0" {
            eprintln!("the system refuses it to all: {}", pairs[0].0);
        }
    }
}

#[test]
fn a_file_cannot_be_made_to_lend_rights() {
    for workspace in workspaces() {
        for mode in ["u+s", "g+s", "4755", "6711"] {
            let script = format!("rm -f f && cp own f && chmod 755 f && echo on && chmod {mode} f");
            let free = workspace.free("sh", &["-c", &script]);
            assert!(free.status.success(), "{mode}: {free:?}");
            let held = workspace.confined("sh", &["-c", &script]);
            assert_eq!((said(&held).as_str(), held.status.code()), ("on", Some(1)), "{mode}");
        }
        let script = "import os
os.umask(0)
try:
    os.open('made', os.O_CREAT | os.O_WRONLY, 0o4755)
except OSError as error:
    print(error.errno)
else:
    print(oct(os.stat('made').st_mode))";
        assert_eq!(said(&workspace.confined("python3", &["-c", script])), EPERM);
        assert_eq!(said(&workspace.free("python3", &["-c", script])), "0o104755");
    }
}

#[test]
fn root_has_no_more_than_its_say_over_files() {
    for workspace in workspaces() {
        let sets = |output| {
            let status = said(&output);
            let sets = status.lines().filter_map(|line| {
                let (name, value) = line.split_once(':')?;
                let value = u64::from_str_radix(value.trim(), 16).ok();
                Some((name.to_owned(), value.filter(|_| name.starts_with("Cap"))?))
            });
            sets.filter(|(name, _)| name != "CapBnd").collect::<Vec<_>>()
        };
        let script = ["-c", "cat /proc/self/status"];
        let free = sets(workspace.free("sh", &script));
        let held = sets(workspace.confined("sh", &script));
        assert_eq!(held.len(), 4);
        // Owners and modes, users, signals to its own, low ports.
        let kept: u64 = [0, 1, 3, 4, 5, 6, 7, 10].iter().map(|bit| 1 << bit).sum();
        assert!(held.iter().all(|(_, set)| set & !kept == 0), "{held:x?}");
        if workspace.is_root() {
            assert!(free.iter().any(|(_, set)| set & !kept != 0), "there was more: {free:x?}");
        }
    }
}
