//! The support of this system for confinement.

use std::fmt;

/// The support of this system for confinement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Support {
    /// Programs can be confined in every way that this crate promises.
    Whole,
    /// Programs can be confined, except that they may signal any process of their user.
    ButSignals,
    /// Programs cannot be confined.
    No(Lack),
}

/// The reason for which programs cannot be confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lack {
    /// The system is another.
    #[error("commands can be confined on Linux only")]
    System,
    /// No system calls can be refused on this processor.
    #[error("system calls cannot be refused on this processor ({})", std::env::consts::ARCH)]
    Processor,
    /// There is no Landlock.
    #[error("this kernel has no Landlock, or it is not among its security modules (`lsm=`)")]
    Landlock,
    /// What there is of Landlock does not suffice.
    #[error("the Landlock of this kernel is too old: Linux 6.2 or later is needed")]
    OldLandlock,
    /// There are no filters for system calls.
    #[error("this kernel cannot refuse system calls (seccomp filters)")]
    Seccomp,
}

impl Support {
    /// Whether programs can be confined at all.
    pub fn confines(&self) -> bool {
        !matches!(self, Self::No(_))
    }
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("commands are confined by Landlock and seccomp"),
            Self::ButSignals => f.write_str(
                "commands are confined by Landlock and seccomp, but may signal processes outside: \
                 Linux 6.12 or later is needed for that",
            ),
            Self::No(lack) => write!(f, "commands cannot be confined: {lack}"),
        }
    }
}
