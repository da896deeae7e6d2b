//! Cancelling several of a session's tasks at once.
//!
//! The request is written into the session's record before the first task is
//! touched and taken out when the last one has been, so a crash in between
//! cannot lose it.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashSet;
use offshoot_core::{
    Cancel, Change, IdHash, Owner, Reach, RunId, SessionId, Sweep, Task, TaskId, TooLarge,
};
use offshoot_store::{Batch, CommitError, Conflict, StoreError, TaskQuery, Within, Write};
use tokio::sync::oneshot;

use crate::cancel::{BATCH, Reached};
use crate::engine::{DECISIONS, Engine};
use crate::environment::BoxFuture;
use crate::error::Error;
use crate::task_ref::Viewer;

/// A cancel of several tasks about to be asked for. Await it: it resolves with
/// the number of live tasks that it reached.
#[must_use = "a cancel does nothing until it is awaited"]
#[derive(Debug)]
pub struct Sweeping {
    engine: Arc<Engine>,
    viewer: Viewer,
    session: SessionId,
    what: SweepOf,
    reason: Arc<str>,
    grace: Option<Duration>,
}

/// Tasks that were asked to stop, each once.
pub(crate) type Marked = HashSet<TaskId, IdHash>;

#[derive(Clone, Copy, Debug)]
pub(crate) enum SweepOf {
    Session,
    Owned,
    Run(RunId),
    Children(TaskId),
}

impl Sweeping {
    pub(crate) fn new(
        engine: Arc<Engine>,
        viewer: Viewer,
        session: SessionId,
        what: SweepOf,
        reason: &str,
    ) -> Self {
        Self { engine, viewer, session, what, reason: reason.into(), grace: None }
    }

    /// How long bodies may take to stop before they are aborted.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    async fn sweep(self) -> Result<usize, Error> {
        let engine = self.engine;
        engine.check_open()?;
        TooLarge::check("reason", self.reason.len(), engine.config.sizes.text)?;
        let reach = match self.what {
            SweepOf::Session => Reach::Everything,
            SweepOf::Owned => Reach::TopLevel,
            SweepOf::Run(run) => Reach::Run(run),
            SweepOf::Children(task) => {
                engine.touchable(&self.viewer, task).await?;
                Reach::ChildrenOf(task)
            }
        };
        let cancel = Cancel {
            by: self.viewer.caller.into(),
            reason: self.reason,
            at: engine.now(),
            grace: self.grace.unwrap_or(engine.config.grace),
        };
        let sweep = Sweep { cancel, reach };
        let (tell, told) = oneshot::channel();
        let (runner, session) = (engine.clone(), self.session);
        engine.world.spawn(async move {
            drop(tell.send(runner.begin_sweep(session, sweep).await));
        });
        told.await.unwrap_or(Err(Error::Closed))
    }
}

impl IntoFuture for Sweeping {
    type Output = Result<usize, Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.sweep())
    }
}

impl Engine {
    async fn begin_sweep(
        self: &Arc<Self>,
        session: SessionId,
        sweep: Sweep,
    ) -> Result<usize, Error> {
        let began = self.change_session(session, Change::SweepBegan, |sweeps| {
            let new = !sweeps.contains(&sweep);
            if new {
                sweeps.push(sweep.clone());
            }
            new
        });
        began.await?;
        // It is durable: it goes on until it has reached everybody.
        for tries in 0.. {
            match self.finish_sweep(session, &sweep).await {
                Err(Error::Store(_) | Error::Contended) if !self.is_closed() => {
                    self.back_off(tries).await;
                }
                finished => return finished,
            }
        }
        Err(Error::Closed)
    }

    /// Cancels everything a durable sweep reaches, then takes it out of the
    /// session's record.
    pub(crate) async fn finish_sweep(
        self: &Arc<Self>,
        session: SessionId,
        sweep: &Sweep,
    ) -> Result<usize, Error> {
        let cancel = Arc::new(sweep.cancel.clone());
        let within = match sweep.reach {
            Reach::ChildrenOf(task) => Within::Owner(Owner::Task(task)),
            _ => Within::Session(session),
        };
        let mut query = TaskQuery::new(within).live();
        query.limit = BATCH;
        let mut reached = Marked::default();
        loop {
            let page = self.store.tasks(query.clone()).await?;
            let starts = page.items.into_iter().filter(|task| sweep.reach.starts_at(task));
            self.cancel_all(starts.collect(), &cancel, &mut reached).await?;
            match page.next {
                Some(next) => query.after = Some(next),
                None => break,
            }
        }
        let ended = self.change_session(session, Change::SweepEnded, |sweeps| {
            let at = sweeps.iter().position(|other| other == sweep);
            at.map(|at| sweeps.remove(at)).is_some()
        });
        match ended.await {
            // It was removed once nothing lived in it any more.
            Ok(()) | Err(Error::NoSession { .. }) => Ok(reached.len()),
            Err(error) => Err(error),
        }
    }

    /// Cancels several tasks and their descendants, many in one commit, and
    /// notes which live ones it reached.
    pub(crate) async fn cancel_all(
        self: &Arc<Self>,
        tasks: Vec<Task>,
        cancel: &Arc<Cancel>,
        reached: &mut Marked,
    ) -> Result<(), Error> {
        let mut note = |some: &[Reached]| {
            reached.extend(some.iter().filter(|reach| reach.is_new()).map(|reach| reach.id));
        };
        for some in tasks.chunks(BATCH) {
            let mut asked = Vec::new();
            self.ask_all(some, cancel, &mut asked).await?;
            note(&asked);
            self.watch_over(asked, cancel.grace, None);
            self.pause().await;
        }
        // What is below one of the others is reached from there.
        let all: Marked = tasks.iter().map(Task::id).collect();
        let below_another =
            |task: &&Task| matches!(task.owner(), Owner::Task(owner) if all.contains(&owner));
        for task in tasks.iter().filter(|task| !below_another(task)) {
            let mut below = Vec::new();
            let cascaded = self.cascade(task.id(), cancel, &mut below).await;
            note(&below);
            self.watch_over(below, cancel.grace, Some(task.id()));
            cascaded?;
        }
        Ok(())
    }

    /// Edits the sweeps of a session, unless there is nothing to edit. A
    /// commit without an answer is followed until it is known.
    async fn change_session(
        &self,
        id: SessionId,
        change: Change,
        edit: impl Fn(&mut Vec<Sweep>) -> bool,
    ) -> Result<(), Error> {
        let mut unknown = None;
        for tries in 0.. {
            let session = match self.store.session(id).await {
                Ok(session) => session,
                Err(_) if unknown.is_some() && !self.is_closed() => {
                    self.back_off(tries).await;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let session = session.filter(|session| !session.is_removing());
            let mut session = session.ok_or_else(|| Error::no_session(id))?;
            if !edit(&mut session.sweeps) {
                return Ok(());
            }
            if let Some(error) = unknown.take() {
                return Err(Error::Store(error));
            }
            session.seq += 1;
            let batch =
                Batch::new(self.now()).write(Write::PutSession(Box::new(session), change.clone()));
            match self.store.commit(batch).await {
                Ok(_) => return Ok(()),
                Err(CommitError::Conflict(Conflict::StaleSession(_)))
                    if (tries as usize) < DECISIONS => {}
                Err(CommitError::Store(error @ StoreError::Unknown(_))) => unknown = Some(error),
                Err(error) => return Err(Error::from_commit(error)),
            }
        }
        Err(Error::Contended)
    }
}
