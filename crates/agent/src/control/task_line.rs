//! One line about a task, as text for the model.

use std::fmt::Write;

use offshoot_core::{Stamp, Task, text};

use crate::brief::Brief;
use crate::report::AgentReport;

/// The most characters of a purpose or a note.
const SHOWN: usize = 120;

/// One line about a task.
pub(crate) fn line(task: &Task, now: Stamp) -> String {
    let mut line = format!("{} ({}): {}", task.handle(), task.spec.kind, task.state);
    let since = now.since(task.since);
    // Writing to a string does not fail.
    let _ = write!(line, " for {} s", since.as_secs());
    if let Some(report) = AgentReport::of(task) {
        let _ = write!(line, "; {}", report.told());
        if let Some(note) = report.note {
            let _ = write!(line, "; {}", text::cut(&note, SHOWN));
        }
    }
    if let Some(purpose) = purpose(task) {
        let _ = write!(line, "; task: {}", text::cut(&purpose, SHOWN));
    }
    line.replace('\n', " ")
}

/// The task text of an agent.
fn purpose(task: &Task) -> Option<String> {
    Brief::of(task).map(|brief| brief.task)
}
