//! Messages to tasks, and what became of them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{MessageId, TaskId};
use crate::scope::Caller;
use crate::time::Stamp;

/// A message on its way to a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// Who sent it.
    pub from: Caller,
    /// What it says.
    pub text: Arc<str>,
    /// When the task shall read it.
    pub mode: Mode,
    /// The key under which a repeated send of the same sender finds this
    /// message again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Arc<str>>,
    /// When it was sent.
    pub at: Stamp,
}

/// What a message says, in so few bytes that a key can keep it long after the
/// message is gone: messages with equal gists say the same in the same mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gist(u128);

impl Message {
    /// What the message says, in short.
    pub fn gist(&self) -> Gist {
        // FNV-1a: small, and the same in every version and on every machine,
        // as something that is stored must be.
        const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
        const PRIME: u128 = (1 << 88) | 0x13b;
        let mode = match self.mode {
            Mode::Steer => 0,
            Mode::Interrupt => 1,
            Mode::FollowUp => 2,
            Mode::Last => 3,
        };
        let said = self.text.bytes().chain([mode]);
        Gist(said.fold(BASIS, |gist, byte| (gist ^ u128::from(byte)).wrapping_mul(PRIME)))
    }
}

impl Gist {
    /// The bytes to store.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// A gist that was stored.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }
}

/// When a task shall read a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Before its next step.
    #[default]
    Steer,
    /// Now: the running model call is cut.
    Interrupt,
    /// When its turn ends.
    FollowUp,
    /// After all others: it ends the task's input. To a task that reads lines,
    /// as a command does, an empty one says nothing else.
    Last,
}

/// How far a message has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    /// Durable in the inbox.
    Queued,
    /// Read by the task's present attempt.
    Delivered,
    /// Part of the task's history or of a step.
    Consumed,
    /// Unread, because the task ended: back with its sender or, if that
    /// cannot read it any more, with the task's owner.
    Returned,
}

/// What the sender gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The message.
    pub message: MessageId,
    /// The task that has it: a new one if the addressed task had ended and
    /// goes on. Of a message to a session, the task that sent it.
    pub task: TaskId,
    /// How far it has come.
    pub state: MessageState,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str, mode: Mode) -> Message {
        let at = Stamp::from_millis(1);
        let (id, from) = (MessageId::mint(at, 1), Caller::Host);
        Message { id, from, text: text.into(), mode, key: None, at }
    }

    #[test]
    fn s5_3_a_gist_tells_texts_and_modes_apart() {
        let gist = |text, mode| message(text, mode).gist();
        assert_eq!(gist("left", Mode::Steer), gist("left", Mode::Steer));
        let others = [
            ("right", Mode::Steer),
            ("left", Mode::FollowUp),
            ("left", Mode::Last),
            ("left\0", Mode::Steer),
        ];
        for (text, mode) in others {
            assert_ne!(gist("left", Mode::Steer), gist(text, mode));
        }
        let stored = gist("left", Mode::Interrupt).to_bytes();
        assert_eq!(Gist::from_bytes(stored), gist("left", Mode::Interrupt));
    }

    #[test]
    fn a_gist_is_the_same_in_every_version() {
        let bytes = message("a", Mode::Steer).gist().to_bytes();
        assert_eq!(u128::from_be_bytes(bytes), 0x0880_9545_19ab_1be9_5aa0_7330_55b7_0e0c);
    }
}
