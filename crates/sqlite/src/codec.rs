//! How values are written into a column.
//!
//! What SQL must find or compare has a column of its own. The rest of a record
//! goes into one blob that begins with the version of its format; what is at
//! its default takes no room in it, because a finished task is kept for days
//! and there are millions of them. Parts that are rare and have a shape of
//! their own, such as a failure or a message, are JSON inside the blob.

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
pub(crate) use self::event::{Chunk, decode_chunk};
pub(crate) use self::payload::{decode_value, encode_value};
pub(crate) use self::row::{decode_row, encode_row};
pub(crate) use self::spec::{SpecColumns, decode_spec, encode_spec};
pub(crate) use self::state::{StateColumns, decode_state, encode_state, phase_of};

/// The format of the blobs written here.
const FORMAT: u8 = 1;

/// A stored value that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Damaged {
    #[error("a stored value ends too early")]
    Short,
    #[error("a stored value has format {0}, which this version does not know")]
    Format(u8),
    #[error("a stored value holds {0}")]
    Strange(&'static str),
}

/// Writes one blob.
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
        // These types have text keys and no way to fail.
        self.bytes(&serde_json::to_vec(value).unwrap_or_default());
    }
}

/// Reads one blob.
#[derive(Debug)]
pub(crate) struct Decoder<'a>(&'a [u8]);

impl<'a> Decoder<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, Damaged> {
        match bytes.split_first() {
            None => Err(Damaged::Short),
            Some((&FORMAT, rest)) => Ok(Self(rest)),
            Some((&format, _)) => Err(Damaged::Format(format)),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Damaged> {
        let (&first, rest) = self.0.split_first().ok_or(Damaged::Short)?;
        self.0 = rest;
        Ok(first)
    }

    pub(crate) fn number(&mut self) -> Result<u64, Damaged> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Damaged::Strange("a number that is too long"))
    }

    pub(crate) fn small(&mut self) -> Result<u32, Damaged> {
        u32::try_from(self.number()?).map_err(|_| Damaged::Strange("a number that is too large"))
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Damaged> {
        let value = self.number()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub(crate) fn id(&mut self) -> Result<[u8; 16], Damaged> {
        let (id, rest) = self.0.split_first_chunk().ok_or(Damaged::Short)?;
        self.0 = rest;
        Ok(*id)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Damaged> {
        let length = usize::try_from(self.number()?).map_err(|_| Damaged::Short)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Damaged::Short)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Damaged> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Damaged::Strange("text that is not UTF-8"))
    }

    pub(crate) fn shared(&mut self) -> Result<Arc<str>, Damaged> {
        self.text().map(Arc::from)
    }

    pub(crate) fn span(&mut self) -> Result<Duration, Damaged> {
        let seconds = self.number()?;
        let nanos = self.small()?;
        if nanos >= 1_000_000_000 {
            return Err(Damaged::Strange("a second of more than a second"));
        }
        Ok(Duration::new(seconds, nanos))
    }

    pub(crate) fn json<T: DeserializeOwned>(&mut self) -> Result<T, Damaged> {
        serde_json::from_slice(self.bytes()?).map_err(|_| Damaged::Strange("JSON of another shape"))
    }
}

/// An id from its bytes.
pub(crate) fn id<T>(
    bytes: [u8; 16],
    from: impl FnOnce([u8; 16]) -> Option<T>,
) -> Result<T, Damaged> {
    from(bytes).ok_or(Damaged::Strange("an id that is none"))
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
        assert_eq!(Decoder::new(&[]).unwrap_err(), Damaged::Short);
        assert_eq!(Decoder::new(&[9]).unwrap_err(), Damaged::Format(9));
        assert_eq!(Decoder::new(&[1, 0x80]).unwrap().number(), Err(Damaged::Short));
        assert_eq!(Decoder::new(&[1, 5, b'a']).unwrap().bytes(), Err(Damaged::Short));
    }
}
