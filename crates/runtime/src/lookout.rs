//! Somebody's eye on one task.
//!
//! A store may forget a task as soon as somebody has read its end, and that
//! somebody need not be the one who waits. So whoever looks out for a task
//! keeps its cell, in which the end leaves the last record.

use std::sync::Arc;

use offshoot_core::{Spec, Task};

use crate::cell::Cell;
use crate::engine::Engine;
use crate::error::Error;

/// Sees the last record of a task that was live when the lookout began, or
/// that it has seen since.
#[derive(Debug)]
pub(crate) struct Lookout {
    spec: Arc<Spec>,
    cell: Option<Arc<Cell>>,
    last: Option<Task>,
    pub(crate) heeds: Heeds,
}

/// Which questions of a task end a wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heeds {
    /// All.
    All,
    /// Those that are for its owner. A body that waits can do nothing about the
    /// others.
    ForOwner,
}

impl Lookout {
    fn last(&self) -> Option<&Task> {
        self.last.as_ref().or_else(|| self.cell.as_ref()?.last())
    }
}

impl Engine {
    pub(crate) fn look_out(&self, spec: &Arc<Spec>) -> Lookout {
        let cell = self.cell(spec.id);
        if let Some(cell) = &cell {
            cell.keep_last();
        }
        Lookout { spec: spec.clone(), cell, last: None, heeds: Heeds::All }
    }

    /// The same for a wait, of this body if one waits.
    pub(crate) fn look_out_from(&self, waiter: Option<&Arc<Cell>>, spec: &Arc<Spec>) -> Lookout {
        let heeds = if waiter.is_some() { Heeds::ForOwner } else { Heeds::All };
        Lookout { heeds, ..self.look_out(spec) }
    }

    /// The record as it is now.
    pub(crate) async fn present(&self, lookout: &mut Lookout) -> Result<Task, Error> {
        self.check_open()?;
        if let Some(last) = lookout.last() {
            return Ok(last.clone());
        }
        let task = match self.store.task(lookout.spec.id).await? {
            Some(task) => task,
            None => self.last_word(lookout).await?,
        };
        if !task.is_live() {
            lookout.last = Some(task.clone());
        }
        Ok(task)
    }

    /// Resolves when the record is as wanted, or the last.
    pub(crate) async fn until(
        &self,
        lookout: &mut Lookout,
        wanted: impl Fn(&Task) -> bool,
    ) -> Result<Task, Error> {
        // No cell is made for a task that needs none.
        if lookout.cell.is_none() {
            let task = self.present(lookout).await?;
            if wanted(&task) {
                return Ok(task);
            }
        }
        loop {
            // Listens before it looks, so that no change is missed.
            let Some(cell) = self.current(lookout) else { return self.present(lookout).await };
            let changed = cell.changed().listen();
            match self.present(lookout).await {
                Ok(task) if task.is_live() && !wanted(&task) => changed.await,
                found => {
                    let over = match &found {
                        Ok(task) => !task.is_live(),
                        Err(error) => matches!(error, Error::NotFound { .. }),
                    };
                    // Nobody else may come to take the cell of a task that is
                    // over away.
                    if over {
                        self.forget_passive(lookout.spec.id, lookout.last());
                    }
                    return found;
                }
            }
        }
    }

    /// The cell that the task has now; none once there is a last record.
    fn current(&self, lookout: &mut Lookout) -> Option<Arc<Cell>> {
        let here = self.cell(lookout.spec.id);
        // A cell that is not in the table any more has the last record if the
        // task has ended.
        if lookout.last().is_some() {
            return None;
        }
        let cell = here.unwrap_or_else(|| self.cell_of(&lookout.spec));
        lookout.cell = Some(cell.clone());
        Some(cell)
    }

    /// The last record of a task that the store has forgotten. It may be read
    /// by others, and forgotten, before those who ended the task tell of it.
    async fn last_word(&self, lookout: &Lookout) -> Result<Task, Error> {
        while let Some(cell) = &lookout.cell {
            let changed = cell.changed().listen();
            let untold = cell.is_manned()
                && self.cell(cell.id()).is_some_and(|here| Arc::ptr_eq(&here, cell));
            if let Some(last) = cell.last() {
                return Ok(last.clone());
            }
            if !untold {
                break;
            }
            self.check_open()?;
            changed.await;
        }
        Err(Error::not_found(lookout.spec.id))
    }
}
