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
//! - It keeps the limit by which its task's processes are known.
//! - As root it has no more than root's say over files, users and low ports.
//!
//! # What does not
//! - Whatever this user may do to the mode, the owner, the times and the
//!   attributes of a file outside. The system knows no rule by path for that;
//!   only the bits that lend a user's or a group's rights are refused.
//! - What a file outside is called, how large it is, and where a link leads, to
//!   whoever knows or guesses its path; this holds for hidden ones, too.
//! - A file that has a second name below a writable folder already, and a
//!   hidden folder that is mounted a second time elsewhere.
//! - The network, and with it whatever listens on this machine.

mod confinement;
mod helper;
#[cfg(target_os = "linux")]
mod linux;
mod support;

pub use confinement::{Confinement, ConfinementError};
pub use helper::{Helper, enter_if_asked, passed_on};
pub use support::{Lack, Support, probe};
