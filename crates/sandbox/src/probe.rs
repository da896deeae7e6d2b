//! Probing the system for its support of confinement.

use crate::support::Support;

/// Asks the system how far it can confine programs. This process is not changed.
#[cfg(target_os = "linux")]
pub fn probe() -> Support {
    crate::linux::probe()
}

/// Asks the system how far it can confine programs. This process is not changed.
#[cfg(not(target_os = "linux"))]
pub fn probe() -> Support {
    Support::No(crate::support::Lack::System)
}
