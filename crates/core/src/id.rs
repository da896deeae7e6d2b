//! Identifiers: time-ordered, unguessable, never reused.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::num::NonZeroU64;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::time::Stamp;

/// A version 7 UUID as two halves. The variant bits keep the low half from being zero, so
/// an `Option` takes no extra space.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Bits {
    high: u64,
    low: NonZeroU64,
}

impl Bits {
    fn mint(at: Stamp, random: u128) -> Self {
        let millis = at.as_millis().max(1).unsigned_abs();
        let high = millis << 16 | 0x7000 | (random >> 64) as u64 & 0x0fff;
        let low = random as u64 & (u64::MAX >> 2) | 1 << 63;
        Self { high, low: NonZeroU64::new(low).unwrap_or(NonZeroU64::MIN) }
    }

    fn from_uuid(uuid: Uuid) -> Option<Self> {
        let (high, low) = uuid.as_u64_pair();
        NonZeroU64::new(low).map(|low| Self { high, low })
    }

    fn uuid(self) -> Uuid {
        Uuid::from_u64_pair(self.high, self.low.get())
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(Bits);

        impl $name {
            /// Builds a version 7 UUID from a moment and 128 random bits.
            ///
            /// The caller provides clock and randomness, so that a simulation can control
            /// both. The bits must come from a cryptographic source wherever ids must not
            /// be guessable.
            pub fn mint(at: Stamp, random: u128) -> Self {
                Self(Bits::mint(at, random))
            }

            /// The sixteen bytes, in an order that sorts by creation time.
            pub fn to_bytes(self) -> [u8; 16] {
                self.0.uuid().into_bytes()
            }

            /// Reads the sixteen bytes written by [`Self::to_bytes`].
            pub fn from_bytes(bytes: [u8; 16]) -> Option<Self> {
                Bits::from_uuid(Uuid::from_bytes(bytes)).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.uuid().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0.uuid())
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                let uuid = Uuid::parse_str(text).map_err(|_| ParseIdError)?;
                Bits::from_uuid(uuid).map(Self).ok_or(ParseIdError)
            }
        }

        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                state.write_u64(self.0.low.get());
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.0.uuid().serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let uuid = Uuid::deserialize(deserializer)?;
                Bits::from_uuid(uuid).map(Self).ok_or_else(|| serde::de::Error::custom(ParseIdError))
            }
        }
    };
}

/// The error for a text that is not an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id: ids are UUIDs such as 0190a6b2-7c1e-7d3a-9b1f-3f6d2c5e8a01")]
pub struct ParseIdError;

id! {
    /// Identifies a task, forever.
    TaskId
}
id! {
    /// Identifies a session, forever.
    SessionId
}
id! {
    /// Identifies one execution of an agent or session, from a turn to its end.
    RunId
}
id! {
    /// Identifies a cancel of several tasks.
    SweepId
}
id! {
    /// Identifies a process that executes tasks.
    WorkerId
}
id! {
    /// Identifies a message from the moment it is sent.
    MessageId
}
id! {
    /// Identifies a row of an inbox.
    ///
    /// A result row has the id of its task and a message row the id of its message, so a
    /// reader recognises a row that it has read before.
    RowId
}

impl From<TaskId> for RowId {
    fn from(task: TaskId) -> Self {
        Self(task.0)
    }
}

impl From<MessageId> for RowId {
    fn from(message: MessageId) -> Self {
        Self(message.0)
    }
}

impl RowId {
    /// The row id read as a message id. Meaningful for rows that carry a message.
    pub fn as_message(self) -> MessageId {
        MessageId(self.0)
    }

    /// The row id read as a task id. Meaningful for rows that carry a result.
    pub fn as_task(self) -> TaskId {
        TaskId(self.0)
    }
}

/// Hashes ids by the random bits they already contain.
///
/// Ids are minted here from a cryptographic source, so a caller cannot choose colliding
/// ones and mixing the bits again would only cost time.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdHash;

impl BuildHasher for IdHash {
    type Hasher = IdHasher;

    fn build_hasher(&self) -> IdHasher {
        IdHasher(0)
    }
}

/// The hasher of [`IdHash`].
#[derive(Debug)]
pub struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        // The top two bits are the UUID variant. They must be spread, because the hash
        // table takes its tag from there.
        self.0 ^= value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_isize(&mut self, value: isize) {
        self.0 = self.0.rotate_left(1) ^ (value as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_1_ids_are_version_seven_and_sort_by_time() {
        let early = TaskId::mint(Stamp::from_millis(1_000), u128::MAX);
        let late = TaskId::mint(Stamp::from_millis(1_001), 0);
        assert!(early < late);
        let uuid = Uuid::from_bytes(early.to_bytes());
        assert_eq!(uuid.get_version_num(), 7);
        assert_eq!(uuid.get_variant(), uuid::Variant::RFC4122);
    }

    #[test]
    fn ids_survive_text_and_bytes() {
        let id = TaskId::mint(Stamp::from_millis(5), 77);
        assert_eq!(id.to_string().parse::<TaskId>().ok(), Some(id));
        assert_eq!(TaskId::from_bytes(id.to_bytes()), Some(id));
        assert!(TaskId::from_bytes([0; 16]).is_none());
        assert_eq!(size_of::<Option<TaskId>>(), 16);
    }
}
