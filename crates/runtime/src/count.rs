//! Counters of tasks, such as what each has spent.
//!
//! A change is checked against its limit by the store, in the commit that makes
//! it. So of any number of bodies that draw on one counter at once none goes past
//! the limit.

use offshoot_core::{Owner, TaskId};
use offshoot_store::{Batch, Count, Counter, Write};

use crate::cell::Cell;
use crate::context::Context;
use crate::engine::Engine;
use crate::error::Error;
use crate::task_ref::TaskRef;

impl Context {
    /// Changes counters, all of them or none: [`Error::Limit`] if one would leave
    /// its bounds. Each counter is named at most once.
    pub async fn count(&self, counts: impl IntoIterator<Item = Count>) -> Result<(), Error> {
        self.engine().count(self.cell(), counts.into_iter().collect()).await
    }

    /// What a counter of a task stands at; zero if it was never changed.
    pub async fn counted(&self, task: TaskId, name: &str) -> Result<u64, Error> {
        self.engine().counted(task, name).await
    }
}

impl TaskRef {
    /// What a counter of the task stands at; zero if it was never changed.
    pub async fn counted(&self, name: &str) -> Result<u64, Error> {
        self.engine.counted(self.id(), name).await
    }
}

impl Engine {
    async fn count(&self, cell: &Cell, counts: Vec<Count>) -> Result<(), Error> {
        self.check_open()?;
        if counts.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::new(self.now()).fenced(cell.spec.id, cell.epoch());
        batch.writes.extend(counts.into_iter().map(Write::Count));
        self.store.commit(batch).await.map_err(Error::from_commit)?;
        Ok(())
    }

    async fn counted(&self, task: TaskId, name: &str) -> Result<u64, Error> {
        self.check_open()?;
        let counter = Counter { owner: Owner::Task(task), name: name.into() };
        Ok(self.store.counter(&counter).await?)
    }
}
