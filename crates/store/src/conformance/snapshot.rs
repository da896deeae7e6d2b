//! Everything that can be seen of a store, to compare two moments.

use offshoot_core::{
    Block, Change, Counts, Cursor, MessageId, MessageState, Owner, Question, Row, Session,
    SessionId, Stamp, StepState, Task, TaskId, Timer,
};

use crate::batch::Counter;
use crate::error::StoreError;
use crate::query::{Standing, TaskQuery, Within};
use crate::store::Store;

/// The counters a snapshot looks at. Cases use no others.
pub(super) const COUNTERS: [&str; 2] = ["tokens", "money"];

/// The steps a snapshot looks at. Cases use no others.
pub(super) const STEPS: [&str; 3] = ["fetch", "parse", "once"];

/// Everything that can be seen of a store, but for the numbers it gives out
/// itself, so that two stores can be compared that came to the same end by
/// different ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    sessions: Vec<Session>,
    tasks: Vec<TaskView>,
    owners: Vec<OwnerView>,
    log: Vec<(SessionId, Option<TaskId>, Stamp, Change)>,
    counts: Counts,
    counts_by_session: Vec<Counts>,
    messages: Vec<Option<MessageState>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct TaskView {
    task: Task,
    named: Option<TaskId>,
    keyed: Option<TaskId>,
    steps: Vec<Option<StepState>>,
    questions: Vec<Question>,
    timers: Vec<Timer>,
    result_row: Option<Row>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct OwnerView {
    owner: Owner,
    inbox: Vec<Row>,
    history: Vec<Block>,
    counters: Vec<u64>,
    counts: Counts,
    owns: Vec<TaskId>,
}

impl Snapshot {
    /// Takes a snapshot; `messages` are the messages to ask after.
    pub async fn take(
        store: &dyn Store,
        messages: &[(TaskId, MessageId)],
    ) -> Result<Self, StoreError> {
        let sessions = sessions(store).await?;
        let tasks = tasks(store, Within::Everything).await?;
        let mut owners = Vec::new();
        let mut counts_by_session = Vec::new();
        for session in &sessions {
            owners.push(OwnerView::take(store, Owner::Session(session.id)).await?);
            counts_by_session.push(store.counts_within(Some(session.id)).await?);
        }
        for task in &tasks {
            owners.push(OwnerView::take(store, Owner::Task(task.id())).await?);
        }
        let mut views = Vec::new();
        for task in tasks {
            views.push(TaskView::take(store, task).await?);
        }
        let mut states = Vec::new();
        for (task, message) in messages {
            let standing = store.message(Owner::Task(*task), *message).await?;
            states.push(standing.map(|standing| match standing {
                Standing::Queued(_) => MessageState::Queued,
                Standing::Returned => MessageState::Returned,
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

impl TaskView {
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

impl OwnerView {
    async fn take(store: &dyn Store, owner: Owner) -> Result<Self, StoreError> {
        let rows = store.inbox(owner, 0, usize::MAX >> 1).await?;
        let mut counters = Vec::new();
        for name in COUNTERS {
            counters.push(store.counter(&Counter { owner, name: name.into() }).await?);
        }
        let owns = tasks(store, Within::Owner(owner)).await?;
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

async fn sessions(store: &dyn Store) -> Result<Vec<Session>, StoreError> {
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

async fn tasks(store: &dyn Store, within: Within) -> Result<Vec<Task>, StoreError> {
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
