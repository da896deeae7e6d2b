//! A cancel of several of a session's tasks.
//!
//! The request is written into the session's record before the first task is
//! cancelled, and taken out after the last one, so that it survives a crash in
//! between.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashSet;
use offshoot_core::{
    Cancel, Change, IdHash, Owner, RunId, SessionId, Sweep, SweepId, SweepScope, Task, TaskId,
    TooLarge,
};
use offshoot_store::{Batch, CommitError, Conflict, StoreError, TaskQuery, TaskScope, Write};
use tokio::sync::oneshot;

use super::cascade::{BATCH, ReachedTask, cascade, mark_all};
use super::grace::enforce_grace;
use crate::access;
use crate::engine::handle::Viewer;
use crate::engine::{Engine, MAX_DECISIONS};
use crate::environment::BoxFuture;
use crate::error::Error;

/// A cancel request for several tasks and their descendants. Await it: it
/// resolves with the number of live tasks that it reached.
#[must_use = "a cancel does nothing until it is awaited"]
#[derive(Debug)]
pub struct SweepRequest {
    engine: Arc<Engine>,
    viewer: Viewer,
    session: SessionId,
    target: SweepTarget,
    reason: Arc<str>,
    grace: Option<Duration>,
}

/// A set of tasks.
pub(super) type TaskIds = HashSet<TaskId, IdHash>;

/// The tasks of a session that are to be cancelled, as the caller names them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SweepTarget {
    Session,
    Owned,
    Run(RunId),
    Children(TaskId),
}

impl SweepRequest {
    pub(crate) fn new(
        engine: Arc<Engine>,
        viewer: Viewer,
        session: SessionId,
        target: SweepTarget,
        reason: &str,
    ) -> Self {
        Self { engine, viewer, session, target, reason: reason.into(), grace: None }
    }

    /// Sets how long bodies may take to stop before they are aborted.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }

    async fn sweep(self) -> Result<usize, Error> {
        let engine = self.engine;
        engine.check_open()?;
        TooLarge::check("reason", self.reason.len(), engine.config.sizes.text)?;
        let reach = match self.target {
            SweepTarget::Session => SweepScope::Everything,
            SweepTarget::Owned => SweepScope::TopLevel,
            SweepTarget::Run(run) => SweepScope::Run(run),
            SweepTarget::Children(task) => {
                access::touchable(&engine, &self.viewer, task).await?;
                SweepScope::ChildrenOf(task)
            }
        };
        let cancel = Cancel {
            by: self.viewer.caller.into(),
            reason: self.reason,
            at: engine.now(),
            grace: self.grace.unwrap_or(engine.config.grace),
        };
        let id = SweepId::mint(cancel.at, engine.world.random());
        let sweep = Sweep { id: Some(id), cancel, reach };
        let (sender, receiver) = oneshot::channel();
        let (runner, session) = (engine.clone(), self.session);
        engine.world.spawn(async move {
            drop(sender.send(begin_sweep(&runner, session, sweep).await));
        });
        receiver.await.unwrap_or(Err(Error::Closed))
    }
}

impl IntoFuture for SweepRequest {
    type Output = Result<usize, Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.sweep())
    }
}

async fn begin_sweep(
    engine: &Arc<Engine>,
    session: SessionId,
    sweep: Sweep,
) -> Result<usize, Error> {
    let began = change_sweeps(engine, session, Change::SweepBegan, |sweeps| {
        let new = !sweeps.contains(&sweep);
        if new {
            sweeps.push(sweep.clone());
        }
        new
    });
    began.await?;
    // The request is durable: from here on it is tried until it has reached all
    // tasks.
    for tries in 0.. {
        match finish_sweep(engine, session, &sweep).await {
            Err(Error::Store(_) | Error::Contended) if !engine.is_closed() => {
                engine.back_off(tries).await;
            }
            finished => return finished,
        }
    }
    Err(Error::Closed)
}

/// Cancels all tasks that a durable sweep reaches, then takes it out of the
/// session's record.
pub(crate) async fn finish_sweep(
    engine: &Arc<Engine>,
    session: SessionId,
    sweep: &Sweep,
) -> Result<usize, Error> {
    let cancel = Arc::new(sweep.cancel.clone());
    let within = match sweep.reach {
        SweepScope::ChildrenOf(task) => TaskScope::Owner(Owner::Task(task)),
        _ => TaskScope::Session(session),
    };
    let mut query = TaskQuery::new(within).live();
    query.limit = BATCH;
    let mut reached = TaskIds::default();
    loop {
        let page = engine.store.tasks(query.clone()).await?;
        let starts = page.items.into_iter().filter(|task| sweep.reach.starts_at(task));
        cancel_all(engine, starts.collect(), &cancel, &mut reached).await?;
        match page.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    let ended = change_sweeps(engine, session, Change::SweepEnded, |sweeps| {
        let at = sweeps.iter().position(|other| other == sweep);
        at.map(|at| sweeps.remove(at)).is_some()
    });
    match ended.await {
        // The session was removed once all its tasks had ended.
        Ok(()) | Err(Error::NoSession { .. }) => Ok(reached.len()),
        Err(error) => Err(error),
    }
}

/// Cancels several tasks and their descendants, many in one commit, and adds
/// the live ones that it reached first to `reached`.
pub(super) async fn cancel_all(
    engine: &Arc<Engine>,
    tasks: Vec<Task>,
    cancel: &Arc<Cancel>,
    reached: &mut TaskIds,
) -> Result<(), Error> {
    let mut add = |tasks: &[ReachedTask]| {
        reached.extend(tasks.iter().filter(|task| task.is_new()).map(|task| task.id));
    };
    for chunk in tasks.chunks(BATCH) {
        let mut marked = Vec::new();
        mark_all(engine, chunk, cancel, &mut marked).await?;
        add(&marked);
        enforce_grace(engine, marked, cancel.grace, None);
        engine.yield_now().await;
    }
    // A task below another one of these is reached from there.
    let all: TaskIds = tasks.iter().map(Task::id).collect();
    let is_below_another =
        |task: &&Task| matches!(task.owner(), Owner::Task(owner) if all.contains(&owner));
    for task in tasks.iter().filter(|task| !is_below_another(task)) {
        let mut below = Vec::new();
        let cascaded = cascade(engine, task.id(), cancel, &mut below).await;
        add(&below);
        enforce_grace(engine, below, cancel.grace, Some(task.id()));
        cascaded?;
    }
    Ok(())
}

/// Edits the sweeps of a session; `edit` returns whether it has changed any. A
/// commit without an answer is followed until its outcome is known.
async fn change_sweeps(
    engine: &Engine,
    id: SessionId,
    change: Change,
    edit: impl Fn(&mut Vec<Sweep>) -> bool,
) -> Result<(), Error> {
    let mut unknown = None;
    for tries in 0.. {
        let session = match engine.store.session(id).await {
            Ok(session) => session,
            Err(_) if unknown.is_some() && !engine.is_closed() => {
                engine.back_off(tries).await;
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
            Batch::new(engine.now()).write(Write::PutSession(Box::new(session), change.clone()));
        match engine.store.commit(batch).await {
            Ok(_) => return Ok(()),
            Err(CommitError::Conflict(Conflict::StaleSession(_)))
                if (tries as usize) < MAX_DECISIONS => {}
            Err(CommitError::Store(error @ StoreError::Unknown(_))) => unknown = Some(error),
            Err(error) => return Err(Error::from_commit(error)),
        }
    }
    Err(Error::Contended)
}
