//! The report of an agent: its progress, and the figures beside its final answer.

use offshoot_core::Task;
use offshoot_models::{Money, Usage};
use serde::{Deserialize, Serialize};

use crate::budget::BudgetUsage;
use crate::model_delay::ModelDelay;
use offshoot_worktree::{Worktree, WorktreeState};

/// The work of an agent so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentReport {
    /// The number of answers of its model.
    pub steps: u64,
    /// The number of its tool calls.
    pub tool_calls: u64,
    /// The tokens of its model's answers.
    pub usage: Usage,
    /// The cost of the answers, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// The used part of its budget, if it has one. Its descendants draw on it, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<Box<BudgetUsage>>,
    /// The agent's own note on its progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The reason why its model has not answered yet, after a failure.
    #[serde(alias = "hitch", skip_serializing_if = "Option::is_none")]
    pub model_delay: Option<ModelDelay>,
    /// The number of its tasks that wait for an answer from it.
    #[serde(skip_serializing_if = "is_zero")]
    pub unanswered: u64,
    /// Its own git worktree, if it has one or had one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
}

impl AgentReport {
    /// The report of a task, if it is an agent's.
    pub fn of(task: &Task) -> Option<Self> {
        let agent = &*task.spec.kind == crate::KIND;
        agent.then(|| task.progress.as_ref()?.value.decode().ok()).flatten()
    }

    /// Reads a report from JSON.
    pub fn read(value: &serde_json::Value) -> Option<Self> {
        serde_json::from_str(&value.to_string()).ok()
    }

    /// The report as a short text.
    pub fn told(&self) -> String {
        let steps = counted(self.steps, "step", "steps");
        let told = match self.tool_calls {
            0 => format!("{steps}, used no tools"),
            calls => format!("{steps}, {}", counted(calls, "tool call", "tool calls")),
        };
        match self.left() {
            Some(kept) if kept.state == WorktreeState::Kept => format!("{told}, {}", held(kept)),
            _ => told,
        }
    }

    /// The worktree of the agent, unless it was removed.
    pub fn left(&self) -> Option<&Worktree> {
        self.worktree.as_ref().filter(|worktree| worktree.state != WorktreeState::Removed)
    }
}

/// The text on the contents of a kept worktree.
fn held(kept: &Worktree) -> String {
    let (Some(files), Some(commits)) = (kept.files, kept.commits) else {
        return "what its worktree holds could not be measured".to_owned();
    };
    let files = counted(files, "file changed", "files changed");
    match (commits, kept.abandoned) {
        // If a branch has commits, one of them has most likely replaced an abandoned one.
        (0, abandoned @ 1..) => {
            let commits = counted(abandoned, "commit", "commits");
            format!("{files}, {commits} on no branch")
        }
        _ => format!("{files}, {}", counted(commits, "commit", "commits")),
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_stored_under_the_earlier_field_name_opens() {
        let stored = r#"{"steps":2,"hitch":{"error":"overloaded","failed":1,"tries":6}}"#;
        let report: AgentReport = serde_json::from_str(stored).unwrap();
        let delay = report.model_delay.as_ref().unwrap();
        assert_eq!((report.steps, delay.error.as_str()), (2, "overloaded"));
        let written = serde_json::to_value(&report).unwrap();
        assert_eq!(written["model_delay"]["failed"], 1);
    }
}
