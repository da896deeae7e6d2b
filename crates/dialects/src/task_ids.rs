//! Task ids in the formats of dialects.
//!
//! Where another system numbers its tasks, the number of the task's handle is used:
//! a session never reuses it. A task whose handle has no such number is called by
//! its handle. An id therefore names one task for as long as the task is kept.

use offshoot_agent::{ToolContext, ToolError};
use offshoot_core::Task;
use offshoot_runtime::{Error, TaskRef};

/// How a dialect writes the ids of one kind of task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdFormat {
    /// Text before the number or handle.
    pub(crate) prefix: &'static str,
    /// The kind whose handles are shortened to their number.
    pub(crate) kind: &'static str,
}

impl IdFormat {
    /// The id of a task.
    pub(crate) fn id(self, task: &Task) -> String {
        self.of_handle(task.handle())
    }

    /// The id of the task with this handle.
    pub(crate) fn of_handle(self, handle: &str) -> String {
        let Self { prefix, kind } = self;
        let number = handle.strip_prefix(kind).and_then(|rest| rest.strip_prefix('-'));
        match number.filter(|number| is_number(number)) {
            Some(number) => format!("{prefix}{number}"),
            None => format!("{prefix}{handle}"),
        }
    }

    /// The handle of the task with this id.
    pub(crate) fn handle(self, id: &str) -> Option<String> {
        let rest = id.strip_prefix(self.prefix)?;
        Some(if is_number(rest) { format!("{}-{rest}", self.kind) } else { rest.to_owned() })
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Finds a task by its id in one of these formats, its handle, or its task id.
pub(crate) async fn find(
    cx: &ToolContext,
    formats: &[IdFormat],
    id: &str,
) -> Result<TaskRef, Error> {
    cx.preceding_spawns().await;
    let id = id.trim();
    for handle in formats.iter().filter_map(|format| format.handle(id)) {
        match cx.task().task(&handle).await {
            Err(Error::NotFound { .. } | Error::Name(_)) => {}
            found => return found,
        }
    }
    cx.task().task(id).await
}

/// An id as 32 hexadecimal digits.
pub(crate) fn hex(id: impl ToString) -> String {
    id.to_string().replace('-', "")
}

/// The error of a call with an empty argument.
pub(crate) fn missing(what: &str) -> ToolError {
    ToolError::new(format!("The {what} is empty. Nothing was done."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s11_7_an_id_stands_for_one_handle() {
        let format = IdFormat { prefix: "bg-", kind: "agent" };
        for (handle, id) in
            [("agent-3", "bg-3"), ("docs", "bg-docs"), ("explore-2", "bg-explore-2")]
        {
            assert_eq!(format.of_handle(handle), id);
            assert_eq!(format.handle(id).as_deref(), Some(handle));
        }
        assert_eq!(format.handle("docs"), None);
    }
}
