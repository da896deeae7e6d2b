//! The handle on a session.

use std::future::Future;
use std::sync::Arc;

use offshoot_core::{
    Block, Caller, Cursor, MessageState, Owner, Receipt, RunId, SessionId, SessionRecord,
    TaskCounts, TaskId, Visibility,
};
use offshoot_store::{PendingRow, TaskScope};
use serde::Serialize;

use crate::access;
use crate::cancel::{SweepRequest, SweepTarget};
use crate::deliver::{self, InboxRows, MessageRecipient, SendRequest};
use crate::engine::Engine;
use crate::engine::body::{BodyError, ClosureBody};
use crate::engine::handle::{Context, TaskRef, Viewer};
use crate::engine::kind::{BackendBody, TaskRequest};
use crate::engine::live_session::LiveSession;
use crate::error::Error;
use crate::history::{AppendRequest, HistoryWriter};
use crate::inspect::{EventReader, TaskList};
use crate::removal;
use crate::spawn::{SpawnBuilder, SpawnParent, SpawnSource};
use crate::wait::WaitMany;

/// A conversation: it owns a history, an inbox, and the tasks spawned from it.
/// Cheap to clone; dropping it changes nothing.
#[derive(Clone, Debug)]
pub struct Session {
    engine: Arc<Engine>,
    id: SessionId,
    live: Arc<LiveSession>,
    visibility: Visibility,
}

impl Session {
    pub(crate) fn new(engine: Arc<Engine>, id: SessionId, live: Arc<LiveSession>) -> Self {
        Self { engine, id, live, visibility: Visibility::Children }
    }

    /// The session's id.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Sets which tasks of the session this handle can see.
    pub fn with_visibility(mut self, visibility: Visibility) -> Self {
        self.visibility = visibility;
        self
    }

    fn viewer(&self) -> Viewer {
        Viewer::new(Caller::Session(self.id), self.visibility)
    }

    fn spawn_source(&self) -> SpawnSource {
        SpawnSource {
            viewer: self.viewer(),
            session: self.id,
            live_session: self.live.clone(),
            parent: SpawnParent::Ambient,
        }
    }

    /// Spawns a task of a registered kind. Inside a body of this session the
    /// body's task is the parent, unless [`top_level`](SpawnBuilder::top_level) is set.
    ///
    /// This holds for the body's own future. A future that the body hands to
    /// `tokio::spawn` or to a thread spawns under the session. It can use the
    /// body's [`Context`] or [`under`](SpawnBuilder::under) instead.
    pub fn spawn(&self, request: TaskRequest) -> SpawnBuilder<BackendBody> {
        SpawnBuilder::registered(self.engine.clone(), request, self.spawn_source())
    }

    /// Spawns a closure. It is lost if the process dies, and its owner gets a row
    /// that says so.
    pub fn spawn_ephemeral<F, Run, T, E>(&self, body: F) -> SpawnBuilder<ClosureBody<F>>
    where
        F: FnOnce(Context) -> Run + Send + 'static,
        Run: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize + 'static,
        E: Into<BodyError> + 'static,
    {
        SpawnBuilder::ephemeral(self.engine.clone(), body, self.spawn_source())
    }

    /// The task with this handle or id that the session may see: one that it owns
    /// or, with [`Visibility::Subtree`], a descendant.
    pub async fn task(&self, handle: &str) -> Result<TaskRef, Error> {
        access::find(&self.engine, &self.viewer(), handle).await
    }

    /// Lists the tasks that the session may see.
    pub fn tasks(&self) -> TaskList {
        let within = match self.visibility {
            Visibility::Children => TaskScope::Owner(Owner::Session(self.id)),
            Visibility::Subtree => TaskScope::Session(self.id),
        };
        TaskList::new(self.engine.clone(), self.viewer(), within)
    }

    fn check(&self) -> Result<(), Error> {
        self.engine.check_open()?;
        self.live.check(self.id)
    }

    /// The session's current record.
    pub async fn record(&self) -> Result<SessionRecord, Error> {
        self.check()?;
        removal::session_record(&self.engine, self.id).await
    }

    /// How many unread rows the session's inbox has, counted up to `most`: it
    /// costs no more than that. If it says `most` there may be more.
    pub async fn unread_count(&self, most: usize) -> Result<usize, Error> {
        self.check()?;
        Ok(self.engine.store.unread(Owner::Session(self.id), most).await?)
    }

    /// The number of tasks of the session, at any depth, by phase.
    pub async fn counts(&self) -> Result<TaskCounts, Error> {
        self.check()?;
        Ok(self.engine.store.counts_within(Some(self.id)).await?)
    }

    /// Waits for several tasks at once.
    pub fn wait<'a>(&self, tasks: impl IntoIterator<Item = &'a TaskRef>) -> WaitMany {
        WaitMany::new(self.engine.clone(), self.viewer(), tasks)
    }

    /// Returns unread rows of the session's inbox, oldest first: up to `limit`, and
    /// at least one if there is any. It never waits, and acknowledges nothing.
    pub async fn drain(&self, limit: usize) -> Result<InboxRows, Error> {
        Ok(self.rows(self.unread(limit).await?))
    }

    async fn unread(&self, limit: usize) -> Result<Vec<PendingRow>, Error> {
        self.check()?;
        Ok(self.engine.store.inbox(Owner::Session(self.id), 0, limit.max(1)).await?)
    }

    fn rows(&self, unread: Vec<PendingRow>) -> InboxRows {
        InboxRows::new(self.engine.clone(), Owner::Session(self.id), None, unread)
    }

    /// Returns the unread rows of the session's inbox once there are any.
    pub async fn receive(&self, limit: usize) -> Result<InboxRows, Error> {
        loop {
            let notified = self.live.wakeup.notified();
            let unread = self.unread(limit).await?;
            if !unread.is_empty() {
                return Ok(self.rows(unread));
            }
            removal::check_session(&self.engine, self.id, &self.live).await?;
            notified.await;
            // Tasks that end now are read in the same drain.
            let others = self.engine.store.counts(Owner::Session(self.id)).try_now();
            if !matches!(others, Ok(Ok(others)) if others.live() == 0) {
                self.engine.yield_now().await;
            }
        }
    }

    /// Returns the unread rows once the session has a reason to wake up: a
    /// message, a question, or the end of a task that is not [`Wake::Silent`].
    /// The ends of silent tasks are returned with them.
    ///
    /// A report of a task that is [`Wake::OnActivity`] is a reason as well. It
    /// leaves no row, so the result may be empty. Such a reason does not survive
    /// a restart.
    ///
    /// [`Wake::Silent`]: offshoot_core::Wake::Silent
    /// [`Wake::OnActivity`]: offshoot_core::Wake::OnActivity
    pub async fn idle(&self, limit: usize) -> Result<InboxRows, Error> {
        deliver::idle_session(&self.engine, self.id, &self.live).await?;
        self.drain(limit).await
    }

    /// Appends blocks to the session's history, and acknowledges the rows that they
    /// carry in the same commit.
    pub fn append(&self, blocks: impl IntoIterator<Item = Block>) -> AppendRequest {
        AppendRequest::new(self.engine.clone(), HistoryWriter::Session(self.id), blocks)
    }

    /// Reads up to `limit` blocks of the session's history from position `first` on.
    pub async fn history(
        &self,
        first: u64,
        limit: usize,
    ) -> Result<offshoot_store::HistoryPage, Error> {
        self.check()?;
        Ok(self.engine.store.history(Owner::Session(self.id), first, limit).await?)
    }

    /// Sends a message to one of the session's tasks, or to all of them.
    pub fn send(&self, to: MessageRecipient<'_>, text: &str) -> SendRequest {
        SendRequest::new(self.engine.clone(), self.viewer(), to, text)
    }

    /// The state of a message that one of the session's tasks received, or sent to
    /// the session.
    pub async fn receipt(&self, receipt: Receipt) -> Result<MessageState, Error> {
        let task = access::touchable(&self.engine, &self.viewer(), receipt.task).await?;
        deliver::message_state(&self.engine, &task, receipt.message).await
    }

    /// Reads the session's log from a cursor on.
    pub fn events(&self, from: Cursor) -> EventReader {
        EventReader::new(self.engine.clone(), self.id, from)
    }

    /// Cancels all tasks of the session, including detached ones.
    pub fn cancel(&self, reason: &str) -> SweepRequest {
        self.sweep(SweepTarget::Session, reason)
    }

    /// Cancels all tasks of a run, and their descendants.
    pub fn cancel_run(&self, run: RunId, reason: &str) -> SweepRequest {
        self.sweep(SweepTarget::Run(run), reason)
    }

    /// Cancels the tasks that the session itself owns, and their descendants.
    /// Detached tasks go on.
    pub fn cancel_owned(&self, reason: &str) -> SweepRequest {
        self.sweep(SweepTarget::Owned, reason)
    }

    /// Cancels the children of a task, and their descendants. The task itself goes
    /// on.
    pub fn cancel_children(&self, task: TaskId, reason: &str) -> SweepRequest {
        self.sweep(SweepTarget::Children(task), reason)
    }

    /// Removes the session and all that belongs to it: its tasks with their
    /// journals, questions, timers, histories and large values, its own history
    /// and inbox, and its log. Its name is free afterwards. Refused with
    /// [`Error::SessionBusy`] while a task of it is live.
    ///
    /// It cannot be undone. Once the removal is durable the session takes no new
    /// tasks or messages, every handle on it returns [`Error::NoSession`], and its
    /// data is deleted in batches. Dropping this future does not stop it, and after
    /// a crash the next runtime finishes it. A full disk is returned as an error;
    /// the removal goes on once there is room.
    pub async fn remove(&self) -> Result<(), Error> {
        self.check()?;
        removal::remove_session(&self.engine, self.id).await
    }

    fn sweep(&self, target: SweepTarget, reason: &str) -> SweepRequest {
        SweepRequest::new(self.engine.clone(), self.viewer(), self.id, target, reason)
    }
}

/// A handle on a session, unless it is removed or being removed.
pub(crate) async fn hold_session(
    engine: &Arc<Engine>,
    id: SessionId,
) -> Result<Option<Session>, Error> {
    // The live session is made before the record is read: a removal that begins
    // later finds it and marks it as removed.
    let live = engine.live_session(id);
    match removal::session_record(engine, id).await {
        Ok(_) => Ok(Some(Session::new(engine.clone(), id, live))),
        Err(Error::NoSession { .. }) => {
            engine.close_live_session(id);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use offshoot_store::Memory;

    use crate::engine::body::BodyError;
    use crate::runtime::Runtime;

    #[tokio::test]
    async fn a_removed_session_leaves_nothing_in_memory() {
        let runtime = Runtime::builder(Memory::new()).open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        let engine = session.engine.clone();
        let body = |_| async { Ok::<_, BodyError>(()) };
        let task = session.spawn_ephemeral(body).await.unwrap();
        task.wait().await.unwrap();
        assert_eq!(engine.live_session_count(), 1);
        session.remove().await.unwrap();
        assert_eq!(engine.live_session_count(), 0);
        // Handles that are still held make no new entry.
        assert!(session.spawn_ephemeral(body).await.is_err());
        assert!(session.spawn_ephemeral(body).under(&task).await.is_err());
        assert!(task.send("go on").await.is_err());
        assert!(runtime.find_session("main").await.unwrap().is_none());
        assert!(engine.live_session(session.id()).check(session.id()).is_err());
        assert_eq!((engine.live_session_count(), engine.all_live_tasks().len()), (0, 0));
    }
}
