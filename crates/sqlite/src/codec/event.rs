//! Encoding of log events, in chunks.
//!
//! All events that one transaction adds to a session's log are one row. Under load an event
//! costs only its bytes, and no row.

use offshoot_core::{Change, Cursor, Event, MessageId, Phase, SessionId, Stamp, TaskId};

use super::state::phase_of;
use super::{DecodeError, Decoder, Encoder, id};

/// Added to the change code of an event about a task.
const OF_TASK: u8 = 0x80;
/// The code of a change without a short form.
const OTHER: u8 = 0x7f;

/// An encoder for a chunk of events.
#[derive(Debug)]
pub(crate) struct EventChunk {
    out: Encoder,
    cursor: u64,
    at: i64,
    /// The number of events in the chunk.
    pub(crate) events: u64,
}

impl EventChunk {
    /// An empty chunk of events after the cursor `base`.
    pub(crate) fn after(base: u64) -> Self {
        Self { out: Encoder::new(64), cursor: base, at: 0, events: 0 }
    }

    pub(crate) fn push(&mut self, event: &Event) {
        let (cursor, at) = (event.cursor.number(), event.at.as_micros());
        self.out.number(cursor.wrapping_sub(self.cursor));
        self.out.signed(at.wrapping_sub(self.at));
        (self.cursor, self.at) = (cursor, at);
        self.events += 1;
        let tag = self.out.len();
        self.out.byte(0);
        if let Some(task) = event.task {
            self.out.id(task.to_bytes());
        }
        let sort = self.out.change(&event.change);
        self.out.0[tag] = sort | if event.task.is_some() { OF_TASK } else { 0 };
    }

    /// The cursor of the last event, and the encoded chunk.
    pub(crate) fn finish(self) -> (u64, Vec<u8>) {
        (self.cursor, self.out.finish())
    }
}

/// Decodes a chunk of `session` that was written after `base`.
pub(crate) fn decode_chunk(
    bytes: &[u8],
    base: u64,
    session: SessionId,
) -> Result<Vec<Event>, DecodeError> {
    let mut from = Decoder::new(bytes)?;
    let (mut cursor, mut at) = (base, 0i64);
    let mut events = Vec::new();
    while !from.is_empty() {
        cursor = cursor.wrapping_add(from.number()?);
        at = at.wrapping_add(from.signed()?);
        let tag = from.byte()?;
        let task =
            if tag & OF_TASK == 0 { None } else { Some(id(from.id()?, TaskId::from_bytes)?) };
        let change = from.change(tag & !OF_TASK)?;
        let (cursor, at) = (Cursor::new(cursor), Stamp::from_micros(at));
        events.push(Event { cursor, session, task, at, change });
    }
    Ok(events)
}

impl Encoder {
    /// Encodes the data of a change and returns its code.
    fn change(&mut self, change: &Change) -> u8 {
        match change {
            Change::SessionOpened => 0,
            Change::SweepBegan => 1,
            Change::SweepEnded => 2,
            Change::Spawned => 3,
            Change::SpawnedRunning => 4,
            Change::Started { attempt } => {
                self.number(u64::from(*attempt));
                5
            }
            Change::Waiting(on) => {
                self.waiting(*on);
                6
            }
            Change::Resumed => 7,
            Change::Requeued => 8,
            Change::Ended(phase) => {
                self.byte(*phase as u8);
                9
            }
            Change::CancelRequested => 10,
            Change::Progress => 11,
            Change::Activity => 12,
            Change::MessageQueued(message) => {
                self.id(message.to_bytes());
                13
            }
            Change::Asked(number) => {
                self.number(u64::from(*number));
                14
            }
            Change::QuestionClosed(number) => {
                self.number(u64::from(*number));
                15
            }
            Change::HistoryGrew(total) => {
                self.number(*total);
                16
            }
            Change::StepCommitted(key) => {
                self.text(key);
                17
            }
            Change::Acknowledged { rows } => {
                self.number(u64::from(*rows));
                18
            }
            Change::Deleted => 19,
            Change::Advanced => 20,
            Change::RemovalBegan => 21,
            other => {
                self.json(other);
                OTHER
            }
        }
    }
}

impl Decoder<'_> {
    fn change(&mut self, sort: u8) -> Result<Change, DecodeError> {
        Ok(match sort {
            0 => Change::SessionOpened,
            1 => Change::SweepBegan,
            2 => Change::SweepEnded,
            3 => Change::Spawned,
            4 => Change::SpawnedRunning,
            5 => Change::Started { attempt: self.small()? },
            6 => Change::Waiting(self.waiting()?),
            7 => Change::Resumed,
            8 => Change::Requeued,
            9 => Change::Ended(self.phase()?),
            10 => Change::CancelRequested,
            11 => Change::Progress,
            12 => Change::Activity,
            13 => Change::MessageQueued(id(self.id()?, MessageId::from_bytes)?),
            14 => Change::Asked(self.small()?),
            15 => Change::QuestionClosed(self.small()?),
            16 => Change::HistoryGrew(self.number()?),
            17 => Change::StepCommitted(self.shared()?),
            18 => Change::Acknowledged { rows: self.small()? },
            19 => Change::Deleted,
            20 => Change::Advanced,
            21 => Change::RemovalBegan,
            OTHER => self.json()?,
            _ => return Err(DecodeError::Strange("an unknown change")),
        })
    }

    fn phase(&mut self) -> Result<Phase, DecodeError> {
        phase_of(i64::from(self.byte()?))
    }
}

#[cfg(test)]
mod tests {
    use offshoot_core::WaitingOn;

    use super::*;

    #[test]
    fn every_change_round_trips_and_a_lifecycle_is_small() {
        let at = Stamp::from_micros(1_700_000_000_000_000);
        let session = SessionId::mint(at, 1);
        let task = TaskId::mint(at, 2);
        let changes = [
            Change::SessionOpened,
            Change::SweepBegan,
            Change::SweepEnded,
            Change::Spawned,
            Change::SpawnedRunning,
            Change::Started { attempt: 2 },
            Change::Waiting(WaitingOn::Timer(at)),
            Change::Resumed,
            Change::Requeued,
            Change::Ended(Phase::Lost),
            Change::CancelRequested,
            Change::Progress,
            Change::Activity,
            Change::MessageQueued(MessageId::mint(at, 9)),
            Change::Asked(1),
            Change::QuestionClosed(1),
            Change::HistoryGrew(1 << 40),
            Change::StepCommitted("fetch".into()),
            Change::Acknowledged { rows: 64 },
            Change::Deleted,
            Change::Advanced,
            Change::RemovalBegan,
        ];
        let mut chunk = EventChunk::after(1_000);
        let mut events = Vec::new();
        for (number, change) in changes.into_iter().enumerate() {
            let task = (number % 2 == 0).then_some(task);
            let cursor = Cursor::new(1_003 + number as u64 * 2);
            events.push(Event { cursor, session, task, at, change });
            chunk.push(&events[number]);
        }
        assert_eq!(chunk.events, 22);
        let (last, bytes) = chunk.finish();
        assert_eq!(last, 1_045);
        assert_eq!(decode_chunk(&bytes, 1_000, session).unwrap(), events);
        assert!(
            decode_chunk(&bytes[..bytes.len() - 1], 1_000, session)
                .is_ok_and(|less| less.len() < 22)
                || decode_chunk(&bytes[..40], 1_000, session).is_err()
        );
    }
}
