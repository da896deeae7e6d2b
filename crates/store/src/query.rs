//! Queries and their results.

use std::ops::RangeInclusive;
use std::sync::Arc;

use offshoot_core::{Block, Cursor, Event, Owner, Phase, Row, RunId, SessionId, Task};

use crate::batch::RowRef;

/// A query for tasks.
#[derive(Clone, Debug)]
pub struct TaskQuery {
    /// The scope of the search.
    pub within: TaskScope,
    /// The phases; empty means all.
    pub phases: Vec<Phase>,
    /// The kind.
    pub kind: Option<Arc<str>>,
    /// The profile.
    pub profile: Option<Arc<str>>,
    /// The normalised name. The cost depends only on the number of tasks with this name in
    /// the searched scope.
    pub name: Option<Arc<str>>,
    /// The choice among an owner's tasks with the same name.
    pub namesakes: Namesakes,
    /// The run that spawned the task.
    pub run: Option<RunId>,
    /// The order.
    pub order: Order,
    /// The end of the previous page.
    pub after: Option<PageCursor>,
    /// The maximum number of tasks.
    pub limit: usize,
}

/// The scope of a search for tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskScope {
    /// In the whole store.
    Everything,
    /// In a session, at any depth.
    Session(SessionId),
    /// Among the tasks that an owner owns.
    Owner(Owner),
}

/// The order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By spawn time, ascending.
    #[default]
    OldestFirst,
    /// By spawn time, descending.
    NewestFirst,
}

impl Order {
    /// The ordinals that come after the end of a page. Ordinals start at 1.
    pub(crate) fn rest(self, after: Option<PageCursor>) -> RangeInclusive<u64> {
        match (self, after) {
            (_, None) => 1..=u64::MAX,
            (Self::OldestFirst, Some(PageCursor(after))) => after.saturating_add(1)..=u64::MAX,
            (Self::NewestFirst, Some(PageCursor(after))) => 0..=after.saturating_sub(1),
        }
    }
}

/// The choice among an owner's tasks with the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Namesakes {
    /// All of them.
    #[default]
    All,
    /// Only the one that the owner refers to by the name: the live one, or else the one
    /// that ended last.
    Last,
}

/// The end of a page. Opaque: pass it back to get the next page. In lists of tasks the
/// cursor of a task that was spawned later is greater, in either order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageCursor(pub u64);

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// The cursor of the next page; `None` at the end. A page can be short or empty and
    /// still have a next one.
    pub next: Option<PageCursor>,
}

/// A pending row with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingRow {
    /// The number of the row. Later rows have higher numbers. A row keeps its number when
    /// it moves to another inbox.
    pub number: u64,
    /// The row.
    pub row: Row,
    /// The record of the ended task, for results.
    pub task: Option<Task>,
}

impl PendingRow {
    /// The reference for an acknowledgement.
    pub fn reference(&self) -> RowRef {
        RowRef { number: self.number, id: self.row.id }
    }
}

/// The position of a message that was not consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessagePosition {
    /// In the inbox, as the row with this number.
    Queued(u64),
    /// Unread when the task ended. It is back in the sender's inbox or in the recipient's.
    Returned,
}

/// A part of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryPage {
    /// The blocks.
    pub blocks: Vec<Block>,
    /// The position of the first block.
    pub first: u64,
    /// The number of blocks in the history.
    pub total: u64,
}

/// A part of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPage {
    /// The events, in order.
    pub events: Vec<Event>,
    /// The cursor to continue from.
    pub next: Cursor,
}

/// The error for a cursor after which events have been deleted: read the records and
/// continue from `oldest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the log after this cursor has been deleted: read the records and go on from the oldest cursor"
)]
pub struct CursorExpired {
    /// The oldest cursor after which all events are stored.
    pub oldest: Cursor,
}

impl TaskQuery {
    /// All tasks in `within`, oldest first, fifty per page.
    pub fn new(within: TaskScope) -> Self {
        Self {
            within,
            phases: Vec::new(),
            kind: None,
            profile: None,
            name: None,
            namesakes: Namesakes::All,
            run: None,
            order: Order::OldestFirst,
            after: None,
            limit: 50,
        }
    }

    /// Restricts the query to tasks that have not ended.
    pub fn live(mut self) -> Self {
        self.phases = vec![Phase::Queued, Phase::Running, Phase::Waiting];
        self
    }

    /// Whether `task` matches the filters other than `within` and `namesakes`.
    pub fn admits(&self, task: &Task) -> bool {
        let spec = &task.spec;
        (self.phases.is_empty() || self.phases.contains(&task.state.phase()))
            && self.kind.as_ref().is_none_or(|kind| *kind == spec.kind)
            && self
                .profile
                .as_ref()
                .is_none_or(|profile| spec.terms.profile.as_ref() == Some(profile))
            && self.name.as_ref().is_none_or(|name| **name == *spec.handle.key())
            && self.run.is_none_or(|run| spec.lineage.origin.run == Some(run))
    }
}
