//! Confines a program: it writes only where it may, does not see what is hidden
//! from it, and reaches no process outside.
//!
//! A [`Confinement`] says what a program may do. Since a process can only give
//! up rights of its own, a [`Helper`] process confines itself and then becomes
//! the program: it is this very program, asked by its first argument, which
//! [`enter_if_asked`] at the start of `main` looks for. What cannot be confined
//! is not executed. [`probe`] says beforehand whether this system can.
//! [`remove_tree`] removes the folders that programs have filled.
//!
//! # What holds for a confined program, and all it starts
//! - It creates, changes, renames and removes files only below its writable
//!   folders, whatever links lead there.
//! - It opens no hidden file and lists no hidden folder, nor the folders on the
//!   way to one. All else it may read and execute, but for devices.
//! - It neither signals nor inspects a process outside, connects to no local
//!   socket of one, and inherits no open file but its three standard streams.
//! - It changes neither the limits, the priority, the processors, the scheduler
//!   nor the I/O class of another process. It sets its own by the number zero.
//! - It uses no shared memory, queue or semaphore of System V and no message
//!   queue of POSIX.
//! - It sets no extended attribute, access list or flag of any file, and makes no
//!   Btrfs subvolume.
//! - It keeps the limit by which its task's processes are known.
//! - It has [`ResourceLimits`] on processes, memory and open files.
//! - As root it has no more than root's say over files, users and low ports.
//!
//! # What namespaces add
//! Where the system lets a user make them ([`Helper::namespaces`]), a program is in
//! namespaces of users (root is not), mounts, IPC and processes as well:
//!
//! - Every mount but its writable folders is read-only, so that the mode, the owner
//!   and the times of a file outside stay.
//! - What is hidden, and is there when the program starts, is covered: its names,
//!   sizes, links, attributes and changes are not seen.
//! - Other processes have no number in its `/proc`.
//! - It is held to its number of processes, and no other program's count.
//! - It ends, with all it started, when the process that was started for it dies.
//!   That one passes signals on to it and ends as it does.
//!
//! # What does not hold
//! - Without namespaces: the mode, the owner and the times of a file outside, as far
//!   as this user may change them. Only the bits that lend a user's or a group's
//!   rights are refused.
//! - What a file outside is called, how large it is, where a link leads, which
//!   extended attributes it has, and when it changes (inotify), to a program that
//!   knows or guesses its path. Without namespaces this holds for hidden ones, too;
//!   with them only for those made later.
//! - Without namespaces: the names and arguments of other processes, in `/proc`.
//! - The limit on processes, as root: Linux does not enforce it there.
//! - A file that has a second name below a writable folder already, and a
//!   hidden folder that is mounted a second time elsewhere.
//! - The network, and with it whatever listens on this machine.

mod confinement;
mod credentials;
mod helper;
mod limits;
#[cfg(target_os = "linux")]
mod linux;
mod probe;
mod removal;
mod support;

pub use confinement::{Confinement, ConfinementError};
pub use credentials::{holds_password, is_credential};
pub use helper::{Helper, NoNamespaces, enter_if_asked, passed_on};
pub use limits::ResourceLimits;
pub use probe::probe;
pub use removal::remove_tree;
pub use support::{Lack, Support};
