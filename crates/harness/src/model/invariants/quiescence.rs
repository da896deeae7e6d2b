//! The promises that hold when no task can go on.

use offshoot_core::{Change, Cursor, Owner, RowId, Task, TaskState, WaitingOn};
use offshoot_store::{Memory, ReadFuture, Store, TaskQuery, TaskScope};

use crate::model::RuntimeModel;
use crate::model::invariants::removal;
use crate::model::invariants::slots::Executing;
use crate::model::invariants::sweeps;
use crate::model::store_model::RowFate;
use crate::running_bodies::BodyActivity;

use crate::violation::{Checked, Violation, ensure};

/// Checks that every task and actor at rest has a reason to wait.
pub fn check_progress(model: &RuntimeModel, actors: &[Option<BodyActivity>]) -> Checked {
    sweeps::check_over(&model.shadow)?;
    removal::check_over(&model.shadow)?;
    for known in model.shadow.live() {
        let task = &known.task;
        ensure(is_excused(model, task), "nothing is stuck", || {
            let inside = model.bodies.inside(task.id(), task.lease.epoch);
            let unread = model.shadow.pending(Owner::Task(task.id()));
            format!(
                "nothing can go on, but {} is {}, its body {inside:?}, unread {unread:?}",
                task.id(),
                task.state
            )
        })?;
    }
    for (actor, doing) in actors.iter().enumerate() {
        let Some(doing) = doing else { continue };
        ensure(is_waiting(model, doing), "S3.6 waiters always wake", || {
            let unread = match doing {
                BodyActivity::Idling(owner) => model.shadow.pending(*owner),
                _ => Vec::new(),
            };
            format!("nothing can go on, but actor {actor} is {doing:?}, unread {unread:?}")
        })?;
    }
    Ok(())
}

fn is_excused(model: &RuntimeModel, task: &Task) -> bool {
    let id = task.id();
    if task.is_held() {
        return model.shadow.tasks.get(&id).is_some_and(|known| known.live_children > 0);
    }
    let inside = model.bodies.inside(id, task.lease.epoch);
    match task.state {
        TaskState::Queued => {
            let executing = Executing::count(&model.shadow, model.worker);
            !executing.has_room(&model.caps, task.spec.lineage.session, task.owner())
        }
        // A cancelled task may hang only until it is forced.
        TaskState::Running | TaskState::Waiting(_) if task.cancel.is_some() => false,
        TaskState::Running => inside.is_some_and(|inside| match &inside.doing {
            BodyActivity::Hanging => true,
            // The task could go on, but finds no slot.
            doing => !is_waiting(model, doing) && !has_room(model, task),
        }),
        TaskState::Waiting(on) => inside.is_some_and(|inside| match (on, &inside.doing) {
            (WaitingOn::Message, BodyActivity::Receiving) => {
                model.shadow.pending(Owner::Task(id)).is_empty() || !has_room(model, task)
            }
            (WaitingOn::Message, BodyActivity::Idling(owner)) => {
                !model.shadow.has_reason(*owner) || !has_room(model, task)
            }
            // A wait that ended just before the question may still label it.
            (_, BodyActivity::Asking) => {
                let asked = model.shadow.questions.get(&id);
                asked.is_some_and(|asked| asked.iter().any(Option::is_none))
                    || !has_room(model, task)
            }
            (WaitingOn::Children, doing) => is_waiting(model, doing) || !has_room(model, task),
            _ => !has_room(model, task),
        }),
        _ => true,
    }
}

fn has_room(model: &RuntimeModel, task: &Task) -> bool {
    let executing = Executing::count(&model.shadow, model.worker);
    executing.has_room(&model.caps, task.spec.lineage.session, task.owner())
}

/// Whether the awaited event is still missing.
fn is_waiting(model: &RuntimeModel, doing: &BodyActivity) -> bool {
    match doing {
        BodyActivity::Waiting { tasks, any } => {
            let tasks = || tasks.iter().filter_map(|id| model.shadow.task(*id));
            let asks = tasks().any(|task| is_asking(model, task));
            let mut ended = tasks().map(|task| !task.is_live());
            let enough = if *any { ended.any(|ended| ended) } else { ended.all(|ended| ended) };
            !asks && !enough
        }
        BodyActivity::Receiving => true,
        BodyActivity::Idling(owner) => !model.shadow.has_reason(*owner),
        BodyActivity::Working | BodyActivity::Hanging | BodyActivity::Asking => false,
    }
}

/// Whether the task has an unanswered question. A task with an answer may wait for a slot.
fn is_asking(model: &RuntimeModel, task: &Task) -> bool {
    let Some(number) = task.state.question() else { return false };
    let asked = model.shadow.questions.get(&task.id());
    asked.and_then(|asked| asked.get(number as usize - 1)).is_some_and(Option::is_none)
}

/// Checks that a reader of a session's inbox has nothing left to read.
pub fn check_read(model: &RuntimeModel, owner: Owner, doing: Option<&BodyActivity>) -> Checked {
    let unread = model.shadow.pending(owner).len();
    ensure(
        doing != Some(&BodyActivity::Receiving) || unread == 0,
        "S3.6 completion before the waiter parks is never missed",
        || format!("the reader of {owner} sleeps before {unread} rows"),
    )
}

/// Checks that every task has ended and no body runs.
pub fn check_ended(model: &RuntimeModel, actors: &[Option<BodyActivity>]) -> Checked {
    if let Some(known) = model.shadow.live().next() {
        let inside = model.bodies.inside(known.task.id(), known.task.lease.epoch);
        return Err(Violation::new(
            "S6.2 every cancelled task ends",
            format!("{:?} lives on, its body is {inside:?}", known.task),
        ));
    }
    let body = model.bodies.running().next();
    ensure(body.is_none(), "S6.8 no body outlives its task", || format!("{body:?} runs"))?;
    let stuck = actors.iter().position(|doing| match doing {
        None | Some(BodyActivity::Receiving | BodyActivity::Idling(_)) => false,
        Some(_) => true,
    });
    ensure(stuck.is_none(), "S3.6 waiters always wake", || {
        format!("every task has ended, but actor {stuck:?} waits: {actors:?}")
    })
}

/// Compares the disk with the expected contents.
pub fn check_disk(model: &RuntimeModel, memory: &Memory) -> Checked {
    let shadow = &model.shadow;
    for id in &shadow.order {
        let stored = now(memory.task(*id))?;
        let known = shadow.task(*id).filter(|_| shadow.is_stored(*id));
        ensure(stored.as_ref() == known, "nothing acknowledged is lost", || {
            format!("{id} must be {known:?}, and is {stored:?}")
        })?;
        if known.is_some() {
            let owner = Owner::Task(*id);
            check_inbox(model, memory, owner)?;
            check_history(model, memory, owner)?;
        }
    }
    let mut query = TaskQuery::new(TaskScope::Everything);
    query.limit = usize::MAX;
    let stored = now(memory.tasks(query))?.items.len();
    let kept = shadow.order.iter().filter(|id| shadow.is_stored(**id)).count();
    ensure(stored == kept, "every stored task was spawned", || {
        format!("{stored} tasks are stored, {kept} were spawned and not forgotten")
    })?;
    for session in shadow.log.keys() {
        let owner = Owner::Session(*session);
        check_inbox(model, memory, owner)?;
        check_history(model, memory, owner)?;
    }
    check_results(model)?;
    check_log(model, memory)
}

fn check_inbox(model: &RuntimeModel, memory: &Memory, owner: Owner) -> Checked {
    let stored: Vec<_> = now(memory.inbox(owner, 0, usize::MAX))?;
    let stored: Vec<_> = stored.iter().map(|pending| (pending.row.id, &pending.row.body)).collect();
    let known = model.shadow.pending(owner);
    let known = known.iter().filter_map(|id| Some((*id, &model.shadow.rows.get(id)?.body)));
    let known: Vec<_> = known.collect();
    ensure(stored == known, "S4.3 every row is with its owner exactly once", || {
        format!("{owner} must have to read {known:?}, and has {stored:?}")
    })
}

fn check_history(model: &RuntimeModel, memory: &Memory, owner: Owner) -> Checked {
    let stored = now(memory.history(owner, 0, usize::MAX))?.blocks;
    let known = model.shadow.histories.get(&owner);
    let same = stored.iter().map(|block| &block.text).eq(known.into_iter().flatten());
    ensure(same, "S4.2 a history holds what was appended, in order", || {
        format!("the history of {owner} must be {known:?}, and is {stored:?}")
    })
}

/// Checks that the end of every task is reported exactly once.
fn check_results(model: &RuntimeModel) -> Checked {
    let shadow = &model.shadow;
    for id in &shadow.order {
        let told = shadow.rows.get(&RowId::from(*id));
        let ended = shadow.task(*id).is_some_and(|task| !task.is_live());
        ensure(told.is_some() == ended, "S4.1 every end is told exactly once", || {
            format!("{id} has ended: {ended}, and is told of by {told:?}")
        })?;
    }
    for (id, row) in &shadow.rows {
        let text = id.to_string();
        let history = shadow.histories.get(&row.owner);
        let times = history.map_or(0, |texts| texts.iter().filter(|had| ***had == *text).count());
        let once = match row.fate {
            RowFate::Appended => times == 1,
            // A row acknowledged without an append is in no history.
            RowFate::Acked => model.explicit.contains(id) || times == 1,
            RowFate::Pending | RowFate::Deleted | RowFate::Removed => times == 0,
        };
        ensure(once, "S4.3 every row is in its owner's history exactly once, or unread", || {
            format!("{row:?} of id {id} is {times} times in the history of its owner")
        })?;
    }
    Ok(())
}

/// Checks that the log has every change in order, and that readers missed none.
fn check_log(model: &RuntimeModel, memory: &Memory) -> Checked {
    for (session, known) in &model.shadow.log {
        let page = now(memory.events(Some(*session), Cursor::START, usize::MAX))?;
        let Ok(page) = page else {
            return Err(Violation::new("S3.7 the log is kept", session.to_string()));
        };
        let told = page.events.iter().filter(|event| is_of_record(&event.change));
        let same = told.map(|event| (event.task, event.change.clone())).eq(known.iter().cloned());
        ensure(same, "S3.7 the log has one order and no gaps", || {
            format!("the log of {session} must be {known:?}, and is {:?}", page.events)
        })?;
        let deleted = page.events.iter().filter(|event| event.change == Change::Deleted);
        let mut deleted: Vec<_> = deleted.filter_map(|event| event.task).collect();
        let mut must = model.shadow.deleted.get(session).cloned().unwrap_or_default();
        deleted.sort_unstable();
        must.sort_unstable();
        ensure(deleted == must, "S10.4 a task is deleted with an event", || {
            format!("the log of {session} must tell that {must:?} were deleted, not {deleted:?}")
        })?;
        for read in (0..2).filter_map(|lane| model.read.get(&(*session, lane))) {
            ensure(
                page.events.starts_with(read),
                "S3.7 no later-visible commit is ever skipped",
                || format!("a reader of {session} read {read:?} of {:?}", page.events),
            )?;
        }
    }
    Ok(())
}

fn is_of_record(change: &Change) -> bool {
    !matches!(
        change,
        Change::MessageQueued(_)
            | Change::Asked(_)
            | Change::QuestionClosed(_)
            | Change::HistoryGrew(_)
            | Change::StepCommitted(_)
            | Change::Acknowledged { .. }
            | Change::Deleted
    )
}

/// The answer of the memory store, which is always ready.
fn now<T>(read: ReadFuture<T>) -> Result<T, Violation> {
    match read.try_now() {
        Ok(Ok(found)) => Ok(found),
        _ => Err(Violation::new("the disk can be read", "the memory store did not answer")),
    }
}
