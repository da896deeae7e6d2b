//! What those ask leave for that stand below tasks which are waited for.

use std::collections::{BTreeMap, HashSet};

use offshoot_client::wire::{Approval, Task};
use tokio::sync::mpsc::{Receiver, channel};

use crate::cli::desk::Desk;
use crate::cli::lookout::Lookout;

/// Whoever waits for a task does not see what holds it up further down.
pub(super) struct Asks {
    open: Receiver<Vec<Approval>>,
    /// What was told, and what is told by the tasks themselves.
    told: HashSet<String>,
    own: HashSet<String>,
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
        let own = tasks.iter().map(|task| task.id.clone()).collect();
        Self { open, told: HashSet::new(), own }
    }

    /// What is newly asked for. It is safe to drop while it waits.
    pub(super) async fn next(&mut self) -> Vec<Approval> {
        loop {
            let Some(mut open) = self.open.recv().await else { std::future::pending().await };
            open.retain(|asked| {
                !self.own.contains(&asked.task)
                    && self.told.insert(format!("{}-{}", asked.task, asked.number))
            });
            if !open.is_empty() {
                return open;
            }
        }
    }
}
