//! Records for examples and tests.

use std::sync::Arc;

use crate::boxed_default::BoxedDefault;
use crate::id::{SessionId, TaskId};
use crate::lineage::{Lineage, Space};
use crate::name::Name;
use crate::payload::Payload;
use crate::task::{Capabilities, Naming, Recovery, Spec, Task, Tie, Visibility, Wake};
use crate::time::Stamp;

/// The spec of a top-level `function` task with this handle.
pub fn spec(handle: &str) -> Spec {
    let at = Stamp::from_millis(1);
    let seed = handle.bytes().fold(1u128, |seed, byte| seed.wrapping_mul(257) ^ u128::from(byte));
    let id = TaskId::mint(at, seed);
    Spec {
        id,
        lineage: Lineage {
            space: Space::default(),
            session: SessionId::mint(at, 1),
            parent: None,
            root: id,
            depth: 0,
            origin: BoxedDefault::default(),
        },
        kind: "function".into(),
        handle: Name::numbered(handle, 1),
        naming: Naming::Counted,
        tie: Tie::Owned,
        recovery: Recovery::Lose,
        wake: Wake::OnTerminal,
        visibility: Visibility::Children,
        input: Payload::Null,
        can: Capabilities::CANCEL.with(Capabilities::MESSAGES),
        spawned_at: at,
        terms: BoxedDefault::default(),
    }
}

/// The record of a task that was just spawned.
pub fn queued(handle: &str) -> Task {
    Task::new(Arc::new(spec(handle)))
}
