//! Encoding of inbox rows.

use offshoot_core::{Owner, Row, RowBody, RowId, SessionId, Stamp, TaskId};

use super::{DecodeError, Decoder, Encoder, id};

const RESULT: u8 = 0;
const MESSAGE: u8 = 1;
const RETURNED: u8 = 2;
const QUESTION: u8 = 3;
/// Added to the body code of a row whose id does not follow from its body.
const OWN_ID: u8 = 0x40;
/// Added to the body code of a row in a session's inbox.
const OF_SESSION: u8 = 0x80;

pub(crate) fn encode_row(row: &Row) -> Vec<u8> {
    let (body, implied) = match &row.body {
        RowBody::Result(task) => (RESULT, Some(RowId::from(*task))),
        RowBody::Message(message) => (MESSAGE, Some(message.id.into())),
        RowBody::Returned(message) => (RETURNED, Some(message.id.into())),
        RowBody::Question { .. } => (QUESTION, None),
    };
    let own = implied != Some(row.id);
    let of_session = matches!(row.owner, Owner::Session(_));
    let mut out = Encoder::new(48);
    out.byte(body | flag(own, OWN_ID) | flag(of_session, OF_SESSION));
    out.signed(row.at.as_micros());
    if own {
        out.id(row.id.to_bytes());
    }
    match &row.body {
        RowBody::Result(task) => out.id(task.to_bytes()),
        RowBody::Message(message) | RowBody::Returned(message) => out.json(message),
        RowBody::Question { task, number } => {
            out.id(task.to_bytes());
            out.number(u64::from(*number));
        }
    }
    out.finish()
}

/// Decodes a row in the inbox of the owner with this id.
pub(crate) fn decode_row(bytes: &[u8], owner: [u8; 16]) -> Result<Row, DecodeError> {
    let mut from = Decoder::new(bytes)?;
    let first = from.byte()?;
    let owner = if first & OF_SESSION == 0 {
        Owner::Task(id(owner, TaskId::from_bytes)?)
    } else {
        Owner::Session(id(owner, SessionId::from_bytes)?)
    };
    let at = Stamp::from_micros(from.signed()?);
    let own = if first & OWN_ID == 0 { None } else { Some(id(from.id()?, RowId::from_bytes)?) };
    let body = match first & !(OWN_ID | OF_SESSION) {
        RESULT => RowBody::Result(id(from.id()?, TaskId::from_bytes)?),
        MESSAGE => RowBody::Message(from.json()?),
        RETURNED => RowBody::Returned(from.json()?),
        QUESTION => {
            RowBody::Question { task: id(from.id()?, TaskId::from_bytes)?, number: from.small()? }
        }
        _ => return Err(DecodeError::Strange("a row of an unknown sort")),
    };
    let implied = match &body {
        RowBody::Result(task) => Some((*task).into()),
        RowBody::Message(message) | RowBody::Returned(message) => Some(message.id.into()),
        RowBody::Question { .. } => None,
    };
    let id = own.or(implied).ok_or(DecodeError::Strange("a row without an id"))?;
    Ok(Row { id, owner, at, body })
}

fn flag(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use offshoot_core::{Caller, DeliveryMode, InboxMessage, MessageId};

    use super::*;

    #[test]
    fn rows_of_every_sort_round_trip() {
        let at = Stamp::from_millis(9);
        let task = TaskId::mint(at, 1);
        let session = SessionId::mint(at, 2);
        let message = Arc::new(InboxMessage {
            id: MessageId::mint(at, 3),
            from: Caller::Host,
            text: "skip the tests".into(),
            mode: DeliveryMode::Steer,
            key: Some("k".into()),
            at,
        });
        let owner = Owner::Session(session);
        let rows = [
            Row::result(task, owner, at),
            Row::message(message.clone(), Owner::Task(task)),
            Row { id: message.id.into(), owner, at, body: RowBody::Returned(message) },
            Row { id: RowId::mint(at, 4), owner, at, body: RowBody::Question { task, number: 7 } },
            Row { id: RowId::mint(at, 5), ..Row::result(task, Owner::Task(task), at) },
        ];
        for row in rows {
            let owner = match row.owner {
                Owner::Session(id) => id.to_bytes(),
                Owner::Task(id) => id.to_bytes(),
            };
            assert_eq!(decode_row(&encode_row(&row), owner).unwrap(), row);
        }
    }
}
