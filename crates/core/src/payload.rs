//! JSON values of tasks: inputs, results, step values and progress.

mod finite;
mod json;
mod nesting;

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use self::json::Json;
use crate::id::TaskId;

/// A JSON value, stored in its record or, if it is too large, as a blob.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// No value; reads as JSON `null`.
    #[default]
    Null,
    /// JSON text.
    Json(Json),
    /// JSON text stored beside the records.
    Blob(Box<Blob>),
}

/// The reference to a large value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Blob {
    /// The task that owns the value. Both are deleted together.
    pub task: TaskId,
    /// The number of the value among the task's blobs.
    pub number: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

impl From<Blob> for Payload {
    fn from(blob: Blob) -> Self {
        Self::Blob(Box::new(blob))
    }
}

impl Payload {
    /// Serialises `value` as JSON that can be read back.
    ///
    /// Refuses numbers that are not finite, which JSON would turn into `null`, and nesting
    /// that is too deep to be read back.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Self, PayloadError> {
        // Most values are small: reusing a buffer saves an allocation.
        const KEEP: usize = 64 << 10;
        thread_local! {
            static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
        }
        let mut buffer = BUFFER.take();
        buffer.clear();
        let written = serde_json::to_writer(&mut buffer, value);
        let payload = match (written, std::str::from_utf8(&buffer)) {
            (Ok(()), Ok(text)) => match unreadable(value, text) {
                Some(error) => Err(error),
                None if text == "null" => Ok(Self::Null),
                None => Ok(Self::Json(text.into())),
            },
            (Ok(()), Err(error)) => Err(PayloadError(error.to_string())),
            (Err(error), _) => Err(PayloadError::unwritten(error)),
        };
        if buffer.capacity() <= KEEP {
            BUFFER.set(buffer);
        }
        payload
    }

    /// Wraps JSON text after checking that it can be read back.
    pub fn from_json(text: impl Into<Arc<str>>) -> Result<Self, PayloadError> {
        let text: Arc<str> = text.into();
        serde_json::from_str::<serde::de::IgnoredAny>(&text).map_err(PayloadError::not_json)?;
        match nesting::too_deep(&text) {
            Some(depth) => Err(PayloadError::nested(depth)),
            None => Ok(Self::Json(text.into())),
        }
    }

    /// Deserialises the value as a `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, PayloadError> {
        serde_json::from_str(self.as_json()?).map_err(PayloadError::unfit)
    }

    /// The JSON text. An error if the value is a [`Blob`].
    pub fn as_json(&self) -> Result<&str, PayloadError> {
        match self {
            Self::Null => Ok("null"),
            Self::Json(text) => Ok(text),
            Self::Blob(blob) => Err(PayloadError(format!(
                "the value is too large for its record ({} bytes) and kept beside it: \
                 read it with `Waited::load`",
                blob.bytes
            ))),
        }
    }

    /// The length of the JSON text in bytes, wherever it is stored.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Null => 4,
            Self::Json(text) => text.len() as u64,
            Self::Blob(blob) => blob.bytes,
        }
    }
}

/// Why the written text could not be read back as the same value.
#[inline]
fn unreadable<T: Serialize + ?Sized>(value: &T, text: &str) -> Option<PayloadError> {
    // A number that is not finite is written as `null`. Most results are too short to
    // contain one.
    if text.len() >= "null".len()
        && text.contains("null")
        && let Some(number) = finite::not_finite(value)
    {
        return Some(PayloadError(format!(
            "the value holds the number {number}, which JSON cannot write: \
             use a finite number, or none"
        )));
    }
    nesting::too_deep(text).map(PayloadError::nested)
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

/// The error for a value that cannot be written as JSON or read as the wanted type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PayloadError(String);

impl PayloadError {
    fn unwritten(error: serde_json::Error) -> Self {
        Self(format!("the value cannot be written as JSON: {error}"))
    }

    fn not_json(error: serde_json::Error) -> Self {
        Self(format!("the text is not JSON: {error}"))
    }

    fn unfit(error: serde_json::Error) -> Self {
        Self(format!("the value does not fit its type: {error}"))
    }

    fn nested(depth: usize) -> Self {
        let deepest = nesting::DEEPEST;
        Self(format!(
            "the value is nested {depth} levels deep and can be read back up to {deepest}: flatten it"
        ))
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

    #[derive(Serialize)]
    enum Measure {
        Of { values: Vec<Option<f32>> },
        None,
    }

    #[test]
    fn s2_6_a_number_that_is_not_finite_is_refused_when_it_is_written() {
        let refusals = [
            Payload::encode(&f64::NAN),
            Payload::encode(&(1, f64::INFINITY)),
            Payload::encode(&Some(f32::NEG_INFINITY)),
            Payload::encode(&std::collections::HashMap::from([("a", f64::NAN)])),
            Payload::encode(&Measure::Of { values: vec![Some(1.0), None, Some(f32::NAN)] }),
        ];
        for refused in refusals {
            let text = refused.unwrap_err().to_string();
            assert!(text.contains("which JSON cannot write: use a finite number"), "{text}");
        }
        for fine in [Measure::Of { values: vec![Some(1.5), None] }, Measure::None] {
            Payload::encode(&fine).unwrap();
        }
        assert_eq!(Payload::encode(&None::<f64>).unwrap(), Payload::Null);
        Payload::encode("null").unwrap();
    }

    #[test]
    fn s2_6_a_nesting_that_cannot_be_read_back_is_refused_when_it_is_written() {
        let nested = |depth| (1..depth).fold(serde_json::json!([]), |inner, _| [inner].into());
        let deepest = Payload::encode(&nested(127)).unwrap();
        assert_eq!(deepest.decode::<serde_json::Value>().unwrap(), nested(127));
        let text = Payload::encode(&nested(128)).unwrap_err().to_string();
        assert!(text.contains("128 levels deep") && text.contains("flatten it"), "{text}");
        let json = "[".repeat(128) + &"]".repeat(128);
        assert!(Payload::from_json(json).is_err());
    }
}
