//! Messages: durable when they are reported as queued, and then either consumed
//! by the commit that uses them, or returned.

use std::future::IntoFuture;
use std::sync::Arc;

use offshoot_core::{
    Capabilities, DeliveryMode, InboxMessage, MessageId, MessageState, Name, Owner, Receipt, Task,
    TaskId, TooLarge,
};
use offshoot_store::{Batch, CommitError, Conflict, TaskQuery, TaskScope, Write};

use super::receipt::{Receipts, RefusedRecipient, message_state};
use crate::access;
use crate::engine::backend::InputStatus;
use crate::engine::handle::{TaskRef, Viewer};
use crate::engine::kind::{BackendBody, TaskRequest};
use crate::engine::{Engine, NotifyTarget};
use crate::environment::BoxFuture;
use crate::error::Error;
use crate::panic;
use crate::spawn::{SpawnBuilder, SpawnParent, SpawnSource};

/// The recipient of a message.
#[derive(Clone, Copy, Debug)]
pub enum MessageRecipient<'a> {
    /// This task.
    Task(&'a TaskRef),
    /// The task with this handle or id. `parent` and `all` mean the variants of
    /// those names.
    Handle(&'a str),
    /// The sender's owner.
    Parent,
    /// All live tasks that the sender owns. [`Receipts::refused`] lists those
    /// that did not get the message.
    All,
}

#[derive(Debug)]
enum RecipientRef {
    Task(TaskId),
    Handle(String),
    Parent,
    All,
}

/// A send request. Await it: once it resolves the message is durable.
#[must_use = "a message is not sent until it is awaited"]
#[derive(Debug)]
pub struct SendRequest {
    engine: Arc<Engine>,
    viewer: Viewer,
    to: RecipientRef,
    text: Arc<str>,
    mode: DeliveryMode,
    key: Option<Arc<str>>,
}

impl SendRequest {
    pub(crate) fn new(
        engine: Arc<Engine>,
        viewer: Viewer,
        to: MessageRecipient<'_>,
        text: &str,
    ) -> Self {
        let to = match to {
            MessageRecipient::Task(task) => RecipientRef::Task(task.spec.id),
            MessageRecipient::Handle(handle) => match Name::key_of(handle).as_str() {
                "parent" => RecipientRef::Parent,
                "all" => RecipientRef::All,
                _ => RecipientRef::Handle(handle.to_owned()),
            },
            MessageRecipient::Parent => RecipientRef::Parent,
            MessageRecipient::All => RecipientRef::All,
        };
        Self { engine, viewer, to, text: text.into(), mode: DeliveryMode::Steer, key: None }
    }

    /// Makes the send idempotent: a repeated send with the same key and text
    /// returns the same message, read or not. Another text is refused.
    ///
    /// Keys are separate for each sender and recipient, and last as long as both
    /// of them.
    pub fn key(mut self, key: &str) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets when the task reads the message; by default before its next step.
    pub fn mode(mut self, mode: DeliveryMode) -> Self {
        self.mode = mode;
        self
    }

    /// Makes the message the last one: it ends the task's input, and later
    /// messages are refused. An empty last message only ends the input of a
    /// command.
    pub fn last(mut self) -> Self {
        self.mode = DeliveryMode::Last;
        self
    }

    async fn send(self) -> Result<Receipts, Error> {
        self.engine.check_open()?;
        let sizes = &self.engine.config.sizes;
        TooLarge::check("message", self.text.len(), sizes.message)?;
        if let Some(key) = &self.key {
            TooLarge::check("key", key.len(), sizes.text)?;
        }
        match &self.to {
            RecipientRef::Task(id) => {
                let task = access::touchable(&self.engine, &self.viewer, *id).await?;
                Ok(self.send_to(task).await?.into())
            }
            RecipientRef::Handle(handle) => {
                let found = access::find(&self.engine, &self.viewer, handle).await?;
                let task = access::touchable(&self.engine, &self.viewer, found.spec.id).await?;
                Ok(self.send_to(task).await?.into())
            }
            RecipientRef::Parent => Ok(self.send_to_parent().await?.into()),
            RecipientRef::All => self.send_to_children().await,
        }
    }

    async fn send_to_parent(&self) -> Result<Receipt, Error> {
        let live = self.viewer.live.as_ref();
        let live = live.ok_or(Error::NoContext("only a task has a parent to write to"))?;
        match live.spec.owner() {
            Owner::Task(parent) => {
                let task = self.engine.task(parent).await?;
                self.send_to(task.ok_or_else(|| Error::not_found(parent))?).await
            }
            session => self.send_to_session(session, live.spec.id).await,
        }
    }

    async fn send_to_session(&self, session: Owner, sender: TaskId) -> Result<Receipt, Error> {
        let message = self.message();
        let room = self.engine.config.sizes.inbox;
        let send = Write::Send { message: message.clone(), to: session, room };
        let batch = Batch::new(message.at).write(send);
        match self.engine.commit(batch, NotifyTarget::Inbox(session)).await {
            Ok(_) => Ok(Receipt { message: message.id, task: sender, state: MessageState::Queued }),
            Err(CommitError::Conflict(Conflict::MessageKeyUsed(sent))) => {
                self.sent_before(sender, sent).await
            }
            Err(error) => Err(self.refusal(session, error)),
        }
    }

    /// Sends to each child, even if others refuse the message.
    async fn send_to_children(&self) -> Result<Receipts, Error> {
        let mut receipts = Receipts::default();
        for task in self.children().await? {
            match self.deliver_to(&task).await {
                Ok(receipt) => receipts.queued.push(receipt),
                Err(error) => receipts.refused.push(RefusedRecipient { task: task.id(), error }),
            }
        }
        Ok(receipts)
    }

    /// The sender's live children. All are read before the first send, so that a
    /// failed read sends nothing.
    async fn children(&self) -> Result<Vec<Task>, Error> {
        let owner = self.viewer.caller.as_owner();
        let owner = owner.ok_or(Error::NoContext("the host owns no tasks: name one"))?;
        let mut query = TaskQuery::new(TaskScope::Owner(owner)).live();
        let mut children = Vec::new();
        loop {
            let page = self.engine.store.tasks(query.clone()).await?;
            children.extend(page.items);
            match page.next {
                Some(next) => query.after = Some(next),
                None => return Ok(children),
            }
        }
    }

    fn message(&self) -> Arc<InboxMessage> {
        let at = self.engine.now();
        Arc::new(InboxMessage {
            id: MessageId::mint(at, self.engine.world.random()),
            from: self.viewer.caller,
            text: self.text.clone(),
            mode: self.mode,
            key: self.key.clone(),
            at,
        })
    }

    async fn send_to(&self, task: Task) -> Result<Receipt, Error> {
        // A key may belong to a message that was sent while the task was live.
        if !task.is_live() && self.key.is_none() {
            return self.continue_with(task).await;
        }
        match self.deliver_to(&task).await {
            Err(Error::Ended { id, .. }) => {
                let task = self.engine.task(id).await?.ok_or_else(|| Error::not_found(id))?;
                self.continue_with(task).await
            }
            delivered => delivered,
        }
    }

    /// Delivers the message to a task that has not ended, and notifies its
    /// backend.
    async fn deliver_to(&self, task: &Task) -> Result<Receipt, Error> {
        let id = task.id();
        if task.is_live() && !task.spec.can.has(Capabilities::MESSAGES) {
            return Err(Error::TakesNoMessages(id));
        }
        if self.viewer.caller.as_owner() != Some(task.owner())
            && let Some(live) = self.engine.live_task(id)
        {
            live.note_foreign_message();
        }
        let backend = self.engine.kinds.get(&task.spec.kind);
        let hearing = backend.map_or(InputStatus::Open, |backend| {
            panic::shield_or("input_status", InputStatus::Open, || backend.input_status(task))
        });
        let message = self.message();
        match self.offer(id, message.clone(), hearing).await {
            Ok(receipt) => {
                if let Some(backend) = backend {
                    panic::shield("deliver", || backend.deliver(task, &message));
                }
                Ok(receipt)
            }
            // There was no room, because the input has ended.
            Err(CommitError::Conflict(Conflict::InboxFull { .. }))
                if hearing == InputStatus::Ended =>
            {
                Err(Error::InputEnded(id))
            }
            Err(CommitError::Conflict(Conflict::MessageKeyUsed(sent))) => {
                self.sent_before(id, sent).await
            }
            Err(CommitError::Conflict(Conflict::Ended(_))) => {
                let task = self.engine.task(id).await?.ok_or_else(|| Error::not_found(id))?;
                Err(Error::Ended { id, state: task.state })
            }
            Err(error) => Err(self.refusal(Owner::Task(id), error)),
        }
    }

    fn refusal(&self, to: Owner, error: CommitError) -> Error {
        match (error, &self.key) {
            (CommitError::Conflict(Conflict::MessageKeyReused(message)), Some(key)) => {
                Error::MessageKeyReused { key: key.clone(), to, message }
            }
            (error, _) => Error::from_commit(error),
        }
    }

    /// Puts the message into a task's inbox. The inbox of a task whose input has
    /// ended has no room.
    async fn offer(
        &self,
        task: TaskId,
        message: Arc<InboxMessage>,
        hearing: InputStatus,
    ) -> Result<Receipt, CommitError> {
        let room = match hearing {
            InputStatus::Open => self.engine.config.sizes.inbox,
            InputStatus::Ended => 0,
        };
        let send = Write::Send { message: message.clone(), to: Owner::Task(task), room };
        let batch = Batch::new(message.at).write(send);
        self.engine.commit(batch, NotifyTarget::Inbox(Owner::Task(task))).await?;
        Ok(Receipt { message: message.id, task, state: MessageState::Queued })
    }

    /// The receipt of an earlier message that task `id` received or sent.
    async fn sent_before(&self, id: TaskId, message: MessageId) -> Result<Receipt, Error> {
        let task = self.engine.task(id).await?.ok_or_else(|| Error::not_found(id))?;
        let state = message_state(&self.engine, &task, message).await?;
        Ok(Receipt { message, task: id, state })
    }

    /// Spawns a task that continues a finished one, with the message as its
    /// first.
    async fn continue_with(&self, old: Task) -> Result<Receipt, Error> {
        let id = old.id();
        let backend = self.engine.kinds.get(&old.spec.kind).cloned();
        if backend.is_none() || !old.spec.can.has(Capabilities::RESUME) {
            return Err(Error::Ended { id, state: old.state });
        }
        if !old.spec.can.has(Capabilities::MESSAGES) {
            return Err(Error::TakesNoMessages(id));
        }
        let parent = match old.spec.lineage.parent {
            Some(parent) => self.engine.task(parent).await?.filter(Task::is_live),
            None => None,
        };
        let session = old.spec.lineage.session;
        let source = SpawnSource {
            viewer: self.viewer.clone(),
            session,
            live_session: self.engine.live_session(session),
            parent: match parent {
                Some(parent) => SpawnParent::Task(parent.spec.clone()),
                None => SpawnParent::Session,
            },
        };
        let key = self.continuing_key(id);
        if let Some(key) = &key
            && let Some(found) = self.continued_before(&old, key).await?
        {
            return self.first_of(found).await;
        }
        let lacks = backend
            .as_ref()
            .and_then(|backend| panic::shield_or("lacks", None, || backend.lacks(&old)));
        if let Some(what) = lacks {
            return Err(Error::Lacks { id, what });
        }
        let (kind, input) = (old.spec.kind.clone(), Ok(old.spec.input.clone()));
        let request = TaskRequest { kind, input, backend: None };
        let mut spawn: SpawnBuilder<BackendBody> =
            SpawnBuilder::registered(self.engine.clone(), request, source);
        spawn.options.terms.continues = Some(id);
        spawn.options.terms.profile = old.spec.terms.profile.clone();
        // The origin of the first task applies to all that continue it.
        spawn.options.origin = old.spec.lineage.origin.clone();
        spawn.options.visibility = old.spec.visibility;
        spawn.options.tie = old.spec.tie;
        spawn.options.wake = old.spec.wake;
        spawn.options.terms.timeout = old.spec.terms.timeout;
        spawn.options.terms.grace = old.spec.terms.grace;
        spawn.options.terms.key = key;
        let message = self.message();
        spawn.options.first_message = Some(message.clone());
        // The old handle if it is free, else the next number.
        spawn.options.preferred = Some(old.spec.handle.clone());
        let id = spawn.await?.spec.id;
        if self.key.is_none() {
            return Ok(Receipt { message: message.id, task: id, state: MessageState::Queued });
        }
        // The spawn may have returned the task of an earlier send.
        let receipt = self.first_of(id).await?;
        let state =
            if receipt.message == message.id { MessageState::Queued } else { receipt.state };
        Ok(Receipt { state, ..receipt })
    }

    /// The spawn key of the continuing task, separate for each sender.
    fn continuing_key(&self, old: TaskId) -> Option<Arc<str>> {
        let key = self.key.as_ref()?;
        Some(match self.viewer.caller.as_owner() {
            Some(sender) => format!("{old}:{sender}:{key}").into(),
            None => format!("{old}:host:{key}").into(),
        })
    }

    /// The continuing task of an earlier send with this key. Its owner is the
    /// parent if that was live then, else the session.
    async fn continued_before(&self, old: &Task, key: &str) -> Result<Option<TaskId>, Error> {
        let parent = old.spec.lineage.parent.map(Owner::Task);
        let session = Owner::Session(old.spec.lineage.session);
        for owner in parent.into_iter().chain([session]) {
            if let Some(found) = self.engine.store.keyed(owner, key).await? {
                return Ok(Some(found.id()));
            }
        }
        Ok(None)
    }

    /// The receipt of a task's first message, which the store finds by the key.
    async fn first_of(&self, task: TaskId) -> Result<Receipt, Error> {
        match self.offer(task, self.message(), InputStatus::Open).await {
            Ok(_) => Err(Error::Contended),
            Err(CommitError::Conflict(Conflict::MessageKeyUsed(sent))) => {
                self.sent_before(task, sent).await
            }
            Err(error) => Err(self.refusal(Owner::Task(task), error)),
        }
    }
}

impl IntoFuture for SendRequest {
    type Output = Result<Receipts, Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}
