//! Listing and showing tasks, and the reasons for which one waits.

use offshoot_client::wire::{
    self, Code, ListTasks, Reply, Scope, TaskName, TaskWhy, Tasks, WireError,
};
use offshoot_core::{Owner, Phase, TaskState, Visibility, WaitingOn};
use offshoot_store::PageCursor;

use super::approval_question::{self, ApprovalQuestion};
use super::view;
use super::{Answer, ServiceError};
use crate::host::Daemon;

/// The longest page.
const LONGEST: usize = 1_000;

/// The most bytes of commands on a page.
const HEAVIEST: usize = 4 << 20;

/// Lists a page of tasks, the last spawned first.
pub(super) async fn list(daemon: &Daemon, list: ListTasks) -> Answer {
    let runtime = daemon.runtime()?;
    let mut tasks = match &list.session {
        None => runtime.tasks(),
        Some(name) => match daemon.find_session(name).await? {
            Some(session) => session.with_visibility(Visibility::Subtree).tasks(),
            None => return Ok(Reply::Tasks(Tasks { tasks: Vec::new(), next: None })),
        },
    };
    if list.scope == Scope::Live && list.states.is_empty() {
        tasks = tasks.live();
    }
    for state in &list.states {
        tasks = tasks.phase(phase(state)?);
    }
    if let Some(cursor) = &list.cursor {
        tasks = tasks.after(parse_cursor(cursor)?);
    }
    let mut limit = list.limit.clamp(1, LONGEST);
    let tasks = tasks.newest_first();
    loop {
        let page = tasks.clone().limit(limit).await?;
        let mut shown = Vec::with_capacity(page.items.len());
        let mut bytes = 0;
        for task in page.items {
            bytes += usize::try_from(task.spec.input.bytes()).unwrap_or(usize::MAX);
            shown.push(view::task(daemon, runtime.snapshot(task)).await?);
        }
        // Long tasks get shorter pages.
        if bytes > HEAVIEST && limit > 1 {
            limit = limit.div_ceil(8);
            continue;
        }
        return Ok(Reply::Tasks(Tasks { tasks: shown, next: page.next.map(cursor) }));
    }
}

fn phase(state: &str) -> Result<Phase, ServiceError> {
    Ok(match wire::State::of(state) {
        Some(wire::State::Queued) => Phase::Queued,
        Some(wire::State::Running) => Phase::Running,
        Some(wire::State::Waiting) => Phase::Waiting,
        Some(wire::State::Completed) => Phase::Completed,
        Some(wire::State::Failed) => Phase::Failed,
        Some(wire::State::Cancelled) => Phase::Cancelled,
        Some(wire::State::Lost) => Phase::Lost,
        None => {
            let known = wire::State::ALL.map(wire::State::word).join(", ");
            let text = format!("there is no state {state:?}: use one of {known}");
            return Err(WireError::new(Code::BadRequest, text).into());
        }
    })
}

/// The cursor of a page, as callers pass it back.
pub(super) fn cursor(next: PageCursor) -> String {
    next.0.to_string()
}

/// Parses the cursor that a caller passes back.
pub(super) fn parse_cursor(text: &str) -> Result<PageCursor, ServiceError> {
    text.parse().map(PageCursor).map_err(|_| {
        let text = format!("{text:?} is no cursor: use the `next` of the page before");
        WireError::new(Code::BadRequest, text).into()
    })
}

/// Shows one task.
pub(super) async fn show(daemon: &Daemon, named: &TaskName) -> Answer {
    let snapshot = daemon.task(named).await?.snapshot().await?;
    Ok(Reply::Task(Box::new(view::in_full(daemon, snapshot).await?)))
}

/// The most children that are read for the reasons of a task.
const CHILDREN: usize = 16;

fn asks(who: &str, question: &wire::Question) -> wire::Reason {
    wire::Reason { is: "question".to_owned(), text: format!("{who} asks: {}", question.text) }
}

/// The task that has a question.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The task itself.
    Own,
    /// A task below it.
    Below,
}

fn asks_approval(asked: &ApprovalQuestion, path: &str, whose: Whose) -> wire::Reason {
    let request = view::approval_summary(asked);
    let (wants, id) = (request.wants(), request.id);
    let who = if whose == Whose::Own { "it" } else { path };
    let text = format!(
        "{who} {wants}: `offshoot approve {id}` or `offshoot deny {id}` answers, \
         `offshoot approvals show {id}` shows all of it"
    );
    wire::Reason { is: "approval".to_owned(), text }
}

/// Lists the reasons for which a task waits.
pub(super) async fn why(daemon: &Daemon, named: &TaskName) -> Answer {
    let task = daemon.task(named).await?;
    let (why, record) = (task.why().await?, task.record().await?);
    let lacks = daemon.missing_requirement(&record);
    let mut reasons: Vec<_> =
        why.reasons.iter().map(|why| view::reason(why, lacks.as_ref())).collect();
    // What the task waits on comes first, then the reasons for that.
    reasons.extend(view::asking(&record));
    if let Some(question) = view::open_question(daemon, &record).await? {
        reasons.push(asks("it", &question));
    }
    if record.state == TaskState::Waiting(WaitingOn::Children) {
        let runtime = daemon.runtime()?;
        let children = runtime.tasks().owner(Owner::Task(task.id())).live().limit(CHILDREN).await?;
        for child in children.items {
            if let Some(question) = view::open_question(daemon, &child).await? {
                reasons.push(asks(child.handle(), &question));
            }
        }
    }
    for (asked, path) in approval_question::open_below(daemon, &record, CHILDREN).await? {
        let own = asked.task.id() == record.id();
        let whose = if own { Whose::Own } else { Whose::Below };
        reasons.push(asks_approval(&asked, &path.handles, whose));
    }
    Ok(Reply::Why(TaskWhy {
        id: task.id().to_string(),
        handle: why.handle,
        state: view::state(why.state),
        since: why.since.to_string(),
        reasons,
    }))
}
