//! A session as a program holds it.

use std::future::Future;
use std::sync::Arc;

use offshoot_core::{
    Block, Caller, Counts, Cursor, MessageState, Owner, Receipt, RunId, Session as Record,
    SessionId, TaskId, Visibility,
};
use offshoot_store::{Pending, Within};
use serde::Serialize;

use crate::backend::{Registered, Request};
use crate::body::{BodyError, Closure};
use crate::context::Context;
use crate::desk::Desk;
use crate::draft::{Parent, Sender};
use crate::engine::Engine;
use crate::error::Error;
use crate::history::{Appending, Writer};
use crate::inbox::Rows;
use crate::look::Tasks;
use crate::message::{Address, Sending};
use crate::spawn::Spawn;
use crate::sweep::{SweepOf, Sweeping};
use crate::task_ref::{TaskRef, Viewer};
use crate::wait::WaitMany;
use crate::watch::Events;

/// A conversation: it owns a history, an inbox, and the tasks spawned from it.
/// Cheap to clone; dropping it changes nothing.
#[derive(Clone, Debug)]
pub struct Session {
    engine: Arc<Engine>,
    id: SessionId,
    desk: Arc<Desk>,
    visibility: Visibility,
}

impl Session {
    pub(crate) fn new(engine: Arc<Engine>, id: SessionId, desk: Arc<Desk>) -> Self {
        Self { engine, id, desk, visibility: Visibility::Children }
    }

    /// The session's id.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// The same session, looking so far.
    pub fn with_visibility(mut self, visibility: Visibility) -> Self {
        self.visibility = visibility;
        self
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(crate) fn desk(&self) -> &Arc<Desk> {
        &self.desk
    }

    fn viewer(&self) -> Viewer {
        Viewer::new(Caller::Session(self.id), self.visibility)
    }

    fn sender(&self) -> Sender {
        Sender {
            viewer: self.viewer(),
            session: self.id,
            desk: self.desk.clone(),
            parent: Parent::Ambient,
        }
    }

    /// Sends off a task of a registered kind. Inside a body of this session
    /// the task belongs to that body's task, unless
    /// [`top_level`](Spawn::top_level).
    ///
    /// Inside a body means in the body's own future. What it hands to
    /// `tokio::spawn` or to a thread is outside, and spawns under the session:
    /// there, use the body's [`Context`] or [`under`](Spawn::under).
    pub fn spawn(&self, request: Request) -> Spawn<Registered> {
        Spawn::registered(self.engine.clone(), request, self.sender())
    }

    /// Sends off a closure. It is lost if the process dies, and its owner is
    /// told.
    pub fn spawn_ephemeral<F, Run, T, E>(&self, body: F) -> Spawn<Closure<F>>
    where
        F: FnOnce(Context) -> Run + Send + 'static,
        Run: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize + 'static,
        E: Into<BodyError> + 'static,
    {
        Spawn::ephemeral(self.engine.clone(), body, self.sender())
    }

    /// The task of this handle or id that the session may see: one that it owns
    /// or, if it sees its subtree, one below.
    pub async fn task(&self, handle: &str) -> Result<TaskRef, Error> {
        self.engine.find(&self.viewer(), handle).await
    }

    /// The tasks the session may see.
    pub fn tasks(&self) -> Tasks {
        let within = match self.visibility {
            Visibility::Children => Within::Owner(Owner::Session(self.id)),
            Visibility::Subtree => Within::Session(self.id),
        };
        Tasks::new(self.engine.clone(), self.viewer(), within)
    }

    fn check(&self) -> Result<(), Error> {
        self.engine.check_open()?;
        self.desk.check(self.id)
    }

    /// The session's record as it is now.
    pub async fn record(&self) -> Result<Record, Error> {
        self.check()?;
        self.engine.session_record(self.id).await
    }

    /// How many unread rows the session's inbox has, counted up to `most`: it
    /// costs no more than that. If it says `most` there may be more.
    pub async fn unread_count(&self, most: usize) -> Result<usize, Error> {
        self.check()?;
        Ok(self.engine.store.unread(Owner::Session(self.id), most).await?)
    }

    /// How many tasks of the session there are, at any depth, by phase.
    pub async fn counts(&self) -> Result<Counts, Error> {
        self.check()?;
        Ok(self.engine.store.counts_within(Some(self.id)).await?)
    }

    /// Waits for several tasks at once.
    pub fn wait<'a>(&self, tasks: impl IntoIterator<Item = &'a TaskRef>) -> WaitMany {
        WaitMany::new(self.engine.clone(), self.viewer(), tasks)
    }

    /// What came home, oldest first: up to `limit` rows, and at least one if
    /// there is any. Never waits, and acknowledges nothing.
    pub async fn drain(&self, limit: usize) -> Result<Rows, Error> {
        Ok(self.rows(self.unread(limit).await?))
    }

    async fn unread(&self, limit: usize) -> Result<Vec<Pending>, Error> {
        self.check()?;
        Ok(self.engine.store.inbox(Owner::Session(self.id), 0, limit.max(1)).await?)
    }

    fn rows(&self, unread: Vec<Pending>) -> Rows {
        Rows::new(self.engine.clone(), Owner::Session(self.id), None, unread)
    }

    /// What came home, once something has.
    pub async fn receive(&self, limit: usize) -> Result<Rows, Error> {
        loop {
            let nudged = self.desk.nudge.listen();
            let unread = self.unread(limit).await?;
            if !unread.is_empty() {
                return Ok(self.rows(unread));
            }
            self.engine.check_session(self.id, &self.desk).await?;
            nudged.await;
            // What else ends now comes home with it.
            let others = self.engine.store.counts(Owner::Session(self.id)).try_now();
            if !matches!(others, Ok(Ok(others)) if others.live() == 0) {
                self.engine.pause().await;
            }
        }
    }

    /// Appends blocks to the session's history, together with the
    /// acknowledgement of the rows they carry.
    pub fn append(&self, blocks: impl IntoIterator<Item = Block>) -> Appending {
        Appending::new(self.engine.clone(), Writer::Session(self.id), blocks)
    }

    /// Up to `limit` blocks of the session's history from position `first` on.
    pub async fn history(
        &self,
        first: u64,
        limit: usize,
    ) -> Result<offshoot_store::HistoryPage, Error> {
        self.check()?;
        Ok(self.engine.store.history(Owner::Session(self.id), first, limit).await?)
    }

    /// Sends a message to one of the session's tasks, or to all of them.
    pub fn send(&self, to: Address<'_>, text: &str) -> Sending {
        Sending::new(self.engine.clone(), self.viewer(), to, text)
    }

    /// How far a message has come that one of the session's tasks got, or sent
    /// to the session.
    pub async fn receipt(&self, receipt: Receipt) -> Result<MessageState, Error> {
        let task = self.engine.touchable(&self.viewer(), receipt.task).await?;
        self.engine.message_state(&task, receipt.message).await
    }

    /// The session's log from a cursor on.
    pub fn events(&self, from: Cursor) -> Events {
        Events::new(self.engine.clone(), self.id, from)
    }

    /// Cancels all tasks of the session, detached ones too.
    pub fn cancel(&self, reason: &str) -> Sweeping {
        self.sweep(SweepOf::Session, reason)
    }

    /// Cancels all tasks spawned in a run, and their descendants.
    pub fn cancel_run(&self, run: RunId, reason: &str) -> Sweeping {
        self.sweep(SweepOf::Run(run), reason)
    }

    /// Cancels the tasks that the session itself owns, and their descendants;
    /// detached tasks stay.
    pub fn cancel_owned(&self, reason: &str) -> Sweeping {
        self.sweep(SweepOf::Owned, reason)
    }

    /// Cancels the children of a task, and their descendants; the task itself
    /// goes on.
    pub fn cancel_children(&self, task: TaskId, reason: &str) -> Sweeping {
        self.sweep(SweepOf::Children(task), reason)
    }

    /// Removes the session and all that belongs to it: its tasks with their
    /// journals, questions, timers, histories and large values, its own history
    /// and inbox, and its log. Its name is free afterwards. Refused with
    /// [`Error::SessionBusy`] while a task of it is live.
    ///
    /// It cannot be taken back: once it is durable that the session shall go,
    /// nothing new is taken in, every handle on it says
    /// [`Error::NoSession`], and what is there is deleted bit by bit. Neither
    /// dropping this nor a crash stops that; the next runtime goes on with it.
    /// If the disk is full it is told, and goes on once there is room.
    pub async fn remove(&self) -> Result<(), Error> {
        self.check()?;
        self.engine.remove_session(self.id).await
    }

    fn sweep(&self, what: SweepOf, reason: &str) -> Sweeping {
        Sweeping::new(self.engine.clone(), self.viewer(), self.id, what, reason)
    }
}
