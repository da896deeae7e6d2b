//! The writes at the end of a transaction: its part of each log, the totals and the clock.

use hashbrown::HashMap;
use offshoot_core::{IdHash, Owner, SessionId};
use offshoot_store::TaskScope;

use super::WriteTransaction;
use super::overlay::CountScope;
use crate::codec::EventChunk;
use crate::error::SqliteError;
use crate::image::ImageChange;
use crate::record::{column, encode_totals};

impl WriteTransaction<'_, '_> {
    /// Writes the data that the batches share, as the last step before the commit.
    pub(crate) fn flush(&mut self) -> Result<(), SqliteError> {
        self.flush_log()?;
        self.flush_totals()?;
        self.sql.set_clock.execute([column(self.overlay.clock)])?;
        Ok(())
    }

    fn flush_log(&mut self) -> Result<(), SqliteError> {
        let base = self.overlay.base;
        let mut chunks: HashMap<SessionId, EventChunk, IdHash> = HashMap::default();
        for image_change in &self.overlay.image_changes {
            if let ImageChange::Event(event) = image_change {
                chunks.entry(event.session).or_insert_with(|| EventChunk::after(base)).push(event);
            }
        }
        for (session, chunk) in chunks {
            let Some(number) = self.session_number(session) else { continue };
            let events = chunk.events as i64;
            let (last, bytes) = chunk.finish();
            let span = column(last - base);
            self.sql.put_chunk.execute((column(last), number, span, events, bytes))?;
        }
        Ok(())
    }

    fn flush_totals(&mut self) -> Result<(), SqliteError> {
        let counted: Vec<_> = self.overlay.counted().collect();
        for (within, counts) in counted {
            match within {
                TaskScope::Session(session) => {
                    let Some(number) = self.session_number(session) else { continue };
                    let own = CountScope::Owner(Owner::Session(session));
                    let own = self.overlay.counts(self.image, own);
                    self.sql.session_totals.execute((number, encode_totals(&[counts, own])))?;
                }
                TaskScope::Owner(Owner::Task(task)) => {
                    let Some((_, ordinal)) = self.found(task)? else { continue };
                    self.sql.task_totals.execute((ordinal, encode_totals(&[counts])))?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
