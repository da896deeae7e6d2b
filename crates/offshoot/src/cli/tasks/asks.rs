//! What those ask leave for that stand below tasks which are waited for.

use std::collections::{BTreeMap, HashSet};

use offshoot_client::wire::{Approval, Task};
use tokio::sync::mpsc::{Receiver, channel};

use crate::cli::desk::Desk;
use crate::cli::lookout::Lookout;
use crate::cli::trouble::Trouble;

/// Whoever waits for a task would not see what holds it up further down.
pub(super) struct Asks {
    open: Receiver<Vec<Approval>>,
    told: HashSet<String>,
}

impl Asks {
    /// What is asked below these tasks, as far as they are agents.
    pub(super) fn new(desk: &Desk, tasks: &[Task]) -> Self {
        let (sender, open) = channel(16);
        let mut sessions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for task in tasks.iter().filter(|task| !task.state.is_terminal() && task.agent.is_some()) {
            sessions.entry(&task.session).or_default().push(task.id.clone());
        }
        for (session, below) in sessions {
            let mut lookout = Lookout::new(desk, session, below);
            let sender = sender.clone();
            tokio::spawn(async move {
                loop {
                    let open = lookout.next().await;
                    if sender.send(open).await.is_err() {
                        return;
                    }
                }
            });
        }
        Self { open, told: HashSet::new() }
    }

    /// What is newly asked for. It is safe to drop while it waits.
    pub(super) async fn next(&mut self) -> Vec<Approval> {
        loop {
            let Some(mut open) = self.open.recv().await else { std::future::pending().await };
            open.retain(|asked| self.told.insert(format!("{}-{}", asked.task, asked.number)));
            if !open.is_empty() {
                return open;
            }
        }
    }
}

/// Those of these tasks, by their ids, that stand above one that asks.
pub(super) async fn above(
    desk: &Desk,
    open: &[Approval],
    tasks: &[String],
) -> Result<Vec<String>, Trouble> {
    let mut found = Vec::new();
    for asked in open {
        let mut parent = desk.show(&asked.task).await?.lineage.parent;
        while let Some(id) = parent {
            let task = desk.show(&id).await?;
            if tasks.contains(&task.id) && !found.contains(&task.id) {
                found.push(task.id);
            }
            parent = task.lineage.parent;
        }
    }
    Ok(found)
}
