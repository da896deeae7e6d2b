//! Receipts: the state of sent messages.

use offshoot_core::{MessageId, MessageState, Owner, Receipt, Task, TaskId};
use offshoot_store::MessagePosition;

use crate::engine::Engine;
use crate::error::Error;

/// The receipts of a message: one, or one for each child that it was sent to.
/// Children that refused it are in [`refused`](Self::refused).
#[derive(Clone, Debug, Default)]
pub struct Receipts {
    pub(super) queued: Vec<Receipt>,
    pub(super) refused: Vec<RefusedRecipient>,
}

/// A child that did not get a message that was addressed to all, and why.
#[derive(Clone, Debug)]
pub struct RefusedRecipient {
    /// The child.
    pub task: TaskId,
    /// Why it did not get the message.
    pub error: Error,
}

impl Receipts {
    /// The receipts as a slice.
    pub fn as_slice(&self) -> &[Receipt] {
        &self.queued
    }

    /// Iterates over the receipts.
    pub fn iter(&self) -> std::slice::Iter<'_, Receipt> {
        self.queued.iter()
    }

    /// The first receipt.
    pub fn first(&self) -> Option<Receipt> {
        self.queued.first().copied()
    }

    /// The children that did not get a message addressed to all, and why. A
    /// refused message to a single task is an error instead.
    pub fn refused(&self) -> &[RefusedRecipient] {
        &self.refused
    }
}

impl From<Receipt> for Receipts {
    fn from(receipt: Receipt) -> Self {
        Self { queued: vec![receipt], refused: Vec::new() }
    }
}

impl IntoIterator for Receipts {
    type Item = Receipt;
    type IntoIter = std::vec::IntoIter<Receipt>;

    fn into_iter(self) -> Self::IntoIter {
        self.queued.into_iter()
    }
}

impl<'a> IntoIterator for &'a Receipts {
    type Item = &'a Receipt;
    type IntoIter = std::slice::Iter<'a, Receipt>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The state of a message that `task` received, or sent to its session.
pub(crate) async fn message_state(
    engine: &Engine,
    task: &Task,
    message: MessageId,
) -> Result<MessageState, Error> {
    let id = task.id();
    match engine.store.message(Owner::Task(id), message).await? {
        Some(MessagePosition::Returned) => return Ok(MessageState::Returned),
        Some(MessagePosition::Queued(number)) => {
            let read = engine.live_task(id).is_some_and(|live| number <= live.read_mark());
            return Ok(if read { MessageState::Delivered } else { MessageState::Queued });
        }
        None => {}
    }
    let in_session = match task.owner() {
        session @ Owner::Session(_) => engine.store.message(session, message).await?,
        Owner::Task(_) => None,
    };
    if in_session.is_some() {
        return Ok(MessageState::Queued);
    }
    // If the retention of the task is over, its messages are gone as well.
    match engine.store.task(id).await? {
        Some(_) => Ok(MessageState::Consumed),
        None => Err(Error::not_found(id)),
    }
}
