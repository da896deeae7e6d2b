//! Tasks in the order of their lineage: children below their parent.

use std::collections::HashMap;

use offshoot_client::wire::Task;

/// A task and its depth among the listed tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Branch<'a> {
    /// The task.
    pub(crate) task: &'a Task,
    /// Its depth.
    pub(crate) depth: usize,
}

impl Branch<'_> {
    /// The handle, indented by the depth.
    pub(crate) fn handle(&self) -> String {
        match self.depth {
            0 => self.task.handle.clone(),
            depth => format!("{}└ {}", "  ".repeat(depth - 1), self.task.handle),
        }
    }
}

/// Orders tasks so that children follow their parent. A task whose parent is not
/// listed is at the top.
pub(crate) fn arrange(tasks: &[Task]) -> Vec<Branch<'_>> {
    let here: HashMap<&str, usize> =
        tasks.iter().enumerate().map(|(at, task)| (task.id.as_str(), at)).collect();
    let parent = |task: &Task| task.lineage.parent.as_deref().and_then(|id| here.get(id).copied());
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
    let mut open = Vec::new();
    for (at, task) in tasks.iter().enumerate() {
        match parent(task) {
            Some(above) if above != at => children[above].push(at),
            _ => open.push((at, 0)),
        }
    }
    open.reverse();
    let mut arranged = Vec::with_capacity(tasks.len());
    while let Some((at, depth)) = open.pop() {
        arranged.push(Branch { task: &tasks[at], depth });
        open.extend(children[at].iter().rev().map(|child| (*child, depth + 1)));
    }
    arranged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::show::example;
    use offshoot_client::wire::State;

    #[test]
    fn children_stand_below_their_parent() {
        let below = |handle: &str, parent: &str| {
            let mut task = example::task(handle, State::Running);
            task.lineage.parent = Some(format!("id-of-{parent}"));
            task
        };
        let tasks = [
            example::task("lead", State::Running),
            example::task("other", State::Running),
            below("first", "lead"),
            below("orphan", "gone"),
            below("second", "lead"),
            below("deep", "first"),
        ];
        let shown: Vec<String> = arrange(&tasks).iter().map(Branch::handle).collect();
        assert_eq!(shown, ["lead", "└ first", "  └ deep", "└ second", "other", "orphan"]);
    }
}
