//! What root may do beyond what users may.

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, set_capabilities, set_no_new_privs,
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
///
/// A user that is not root keeps none: in a user namespace of its own it would
/// have them over its own files.
pub(super) fn give_up() -> io::Result<()> {
    match rustix::process::geteuid().is_root() {
        true => keep(KEPT),
        false => keep(CapabilitySet::empty()),
    }
}

/// Gives up all of them.
pub(super) fn give_up_all() -> io::Result<()> {
    keep(CapabilitySet::empty())
}

/// Whether this process may make namespaces as it is.
pub(super) fn administers() -> io::Result<bool> {
    Ok(capabilities(None)?.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Has what this process starts next keep the right to mount, which it has in a
/// user namespace of its own: a user that is not root loses it with each program.
pub(super) fn pass_on_mounting() -> io::Result<()> {
    let sets = capabilities(None)?;
    let inheritable = sets.inheritable | CapabilitySet::SYS_ADMIN;
    set_capabilities(None, CapabilitySets { inheritable, ..sets })?;
    Ok(configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)?)
}

fn keep(kept: CapabilitySet) -> io::Result<()> {
    // From here on no program has more than this process has.
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
