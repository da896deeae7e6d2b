//! The data of one owner: history, steps, questions and timers.

use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::{Block, Owner, Question, StepState, TaskId, Timer};

use super::state::MemoryState;
use crate::query::HistoryPage;

#[derive(Debug, Default)]
pub(super) struct OwnerData {
    pub(super) history: Vec<Block>,
    pub(super) steps: HashMap<Arc<str>, StepState>,
    pub(super) questions: Vec<Question>,
    pub(super) timers: Vec<Timer>,
}

impl MemoryState {
    pub(super) fn owner_data_mut(&mut self, owner: Owner) -> &mut OwnerData {
        self.owner_data.entry(owner).or_default()
    }

    fn task_notes(&self, task: TaskId) -> Option<&OwnerData> {
        self.owner_data.get(&Owner::Task(task))
    }

    pub(super) fn history(&self, owner: Owner, first: u64, limit: usize) -> HistoryPage {
        let blocks = self.owner_data.get(&owner).map_or(&[][..], |data| &data.history);
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
        self.task_notes(task).map_or(&[], |data| &data.questions)
    }

    pub(super) fn timers(&self, task: TaskId) -> &[Timer] {
        self.task_notes(task).map_or(&[], |data| &data.timers)
    }
}
