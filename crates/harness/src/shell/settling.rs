//! Brings a round to rest: lets the commands end and waits for them.

use anyhow::Result;
use offshoot_client::wire::{Task, Tasks};

use crate::shell::command_task::CommandTask;
use crate::shell::driver::Stage;
use crate::shell::ledger::Entry;
use crate::shell::snapshot::list;
use crate::violation::Violation;

/// The time limit for commands that may end. They take less than seconds; only a report depends
/// on this limit, and no check.
const PATIENCE: &str = "90s";

/// Lets every running command end, and waits for all. A stopped command must end by itself: its
/// gate stays closed.
pub fn come_to_rest(stage: &Stage<'_>) -> Result<()> {
    loop {
        let mut live = Vec::new();
        for session in &stage.sessions {
            live.extend(list(stage.binary, session, "")?);
        }
        if live.is_empty() {
            return Ok(());
        }
        for task in &live {
            let found = number_of(stage, task).and_then(|number| {
                stage.ledger.with(|books| {
                    let entry = books.entry(number).filter(|_| !books.must_end(number));
                    entry.cloned()
                })
            });
            if let Some(entry) = found {
                let_end(stage, &entry, &task.id)?;
            }
        }
        let ids: Vec<&str> = live.iter().map(|task| task.id.as_str()).collect();
        let mut args = vec!["tasks", "wait", "--json", "--timeout", PATIENCE];
        args.extend(&ids);
        let said = stage.call(&args)?;
        anyhow::ensure!(
            matches!(said.code, Some(0 | 1 | 3 | 4 | 124)),
            "what is live cannot be waited for: {said}"
        );
        let waited: Tasks = serde_json::from_slice(&said.out)?;
        waited.tasks.iter().for_each(|task| stage.saw(task));
        let stuck: Vec<_> = waited.tasks.iter().filter(|task| !task.state.is_terminal()).collect();
        for task in &stuck {
            let why = stage.call(&["tasks", "why", &task.id])?;
            let record = serde_json::to_string(task)?;
            let detail = format!("{} does not end: {record}\n  {why}", task.id);
            stage.ledger.broken(number_of(stage, task), Violation::new("every task ends", detail));
        }
        if !stuck.is_empty() {
            return Ok(());
        }
    }
}

/// The command of a task.
fn number_of(stage: &Stage<'_>, task: &Task) -> Option<usize> {
    let argv = task.command.as_ref().map_or(&[][..], |command| &command.argv);
    CommandTask::number_in(argv, &stage.work)
}

fn let_end(stage: &Stage<'_>, entry: &Entry, id: &str) -> Result<()> {
    stage.open_gate(entry)?;
    if entry.errand.reads() {
        // An earlier attempt may have taken the end of input.
        stage.close_input(entry.errand.number, id, |_| ())?;
    }
    Ok(())
}
