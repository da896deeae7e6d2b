//! What root may do beyond what users may.

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, set_capabilities,
    set_no_new_privs,
};

/// What is left to root: its say over files, which the confinement bounds, over
/// users, and low ports. With more it could read memory and disks, or load code
/// into the kernel.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Gives up the others, and that a program could give them back.
pub(super) fn give_up() -> io::Result<()> {
    // From here on no program has more than this process has.
    set_no_new_privs(true)?;
    clear_ambient_capability_set()?;
    let CapabilitySets { effective, permitted, .. } = capabilities(None)?;
    let sets = CapabilitySets {
        effective: effective & KEPT,
        permitted: permitted & KEPT,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, sets)?)
}
