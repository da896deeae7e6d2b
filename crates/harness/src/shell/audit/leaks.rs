//! No process of an ended task is left.

use super::Findings;
use crate::shell::snapshot::Snapshot;
use crate::violation::Violation;

/// Checks that no process of any task of this world is left.
pub fn check(world: &Snapshot, found: &mut Findings) {
    for process in &world.processes {
        let of = world.tasks.iter().find(|(_, task)| process.mark.as_ref() == Some(&task.id));
        let number = of.and_then(|(number, _)| *number);
        // Tasks of other owners are out of scope.
        if of.is_some() || process.ours {
            let detail = format!("process {} is left: {}", process.pid, process.line);
            found.take(number, Err(Violation::new("no process is left of a task", detail)));
        }
    }
}
