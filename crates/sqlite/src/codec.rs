//! Encoding of records as column values.
//!
//! Everything that SQL searches or compares has its own column. The rest of a record is one
//! blob that begins with a format version. Default values take no space in it, because
//! finished tasks are kept for days and there can be millions of them. Rare structured
//! parts, such as failures and messages, are JSON inside the blob.

mod block;
mod event;
mod payload;
mod row;
mod spec;
mod state;

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use self::block::{decode_block, encode_block};
pub(crate) use self::event::{EventChunk, decode_chunk};
pub(crate) use self::payload::{decode_value, encode_value};
pub(crate) use self::row::{decode_row, encode_row};
pub(crate) use self::spec::{SpecColumns, decode_spec, encode_spec};
pub(crate) use self::state::{StateColumns, decode_state, encode_state, phase_of};

/// The format version of the blobs written here.
const FORMAT: u8 = 1;

/// The error for a stored value that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DecodeError {
    #[error("a stored value ends too early")]
    Short,
    #[error("a stored value has format {0}, which this version does not know")]
    Format(u8),
    #[error("a stored value holds {0}")]
    Strange(&'static str),
}

/// Encodes a blob.
#[derive(Debug)]
pub(crate) struct Encoder(Vec<u8>);

impl Encoder {
    pub(crate) fn new(capacity: usize) -> Self {
        let mut bytes = Vec::with_capacity(capacity + 1);
        bytes.push(FORMAT);
        Self(bytes)
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub(crate) fn signed(&mut self, value: i64) {
        self.number((value << 1 ^ value >> 63) as u64);
    }

    pub(crate) fn id(&mut self, id: [u8; 16]) {
        self.0.extend_from_slice(&id);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn span(&mut self, span: Duration) {
        self.number(span.as_secs());
        self.number(u64::from(span.subsec_nanos()));
    }

    pub(crate) fn json<T: Serialize>(&mut self, value: &T) {
        // These types have string keys and cannot fail.
        self.bytes(&serde_json::to_vec(value).unwrap_or_default());
    }
}

/// Decodes a blob.
#[derive(Debug)]
pub(crate) struct Decoder<'a>(&'a [u8]);

impl<'a> Decoder<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match bytes.split_first() {
            None => Err(DecodeError::Short),
            Some((&FORMAT, rest)) => Ok(Self(rest)),
            Some((&format, _)) => Err(DecodeError::Format(format)),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> Result<u8, DecodeError> {
        let (&first, rest) = self.0.split_first().ok_or(DecodeError::Short)?;
        self.0 = rest;
        Ok(first)
    }

    pub(crate) fn number(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DecodeError::Strange("a number that is too long"))
    }

    pub(crate) fn small(&mut self) -> Result<u32, DecodeError> {
        u32::try_from(self.number()?)
            .map_err(|_| DecodeError::Strange("a number that is too large"))
    }

    pub(crate) fn signed(&mut self) -> Result<i64, DecodeError> {
        let value = self.number()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub(crate) fn id(&mut self) -> Result<[u8; 16], DecodeError> {
        let (id, rest) = self.0.split_first_chunk().ok_or(DecodeError::Short)?;
        self.0 = rest;
        Ok(*id)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = usize::try_from(self.number()?).map_err(|_| DecodeError::Short)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(DecodeError::Short)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, DecodeError> {
        std::str::from_utf8(self.bytes()?)
            .map_err(|_| DecodeError::Strange("text that is not UTF-8"))
    }

    pub(crate) fn shared(&mut self) -> Result<Arc<str>, DecodeError> {
        self.text().map(Arc::from)
    }

    pub(crate) fn span(&mut self) -> Result<Duration, DecodeError> {
        let seconds = self.number()?;
        let nanos = self.small()?;
        if nanos >= 1_000_000_000 {
            return Err(DecodeError::Strange("a second of more than a second"));
        }
        Ok(Duration::new(seconds, nanos))
    }

    pub(crate) fn json<T: DeserializeOwned>(&mut self) -> Result<T, DecodeError> {
        serde_json::from_slice(self.bytes()?)
            .map_err(|_| DecodeError::Strange("JSON of another shape"))
    }
}

/// Converts bytes to an id.
pub(crate) fn id<T>(
    bytes: [u8; 16],
    from: impl FnOnce([u8; 16]) -> Option<T>,
) -> Result<T, DecodeError> {
    from(bytes).ok_or(DecodeError::Strange("an id that is none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_size_round_trip() {
        let mut out = Encoder::new(0);
        let numbers = [0, 1, 127, 128, 1 << 32, u64::MAX];
        let signed = [0, -1, 1, i64::MIN, i64::MAX];
        numbers.iter().for_each(|number| out.number(*number));
        signed.iter().for_each(|number| out.signed(*number));
        let bytes = out.finish();
        let mut from = Decoder::new(&bytes).unwrap();
        for number in numbers {
            assert_eq!(from.number().unwrap(), number);
        }
        for number in signed {
            assert_eq!(from.signed().unwrap(), number);
        }
        assert!(from.is_empty());
    }

    #[test]
    fn a_value_of_another_format_or_cut_short_is_refused() {
        assert_eq!(Decoder::new(&[]).unwrap_err(), DecodeError::Short);
        assert_eq!(Decoder::new(&[9]).unwrap_err(), DecodeError::Format(9));
        assert_eq!(Decoder::new(&[1, 0x80]).unwrap().number(), Err(DecodeError::Short));
        assert_eq!(Decoder::new(&[1, 5, b'a']).unwrap().bytes(), Err(DecodeError::Short));
    }
}
