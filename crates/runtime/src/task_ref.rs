//! The operations of a [`TaskRef`].

use offshoot_core::{Payload, Question, Spec, Task, TaskId};
use serde::Serialize;

use crate::cancel::CancelRequest;
use crate::deliver::{self, MessageRecipient, SendRequest};
use crate::engine::handle::TaskRef;
use crate::error::Error;
use crate::history::PeekRequest;
use crate::inspect::{self, TaskSnapshot, TaskWatch, WhyReport};
use crate::suspend::{self, ExternalWait};
use crate::wait::Wait;

impl TaskRef {
    /// The task's id.
    pub fn id(&self) -> TaskId {
        self.spec.id
    }

    /// The task's handle: its name for users and models.
    pub fn handle(&self) -> &str {
        self.spec.handle.as_str()
    }

    /// The spec of the task, which never changes.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The current record.
    pub async fn record(&self) -> Result<Task, Error> {
        let task = self.engine.task(self.id()).await?;
        task.ok_or_else(|| Error::not_found(self.id()))
    }

    /// The current record, and the state of the task in this process.
    pub async fn snapshot(&self) -> Result<TaskSnapshot, Error> {
        Ok(inspect::snapshot(&self.engine, self.record().await?))
    }

    /// Waits for the task to end, or to need input. Dropping the wait changes
    /// nothing.
    pub fn wait(&self) -> Wait {
        Wait::new(self.clone())
    }

    /// Records that the body of this task waits for other tasks, outside its
    /// future. Until the returned wait is dropped the record says so, and the
    /// task has no slot.
    ///
    /// After the last such wait the task queues for a slot before tasks that
    /// have not started. The process that waited goes on at once, so for a while
    /// it may execute beyond the cap. The record says that the task waits until
    /// it has a slot.
    ///
    /// `None` if no body of the task is in this process, or the task has ended.
    pub async fn external_wait(&self) -> Result<Option<ExternalWait>, Error> {
        suspend::external_wait(&self.engine, self.id()).await
    }

    /// Watches the task: the current record, then the latest after each change.
    pub fn watch(&self) -> TaskWatch {
        TaskWatch::new(self.clone())
    }

    /// Sends a message to the task.
    pub fn send(&self, text: &str) -> SendRequest {
        SendRequest::new(
            self.engine.clone(),
            self.viewer.clone(),
            MessageRecipient::Task(self),
            text,
        )
    }

    /// Cancels the task and its descendants. It resolves once the request has
    /// reached them all; a wait for the task sees it end.
    pub fn cancel(&self, reason: &str) -> CancelRequest {
        CancelRequest::new(self.clone(), reason)
    }

    /// Answers a question of the task.
    pub async fn answer<T: Serialize>(&self, number: u32, answer: &T) -> Result<(), Error> {
        let answer = Payload::encode(answer)?;
        deliver::answer(&self.engine, &self.viewer, (self.id(), number), answer).await
    }

    /// The questions of the task.
    pub async fn questions(&self) -> Result<Vec<Question>, Error> {
        self.engine.check_open()?;
        Ok(self.engine.store.questions(self.id()).await?)
    }

    /// Reads the last blocks of the task's history.
    pub fn peek(&self) -> PeekRequest {
        PeekRequest::new(self.clone())
    }

    /// Why the task has not ended.
    pub async fn why(&self) -> Result<WhyReport, Error> {
        inspect::why(&self.engine, self.record().await?).await
    }

    /// The value of a counter of the task; zero if it was never changed.
    pub async fn counted(&self, name: &str) -> Result<u64, Error> {
        self.engine.counter(self.id(), name).await
    }
}
