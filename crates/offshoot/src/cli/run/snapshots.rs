//! The last known state of the tasks of a run.

use std::collections::BTreeMap;

use jiff::Timestamp;
use offshoot_agent::AgentReport;
use offshoot_client::wire::{State, Task};

use crate::cli::show::{task, text, time};

/// The width of the activity of a task.
const COLUMNS: usize = 60;

/// The number of tasks that are named with their activity.
const NAMED: usize = 3;

/// The last known state of a live task.
#[derive(Debug)]
pub(super) struct TaskSnapshot {
    pub(super) handle: String,
    pub(super) parent: Option<String>,
    what: String,
    /// The start of its current activity.
    since: Option<Timestamp>,
    progress: Progress,
    /// The time of its last report about unanswered questions.
    passed_over: Option<Timestamp>,
}

/// Whether a task can progress by itself.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    /// It runs, or may run.
    Moving,
    /// It waits for its children.
    OnChildren,
    /// It waits for the answer to the question asked at this time.
    OnAnswer(Timestamp),
}

/// The live tasks of a run by their ids, which sort by age.
#[derive(Debug, Default)]
pub(super) struct TaskSnapshots(BTreeMap<String, TaskSnapshot>);

impl TaskSnapshot {
    fn of(seen: &Task) -> Self {
        let asked = seen.question.as_ref().and_then(|question| question.at.parse().ok());
        let progress = match (seen.state, seen.waiting_on.as_deref(), asked) {
            (State::Waiting, Some("children"), _) => Progress::OnChildren,
            (State::Waiting, Some("input"), Some(at)) => Progress::OnAnswer(at),
            _ => Progress::Moving,
        };
        let report = seen.agent.as_ref().and(seen.progress.as_ref());
        let passed_over = report.and_then(|said| {
            let report = AgentReport::read(&said.value)?;
            (report.unanswered > 0).then(|| said.at.parse().ok()).flatten()
        });
        Self {
            handle: text::line(&seen.handle),
            parent: seen.lineage.parent.clone(),
            what: task::what(seen),
            since: seen.activity.as_ref().and_then(|activity| activity.since.parse().ok()),
            progress,
            passed_over,
        }
    }
}

impl TaskSnapshots {
    /// Updates the state of a task.
    pub(super) fn note(&mut self, seen: &Task) {
        match seen.outcome {
            None => self.0.insert(seen.id.clone(), TaskSnapshot::of(seen)),
            Some(_) => self.0.remove(&seen.id),
        };
    }

    /// The handle of a task's parent.
    pub(super) fn parent_of(&self, task: &Task) -> Option<&str> {
        self.0.get(task.lineage.parent.as_ref()?).map(|parent| parent.handle.as_str())
    }

    /// Whether every task waits for an answer of the user.
    ///
    /// Each owner was reminded of the question after it was asked, and did not
    /// answer it.
    pub(super) fn is_at_a_standstill(&self) -> bool {
        let passed_over = |snapshot: &TaskSnapshot, asked: &Timestamp| {
            let owner = snapshot.parent.as_ref().and_then(|parent| self.0.get(parent));
            owner.is_some_and(|owner| {
                owner.progress == Progress::OnChildren
                    && owner.passed_over.is_some_and(|at| at >= *asked)
            })
        };
        let mut has_question = false;
        self.0.values().all(|snapshot| match &snapshot.progress {
            Progress::Moving => false,
            Progress::OnChildren => true,
            Progress::OnAnswer(at) => {
                has_question = true;
                passed_over(snapshot, at)
            }
        }) && has_question
    }

    /// Describes the running tasks, and counts those that are not named.
    pub(super) fn at_work(&self, now: Timestamp) -> Option<String> {
        let busy: Vec<_> =
            self.0.values().filter(|snapshot| snapshot.progress != Progress::OnChildren).collect();
        let told: Vec<String> = busy
            .iter()
            .take(NAMED)
            .map(|snapshot| match snapshot.what.as_str() {
                "" => snapshot.handle.clone(),
                what => {
                    let since = snapshot.since.map(|since| time::since(since, now));
                    let since = since.map(|since| format!(", for {since}")).unwrap_or_default();
                    format!("{} ({}{since})", snapshot.handle, text::cut(what, COLUMNS))
                }
            })
            .collect();
        let more = match busy.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!told.is_empty()).then(|| format!("{}{more}", told.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use offshoot_client::wire::{Activity, AgentBrief, Progress, Question};
    use serde_json::json;

    use super::*;
    use crate::cli::show::example;

    /// An agent below the one of this id.
    fn agent(handle: &str, parent: Option<&str>, waits: Option<&str>) -> Task {
        let state = if waits.is_some() { State::Waiting } else { State::Running };
        let mut task = example::task(handle, state);
        task.command = None;
        let model = "openai/test".into();
        task.agent = Some(AgentBrief { task: "Do it.".into(), model, ..AgentBrief::default() });
        task.lineage.parent = parent.map(|parent| format!("id-of-{parent}"));
        task.waiting_on = waits.map(str::to_owned);
        task
    }

    fn asking(handle: &str, parent: &str, at: &str) -> Task {
        let question = Question { number: 1, text: "Which?".into(), at: at.into() };
        Task { question: Some(question), ..agent(handle, Some(parent), Some("input")) }
    }

    fn passing_over(handle: &str, parent: Option<&str>, at: &str) -> Task {
        let value = json!({ "steps": 2, "unanswered": 1 });
        let progress = Some(Progress { value, at: at.into() });
        Task { progress, ..agent(handle, parent, Some("children")) }
    }

    fn seen(tasks: &[Task]) -> TaskSnapshots {
        let mut snapshots = TaskSnapshots::default();
        tasks.iter().for_each(|task| snapshots.note(task));
        snapshots
    }

    const EARLY: &str = "2026-01-02T03:04:05Z";
    const LATE: &str = "2026-01-02T03:04:06Z";

    #[test]
    fn a_run_stands_still_if_every_question_was_passed_over() {
        let lead = || passing_over("lead", None, LATE);
        assert!(seen(&[lead(), asking("a", "lead", EARLY)]).is_at_a_standstill());
        // It was passed over before, and this is another question.
        let again = [passing_over("lead", None, EARLY), asking("a", "lead", LATE)];
        assert!(!seen(&again).is_at_a_standstill());
        let busy = [lead(), asking("a", "lead", EARLY), agent("b", Some("lead"), None)];
        assert!(!seen(&busy).is_at_a_standstill());
        let unasked = [agent("lead", None, Some("children")), asking("a", "lead", EARLY)];
        assert!(!seen(&unasked).is_at_a_standstill());
        let deep = [
            agent("lead", None, Some("children")),
            passing_over("a", Some("lead"), LATE),
            asking("b", "a", EARLY),
        ];
        assert!(seen(&deep).is_at_a_standstill());
        assert!(!seen(&[agent("lead", None, Some("children"))]).is_at_a_standstill());
    }

    #[test]
    fn tasks_that_wait_for_children_are_not_at_work() {
        let mut tasks = [agent("lead", None, Some("children")), agent("a", Some("lead"), None)];
        let now = LATE.parse().unwrap();
        assert_eq!(seen(&tasks).at_work(now).as_deref(), Some("a"));
        assert_eq!(seen(&tasks[..1]).at_work(now), None);
        let (doing, since) = ("model".to_owned(), EARLY.to_owned());
        tasks[1].activity = Some(Activity { step: 2, doing, tool: None, since });
        let told = seen(&tasks).at_work(now);
        assert_eq!(told.as_deref(), Some("a (step 2: asks its model, for 1s)"));
    }
}
