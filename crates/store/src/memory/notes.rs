//! What a session or task has written down: history, journal, questions,
//! timers.

use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::{Block, Owner, Question, StepState, TaskId, Timer};

use super::ledger::Ledger;
use crate::query::HistoryPage;

#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) history: Vec<Block>,
    pub(super) steps: HashMap<Arc<str>, StepState>,
    pub(super) questions: Vec<Question>,
    pub(super) timers: Vec<Timer>,
}

impl Ledger {
    pub(super) fn notes_mut(&mut self, owner: Owner) -> &mut Notes {
        self.notes.entry(owner).or_default()
    }

    fn task_notes(&self, task: TaskId) -> Option<&Notes> {
        self.notes.get(&Owner::Task(task))
    }

    pub(super) fn history(&self, owner: Owner, first: u64, limit: usize) -> HistoryPage {
        let blocks = self.notes.get(&owner).map_or(&[][..], |notes| &notes.history);
        let total = blocks.len() as u64;
        let first = first.min(total);
        let from = usize::try_from(first).unwrap_or(blocks.len());
        let page = blocks[from..].iter().take(limit).cloned().collect();
        HistoryPage { blocks: page, first, total }
    }

    pub(super) fn step(&self, task: TaskId, key: &str) -> Option<&StepState> {
        self.task_notes(task)?.steps.get(key)
    }

    pub(super) fn questions(&self, task: TaskId) -> &[Question] {
        self.task_notes(task).map_or(&[], |notes| &notes.questions)
    }

    pub(super) fn timers(&self, task: TaskId) -> &[Timer] {
        self.task_notes(task).map_or(&[], |notes| &notes.timers)
    }
}
