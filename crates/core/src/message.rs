//! Messages to tasks and sessions, and their delivery.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{MessageId, TaskId};
use crate::scope::Caller;
use crate::time::Stamp;

/// A message to a task or session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxMessage {
    /// The message's id.
    pub id: MessageId,
    /// The sender.
    pub from: Caller,
    /// The text.
    pub text: Arc<str>,
    /// When the recipient reads it.
    pub mode: DeliveryMode,
    /// The idempotency key: a repeated send of the same sender with this key finds this
    /// message again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Arc<str>>,
    /// When it was sent.
    pub at: Stamp,
}

/// A fingerprint of a message's text and mode. A key keeps it after the message is gone, to
/// recognise a repeated send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageFingerprint(u128);

impl InboxMessage {
    /// The fingerprint of the text and mode.
    pub fn fingerprint(&self) -> MessageFingerprint {
        // FNV-1a: fingerprints are stored, so they must be the same in every version and on
        // every machine.
        const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
        const PRIME: u128 = (1 << 88) | 0x13b;
        let mode = match self.mode {
            DeliveryMode::Steer => 0,
            DeliveryMode::Interrupt => 1,
            DeliveryMode::FollowUp => 2,
            DeliveryMode::Last => 3,
        };
        let input = self.text.bytes().chain([mode]);
        MessageFingerprint(
            input.fold(BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME)),
        )
    }
}

impl MessageFingerprint {
    /// The bytes to store.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// Reads the bytes written by [`Self::to_bytes`].
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }
}

/// When a task reads a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryMode {
    /// Before its next step.
    #[default]
    Steer,
    /// At once: the running model call is interrupted.
    Interrupt,
    /// When its turn ends.
    FollowUp,
    /// After all other messages. It ends the task's input. For a task that reads lines,
    /// such as a command, an empty last message only ends the input.
    Last,
}

/// The delivery state of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    /// Stored in the inbox.
    Queued,
    /// Read by the task's current attempt.
    Delivered,
    /// Part of the task's history or of a step.
    Consumed,
    /// Unread when the task ended. It is back in the sender's inbox or, if the sender
    /// cannot read it, in the inbox of the task's owner.
    Returned,
}

/// The answer to a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The message.
    pub message: MessageId,
    /// The task that received it: a new one if the addressed task had ended and was
    /// continued. For a message to a session, the task that sent it.
    pub task: TaskId,
    /// Its delivery state.
    pub state: MessageState,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str, mode: DeliveryMode) -> InboxMessage {
        let at = Stamp::from_millis(1);
        let (id, from) = (MessageId::mint(at, 1), Caller::Host);
        InboxMessage { id, from, text: text.into(), mode, key: None, at }
    }

    #[test]
    fn s5_3_a_fingerprint_distinguishes_texts_and_modes() {
        let fingerprint = |text, mode| message(text, mode).fingerprint();
        assert_eq!(
            fingerprint("left", DeliveryMode::Steer),
            fingerprint("left", DeliveryMode::Steer)
        );
        let others = [
            ("right", DeliveryMode::Steer),
            ("left", DeliveryMode::FollowUp),
            ("left", DeliveryMode::Last),
            ("left\0", DeliveryMode::Steer),
        ];
        for (text, mode) in others {
            assert_ne!(fingerprint("left", DeliveryMode::Steer), fingerprint(text, mode));
        }
        let stored = fingerprint("left", DeliveryMode::Interrupt).to_bytes();
        assert_eq!(
            MessageFingerprint::from_bytes(stored),
            fingerprint("left", DeliveryMode::Interrupt)
        );
    }

    #[test]
    fn a_fingerprint_is_the_same_in_every_version() {
        let bytes = message("a", DeliveryMode::Steer).fingerprint().to_bytes();
        assert_eq!(u128::from_be_bytes(bytes), 0x0880_9545_19ab_1be9_5aa0_7330_55b7_0e0c);
    }
}
