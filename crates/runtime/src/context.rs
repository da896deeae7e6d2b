//! What a body has in hand while it runs.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use offshoot_core::{
    Block, Doing, Lineage, MessageId, Owner, Payload, Spec, Stamp, TaskId, Visibility, WaitingOn,
};
use offshoot_store::{HistoryPage, Standing, Within};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::backend::{Registered, Request};
use crate::body::{BodyError, Cancelled, Closure};
use crate::cell::Cell;
use crate::draft::{Parent, Sender};
use crate::engine::Engine;
use crate::error::Error;
use crate::history::{Appending, Writer};
use crate::inbox::Rows;
use crate::look::Tasks;
use crate::message::{Address, Sending};
use crate::question::Asking;
use crate::spawn::Spawn;
use crate::step::Stepping;
use crate::task_ref::{TaskRef, Viewer};
use crate::wait::WaitMany;

/// What a body has in hand while it runs: its token, its inbox, its journal,
/// and the tasks it owns. Cheap to clone.
///
/// Every write it makes carries the attempt's lease, so an attempt that was
/// given up for dead cannot harm the one that goes on.
#[derive(Clone, Debug)]
pub struct Context {
    engine: Arc<Engine>,
    cell: Arc<Cell>,
}

impl Context {
    pub(crate) fn new(engine: Arc<Engine>, cell: Arc<Cell>) -> Self {
        Self { engine, cell }
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(crate) fn cell(&self) -> &Arc<Cell> {
        &self.cell
    }

    pub(crate) fn spec(&self) -> &Arc<Spec> {
        &self.cell.spec
    }

    pub(crate) fn viewer(&self) -> Viewer {
        Viewer::task(self.cell.clone())
    }

    /// The task's id.
    pub fn id(&self) -> TaskId {
        self.cell.spec.id
    }

    /// What people and models call the task.
    pub fn handle(&self) -> &str {
        self.cell.spec.handle.as_str()
    }

    /// Where the task comes from.
    pub fn lineage(&self) -> &Lineage {
        &self.cell.spec.lineage
    }

    /// The finished task whose history this one goes on with.
    pub fn continues(&self) -> Option<TaskId> {
        self.cell.spec.terms.continues
    }

    /// What the task was asked to do.
    pub async fn input<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let input = &self.cell.spec.input;
        self.engine.load(input).await
    }

    /// Whether the task was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cell.is_cancelled()
    }

    /// Resolves once the task is asked to stop.
    pub async fn cancelled(&self) {
        self.cell.cancelled().await;
    }

    /// An error to return with `?` once the task was asked to stop.
    pub fn check_cancelled(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// A token that is cancelled when the task is asked to stop.
    pub fn token(&self) -> CancellationToken {
        self.cell.token()
    }

    /// Spawns a task that this one owns.
    pub fn spawn(&self, request: Request) -> Spawn<Registered> {
        Spawn::registered(self.engine.clone(), request, self.sender())
    }

    /// Spawns a closure that this task owns. It is lost if the process dies.
    pub fn spawn_ephemeral<F, Run, T, E>(&self, body: F) -> Spawn<Closure<F>>
    where
        F: FnOnce(Context) -> Run + Send + 'static,
        Run: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize + 'static,
        E: Into<BodyError> + 'static,
    {
        Spawn::ephemeral(self.engine.clone(), body, self.sender())
    }

    fn sender(&self) -> Sender {
        let spec = self.cell.spec.clone();
        let session = spec.lineage.session;
        Sender {
            viewer: self.viewer(),
            session,
            desk: self.engine.desk(session),
            parent: Parent::Task(spec),
        }
    }

    /// Whether the cap on depth lets this task have children.
    pub fn may_have_children(&self) -> bool {
        self.lineage().depth < self.engine.config.caps.depth
    }

    /// The task of this handle or id that this one may touch: itself, one it
    /// owns or, if it sees its subtree, one below.
    pub async fn task(&self, handle: &str) -> Result<TaskRef, Error> {
        self.engine.find(&self.viewer(), handle).await
    }

    /// The tasks this one may see.
    pub fn tasks(&self) -> Tasks {
        let within = match self.cell.spec.visibility {
            Visibility::Children => Within::Owner(Owner::Task(self.id())),
            Visibility::Subtree => Within::Session(self.lineage().session),
        };
        Tasks::new(self.engine.clone(), self.viewer(), within)
    }

    /// Waits for several tasks at once.
    pub fn wait<'a>(&self, tasks: impl IntoIterator<Item = &'a TaskRef>) -> WaitMany {
        WaitMany::new(self.engine.clone(), self.viewer(), tasks)
    }

    /// Sends a message to this task's owner, to all its live children, or to
    /// one of them.
    pub fn send(&self, to: Address<'_>, text: &str) -> Sending {
        Sending::new(self.engine.clone(), self.viewer(), to, text)
    }

    /// The unread rows of the task's inbox, oldest first: up to `limit`, and at
    /// least one if there is any. Never waits.
    pub async fn drain(&self, limit: usize) -> Result<Rows, Error> {
        self.engine.drain_task(&self.cell, 0, limit).await
    }

    /// The same of the rows that stand behind this number, which
    /// [`Rows::last_number`] tells: for a body that leaves some rows unread.
    pub async fn drain_after(&self, number: u64, limit: usize) -> Result<Rows, Error> {
        self.engine.drain_task(&self.cell, number, limit).await
    }

    /// The unread ends in the inbox of the task's session that are for this
    /// task: those of tasks that it has detached, and those that a task before
    /// it, whose history it goes on with, has not read. Of the rows behind this
    /// number up to `limit` are looked at, and [`Rows::last_number`] tells how
    /// far that was; nothing, once there are no more. A task that another one
    /// owns has none.
    pub async fn drain_session(&self, number: u64, limit: usize) -> Result<Rows, Error> {
        self.engine.drain_bequest(&self.cell, number, limit).await
    }

    /// Whether an unread message was sent to this task, and not to one below it
    /// that ended before it read it and whose rows this one has inherited.
    pub async fn is_addressee(&self, message: MessageId) -> Result<bool, Error> {
        let standing = self.engine.store.message(Owner::Task(self.id()), message).await?;
        Ok(matches!(standing, Some(Standing::Queued(_))))
    }

    /// The unread rows of the task's inbox once there are any. The task waits
    /// without a slot.
    pub async fn receive(&self, limit: usize) -> Result<Rows, Error> {
        self.engine.receive(&self.cell, limit).await
    }

    /// Appends blocks to the task's history, together with the acknowledgement
    /// of the rows they carry.
    pub fn append(&self, blocks: impl IntoIterator<Item = Block>) -> Appending {
        Appending::new(self.engine.clone(), Writer::Task(self.cell.clone()), blocks)
    }

    /// The blocks of the task's history from a position on.
    pub async fn history(&self, from: u64, limit: usize) -> Result<HistoryPage, Error> {
        self.engine.check_open()?;
        Ok(self.engine.store.history(Owner::Task(self.id()), from, limit).await?)
    }

    /// The same of a task that this one comes from: its parent, the task that it
    /// goes on for, or one that these come from. It may have been forked there.
    pub async fn forebears_history(
        &self,
        task: TaskId,
        from: u64,
        limit: usize,
    ) -> Result<HistoryPage, Error> {
        self.engine.check_descent(&self.cell.spec, task).await?;
        Ok(self.engine.store.history(Owner::Task(task), from, limit).await?)
    }

    /// Resolves when something may have come that was not there when this was
    /// called: look at the inbox after the call and before awaiting it.
    pub fn news(&self) -> impl Future<Output = ()> + Send + use<'_> {
        self.cell.nudge.listen()
    }

    /// Waits for `until` without a slot, and has the task's record say on what.
    pub async fn waiting<T>(
        &self,
        on: WaitingOn,
        until: impl Future<Output = T>,
    ) -> Result<T, Error> {
        let parked = self.engine.park(&self.cell, on).await?;
        let (until, cancelled) = (std::pin::pin!(until), std::pin::pin!(self.cancelled()));
        let came = match futures_util::future::select(until, cancelled).await {
            futures_util::future::Either::Left((came, _)) => Ok(came),
            futures_util::future::Either::Right(_) => Err(Error::Cancelled),
        };
        parked.end().await?;
        came
    }

    /// Waits for a while that grows with how often something has failed before:
    /// for a body that tries a write again. An error once it is of no use.
    pub async fn back_off(&self, failures: u32) -> Result<(), Error> {
        self.engine.check_open()?;
        self.engine.back_off(failures).await;
        self.engine.check_open()
    }

    /// The clock by which records are stamped.
    pub fn now(&self) -> Stamp {
        self.engine.now()
    }

    /// Random bits.
    pub fn random(&self) -> u128 {
        self.engine.world.random()
    }

    /// A step of the journal: `work` is executed once, its value is committed,
    /// and an attempt that comes later gets the value. So does another step of
    /// the same key in this attempt, whether it comes later or at the same
    /// time.
    pub fn step<F, Run, T, E>(&self, key: &str, work: F) -> Stepping<F>
    where
        F: FnOnce() -> Run + Send,
        Run: Future<Output = Result<T, E>> + Send,
        T: Serialize + DeserializeOwned + Send,
        E: Into<BodyError>,
    {
        Stepping::new(self.clone(), key, work)
    }

    /// Waits until `span` has passed since this was first called with `key`,
    /// however often the process dies meanwhile. The task waits without a
    /// slot. Sleeps and steps do not share their keys.
    pub async fn sleep(&self, key: &str, span: Duration) -> Result<(), Error> {
        self.engine.sleep_durably(&self.cell, key, span).await
    }

    /// Asks the task's owner. The task waits without a slot until somebody
    /// answers.
    pub fn ask(&self, text: &str) -> Asking {
        Asking::new(self.engine.clone(), self.cell.clone(), text)
    }

    /// Reports progress; the latest report stands, and at most one a second is
    /// written.
    pub async fn progress<T: Serialize>(&self, value: &T) -> Result<(), Error> {
        self.engine.report(&self.cell, Payload::encode(value)?).await
    }

    /// What the task has reported last, in this attempt or an earlier one.
    pub async fn reported<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let reported = self.engine.reported(&self.cell).await?;
        Ok(reported.and_then(|progress| progress.value.decode().ok()))
    }

    /// Says which step the task is in and what it does there; at most one a
    /// second is written.
    pub async fn activity(&self, step: u64, doing: Doing) -> Result<(), Error> {
        self.engine.act(&self.cell, step, doing).await
    }
}
