//! Access: which tasks a caller may touch, and which task a handle names.

use std::sync::Arc;

use offshoot_core::{
    Caller, NAME_LIMIT, Name, Owner, SessionId, Spec, Task, TaskId, Visibility, text,
};
use offshoot_store::{Namesakes, Order, TaskQuery, TaskScope};

use crate::engine::Engine;
use crate::engine::handle::{TaskRef, Viewer};
use crate::error::Error;

/// The number of handles compared for a suggestion.
const SUGGESTIONS: usize = 256;

/// The number of tasks of one name read at a time.
const NAMESAKES: usize = 4_096;

/// The task, if the viewer may touch it; otherwise [`Error::NotFound`] or
/// [`Error::Forbidden`].
pub(crate) async fn touchable(engine: &Engine, viewer: &Viewer, id: TaskId) -> Result<Task, Error> {
    let task = engine.task(id).await?.ok_or_else(|| Error::not_found(id))?;
    if may_touch(engine, viewer, &task).await? { Ok(task) } else { Err(Error::Forbidden(id)) }
}

/// Whether the viewer may touch a task.
pub(crate) async fn may_touch(
    engine: &Engine,
    viewer: &Viewer,
    task: &Task,
) -> Result<bool, Error> {
    if viewer.caller.may_touch(&task.spec, viewer.visibility, || false) {
        return Ok(true);
    }
    if viewer.visibility != Visibility::Subtree {
        return Ok(false);
    }
    let Caller::Task(viewer) = viewer.caller else { return Ok(false) };
    // From the task upwards, owner by owner. Depth is capped, and a detached
    // task has no owner below its session.
    let mut owner = Some(task.owner());
    while let Some(Owner::Task(id)) = owner {
        if id == viewer {
            return Ok(true);
        }
        owner = engine.store.task(id).await?.map(|task| task.owner());
    }
    Ok(false)
}

/// Refuses a viewer that may not spawn under a task.
///
/// It reads nothing that has to be awaited: only a live task takes children,
/// and the owners of a live task are live, so they are known at once.
pub(crate) fn check_under(engine: &Engine, viewer: &Viewer, parent: &Spec) -> Result<(), Error> {
    let is_below = || {
        let mut owner = Some(parent.owner());
        while let Some(Owner::Task(id)) = owner {
            if viewer.caller == Caller::Task(id) {
                return true;
            }
            owner = owner_at_once(engine, id);
        }
        false
    };
    match viewer.caller.may_touch(parent, viewer.visibility, is_below) {
        true => Ok(()),
        false => Err(Error::Forbidden(parent.id)),
    }
}

fn owner_at_once(engine: &Engine, task: TaskId) -> Option<Owner> {
    if let Some(live) = engine.live_task(task) {
        return Some(live.spec.owner());
    }
    let stored = engine.store.task(task).try_now().ok()?.ok()??;
    Some(stored.owner())
}

/// Refuses a task that is not an ancestor of this one: its parent, the task that
/// it continues, or an ancestor of these.
pub(crate) async fn check_descent(engine: &Engine, spec: &Spec, from: TaskId) -> Result<(), Error> {
    let before = |spec: &Spec| [spec.lineage.parent, spec.terms.continues];
    let mut next: Vec<TaskId> = before(spec).into_iter().flatten().collect();
    let mut seen = Vec::new();
    while let Some(id) = next.pop() {
        if id == from {
            return Ok(());
        }
        if seen.contains(&id) {
            continue;
        }
        seen.push(id);
        if let Some(task) = engine.task(id).await? {
            next.extend(before(&task.spec).into_iter().flatten());
        }
    }
    Err(Error::Forbidden(from))
}

/// The task that the viewer names by id, handle, or, for the host,
/// `<parent handle>/<name>`.
pub(crate) async fn find(
    engine: &Arc<Engine>,
    viewer: &Viewer,
    text: &str,
) -> Result<TaskRef, Error> {
    engine.check_open()?;
    let text = text.trim();
    let task = if let Ok(id) = text.parse::<TaskId>() {
        touchable(engine, viewer, id).await?
    } else {
        match (viewer.caller, viewer.visibility) {
            (Caller::Task(id), _) if Name::key_of(text) == "self" => {
                touchable(engine, viewer, id).await?
            }
            (Caller::Session(id), Visibility::Children) => {
                named(engine, viewer, Owner::Session(id), text).await?
            }
            (Caller::Task(id), Visibility::Children) => {
                named_by_task(engine, viewer, id, text).await?
            }
            (Caller::Session(id), Visibility::Subtree) => {
                search(engine, viewer, TaskScope::Session(id), text).await?
            }
            (Caller::Task(_), Visibility::Subtree) => {
                let live = viewer.live.as_ref().ok_or(Error::Closed)?;
                let within = TaskScope::Session(live.spec.lineage.session);
                search(engine, viewer, within, text).await?
            }
            (Caller::Host, _) => find_path(engine, viewer, TaskScope::Everything, text).await?,
        }
    };
    Ok(TaskRef { engine: engine.clone(), spec: task.spec.clone(), viewer: viewer.clone() })
}

/// The task that the host names within a session. An id names any task.
pub(crate) async fn find_within(
    engine: &Arc<Engine>,
    session: SessionId,
    text: &str,
) -> Result<TaskRef, Error> {
    engine.check_open()?;
    let (host, within) = (Viewer::host(), TaskScope::Session(session));
    let task = find_path(engine, &host, within, text.trim()).await?;
    Ok(TaskRef { engine: engine.clone(), spec: task.spec.clone(), viewer: host })
}

async fn named(engine: &Engine, viewer: &Viewer, owner: Owner, text: &str) -> Result<Task, Error> {
    match engine.store.named(owner, &Name::key_of(text)).await? {
        Some(task) => Ok(task),
        None => Err(no_such_task(engine, viewer, TaskScope::Owner(owner), text).await),
    }
}

/// The task that a task means by a name: one that it owns, or itself.
async fn named_by_task(
    engine: &Engine,
    viewer: &Viewer,
    id: TaskId,
    text: &str,
) -> Result<Task, Error> {
    let key = Name::key_of(text);
    let itself = engine.task(id).await?.filter(|task| task.spec.handle.key() == key);
    let Some(itself) = itself else {
        return named(engine, viewer, Owner::Task(id), text).await;
    };
    match engine.store.named(Owner::Task(id), &key).await?.filter(Task::is_live) {
        Some(child) => {
            let ids = vec![itself.id(), child.id()];
            Err(Error::Ambiguous { what: quoted(text), ids })
        }
        None => Ok(itself),
    }
}

/// The task at the end of a path of names, each owned by the one before.
async fn find_path(
    engine: &Engine,
    viewer: &Viewer,
    within: TaskScope,
    path: &str,
) -> Result<Task, Error> {
    let mut names = path.split('/').map(str::trim);
    if names.clone().any(str::is_empty) {
        return Err(Error::not_found(quoted(path)));
    }
    let first = names.next().unwrap_or_default();
    let mut task = match first.parse::<TaskId>() {
        Ok(id) => touchable(engine, viewer, id).await?,
        Err(_) => search(engine, viewer, within, first).await?,
    };
    for name in names {
        task = named(engine, viewer, Owner::Task(task.id()), name).await?;
    }
    Ok(task)
}

/// The task of this name within reach: the live one, else the one that ended
/// last. Several live ones are ambiguous.
async fn search(
    engine: &Engine,
    viewer: &Viewer,
    within: TaskScope,
    text: &str,
) -> Result<Task, Error> {
    let mut query = TaskQuery::new(within);
    query.name = Some(Name::key_of(text).into());
    query.limit = NAMESAKES;
    let mut found = all_touchable(engine, viewer, query.clone().live()).await?;
    if found.is_empty() {
        // Only the last one of each owner can have ended last. It is live if it
        // was spawned after the first query.
        query.namesakes = Namesakes::Last;
        found = all_touchable(engine, viewer, query).await?;
    }
    let live: Vec<_> = found.iter().filter(|task| task.is_live()).map(Task::id).collect();
    if live.len() > 1 {
        return Err(Error::Ambiguous { what: quoted(text), ids: live });
    }
    match found.into_iter().max_by_key(|task| (task.is_live(), task.since)) {
        Some(task) => Ok(task),
        None => Err(no_such_task(engine, viewer, within, text).await),
    }
}

/// All tasks of a query that the viewer may touch.
async fn all_touchable(
    engine: &Engine,
    viewer: &Viewer,
    mut query: TaskQuery,
) -> Result<Vec<Task>, Error> {
    let mut found = Vec::new();
    loop {
        let page = engine.store.tasks(query.clone()).await?;
        for task in page.items {
            if may_touch(engine, viewer, &task).await? {
                found.push(task);
            }
        }
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(found),
        }
    }
}

/// The error for an unknown name, with the most similar handle that the viewer
/// may touch.
async fn no_such_task(engine: &Engine, viewer: &Viewer, within: TaskScope, text: &str) -> Error {
    let typed = text.chars().count();
    // A text that is far longer than any name is similar to none.
    if typed == 0 || typed > 2 * NAME_LIMIT {
        return Error::not_found(quoted(text));
    }
    let key = Name::key_of(text);
    let mut query = TaskQuery::new(within);
    (query.order, query.limit) = (Order::NewestFirst, SUGGESTIONS);
    let known = engine.store.tasks(query).await.map(|page| page.items).unwrap_or_default();
    let mut near: Vec<_> = known
        .iter()
        .map(|task| (edit_distance(&key, task.spec.handle.key()), task))
        .filter(|(distance, task)| *distance * 3 <= task.handle().chars().count().max(3))
        // At least one letter has to agree.
        .filter(|(distance, _)| *distance < typed)
        .collect();
    near.sort_by_key(|(distance, task)| (*distance, task.handle()));
    let mut nearest = None;
    for (_, task) in near {
        if may_touch(engine, viewer, task).await.unwrap_or(false) {
            nearest = Some(task.handle().to_owned());
            break;
        }
    }
    Error::NotFound { what: text.to_owned(), nearest }
}

/// The part of a text that an error repeats.
fn quoted(text: &str) -> String {
    text::cut(text, 2 * NAME_LIMIT).into_owned()
}

/// The number of single-letter edits between two texts; a swap of neighbours is
/// one edit.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let (mut before, mut above) = (Vec::new(), (0..=b.len()).collect::<Vec<usize>>());
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = above[j] + usize::from(x != y);
            let mut least = replaced.min(row[j] + 1).min(above[j + 1] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::edit_distance;

    #[test]
    fn edit_distance_counts_edits() {
        assert_eq!(edit_distance("docs", "docs"), 0);
        assert_eq!(edit_distance("dcs", "docs"), 1);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("biuld", "build"), 1);
        assert_eq!(edit_distance("buidl", "build"), 1);
    }
}
