//! Receipts: what became of a message.

use offshoot_core::{MessageId, MessageState, Owner, Receipt, Task, TaskId};
use offshoot_store::Standing;

use crate::engine::Engine;
use crate::error::Error;

/// The receipts of a message: one, unless it was addressed to all. Then each
/// child that was there is either among the receipts or among the
/// [`refused`](Self::refused).
#[derive(Clone, Debug, Default)]
pub struct Receipts {
    pub(crate) queued: Vec<Receipt>,
    pub(crate) refused: Vec<Refused>,
}

/// A child that did not get a message that was addressed to all, and why.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The child.
    pub task: TaskId,
    /// Why it did not get the message.
    pub error: Error,
}

impl Receipts {
    /// The receipts.
    pub fn as_slice(&self) -> &[Receipt] {
        &self.queued
    }

    /// The receipts, one by one.
    pub fn iter(&self) -> std::slice::Iter<'_, Receipt> {
        self.queued.iter()
    }

    /// The first receipt.
    pub fn first(&self) -> Option<Receipt> {
        self.queued.first().copied()
    }

    /// Who did not get a message that was addressed to all, and why. Empty
    /// otherwise: a message to one that is refused is an error.
    pub fn refused(&self) -> &[Refused] {
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

impl Engine {
    /// How far a message has come that `task` got, or sent to its session.
    pub(crate) async fn message_state(
        &self,
        task: &Task,
        message: MessageId,
    ) -> Result<MessageState, Error> {
        let id = task.id();
        match self.store.message(Owner::Task(id), message).await? {
            Some(Standing::Returned) => return Ok(MessageState::Returned),
            Some(Standing::Queued(number)) => {
                let read = self.cell(id).is_some_and(|cell| number <= cell.read_mark());
                return Ok(if read { MessageState::Delivered } else { MessageState::Queued });
            }
            None => {}
        }
        let home = match task.owner() {
            session @ Owner::Session(_) => self.store.message(session, message).await?,
            Owner::Task(_) => None,
        };
        if home.is_some() {
            return Ok(MessageState::Queued);
        }
        // Whose retention has ended meanwhile has taken its messages along.
        match self.store.task(id).await? {
            Some(_) => Ok(MessageState::Consumed),
            None => Err(Error::not_found(id)),
        }
    }
}
