//! Spawns: detached, attached, and below other commands.

use std::time::Instant;

use anyhow::Result;
use offshoot_client::wire::{Code, Restart, Task};

use super::{CallOutcome, Driver, span};
use crate::shell::binary::CommandResult;
use crate::shell::command_task::{CommandTask, Ending, Hold, Work};
use crate::shell::draw::{self, Spot};
use crate::shell::effects::Effects;
use crate::shell::gate;
use crate::shell::ledger::{Entry, SpawnResult};
use crate::shell::output::{RecordedOutput, Streams};
use crate::violation::{Checked, Violation};

/// The permitted reason to refuse a spawn: its owner ends during the spawn.
const REFUSALS: [Code; 2] = [Code::OwnerClosed, Code::Ended];

impl Driver<'_> {
    pub(super) fn spawn_detached(&mut self) -> Result<()> {
        let spot = self.spot();
        let rng = &mut self.rng;
        let errand = self.stage.ledger.enter(|number| draw::errand(rng, number, spot));
        self.spawn_in_background(&errand)
    }

    /// Spawns a flood, and goes on while it is written.
    pub fn spawn_flood(&mut self) -> Result<()> {
        let spot = Spot { parent: None, ..self.spot() };
        let rng = &mut self.rng;
        let errand = self.stage.ledger.enter(|number| {
            let script = draw::flood(rng);
            CommandTask { work: Work::Script(script), ..draw::errand(rng, number, spot) }
        });
        self.spawn_in_background(&errand)
    }

    fn spawn_in_background(&mut self, errand: &CommandTask) -> Result<()> {
        let number = errand.number;
        let mut args = self.prepare(errand)?;
        args.splice(1..1, ["--detach", "--json"].map(str::to_owned));
        let said = self.stage.call(&args)?;
        match self.check_call(&said, Some(number), &REFUSALS) {
            CallOutcome::Done => {
                if let Some(task) = self.stage.read::<Task>(&said, Some(number)) {
                    let id = task.id.clone();
                    self.history(number, format!("spawned as {id}"));
                    self.stage.ledger.note(number, |entry| {
                        entry.spawned = SpawnResult::Detached { id, at: said.ended };
                    });
                    self.saw(&task);
                }
            }
            CallOutcome::Refused => self.history(number, "not taken"),
            CallOutcome::Nothing => self.history(number, format!("not acknowledged: {said}")),
        }
        Ok(())
    }

    pub(super) fn spawn_attached(&mut self) -> Result<()> {
        let spot = self.spot();
        let rng = &mut self.rng;
        let errand = self.stage.ledger.enter(|number| {
            let mut errand = draw::errand(rng, number, spot);
            if let Work::Script(script) = &mut errand.work
                && script.hold == Hold::Input
            {
                // The handle of a reader would be unknown, so no driver could send lines.
                script.hold = Hold::Nothing;
            }
            errand
        });
        let number = errand.number;
        let args = self.prepare(&errand)?;
        if errand.waits() {
            // A waiting driver cannot open the gate meanwhile.
            let entry = self.stage.ledger.with(|books| books.entry(number).cloned());
            entry.map_or(Ok(()), |entry| self.stage.open_gate(&entry))?;
        }
        let said = self.stage.call(&args)?;
        self.record_attached(&errand, &said);
        Ok(())
    }

    fn record_attached(&self, errand: &CommandTask, said: &CommandResult) {
        let number = errand.number;
        let own = own_code(errand);
        if let Err(violation) = said.check(own) {
            self.stage.ledger.broken(Some(number), violation);
            return;
        }
        let code = said.code.unwrap_or(-1);
        self.history(number, format!("stayed with it until it ended with {code}"));
        match code {
            2 | 5 | 125 => self.excuse_attached(errand, said),
            _ => {
                let whole = if Some(code) == own { shown(errand, said) } else { Ok(()) };
                self.stage.ledger.with(|books| books.acknowledged += 1);
                self.stage.ledger.note(number, |entry| {
                    entry.spawned = SpawnResult::Attached { code, whole };
                });
            }
        }
    }

    /// An attached call reports its error in words. The error may be a refusal: the owner ends,
    /// or its session is being stopped. Or the output of a later attempt came first: the next
    /// daemon starts a command again before the attached call is back.
    fn excuse_attached(&self, errand: &CommandTask, said: &CommandResult) {
        let told = String::from_utf8_lossy(&said.err);
        let closed = ["takes no new tasks", "has ended"].iter().any(|text| told.contains(text));
        let ran_ahead = errand.restart == Restart::OnCrash
            && told.contains("the output is incomplete")
            && told.contains("attempt 2 begins here");
        match (closed, ran_ahead) {
            (true, _) => self.refused(said, "attached"),
            (_, true) => self.refused(said, "attached, output ran ahead"),
            _ => self.excuse(said, Some(errand.number)),
        }
    }

    /// The parent of the next command.
    fn spot(&mut self) -> Spot {
        let session = self.rng.pick(&self.stage.sessions).cloned().unwrap_or_default();
        let parent = self.rng.happens(300).then(|| {
            let of_here = |entry: &Entry| {
                entry.errand.session == session && entry.is_open() && entry.id().is_some()
            };
            self.stage.ledger.pick(&mut self.rng, of_here).map(|entry| entry.errand.number)
        });
        Spot { parent: parent.flatten(), session }
    }

    /// The call that spawns a command, after its files are created.
    fn prepare(&self, errand: &CommandTask) -> Result<Vec<String>> {
        if errand.waits() {
            gate::put_up(&errand.gate(&self.stage.work))?;
        }
        let mut args = vec!["spawn".to_owned(), "--session".into(), errand.session.clone()];
        args.extend(["--grace".into(), span(errand.grace)]);
        let parent = errand.parent.and_then(|parent| {
            self.stage.ledger.with(|books| books.entry(parent)?.id().map(str::to_owned))
        });
        for (option, value) in [
            ("--name", errand.name.clone()),
            ("--parent", parent),
            ("--timeout", errand.timeout.map(span)),
            ("--restart", (errand.restart == Restart::OnCrash).then(|| "on-crash".into())),
        ] {
            if let Some(value) = value {
                args.extend([option.to_owned(), value]);
            }
        }
        // Messages are the only input of the command.
        args.extend(["--no-stdin".into(), "--".into()]);
        args.extend(errand.argv(&self.stage.work));
        self.stage.ledger.note(errand.number, |entry| entry.begun = Instant::now());
        Ok(args)
    }
}

/// The exit code of an attached call whose command comes to its own end.
fn own_code(errand: &CommandTask) -> Option<i32> {
    match &errand.work {
        Work::Missing => Some(127),
        Work::Script(script) => Some(match script.ending {
            Ending::Exit(code) => code,
            Ending::Signal(signal) => 128 + signal,
        }),
    }
}

/// Whether an attached call has shown the whole output of the command.
fn shown(errand: &CommandTask, said: &CommandResult) -> Checked {
    let (Work::Script(script), Restart::Never) = (&errand.work, errand.restart) else {
        return Ok(());
    };
    let head = Streams { out: said.out.clone(), err: without_remarks(&said.err) };
    let checked = RecordedOutput { head, gap: None }.check(script, &Effects::default());
    checked.map_err(|violation| {
        Violation::new("who stays with a command sees all it writes", violation.detail)
    })
}

/// The standard error of the command, without the remarks of the binary itself.
fn without_remarks(err: &[u8]) -> Vec<u8> {
    const REMARK: &[u8] = b"offshoot: ";
    let mut own = Vec::with_capacity(err.len());
    let mut rest = err;
    while let Some(at) = rest.windows(REMARK.len()).position(|window| window == REMARK) {
        own.extend_from_slice(&rest[..at]);
        let end = rest[at..].iter().position(|byte| *byte == b'\n');
        rest = &rest[end.map_or(rest.len(), |end| at + end + 1)..];
    }
    own.extend_from_slice(rest);
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_are_separated_from_the_output_of_the_command() {
        let err = b"1000offshoot: attempt 2 begins here\n0001\noffshoot: lost";
        assert_eq!(without_remarks(err), b"10000001\n");
        assert_eq!(without_remarks(b"12\n"), b"12\n");
    }
}
