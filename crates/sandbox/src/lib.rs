//! Confines a program: it writes only where it may, does not see what is hidden
//! from it, and reaches no process outside.
//!
//! A [`Confinement`] says what a program may do. Since a process can only give
//! up rights of its own, a [`Helper`] process confines itself and then becomes
//! the program: it is this very program, asked by its first argument, which
//! [`enter_if_asked`] at the start of `main` looks for. What cannot be confined
//! is not executed. [`probe`] says beforehand whether this system can.
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
//! # What does not
//! - The mode, the owner and the times of a file outside, as far as this user may
//!   change them. The system knows no rule by path for that; only the bits that
//!   lend a user's or a group's rights are refused.
//! - What a file outside is called, how large it is, where a link leads, which
//!   extended attributes it has, and when it changes (inotify), to a program that
//!   knows or guesses its path; this holds for hidden ones, too.
//! - The names and arguments of other processes, in `/proc`.
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
mod support;

pub use confinement::{Confinement, ConfinementError};
pub use credentials::is_credential;
pub use helper::{Helper, enter_if_asked, passed_on};
pub use limits::ResourceLimits;
pub use support::{Lack, Support, probe};
