//! Sandboxes a program: it writes only to allowed directories, sees no hidden paths, and
//! reaches no process outside.
//!
//! A [`Confinement`] describes the permissions of a program. A process can only give up
//! its own rights, so a [`Helper`] process confines itself and then becomes the program.
//! The helper is the same executable with a special first argument, which
//! [`enter_if_asked`] handles at the start of `main`. A program that cannot be confined is
//! not executed. [`probe`] returns beforehand whether this system supports it.
//! [`remove_tree`] removes the directories that programs have filled.
//!
//! # Guarantees for a confined program and all its processes
//! - It creates, changes, renames and removes files only below its writable
//!   directories. No link leads outside.
//! - It opens no hidden file and lists no hidden directory, nor a parent of one. It may
//!   read and execute all other files except devices.
//! - It neither signals nor inspects a process outside, connects to no local
//!   socket of one, and inherits no open file but its three standard streams.
//! - It changes neither the limits, the priority, the processors, the scheduler
//!   nor the I/O class of another process. It sets its own with the process id zero.
//! - It uses no shared memory, queue or semaphore of System V and no message
//!   queue of POSIX.
//! - It sets no extended attribute, access list or flag of any file, and makes no
//!   Btrfs subvolume.
//! - It keeps the limit that marks the processes of its task.
//! - It has [`ResourceLimits`] on processes, memory and open files.
//! - As root it keeps only the capabilities for files, users and low ports.
//!
//! # Guarantees with namespaces
//! Where the system permits them ([`Helper::namespaces`]), a program also runs in
//! namespaces of users (except for root), mounts, IPC and processes:
//!
//! - Every mount except its writable directories is read-only, so the mode, the owner
//!   and the times of a file outside stay unchanged.
//! - A hidden path that exists when the program starts is covered: its names, sizes,
//!   links, attributes and changes are invisible.
//! - Its `/proc` shows no other processes.
//! - Its limit on processes counts its own processes alone.
//! - It ends, with all its processes, when its leader process dies. The leader passes
//!   signals on to it and ends as it does.
//!
//! # Limits
//! - Without namespaces a program can change the mode, the owner and the times of a file
//!   outside, as far as this user may. Only the setuid and setgid bits are refused.
//! - A program that knows or guesses a path outside can find out its name, its size, the
//!   target of a link, its extended attributes and its changes (inotify). Without
//!   namespaces this includes hidden paths; with them only hidden paths created later.
//! - Without namespaces `/proc` shows the names and arguments of other processes.
//! - Linux does not enforce the limit on processes for root.
//! - A file with a second hard link below a writable directory stays writable, and a
//!   hidden directory that is mounted a second time stays visible there.
//! - The network is not restricted, nor are services that listen on this machine.

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
