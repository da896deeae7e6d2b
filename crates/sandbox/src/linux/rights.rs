//! The capabilities of root.

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, set_capabilities, set_no_new_privs,
};

/// The capabilities that root keeps: for files, which the confinement limits, for users, and
/// for low ports. With others it could read memory and disks, or load kernel code.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Drops the other capabilities for good, so that no program can restore them.
///
/// A user other than root keeps none: in its own user namespace it would have them for its
/// own files.
pub(super) fn give_up() -> io::Result<()> {
    match rustix::process::geteuid().is_root() {
        true => keep(KEPT),
        false => keep(CapabilitySet::empty()),
    }
}

/// Drops all capabilities.
pub(super) fn give_up_all() -> io::Result<()> {
    keep(CapabilitySet::empty())
}

/// Whether this process may make namespaces without a user namespace.
pub(super) fn administers() -> io::Result<bool> {
    Ok(capabilities(None)?.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Lets the next child keep the right to mount, which it has in its user namespace.
///
/// A user other than root loses that right with each executed program.
pub(super) fn pass_on_mounting() -> io::Result<()> {
    let sets = capabilities(None)?;
    let inheritable = sets.inheritable | CapabilitySet::SYS_ADMIN;
    set_capabilities(None, CapabilitySets { inheritable, ..sets })?;
    Ok(configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)?)
}

fn keep(kept: CapabilitySet) -> io::Result<()> {
    // From here on no program gets more capabilities than this process has.
    set_no_new_privs(true)?;
    clear_ambient_capability_set()?;
    let CapabilitySets { effective, permitted, .. } = capabilities(None)?;
    let sets = CapabilitySets {
        effective: effective & kept,
        permitted: permitted & kept,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, sets)?)
}
