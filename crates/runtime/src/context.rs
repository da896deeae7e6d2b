//! The operations of a [`Context`].

use std::future::Future;
use std::time::Duration;

use futures_util::future::{Either, select};
use offshoot_core::{
    ActivityKind, Block, Lineage, MessageId, Owner, Payload, Stamp, Task, TaskId, Visibility,
    WaitingOn,
};
use offshoot_store::{CounterChange, HistoryPage, MessagePosition, TaskScope};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::access;
use crate::deliver::{self, InboxRows, MessageRecipient, QuestionRequest, SendRequest};
use crate::engine::backend::AgentKind;
use crate::engine::body::{BodyError, CancelledError, ClosureBody};
use crate::engine::handle::{Context, TaskRef, Viewer};
use crate::engine::kind::{BackendBody, TaskRequest};
use crate::error::Error;
use crate::history::{AppendRequest, HistoryWriter};
use crate::inspect::TaskList;
use crate::report;
use crate::spawn::{SpawnBuilder, SpawnParent, SpawnSource};
use crate::step::{self, StepRequest};
use crate::suspend::suspend;
use crate::wait::WaitMany;

impl Context {
    fn viewer(&self) -> Viewer {
        Viewer::task(self.live.clone())
    }

    /// The task's id.
    pub fn id(&self) -> TaskId {
        self.live.spec.id
    }

    /// The task's handle: its name for users and models.
    pub fn handle(&self) -> &str {
        self.live.spec.handle.as_str()
    }

    /// The task's lineage: its session, parent, root and origin.
    pub fn lineage(&self) -> &Lineage {
        &self.live.spec.lineage
    }

    /// The finished task whose history this one continues.
    pub fn continues(&self) -> Option<TaskId> {
        self.live.spec.terms.continues
    }

    /// The input of the task.
    pub async fn input<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let input = &self.live.spec.input;
        self.engine.load(input).await
    }

    /// The text of a finished task for its owner, as the backend of its kind writes it.
    pub fn digest(&self, task: &Task, allowance: usize) -> String {
        let backend = self.engine.kinds.get(&task.spec.kind);
        let own = backend.and_then(|backend| backend.digest(task, allowance));
        own.unwrap_or_else(|| offshoot_core::digest(task, allowance))
    }

    /// Whether the task was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.live.is_cancelled()
    }

    /// Resolves once the task is cancelled.
    pub async fn cancelled(&self) {
        self.live.cancelled().await;
    }

    /// Returns an error, for `?`, once the task is cancelled.
    pub fn check_cancelled(&self) -> Result<(), CancelledError> {
        if self.is_cancelled() { Err(CancelledError) } else { Ok(()) }
    }

    /// A token that is cancelled together with the task.
    pub fn token(&self) -> CancellationToken {
        self.live.token()
    }

    /// Spawns a task that this one owns.
    pub fn spawn(&self, request: TaskRequest) -> SpawnBuilder<BackendBody> {
        SpawnBuilder::registered(self.engine.clone(), request, self.spawn_source())
    }

    /// Spawns a closure that this task owns. It is lost if the process dies.
    pub fn spawn_ephemeral<F, Run, T, E>(&self, body: F) -> SpawnBuilder<ClosureBody<F>>
    where
        F: FnOnce(Context) -> Run + Send + 'static,
        Run: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize + 'static,
        E: Into<BodyError> + 'static,
    {
        SpawnBuilder::ephemeral(self.engine.clone(), body, self.spawn_source())
    }

    fn spawn_source(&self) -> SpawnSource {
        let spec = self.live.spec.clone();
        let session = spec.lineage.session;
        SpawnSource {
            viewer: self.viewer(),
            session,
            live_session: self.engine.live_session(session),
            parent: SpawnParent::Task(spec),
        }
    }

    /// Whether the cap on depth lets this task have children.
    pub fn may_have_children(&self) -> bool {
        self.lineage().depth < self.engine.config.caps.depth
    }

    /// The registered kinds, other than this task's own, whose backends declare
    /// themselves agents. Sorted by name.
    pub fn other_agent_kinds(&self) -> Vec<AgentKind> {
        let others = self.engine.kinds.iter().filter(|(kind, _)| **kind != self.live.spec.kind);
        let declared = others.filter_map(|(kind, backend)| {
            let description = backend.agent_description()?.to_owned();
            let capabilities = backend.capabilities();
            Some(AgentKind { kind: kind.clone(), description, capabilities })
        });
        let mut kinds: Vec<_> = declared.collect();
        kinds.sort_unstable_by(|one, other| one.kind.cmp(&other.kind));
        kinds
    }

    /// The task with this handle or id that this one may touch: itself, one
    /// that it owns or, with [`Visibility::Subtree`], a descendant.
    pub async fn task(&self, handle: &str) -> Result<TaskRef, Error> {
        access::find(&self.engine, &self.viewer(), handle).await
    }

    /// Lists the tasks that this one may see.
    pub fn tasks(&self) -> TaskList {
        let within = match self.live.spec.visibility {
            Visibility::Children => TaskScope::Owner(Owner::Task(self.id())),
            Visibility::Subtree => TaskScope::Session(self.lineage().session),
        };
        TaskList::new(self.engine.clone(), self.viewer(), within)
    }

    /// Waits for several tasks at once.
    pub fn wait<'a>(&self, tasks: impl IntoIterator<Item = &'a TaskRef>) -> WaitMany {
        WaitMany::new(self.engine.clone(), self.viewer(), tasks)
    }

    /// Sends a message to this task's owner, to one of its live children, or to
    /// all of them.
    pub fn send(&self, to: MessageRecipient<'_>, text: &str) -> SendRequest {
        SendRequest::new(self.engine.clone(), self.viewer(), to, text)
    }

    /// Returns unread rows of the task's inbox, oldest first: up to `limit`, and
    /// at least one if there is any. It never waits.
    pub async fn drain(&self, limit: usize) -> Result<InboxRows, Error> {
        deliver::drain_task(&self.engine, &self.live, 0, limit).await
    }

    /// Returns unread rows with higher numbers than this one, for a body that
    /// leaves some rows unread. [`InboxRows::last_number`] returns the number.
    pub async fn drain_after(&self, number: u64, limit: usize) -> Result<InboxRows, Error> {
        deliver::drain_task(&self.engine, &self.live, number, limit).await
    }

    /// Returns unread rows of the session's inbox that are for this task: the
    /// ends of tasks that it has detached, and rows that an earlier task of the
    /// same conversation has left unread.
    ///
    /// It reads up to `limit` rows with higher numbers than this one, and
    /// [`InboxRows::last_number`] returns the last; `None` if there are no more. Only
    /// a task that its session owns has such rows.
    pub async fn drain_session(&self, number: u64, limit: usize) -> Result<InboxRows, Error> {
        deliver::drain_inherited(&self.engine, &self.live, number, limit).await
    }

    /// Whether an unread message was sent to this task itself, and not to a
    /// descendant that has ended before reading it.
    pub async fn is_addressee(&self, message: MessageId) -> Result<bool, Error> {
        let standing = self.engine.store.message(Owner::Task(self.id()), message).await?;
        Ok(matches!(standing, Some(MessagePosition::Queued(_))))
    }

    /// Returns the unread rows of the task's inbox once there are any. The task
    /// waits without a slot.
    pub async fn receive(&self, limit: usize) -> Result<InboxRows, Error> {
        deliver::receive_task(&self.engine, &self.live, limit).await
    }

    /// Returns the unread rows of the task's inbox once it has a reason to wake
    /// up; see [`Session::idle`](crate::Session::idle). The task waits without a
    /// slot.
    pub async fn idle(&self, limit: usize) -> Result<InboxRows, Error> {
        self.idle_on(WaitingOn::Message, limit).await
    }

    /// Does the same as [`Context::idle`], with a record that says that the task
    /// waits on something else: its children, for example.
    pub async fn idle_on(&self, on: WaitingOn, limit: usize) -> Result<InboxRows, Error> {
        deliver::idle_task(&self.engine, &self.live, on, limit).await
    }

    /// Appends blocks to the task's history, and acknowledges the rows that they
    /// carry in the same commit.
    pub fn append(&self, blocks: impl IntoIterator<Item = Block>) -> AppendRequest {
        AppendRequest::new(self.engine.clone(), HistoryWriter::Task(self.live.clone()), blocks)
    }

    /// The blocks of the task's history from a position on.
    pub async fn history(&self, from: u64, limit: usize) -> Result<HistoryPage, Error> {
        self.engine.check_open()?;
        Ok(self.engine.store.history(Owner::Task(self.id()), from, limit).await?)
    }

    /// The blocks of an ancestor's history: of the parent, of the task that this
    /// one continues, or of an ancestor of these. A conversation may be forked
    /// from it.
    pub async fn ancestor_history(
        &self,
        task: TaskId,
        from: u64,
        limit: usize,
    ) -> Result<HistoryPage, Error> {
        access::check_descent(&self.engine, &self.live.spec, task).await?;
        Ok(self.engine.store.history(Owner::Task(task), from, limit).await?)
    }

    /// Resolves at the first notification after this call, of an inbox row or a
    /// cancel. Read the inbox after the call and before awaiting it.
    pub fn news(&self) -> impl Future<Output = ()> + Send + use<'_> {
        self.live.wakeup.notified()
    }

    /// Waits for `until` without a slot. The record says that the task waits on
    /// `on`.
    pub async fn waiting<T>(
        &self,
        on: WaitingOn,
        until: impl Future<Output = T>,
    ) -> Result<T, Error> {
        let suspension = suspend(&self.engine, &self.live, on).await?;
        let (until, cancelled) = (std::pin::pin!(until), std::pin::pin!(self.cancelled()));
        let value = match select(until, cancelled).await {
            Either::Left((value, _)) => Ok(value),
            Either::Right(_) => Err(Error::Cancelled),
        };
        suspension.end().await?;
        value
    }

    /// Waits before a body tries a write again, longer after each failure.
    /// Returns an error once the runtime is closed.
    pub async fn back_off(&self, failures: u32) -> Result<(), Error> {
        self.engine.check_open()?;
        self.engine.back_off(failures).await;
        self.engine.check_open()
    }

    /// The current time of the clock that stamps records.
    pub fn now(&self) -> Stamp {
        self.engine.now()
    }

    /// Random bits.
    pub fn random(&self) -> u128 {
        self.engine.world.random()
    }

    /// Takes a step of the journal: `work` is done once and its value is
    /// committed under the key. A later attempt gets the value, and so does
    /// another step of the same key in this attempt.
    pub fn step<F, Run, T, E>(&self, key: &str, work: F) -> StepRequest<F>
    where
        F: FnOnce() -> Run + Send,
        Run: Future<Output = Result<T, E>> + Send,
        T: Serialize + DeserializeOwned + Send,
        E: Into<BodyError>,
    {
        StepRequest::new(self.clone(), key, work)
    }

    /// Waits until `span` has passed since the first call with this key, across
    /// restarts of the process. The task waits without a slot. The keys of
    /// sleeps and of steps are separate.
    pub async fn sleep(&self, key: &str, span: Duration) -> Result<(), Error> {
        step::sleep_durably(&self.engine, &self.live, key, span).await
    }

    /// Asks the task's owner a question. The task waits without a slot for the
    /// answer.
    pub fn ask(&self, text: &str) -> QuestionRequest {
        QuestionRequest::new(self.engine.clone(), self.live.clone(), text)
    }

    /// Reports progress. The latest report counts, and at most one a second is
    /// written.
    pub async fn progress<T: Serialize>(&self, value: &T) -> Result<(), Error> {
        report::progress(&self.engine, &self.live, Payload::encode(value)?).await
    }

    /// The last progress that the task has reported, in this attempt or an
    /// earlier one.
    pub async fn reported<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        let reported = report::last_progress(&self.engine, &self.live).await?;
        Ok(reported.and_then(|progress| progress.value.decode().ok()))
    }

    /// Reports the current step and what the task does in it. At most one report
    /// a second is written.
    pub async fn activity(&self, step: u64, doing: ActivityKind) -> Result<(), Error> {
        report::activity(&self.engine, &self.live, step, doing).await
    }

    /// Changes counters, all of them or none. [`Error::Limit`] if one would leave
    /// its bounds. Each counter is named at most once.
    pub async fn count(
        &self,
        counts: impl IntoIterator<Item = CounterChange>,
    ) -> Result<(), Error> {
        self.engine.count(&self.live, counts.into_iter().collect()).await
    }

    /// The value of a task's counter; zero if it was never changed.
    pub async fn counted(&self, task: TaskId, name: &str) -> Result<u64, Error> {
        self.engine.counter(task, name).await
    }
}
