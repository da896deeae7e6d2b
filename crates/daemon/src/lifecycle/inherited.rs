//! What a daemon inherits from the process that starts it, and gives up.

/// The directory in which a process sees its own open files, one entry each.
#[cfg(target_os = "linux")]
const OPEN_FILES: &str = "/proc/self/fd";
#[cfg(not(target_os = "linux"))]
const OPEN_FILES: &str = "/dev/fd";

/// Closes every inherited file except the standard three.
///
/// A script may hold a lock or the end of a pipe in one of them, and would wait for
/// as long as the daemon lives. This comes before anything else in the process
/// opens a file.
pub(super) fn close_inherited_files() {
    let Ok(open) = std::fs::read_dir(OPEN_FILES) else { return };
    let numbers: Vec<i32> = open
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|number| *number > 2)
        .collect();
    for number in numbers {
        // The one through which they were listed is closed already.
        nix::unistd::close(number).ok();
    }
}

/// Whether the process was started with SIGHUP ignored. `false` where the system
/// does not tell.
pub(super) fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    // The first signal is the lowest bit.
    ignored.is_some_and(|set| set & 1 == 1)
}
