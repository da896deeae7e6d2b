//! Messages: durable before "queued" is said, consumed by the commit that
//! uses them, or returned.

use std::future::IntoFuture;
use std::sync::Arc;

use offshoot_core::{
    Capabilities, Message, MessageId, MessageState, Mode, Name, Owner, Receipt, Task, TaskId,
    TooLarge,
};
use offshoot_store::{Batch, CommitError, Conflict, TaskQuery, Within, Write};

use crate::backend::{Hearing, Registered, Request};
use crate::draft::{Parent, Sender};
use crate::engine::{Concerns, Engine};
use crate::environment::BoxFuture;
use crate::error::Error;
use crate::panic;
use crate::receipt::{Receipts, Refused};
use crate::spawn::Spawn;
use crate::task_ref::{TaskRef, Viewer};

/// Whom a message is for.
#[derive(Clone, Copy, Debug)]
pub enum Address<'a> {
    /// This task.
    Task(&'a TaskRef),
    /// The task of this handle or id; `parent` and `all` have their meaning.
    Handle(&'a str),
    /// The sender's owner.
    Parent,
    /// All live tasks that the sender owns. It reaches each of them or says why
    /// not: see [`Receipts::refused`].
    All,
}

#[derive(Debug)]
enum To {
    Task(TaskId),
    Handle(String),
    Parent,
    All,
}

/// A message about to be sent. Await it to send it; it is durable when it
/// resolves.
#[must_use = "a message is not sent until it is awaited"]
#[derive(Debug)]
pub struct Sending {
    engine: Arc<Engine>,
    viewer: Viewer,
    to: To,
    text: Arc<str>,
    mode: Mode,
    key: Option<Arc<str>>,
}

impl Sending {
    pub(crate) fn new(engine: Arc<Engine>, viewer: Viewer, to: Address<'_>, text: &str) -> Self {
        let to = match to {
            Address::Task(task) => To::Task(task.id()),
            Address::Handle(handle) => match Name::key_of(handle).as_str() {
                "parent" => To::Parent,
                "all" => To::All,
                _ => To::Handle(handle.to_owned()),
            },
            Address::Parent => To::Parent,
            Address::All => To::All,
        };
        Self { engine, viewer, to, text: text.into(), mode: Mode::Steer, key: None }
    }

    /// Makes the send idempotent: repeated with the same key and text it finds
    /// the same message, read or not, and with another text it is refused. A
    /// key is the sender's own, for each recipient anew, and lives as long as
    /// both.
    pub fn key(mut self, key: &str) -> Self {
        self.key = Some(key.into());
        self
    }

    /// When the task shall read it; before its next step unless told.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Makes it the last one: it ends the task's input, and any later message
    /// is refused by a task that reads no more. To a command an empty one says
    /// nothing else.
    pub fn last(mut self) -> Self {
        self.mode = Mode::Last;
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
            To::Task(id) => {
                let task = self.engine.touchable(&self.viewer, *id).await?;
                Ok(self.send_to(task).await?.into())
            }
            To::Handle(handle) => {
                let found = self.engine.find(&self.viewer, handle).await?;
                let task = self.engine.touchable(&self.viewer, found.id()).await?;
                Ok(self.send_to(task).await?.into())
            }
            To::Parent => Ok(self.send_to_parent().await?.into()),
            To::All => self.send_to_children().await,
        }
    }

    async fn send_to_parent(&self) -> Result<Receipt, Error> {
        let cell = self.viewer.cell.as_ref();
        let cell = cell.ok_or(Error::NoContext("only a task has a parent to write to"))?;
        match cell.spec.owner() {
            Owner::Task(parent) => {
                let task = self.engine.task(parent).await?;
                self.send_to(task.ok_or_else(|| Error::not_found(parent))?).await
            }
            session => self.send_to_session(session, cell.spec.id).await,
        }
    }

    async fn send_to_session(&self, session: Owner, sender: TaskId) -> Result<Receipt, Error> {
        let message = self.message();
        let room = self.engine.config.sizes.inbox;
        let send = Write::Send { message: message.clone(), to: session, room };
        let batch = Batch::new(message.at).write(send);
        match self.engine.commit(batch, Concerns::Inbox(session)).await {
            Ok(_) => Ok(Receipt { message: message.id, task: sender, state: MessageState::Queued }),
            Err(CommitError::Conflict(Conflict::MessageKeyUsed(sent))) => {
                self.sent_before(sender, sent).await
            }
            Err(error) => Err(self.refusal(session, error)),
        }
    }

    /// Sends to each child, whatever becomes of the others.
    async fn send_to_children(&self) -> Result<Receipts, Error> {
        let mut receipts = Receipts::default();
        for task in self.children().await? {
            match self.hand_to(&task).await {
                Ok(receipt) => receipts.queued.push(receipt),
                Err(error) => receipts.refused.push(Refused { task: task.id(), error }),
            }
        }
        Ok(receipts)
    }

    /// The sender's live children, all of them before anything is sent: a list
    /// that fails halfway has told nobody.
    async fn children(&self) -> Result<Vec<Task>, Error> {
        let owner = self.viewer.caller.as_owner();
        let owner = owner.ok_or(Error::NoContext("the host owns no tasks: name one"))?;
        let mut query = TaskQuery::new(Within::Owner(owner)).live();
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

    fn message(&self) -> Arc<Message> {
        let at = self.engine.now();
        Arc::new(Message {
            id: MessageId::mint(at, self.engine.world.random()),
            from: self.viewer.caller,
            text: self.text.clone(),
            mode: self.mode,
            key: self.key.clone(),
            at,
        })
    }

    async fn send_to(&self, task: Task) -> Result<Receipt, Error> {
        // A key may tell of a message that was sent while the task was alive.
        if !task.is_live() && self.key.is_none() {
            return self.continue_with(task).await;
        }
        match self.hand_to(&task).await {
            Err(Error::Ended { id, .. }) => {
                let task = self.engine.task(id).await?.ok_or_else(|| Error::not_found(id))?;
                self.continue_with(task).await
            }
            handed => handed,
        }
    }

    /// Puts the message before a task that has not ended, and tells its
    /// backend.
    async fn hand_to(&self, task: &Task) -> Result<Receipt, Error> {
        let id = task.id();
        if task.is_live() && !task.spec.can.has(Capabilities::MESSAGES) {
            return Err(Error::TakesNoMessages(id));
        }
        if self.viewer.caller.as_owner() != Some(task.owner())
            && let Some(cell) = self.engine.cell(id)
        {
            cell.note_outside_mail();
        }
        let backend = self.engine.kinds.get(&task.spec.kind);
        let hearing = backend.map_or(Hearing::Open, |backend| {
            panic::shield_or("hears", Hearing::Open, || backend.hears(task))
        });
        let message = self.message();
        match self.offer(id, message.clone(), hearing).await {
            Ok(receipt) => {
                if let Some(backend) = backend {
                    panic::shield("deliver", || backend.deliver(task, &message));
                }
                Ok(receipt)
            }
            // Only one that was sent before is found behind the end.
            Err(CommitError::Conflict(Conflict::InboxFull { .. })) if hearing == Hearing::Ended => {
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

    /// Puts the message before a task. One that reads no more has room for
    /// none.
    async fn offer(
        &self,
        task: TaskId,
        message: Arc<Message>,
        hearing: Hearing,
    ) -> Result<Receipt, CommitError> {
        let room = match hearing {
            Hearing::Open => self.engine.config.sizes.inbox,
            Hearing::Ended => 0,
        };
        let send = Write::Send { message: message.clone(), to: Owner::Task(task), room };
        let batch = Batch::new(message.at).write(send);
        self.engine.commit(batch, Concerns::Inbox(Owner::Task(task))).await?;
        Ok(Receipt { message: message.id, task, state: MessageState::Queued })
    }

    /// The receipt of a message that `id` got, or sent, before.
    async fn sent_before(&self, id: TaskId, message: MessageId) -> Result<Receipt, Error> {
        let task = self.engine.task(id).await?.ok_or_else(|| Error::not_found(id))?;
        let state = self.engine.message_state(&task, message).await?;
        Ok(Receipt { message, task: id, state })
    }

    /// A message to a finished task that can go on makes a new one that does.
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
        let sender = Sender {
            viewer: self.viewer.clone(),
            session,
            desk: self.engine.desk(session),
            parent: match parent {
                Some(parent) => Parent::Task(parent.spec.clone()),
                None => Parent::Session,
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
        let request = Request { kind, input, backend: None };
        let mut spawn: Spawn<Registered> = Spawn::registered(self.engine.clone(), request, sender);
        spawn.said.terms.continues = Some(id);
        spawn.said.terms.profile = old.spec.terms.profile.clone();
        // Whoever has sent the first one off is behind all that go on for it.
        spawn.said.origin = old.spec.lineage.origin.clone();
        spawn.said.visibility = old.spec.visibility;
        spawn.said.tie = old.spec.tie;
        spawn.said.wake = old.spec.wake;
        spawn.said.terms.timeout = old.spec.terms.timeout;
        spawn.said.terms.grace = old.spec.terms.grace;
        spawn.said.terms.key = key;
        let message = self.message();
        spawn.said.first = Some(message.clone());
        // The old handle if it is free, else the next number.
        spawn.said.preferred = Some(old.spec.handle.clone());
        let born = spawn.await?;
        let id = born.id();
        if self.key.is_none() {
            return Ok(Receipt { message: message.id, task: id, state: MessageState::Queued });
        }
        // The spawn may have found the task of an earlier send.
        let receipt = self.first_of(id).await?;
        let state =
            if receipt.message == message.id { MessageState::Queued } else { receipt.state };
        Ok(Receipt { state, ..receipt })
    }

    /// The key of the task that this message makes: the sender's own, too.
    fn continuing_key(&self, old: TaskId) -> Option<Arc<str>> {
        let key = self.key.as_ref()?;
        Some(match self.viewer.caller.as_owner() {
            Some(sender) => format!("{old}:{sender}:{key}").into(),
            None => format!("{old}:host:{key}").into(),
        })
    }

    /// The task that an earlier send under this key made. Its owner was the
    /// parent if that was alive then, else the session.
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

    /// The receipt of the message that a task began with; the store knows
    /// under the key which it was.
    async fn first_of(&self, task: TaskId) -> Result<Receipt, Error> {
        match self.offer(task, self.message(), Hearing::Open).await {
            Ok(_) => Err(Error::Contended),
            Err(CommitError::Conflict(Conflict::MessageKeyUsed(sent))) => {
                self.sent_before(task, sent).await
            }
            Err(error) => Err(self.refusal(Owner::Task(task), error)),
        }
    }
}

impl IntoFuture for Sending {
    type Output = Result<Receipts, Error>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}
