//! What a transaction writes once for all its batches: its part of each log,
//! the totals, the clock.

use hashbrown::HashMap;
use offshoot_core::{IdHash, Owner, SessionId};
use offshoot_store::Within;

use super::Writing;
use super::ahead::Scope;
use crate::codec::Chunk;
use crate::error::Fault;
use crate::image::Op;
use crate::record::{column, encode_totals};

impl Writing<'_, '_> {
    /// Writes what the batches share; the last before the commit.
    pub(crate) fn flush(&mut self) -> Result<(), Fault> {
        self.flush_log()?;
        self.flush_totals()?;
        self.sql.set_clock.execute([column(self.ahead.clock)])?;
        Ok(())
    }

    fn flush_log(&mut self) -> Result<(), Fault> {
        let base = self.ahead.base;
        let mut chunks: HashMap<SessionId, Chunk, IdHash> = HashMap::default();
        for op in &self.ahead.ops {
            if let Op::Event(event) = op {
                chunks.entry(event.session).or_insert_with(|| Chunk::after(base)).push(event);
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

    fn flush_totals(&mut self) -> Result<(), Fault> {
        let counted: Vec<_> = self.ahead.counted().collect();
        for (within, counts) in counted {
            match within {
                Within::Session(session) => {
                    let Some(number) = self.session_number(session) else { continue };
                    let own = Scope::Owner(Owner::Session(session));
                    let own = self.ahead.counts(self.image, own);
                    self.sql.session_totals.execute((number, encode_totals(&[counts, own])))?;
                }
                Within::Owner(Owner::Task(task)) => {
                    let Some((_, ordinal)) = self.found(task)? else { continue };
                    self.sql.task_totals.execute((ordinal, encode_totals(&[counts])))?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
