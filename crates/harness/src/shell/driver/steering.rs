//! Steering: lines for readers, open gates, requests to stop.

use anyhow::Result;
use offshoot_client::wire::Code;

use super::{CallOutcome, Driver, span};
use crate::shell::binary::CommandResult;
use crate::shell::ledger::{Ask, Entry, LedgerMessage};

/// The permitted reason to refuse a line: its reader has ended, or is about to.
const DEAF: [Code; 3] = [Code::Ended, Code::TakesNoMessages, Code::InputEnded];

impl Driver<'_> {
    pub(super) fn send(&mut self) -> Result<()> {
        let reads = |entry: &Entry| entry.errand.reads() && entry.is_open();
        let Some(entry) = self.stage.ledger.pick(&mut self.rng, reads) else { return Ok(()) };
        let (number, Some(id)) = (entry.errand.number, entry.id()) else { return Ok(()) };
        self.sent += 1;
        let text = format!("line {} of {}", self.sent, self.number);
        let said = self.stage.call(&["tasks", "send", "--json", id, &text])?;
        let outcome = self.check_call(&said, Some(number), &DEAF);
        self.history(number, format!("{text:?}: {outcome:?}"));
        let message = LedgerMessage { text, by: self.number, ask: Ask::of(&said) };
        self.stage.ledger.note(number, |entry| entry.messages.push(message));
        self.learn(&outcome, &entry)
    }

    pub(super) fn close_input(&mut self) -> Result<()> {
        let reads = |entry: &Entry| entry.errand.reads() && entry.is_open();
        let Some(entry) = self.stage.ledger.pick(&mut self.rng, reads) else { return Ok(()) };
        let (number, Some(id)) = (entry.errand.number, entry.id()) else { return Ok(()) };
        let mut outcome = CallOutcome::Nothing;
        self.stage.close_input(number, id, |said| {
            outcome = self.check_call(said, Some(number), &DEAF);
        })?;
        self.learn(&outcome, &entry)
    }

    /// Opens a gate or closes an input.
    pub(super) fn let_one_end(&mut self) -> Result<()> {
        let shut = |entry: &Entry| entry.is_open() && entry.errand.waits();
        let ledger = self.stage.ledger;
        let shut = |entry: &Entry| shut(entry) && !ledger.holds(entry.errand.number);
        let waits = self.rng.happens(700);
        match ledger.pick(&mut self.rng, shut).filter(|_| waits) {
            Some(entry) => self.stage.open_gate(&entry),
            None => self.close_input(),
        }
    }

    pub(super) fn cancel(&mut self) -> Result<()> {
        let Some(entry) = self.some_errand() else { return Ok(()) };
        let (number, Some(id)) = (entry.errand.number, entry.id()) else { return Ok(()) };
        let mut args = vec!["tasks", "cancel", "--json", id, "--reason", "a driver's whim"];
        let grace = span(entry.errand.grace / 2);
        if self.rng.happens(500) {
            args.extend(["--grace", &grace]);
        }
        // A command that ends meanwhile was asked all the same.
        let begun = std::time::Instant::now();
        self.stage.ledger.note(number, |entry| {
            entry.history.push((begun, "is asked to stop".into()));
        });
        let said = self.stage.call(&args)?;
        let outcome = self.check_call(&said, Some(number), &[Code::Ended]);
        self.history(number, format!("asked to stop: {outcome:?}"));
        self.stage.ledger.note(number, |entry| entry.stops.push(Ask::of(&said)));
        self.learn(&outcome, &entry)
    }

    /// Checks the end of a task that is reported as ended.
    fn learn(&mut self, outcome: &CallOutcome, entry: &Entry) -> Result<()> {
        match outcome {
            CallOutcome::Refused => self.show_this(entry),
            _ => Ok(()),
        }
    }

    pub(super) fn cancel_session(&mut self) -> Result<()> {
        let Some(session) = self.rng.pick(&self.stage.sessions).cloned() else { return Ok(()) };
        // The first session is spared, so that some commands go on.
        if self.stage.sessions.first() == Some(&session) {
            return Ok(());
        }
        let args = ["sessions", "cancel", "--json", &session, "--reason", "a driver's whim"];
        let said = self.stage.call(&args)?;
        // No task was spawned from it yet.
        let outcome = self.check_call(&said, None, &[Code::NotFound]);
        if !matches!(outcome, CallOutcome::Refused) {
            let ask = Ask::of(&said);
            self.stage.ledger.with(|books| books.sessions_stopped.push((session, ask)));
        }
        Ok(())
    }
}

impl super::Stage<'_> {
    /// Closes the input of a reader.
    pub fn close_input(
        &self,
        number: usize,
        id: &str,
        hear: impl FnOnce(&CommandResult),
    ) -> Result<()> {
        let said = self.call(&["tasks", "send", "--json", id, "--eof"])?;
        hear(&said);
        self.ledger.note(number, |entry| {
            entry.history.push((said.ended, "its input is closed".into()));
            entry.eofs.push(Ask::of(&said));
        });
        Ok(())
    }
}
