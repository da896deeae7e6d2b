//! Values that travel: inputs, results, step values, progress.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::id::TaskId;

/// A value as JSON text, or where to find it when it is too large for a
/// record.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// No value, which reads as JSON `null`.
    #[default]
    Null,
    /// JSON text.
    Json(Arc<str>),
    /// JSON text kept beside the records.
    Blob(Blob),
}

/// Where a large value is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Blob {
    /// The task that owns the value; both are deleted together.
    pub task: TaskId,
    /// Which of the task's values this is.
    pub number: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

impl Payload {
    /// Writes `value` as JSON.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, PayloadError> {
        // Most values are small: a buffer that is kept saves an allocation.
        const KEEP: usize = 64 << 10;
        thread_local! {
            static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
        }
        let mut buffer = BUFFER.take();
        buffer.clear();
        let written = serde_json::to_writer(&mut buffer, value);
        let payload = match (written, std::str::from_utf8(&buffer)) {
            (Ok(()), Ok("null")) => Ok(Self::Null),
            (Ok(()), Ok(text)) => Ok(Self::Json(text.into())),
            (Ok(()), Err(error)) => Err(PayloadError(error.to_string())),
            (Err(error), _) => Err(PayloadError::new(error)),
        };
        if buffer.capacity() <= KEEP {
            BUFFER.set(buffer);
        }
        payload
    }

    /// Takes JSON text as it is.
    pub fn from_json(text: impl Into<Arc<str>>) -> Result<Self, PayloadError> {
        let text = text.into();
        serde_json::from_str::<serde::de::IgnoredAny>(&text).map_err(PayloadError::new)?;
        Ok(Self::Json(text))
    }

    /// Reads the value as a `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, PayloadError> {
        serde_json::from_str(self.as_json()?).map_err(PayloadError::new)
    }

    /// The JSON text, unless the value is a [`Blob`].
    pub fn as_json(&self) -> Result<&str, PayloadError> {
        match self {
            Self::Null => Ok("null"),
            Self::Json(text) => Ok(text),
            Self::Blob(blob) => Err(PayloadError(format!(
                "the value is a blob of {} bytes: load it from the store first",
                blob.bytes
            ))),
        }
    }

    /// How many bytes of JSON the value is, wherever they are kept.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Null => 4,
            Self::Json(text) => text.len() as u64,
            Self::Blob(blob) => blob.bytes,
        }
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Json(text) => f.write_str(&crate::text::cut(text, 256)),
            Self::Blob(blob) => blob.fmt(f),
        }
    }
}

/// A value that could not be written as JSON or read as the wanted type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PayloadError(String);

impl PayloadError {
    fn new(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_round_trip() {
        let value = Payload::encode(&vec![1, 2]).unwrap();
        assert_eq!(value.decode::<Vec<i32>>().unwrap(), vec![1, 2]);
        assert_eq!(Payload::encode(&()).unwrap(), Payload::Null);
        Payload::Null.decode::<()>().unwrap();
        assert!(Payload::from_json("{").is_err());
    }
}
