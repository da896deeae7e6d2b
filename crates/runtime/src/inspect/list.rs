//! Lists of tasks.

use std::future::IntoFuture;
use std::sync::Arc;

use offshoot_core::{Name, Owner, Phase, RunId, Task};
use offshoot_store::{Order, Page, PageCursor, TaskQuery, TaskScope};

use crate::access;
use crate::engine::Engine;
use crate::engine::handle::Viewer;
use crate::environment::BoxFuture;
use crate::error::Error;

/// A query for a list of tasks. Await it to get a page.
#[must_use = "nothing is read until it is awaited"]
#[derive(Clone, Debug)]
pub struct TaskList {
    engine: Arc<Engine>,
    viewer: Viewer,
    query: TaskQuery,
}

impl TaskList {
    pub(crate) fn new(engine: Arc<Engine>, viewer: Viewer, within: TaskScope) -> Self {
        Self { engine, viewer, query: TaskQuery::new(within) }
    }

    /// Lists only tasks in this phase. Further calls add phases.
    pub fn phase(mut self, phase: Phase) -> Self {
        self.query.phases.push(phase);
        self
    }

    /// Lists only tasks that have not ended.
    pub fn live(mut self) -> Self {
        self.query = self.query.live();
        self
    }

    /// Lists only tasks of this kind.
    pub fn kind(mut self, kind: &str) -> Self {
        self.query.kind = Some(kind.trim().into());
        self
    }

    /// Lists only tasks of this profile.
    pub fn profile(mut self, profile: &str) -> Self {
        self.query.profile = Some(profile.trim().into());
        self
    }

    /// Lists only tasks of this name.
    pub fn name(mut self, name: &str) -> Self {
        self.query.name = Some(Name::key_of(name).into());
        self
    }

    /// Lists only tasks of this run.
    pub fn run(mut self, run: RunId) -> Self {
        self.query.run = Some(run);
        self
    }

    /// Lists only tasks that this owner owns, of those that the caller may see.
    pub fn owner(mut self, owner: Owner) -> Self {
        self.query.within = TaskScope::Owner(owner);
        self
    }

    /// Lists the last spawned first.
    pub fn newest_first(mut self) -> Self {
        self.query.order = Order::NewestFirst;
        self
    }

    /// Sets the size of a page. The default is fifty.
    pub fn limit(mut self, limit: usize) -> Self {
        self.query.limit = limit.max(1);
        self
    }

    /// Starts after the end of an earlier page.
    pub fn after(mut self, cursor: PageCursor) -> Self {
        self.query.after = Some(cursor);
        self
    }
}

impl IntoFuture for TaskList {
    type Output = Result<Page<Task>, Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            self.engine.check_open()?;
            let Page { items, next } = self.engine.store.tasks(self.query).await?;
            let mut visible = Vec::with_capacity(items.len());
            for task in items {
                if access::may_touch(&self.engine, &self.viewer, &task).await? {
                    visible.push(task);
                }
            }
            Ok(Page { items: visible, next })
        })
    }
}
