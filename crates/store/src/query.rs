//! Questions to a store that have more than one answer.

use std::ops::RangeInclusive;
use std::sync::Arc;

use offshoot_core::{Block, Cursor, Event, Owner, Phase, Row, RunId, SessionId, Task};

use crate::batch::RowRef;

/// Which tasks to list.
#[derive(Clone, Debug)]
pub struct TaskQuery {
    /// Whose tasks.
    pub within: Within,
    /// In which phases; all if empty.
    pub phases: Vec<Phase>,
    /// Of which kind.
    pub kind: Option<Arc<str>>,
    /// Of which profile.
    pub profile: Option<Arc<str>>,
    /// Called so: the name's key. What is found this way costs what is called
    /// so within `within`, however much else there is.
    pub name: Option<Arc<str>>,
    /// Which of the tasks that one owner calls alike.
    pub namesakes: Namesakes,
    /// Spawned in which run.
    pub run: Option<RunId>,
    /// In which order.
    pub order: Order,
    /// Where the page before ended.
    pub after: Option<PageCursor>,
    /// How many at the most.
    pub limit: usize,
}

/// Whose tasks to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// Everybody's.
    Everything,
    /// A session's, at any depth.
    Session(SessionId),
    /// Those that an owner owns.
    Owner(Owner),
}

/// In which order to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// First spawned first.
    #[default]
    OldestFirst,
    /// Last spawned first.
    NewestFirst,
}

impl Order {
    /// The ordinals that come after where a page ended. They are numbered from
    /// 1.
    pub(crate) fn rest(self, after: Option<PageCursor>) -> RangeInclusive<u64> {
        match (self, after) {
            (_, None) => 1..=u64::MAX,
            (Self::OldestFirst, Some(PageCursor(after))) => after.saturating_add(1)..=u64::MAX,
            (Self::NewestFirst, Some(PageCursor(after))) => 0..=after.saturating_sub(1),
        }
    }
}

/// Which of the tasks that one owner calls alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Namesakes {
    /// All of them.
    #[default]
    All,
    /// Only the last of each owner: the live one, else the one that ended
    /// last. It is what the owner means by the name.
    Last,
}

/// Where a page ended. Opaque: hand it back to get the next page. Of lists of
/// tasks, the cursor behind a task that was spawned later is the greater one,
/// in whichever order they are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageCursor(pub u64);

/// A part of a longer list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Where to go on; `None` at the end. A page may hold fewer items than
    /// asked for, even none, and still have a next one.
    pub next: Option<PageCursor>,
}

/// A pending row and where it stands in its inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Rows with a higher number came later. It is the row's own for ever,
    /// whosever inbox it moves to.
    pub number: u64,
    /// The row.
    pub row: Row,
    /// The record of the task it tells of, for results.
    pub task: Option<Task>,
}

impl Pending {
    /// What an acknowledgement names.
    pub fn reference(&self) -> RowRef {
        RowRef { number: self.number, id: self.row.id }
    }
}

/// Where a message is that was not consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// In the inbox, as the row of this number.
    Queued(u64),
    /// Unread, because the task ended: back with its sender, or with the heir.
    Returned,
}

/// A part of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryPage {
    /// The blocks.
    pub blocks: Vec<Block>,
    /// The position of the first of them.
    pub first: u64,
    /// How many blocks the history has.
    pub total: u64,
}

/// A part of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPage {
    /// The events, in order.
    pub events: Vec<Event>,
    /// Where to go on.
    pub next: Cursor,
}

/// Events after the cursor have been deleted: take a snapshot of the records
/// and go on from `oldest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the log after this cursor has been deleted: read the records and go on from the oldest cursor"
)]
pub struct Expired {
    /// The oldest cursor from which nothing is missing.
    pub oldest: Cursor,
}

impl TaskQuery {
    /// All tasks within `within`, oldest first, fifty at a time.
    pub fn new(within: Within) -> Self {
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

    /// This query, for tasks that have not ended.
    pub fn live(mut self) -> Self {
        self.phases = vec![Phase::Queued, Phase::Running, Phase::Waiting];
        self
    }

    /// Whether `task` is one of those asked for, `within` and `namesakes`
    /// apart.
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
