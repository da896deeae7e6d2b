//! What tasks are called in dialects that count them.
//!
//! Where a peer writes a number, ours is the one in the handle that the session
//! has counted, which no other task of it ever gets; a task that has a handle of
//! another sort is called by that. So an id names one task for as long as it is
//! kept, whatever was opened again meanwhile.

use crate::tool::{ToolContext, ToolError};
use offshoot_core::Task;
use offshoot_runtime::{Error, TaskRef};

/// How a dialect writes ids: what stands before, and of what kind of handle the
/// stem is left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Naming {
    pub(super) before: &'static str,
    pub(super) stem: &'static str,
}

impl Naming {
    /// The id of a task.
    pub(super) fn id(self, task: &Task) -> String {
        self.of(task.handle())
    }

    /// The id of the task of this handle.
    pub(super) fn of(self, handle: &str) -> String {
        let Self { before, stem } = self;
        let number = handle.strip_prefix(stem).and_then(|rest| rest.strip_prefix('-'));
        match number.filter(|number| is_number(number)) {
            Some(number) => format!("{before}{number}"),
            None => format!("{before}{handle}"),
        }
    }

    /// The handle that an id stands for.
    pub(super) fn handle(self, id: &str) -> Option<String> {
        let rest = id.strip_prefix(self.before)?;
        Some(if is_number(rest) { format!("{}-{rest}", self.stem) } else { rest.to_owned() })
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The task that a model means: by its id in one of these namings, its handle or
/// its id of ours.
pub(super) async fn find(
    cx: &ToolContext,
    namings: &[Naming],
    written: &str,
) -> Result<TaskRef, Error> {
    cx.turn.comes().await;
    let written = written.trim();
    for handle in namings.iter().filter_map(|naming| naming.handle(written)) {
        match cx.cx.task(&handle).await {
            Err(Error::NotFound { .. } | Error::Name(_)) => {}
            found => return found,
        }
    }
    cx.cx.task(written).await
}

/// A task's id as 32 hexadecimal digits.
pub(super) fn hex(id: impl ToString) -> String {
    id.to_string().replace('-', "")
}

/// The error of a model that names nothing.
pub(super) fn missing(what: &str) -> ToolError {
    ToolError::new(format!("The {what} is empty. Nothing was done."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s11_7_an_id_stands_for_one_handle() {
        let naming = Naming { before: "bg-", stem: "agent" };
        for (handle, id) in
            [("agent-3", "bg-3"), ("docs", "bg-docs"), ("explore-2", "bg-explore-2")]
        {
            assert_eq!(naming.of(handle), id);
            assert_eq!(naming.handle(id).as_deref(), Some(handle));
        }
        assert_eq!(naming.handle("docs"), None);
    }
}
