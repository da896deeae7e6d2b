//! Inspection: the ledger records each report of a task, to compare it with later ones.

use anyhow::Result;
use offshoot_client::wire::{Restart, Sessions, State, Task, Tasks};

use super::{CallOutcome, Driver, span};
use crate::shell::command_task::CommandTask;
use crate::shell::ledger::{End, Entry};
use crate::shell::output::{KEPT, same};

impl super::Stage<'_> {
    /// Records the end of a task, if it has ended.
    pub fn saw(&self, task: &Task) {
        let argv = task.command.as_ref().map_or(&[][..], |command| &command.argv);
        if let (Some(number), Some(end)) = (CommandTask::number_in(argv, &self.work), End::of(task))
        {
            self.ledger.note(number, |entry| entry.saw(end));
        }
    }
}

impl Driver<'_> {
    pub(super) fn saw(&self, task: &Task) {
        self.stage.saw(task);
    }

    pub(super) fn show(&mut self) -> Result<()> {
        let entry = self.some_errand();
        entry.map_or(Ok(()), |entry| self.show_this(&entry))
    }

    /// Inspects one task, by its id or its name.
    pub(super) fn show_this(&mut self, entry: &Entry) -> Result<()> {
        let (number, Some(id)) = (entry.errand.number, entry.id()) else { return Ok(()) };
        let by_name = entry.errand.name.clone().filter(|_| self.rng.happens(300));
        let named = by_name.filter(|_| entry.errand.parent.is_none());
        let task = named.as_deref().unwrap_or(id);
        let session = &entry.errand.session;
        let said = self.stage.call(&["tasks", "show", "--json", "--session", session, task])?;
        if let CallOutcome::Done = self.check_call(&said, Some(number), &[])
            && let Some(task) = self.stage.read::<Task>(&said, Some(number))
        {
            self.saw(&task);
        }
        Ok(())
    }

    pub(super) fn wait(&mut self) -> Result<()> {
        let entries: Vec<_> =
            (0..self.rng.between(1, 3)).filter_map(|_| self.some_errand()).collect();
        let mut ids: Vec<&str> = entries.iter().filter_map(|entry| entry.id()).collect();
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() {
            return Ok(());
        }
        let timeout = span(std::time::Duration::from_millis(self.rng.bits() % 400));
        let mut args = vec!["tasks", "wait", "--json", "--timeout", &timeout];
        if self.rng.happens(400) {
            args.push("--any");
        }
        args.extend(&ids);
        let said = self.stage.call(&args)?;
        let number = entries.first().map(|entry| entry.errand.number);
        if let Err(violation) = said.check(None) {
            self.stage.ledger.broken(number, violation);
            return Ok(());
        }
        match said.code {
            // Each call reports how the tasks ended, or that they have not.
            Some(0 | 1 | 3 | 4 | 124) if !said.out.is_empty() => {
                self.stage.ledger.with(|books| books.acknowledged += 1);
                if let Some(waited) = self.stage.read::<Tasks>(&said, number) {
                    waited.tasks.iter().for_each(|task| self.saw(task));
                }
            }
            _ => self.excuse(&said, number),
        }
        Ok(())
    }

    /// Checks that the output so far is a prefix of the expected output.
    pub(super) fn tail(&mut self) -> Result<()> {
        let Some(entry) = self.some_errand() else { return Ok(()) };
        let (number, Some(id)) = (entry.errand.number, entry.id()) else { return Ok(()) };
        if self.rng.happens(300) {
            let said = self.stage.call(&["tasks", "tail", "-n", "5", id])?;
            self.check_call(&said, Some(number), &[]);
            return Ok(());
        }
        let said = self.stage.call(&["tasks", "tail", id])?;
        if let CallOutcome::Done = self.check_call(&said, Some(number), &[])
            && let Some(expected) = begins_with(&entry.errand)
        {
            // Beyond that the middle may be gone.
            let length = said.out.len().min(expected.len()).min(KEPT);
            let checked = same("what is live", &said.out[..length], &expected[..length]);
            if let Err(violation) = checked {
                self.stage.ledger.broken(Some(number), violation);
            }
        }
        Ok(())
    }

    pub(super) fn list(&mut self) -> Result<()> {
        let Some(session) = self.rng.pick(&self.stage.sessions).cloned() else { return Ok(()) };
        let mut args = vec!["tasks", "ls", "--json", "--session", &session];
        if self.rng.happens(300) {
            args.push("--all");
        } else if self.rng.happens(300) {
            args.extend(["--state", State::Running.word()]);
        }
        let said = self.stage.call(&args)?;
        let unopened = [offshoot_client::wire::Code::NotFound];
        if let CallOutcome::Done = self.check_call(&said, None, &unopened)
            && let Some(listed) = self.stage.read::<Tasks>(&said, None)
        {
            listed.tasks.iter().for_each(|task| self.saw(task));
        }
        Ok(())
    }

    pub(super) fn look_around(&mut self) -> Result<()> {
        match self.rng.below(4) {
            0 => {
                let said = self.stage.call(&["sessions", "ls", "--json"])?;
                if let CallOutcome::Done = self.check_call(&said, None, &[]) {
                    self.stage.read::<Sessions>(&said, None);
                }
            }
            1 => {
                let said = self.stage.call(&["tasks", "ls", "--all"])?;
                self.check_call(&said, None, &[]);
            }
            2 => {
                let Some(entry) = self.some_errand() else { return Ok(()) };
                let (number, Some(id)) = (entry.errand.number, entry.id()) else { return Ok(()) };
                let said = self.stage.call(&["tasks", "why", id])?;
                self.check_call(&said, Some(number), &[]);
            }
            _ => {
                let said = self.stage.call(&["tasks", "show", "--json", "nobody-at-all"])?;
                if said.code != Some(5) {
                    self.excuse(&said, None);
                }
            }
        }
        Ok(())
    }
}

/// The expected first bytes of a command's output, as far as they are known: the order of two
/// streams is unknown, and an earlier attempt may be cut anywhere.
fn begins_with(errand: &CommandTask) -> Option<Vec<u8>> {
    let script = errand.script().filter(|_| errand.restart == Restart::Never)?;
    if script.before.err.bytes() + script.after.err.bytes() > 0 {
        return None;
    }
    let mut begins = Vec::new();
    script.before.out.write_to(&mut begins);
    Some(begins)
}
