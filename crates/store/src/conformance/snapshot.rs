//! Snapshots of all visible state, to compare two moments.

use offshoot_core::{
    Block, Change, Cursor, MessageId, MessageState, Owner, Question, Row, SessionId, SessionRecord,
    Stamp, StepState, Task, TaskCounts, TaskId, Timer,
};

use crate::batch::Counter;
use crate::error::StoreError;
use crate::query::{MessagePosition, TaskQuery, TaskScope};
use crate::store::Store;

/// The counters in a snapshot. Cases use no others.
pub(super) const COUNTERS: [&str; 2] = ["tokens", "money"];

/// The steps in a snapshot. Cases use no others.
pub(super) const STEPS: [&str; 3] = ["fetch", "parse", "once"];

/// All visible state except the numbers that the store assigns, so that stores with
/// different histories can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSnapshot {
    sessions: Vec<SessionRecord>,
    tasks: Vec<TaskSnapshot>,
    owners: Vec<OwnerSnapshot>,
    log: Vec<(SessionId, Option<TaskId>, Stamp, Change)>,
    counts: TaskCounts,
    counts_by_session: Vec<TaskCounts>,
    messages: Vec<Option<MessageState>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct TaskSnapshot {
    task: Task,
    named: Option<TaskId>,
    keyed: Option<TaskId>,
    steps: Vec<Option<StepState>>,
    questions: Vec<Question>,
    timers: Vec<Timer>,
    result_row: Option<Row>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct OwnerSnapshot {
    owner: Owner,
    inbox: Vec<Row>,
    history: Vec<Block>,
    counters: Vec<u64>,
    counts: TaskCounts,
    owns: Vec<TaskId>,
}

impl StoreSnapshot {
    /// Takes a snapshot, with the positions of `messages`.
    pub async fn take(
        store: &dyn Store,
        messages: &[(TaskId, MessageId)],
    ) -> Result<Self, StoreError> {
        let sessions = sessions(store).await?;
        let tasks = tasks(store, TaskScope::Everything).await?;
        let mut owners = Vec::new();
        let mut counts_by_session = Vec::new();
        for session in &sessions {
            owners.push(OwnerSnapshot::take(store, Owner::Session(session.id)).await?);
            counts_by_session.push(store.counts_within(Some(session.id)).await?);
        }
        for task in &tasks {
            owners.push(OwnerSnapshot::take(store, Owner::Task(task.id())).await?);
        }
        let mut views = Vec::new();
        for task in tasks {
            views.push(TaskSnapshot::take(store, task).await?);
        }
        let mut states = Vec::new();
        for (task, message) in messages {
            let standing = store.message(Owner::Task(*task), *message).await?;
            states.push(standing.map(|standing| match standing {
                MessagePosition::Queued(_) => MessageState::Queued,
                MessagePosition::Returned => MessageState::Returned,
            }));
        }
        Ok(Self {
            sessions,
            tasks: views,
            owners,
            log: log(store).await?,
            counts: store.counts_within(None).await?,
            counts_by_session,
            messages: states,
        })
    }
}

impl TaskSnapshot {
    async fn take(store: &dyn Store, task: Task) -> Result<Self, StoreError> {
        let (id, owner) = (task.id(), task.owner());
        let mut steps = Vec::new();
        for key in STEPS {
            steps.push(store.step(id, key).await?);
        }
        let keyed = match &task.spec.terms.key {
            Some(key) => store.keyed(owner, key).await?,
            None => None,
        };
        let named = store.named(owner, task.spec.handle.key()).await?;
        let mut timers = store.timers(id).await?;
        timers.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(Self {
            named: named.map(|task| task.id()),
            keyed: keyed.map(|task| task.id()),
            steps,
            questions: store.questions(id).await?,
            timers,
            result_row: store.result_row(id).await?.map(|pending| pending.row),
            task,
        })
    }
}

impl OwnerSnapshot {
    async fn take(store: &dyn Store, owner: Owner) -> Result<Self, StoreError> {
        let rows = store.inbox(owner, 0, usize::MAX >> 1).await?;
        let mut counters = Vec::new();
        for name in COUNTERS {
            counters.push(store.counter(&Counter { owner, name: name.into() }).await?);
        }
        let owns = tasks(store, TaskScope::Owner(owner)).await?;
        Ok(Self {
            owner,
            inbox: rows.into_iter().map(|pending| pending.row).collect(),
            history: store.history(owner, 0, usize::MAX >> 1).await?.blocks,
            counters,
            counts: store.counts(owner).await?,
            owns: owns.iter().map(Task::id).collect(),
        })
    }
}

async fn sessions(store: &dyn Store) -> Result<Vec<SessionRecord>, StoreError> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.sessions(after, 3).await?;
        assert!(page.next.is_none() || page.next != after, "the list does not go on");
        found.extend(page.items);
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(found),
        }
    }
}

async fn tasks(store: &dyn Store, within: TaskScope) -> Result<Vec<Task>, StoreError> {
    let (mut found, mut query) = (Vec::new(), TaskQuery::new(within));
    loop {
        let page = store.tasks(query.clone()).await?;
        assert!(page.next.is_none() || page.next != query.after, "the list does not go on");
        found.extend(page.items);
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(found),
        }
    }
}

async fn log(
    store: &dyn Store,
) -> Result<Vec<(SessionId, Option<TaskId>, Stamp, Change)>, StoreError> {
    let (mut found, mut after) = (Vec::new(), Cursor::START);
    loop {
        let page = match store.events(None, after, 100).await? {
            Ok(page) => page,
            Err(expired) => store.events(None, expired.oldest, 100).await?.unwrap_or_else(|_| {
                panic!("the oldest cursor of an expired one has expired itself")
            }),
        };
        if page.events.is_empty() {
            return Ok(found);
        }
        assert!(page.next > after, "the log does not go on");
        after = page.next;
        let view =
            |event: offshoot_core::Event| (event.session, event.task, event.at, event.change);
        found.extend(page.events.into_iter().map(view));
    }
}
