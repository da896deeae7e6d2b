//! Offshoot itself, on the memory store.

use super::System;
use crate::figure::Outcome;

/// This repository's runtime.
pub const SYSTEM: System = System {
    name: super::SUBJECT,
    about: "this repository, memory store",
    notes: &[],
    run: |_, _| Box::pin(async { Ok(Outcome::not_offered("not connected to the runtime")) }),
};
