//! What an agent has done so far: its progress, and in the end what its owner
//! is told beside its answer.

use offshoot_core::Task;
use offshoot_models::{Money, Usage};
use serde::{Deserialize, Serialize};

use crate::budget::BudgetUsage;
use crate::model_delay::ModelDelay;
use offshoot_worktree::{Worktree, WorktreeState};

/// What an agent has done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentReport {
    /// How often its model has answered.
    pub steps: u64,
    /// How often it has called a tool.
    pub tool_calls: u64,
    /// What its model's answers took.
    pub usage: Usage,
    /// What they cost, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// What it and all below it have spent of its budget, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<Box<BudgetUsage>>,
    /// What it says of its progress itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why its model has not answered yet, if something went wrong.
    #[serde(alias = "hitch", skip_serializing_if = "Option::is_none")]
    pub model_delay: Option<ModelDelay>,
    /// The number of its tasks that wait for answers that it has not given,
    /// though nothing goes on before.
    #[serde(skip_serializing_if = "is_zero")]
    pub unanswered: u64,
    /// The git worktree in which it works or has worked, if it has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Worktree>,
}

impl AgentReport {
    /// The report of a task, if it is an agent's.
    pub fn of(task: &Task) -> Option<Self> {
        let agent = &*task.spec.kind == crate::KIND;
        agent.then(|| task.progress.as_ref()?.value.decode().ok()).flatten()
    }

    /// The report that was written as this value.
    pub fn read(value: &serde_json::Value) -> Option<Self> {
        serde_json::from_str(&value.to_string()).ok()
    }

    /// In a few words.
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

    /// The worktree that is there, if it has one.
    pub fn left(&self) -> Option<&Worktree> {
        self.worktree.as_ref().filter(|worktree| worktree.state != WorktreeState::Removed)
    }
}

/// What a worktree that is kept holds.
fn held(kept: &Worktree) -> String {
    let (Some(files), Some(commits)) = (kept.files, kept.commits) else {
        return "what its worktree holds could not be measured".to_owned();
    };
    let files = counted(files, "file changed", "files changed");
    match (commits, kept.abandoned) {
        // Where there are others, it has most likely been replaced by one of them.
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
