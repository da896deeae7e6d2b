//! Every acknowledged task exists once and is the spawned one.

use hashbrown::HashMap;
use offshoot_client::wire::Task;

use super::Findings;
use crate::shell::ledger::{Entry, LedgerState, SpawnResult};
use crate::shell::snapshot::Snapshot;
use crate::violation::{Checked, Violation, ensure};

const THERE: &str = "what was acknowledged is there";
const ONCE: &str = "a task that was spawned once exists once";
const SAME: &str = "a task is the one that was spawned";

/// Checks every command, and that no other task exists.
pub fn check(books: &LedgerState, world: &Snapshot, found: &mut Findings) {
    let mut ids: HashMap<&str, usize> = HashMap::new();
    for (number, task) in &world.tasks {
        *ids.entry(&task.id).or_default() += 1;
        let entry = number.and_then(|number| books.entry(number));
        found.take(
            *number,
            ensure(entry.is_some(), SAME, || format!("no driver spawned {}", task.id)),
        );
        if let Some(entry) = entry {
            found.take(*number, same(books, entry, task));
        }
    }
    for (id, times) in ids {
        found.take(None, ensure(times == 1, ONCE, || format!("{id} is listed {times} times")));
    }
    for entry in &books.entries {
        found.take(Some(entry.errand.number), there(entry, world));
    }
}

fn there(entry: &Entry, world: &Snapshot) -> Checked {
    let tasks: Vec<&Task> = world.of(entry.errand.number).collect();
    ensure(tasks.len() <= 1, ONCE, || {
        let ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
        format!("it is there {} times: {}", tasks.len(), ids.join(", "))
    })?;
    let id = tasks.first().map(|task| task.id.as_str());
    match (&entry.spawned, entry.ends.first()) {
        (SpawnResult::Detached { id: told, .. }, _) => ensure(id == Some(told), THERE, || {
            format!("it was acknowledged as {told}, and what is there is {id:?}")
        }),
        (SpawnResult::Attached { .. }, _) => {
            ensure(id.is_some(), THERE, || "its end was told, and it is not there".into())
        }
        (SpawnResult::Unknown, Some(end)) => ensure(id == Some(&end.id), THERE, || {
            format!("the end of {} was told, and what is there is {id:?}", end.id)
        }),
        (SpawnResult::Unknown, None) => Ok(()),
    }
}

fn same(books: &LedgerState, entry: &Entry, task: &Task) -> Checked {
    let errand = &entry.errand;
    let wrong = |what: &str, is: String, was: String| {
        Err(Violation::new(SAME, format!("its {what} is {is}, and was {was}")))
    };
    if task.session != errand.session {
        return wrong("session", task.session.clone(), errand.session.clone());
    }
    if task.name != errand.name {
        return wrong("name", format!("{:?}", task.name), format!("{:?}", errand.name));
    }
    let parent = errand.parent.and_then(|parent| books.entry(parent)?.id());
    if task.lineage.parent.as_deref() != parent {
        return wrong("parent", format!("{:?}", task.lineage.parent), format!("{parent:?}"));
    }
    let restart = task.command.as_ref().map(|command| command.restart);
    if restart != Some(errand.restart) {
        return wrong("restart", format!("{restart:?}"), format!("{:?}", errand.restart));
    }
    Ok(())
}
