//! Encoding of payloads.

use offshoot_core::{Blob, Payload, TaskId};

use super::{DecodeError, Decoder, Encoder, id};

impl Encoder {
    pub(crate) fn payload(&mut self, payload: &Payload) {
        match payload {
            Payload::Null => self.byte(0),
            Payload::Json(text) => {
                self.byte(1);
                self.text(text);
            }
            Payload::Blob(blob) => {
                self.byte(2);
                self.id(blob.task.to_bytes());
                self.number(blob.number);
                self.number(blob.bytes);
            }
        }
    }
}

impl Decoder<'_> {
    pub(crate) fn payload(&mut self) -> Result<Payload, DecodeError> {
        Ok(match self.byte()? {
            0 => Payload::Null,
            1 => Payload::Json(self.text()?.into()),
            2 => {
                let task = id(self.id()?, TaskId::from_bytes)?;
                Blob { task, number: self.number()?, bytes: self.number()? }.into()
            }
            _ => return Err(DecodeError::Strange("a value of an unknown sort")),
        })
    }
}

/// Encodes a step's value.
pub(crate) fn encode_value(payload: &Payload) -> Vec<u8> {
    let mut out = Encoder::new(8);
    out.payload(payload);
    out.finish()
}

/// Decodes a step's value.
pub(crate) fn decode_value(bytes: &[u8]) -> Result<Payload, DecodeError> {
    Decoder::new(bytes)?.payload()
}
