//! From what somebody typed to a task they may touch.

use std::sync::Arc;

use offshoot_core::{
    Caller, NAME_LIMIT, Name, Owner, SessionId, Spec, Task, TaskId, Visibility, text,
};
use offshoot_store::{Namesakes, Order, TaskQuery, Within};

use crate::engine::Engine;
use crate::error::Error;
use crate::task_ref::{TaskRef, Viewer};

/// How many handles are compared for a suggestion.
const SUGGESTIONS: usize = 256;

/// How many tasks of one name are read at a time.
const NAMESAKES: usize = 4_096;

impl Engine {
    /// The task, if the viewer may touch it. Unknown and out of scope are told
    /// apart.
    pub(crate) async fn touchable(&self, viewer: &Viewer, id: TaskId) -> Result<Task, Error> {
        let task = self.task(id).await?.ok_or_else(|| Error::not_found(id))?;
        if self.may_touch(viewer, &task).await? { Ok(task) } else { Err(Error::Forbidden(id)) }
    }

    pub(crate) async fn may_touch(&self, viewer: &Viewer, task: &Task) -> Result<bool, Error> {
        if viewer.caller.may_touch(&task.spec, viewer.visibility, || false) {
            return Ok(true);
        }
        if viewer.visibility != Visibility::Subtree {
            return Ok(false);
        }
        let Caller::Task(viewer) = viewer.caller else { return Ok(false) };
        // Up from the target, owner by owner: depth is capped, so this ends
        // soon, and a detached task belongs to nobody below its session.
        let mut owner = Some(task.owner());
        while let Some(Owner::Task(id)) = owner {
            if id == viewer {
                return Ok(true);
            }
            owner = self.store.task(id).await?.map(|task| task.owner());
        }
        Ok(false)
    }

    /// Whether the viewer may spawn under a task. It waits for nothing: only a
    /// live task takes children, and its owners live as well, so who they are
    /// is known at once.
    pub(crate) fn check_under(&self, viewer: &Viewer, parent: &Spec) -> Result<(), Error> {
        let is_below = || {
            let mut owner = Some(parent.owner());
            while let Some(Owner::Task(id)) = owner {
                if viewer.caller == Caller::Task(id) {
                    return true;
                }
                owner = self.owner_at_once(id);
            }
            false
        };
        match viewer.caller.may_touch(parent, viewer.visibility, is_below) {
            true => Ok(()),
            false => Err(Error::Forbidden(parent.id)),
        }
    }

    fn owner_at_once(&self, task: TaskId) -> Option<Owner> {
        if let Some(cell) = self.cell(task) {
            return Some(cell.spec.owner());
        }
        let stored = self.store.task(task).try_now().ok()?.ok()??;
        Some(stored.owner())
    }

    /// The task that the viewer calls so, by id, handle, or, for the host,
    /// `<parent handle>/<name>`.
    pub(crate) async fn find(
        self: &Arc<Self>,
        viewer: &Viewer,
        text: &str,
    ) -> Result<TaskRef, Error> {
        self.check_open()?;
        let text = text.trim();
        let task = if let Ok(id) = text.parse::<TaskId>() {
            self.touchable(viewer, id).await?
        } else {
            match (viewer.caller, viewer.visibility) {
                (Caller::Task(id), _) if Name::key_of(text) == "self" => {
                    self.touchable(viewer, id).await?
                }
                (Caller::Session(id), Visibility::Children) => {
                    self.named(viewer, Owner::Session(id), text).await?
                }
                (Caller::Task(id), Visibility::Children) => self.named_by(viewer, id, text).await?,
                (Caller::Session(id), Visibility::Subtree) => {
                    self.search(viewer, Within::Session(id), text).await?
                }
                (Caller::Task(_), Visibility::Subtree) => {
                    let cell = viewer.cell.as_ref().ok_or(Error::Closed)?;
                    let within = Within::Session(cell.spec.lineage.session);
                    self.search(viewer, within, text).await?
                }
                (Caller::Host, _) => self.walk(viewer, Within::Everything, text).await?,
            }
        };
        Ok(TaskRef::new(self.clone(), task.spec.clone(), viewer.clone()))
    }

    /// The task that the host calls so within a session; an id names any task.
    pub(crate) async fn find_within(
        self: &Arc<Self>,
        session: SessionId,
        text: &str,
    ) -> Result<TaskRef, Error> {
        self.check_open()?;
        let (host, within) = (Viewer::host(), Within::Session(session));
        let task = self.walk(&host, within, text.trim()).await?;
        Ok(TaskRef::new(self.clone(), task.spec.clone(), host))
    }

    async fn named(&self, viewer: &Viewer, owner: Owner, text: &str) -> Result<Task, Error> {
        match self.store.named(owner, &Name::key_of(text)).await? {
            Some(task) => Ok(task),
            None => Err(self.no_such(viewer, Within::Owner(owner), text).await),
        }
    }

    /// What a task calls so: one that it owns, or itself.
    async fn named_by(&self, viewer: &Viewer, id: TaskId, text: &str) -> Result<Task, Error> {
        let key = Name::key_of(text);
        let itself = self.task(id).await?.filter(|task| task.spec.handle.key() == key);
        let Some(itself) = itself else {
            return self.named(viewer, Owner::Task(id), text).await;
        };
        match self.store.named(Owner::Task(id), &key).await?.filter(Task::is_live) {
            Some(child) => {
                let ids = vec![itself.id(), child.id()];
                Err(Error::Ambiguous { what: shown(text), ids })
            }
            None => Ok(itself),
        }
    }

    /// A path of names, each below the one before.
    async fn walk(&self, viewer: &Viewer, within: Within, path: &str) -> Result<Task, Error> {
        let mut names = path.split('/').map(str::trim);
        if names.clone().any(str::is_empty) {
            return Err(Error::not_found(shown(path)));
        }
        let first = names.next().unwrap_or_default();
        let mut task = match first.parse::<TaskId>() {
            Ok(id) => self.touchable(viewer, id).await?,
            Err(_) => self.search(viewer, within, first).await?,
        };
        for name in names {
            task = self.named(viewer, Owner::Task(task.id()), name).await?;
        }
        Ok(task)
    }

    /// The one task of this name within reach: the live one, else the one that
    /// ended last. Several live ones are ambiguous.
    async fn search(&self, viewer: &Viewer, within: Within, text: &str) -> Result<Task, Error> {
        let mut query = TaskQuery::new(within);
        query.name = Some(Name::key_of(text).into());
        query.limit = NAMESAKES;
        let mut found = self.all_touchable(viewer, query.clone().live()).await?;
        if found.is_empty() {
            // Of one owner's only the last can have ended last. It is live if
            // it came after the first look.
            query.namesakes = Namesakes::Last;
            found = self.all_touchable(viewer, query).await?;
        }
        let live: Vec<_> = found.iter().filter(|task| task.is_live()).map(Task::id).collect();
        if live.len() > 1 {
            return Err(Error::Ambiguous { what: shown(text), ids: live });
        }
        match found.into_iter().max_by_key(|task| (task.is_live(), task.since)) {
            Some(task) => Ok(task),
            None => Err(self.no_such(viewer, within, text).await),
        }
    }

    /// All tasks a query asks for that the viewer may touch.
    async fn all_touchable(
        &self,
        viewer: &Viewer,
        mut query: TaskQuery,
    ) -> Result<Vec<Task>, Error> {
        let mut found = Vec::new();
        loop {
            let page = self.store.tasks(query.clone()).await?;
            for task in page.items {
                if self.may_touch(viewer, &task).await? {
                    found.push(task);
                }
            }
            match page.next {
                Some(next) => query.after = Some(next),
                None => return Ok(found),
            }
        }
    }

    /// That nothing is called so, and what is called much like it among what
    /// the viewer may touch.
    async fn no_such(&self, viewer: &Viewer, within: Within, text: &str) -> Error {
        let typed = text.chars().count();
        // What is far longer than any name is like none of them.
        if typed == 0 || typed > 2 * NAME_LIMIT {
            return Error::not_found(shown(text));
        }
        let key = Name::key_of(text);
        let mut query = TaskQuery::new(within);
        (query.order, query.limit) = (Order::NewestFirst, SUGGESTIONS);
        let known = self.store.tasks(query).await.map(|page| page.items).unwrap_or_default();
        let mut near: Vec<_> = known
            .iter()
            .map(|task| (distance(&key, task.spec.handle.key()), task))
            .filter(|(distance, task)| *distance * 3 <= task.handle().chars().count().max(3))
            // A suggestion has something in common with what was typed.
            .filter(|(distance, _)| *distance < typed)
            .collect();
        near.sort_by_key(|(distance, task)| (*distance, task.handle()));
        let mut nearest = None;
        for (_, task) in near {
            if self.may_touch(viewer, task).await.unwrap_or(false) {
                nearest = Some(task.handle().to_owned());
                break;
            }
        }
        Error::NotFound { what: text.to_owned(), nearest }
    }
}

/// What was typed, as far as an error repeats it.
fn shown(text: &str) -> String {
    text::cut(text, 2 * NAME_LIMIT).into_owned()
}

/// How many single-letter edits lie between two texts; neighbours that changed
/// places are one.
fn distance(a: &str, b: &str) -> usize {
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
    use super::distance;

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("docs", "docs"), 0);
        assert_eq!(distance("dcs", "docs"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("biuld", "build"), 1);
        assert_eq!(distance("buidl", "build"), 1);
    }
}
