//! The approval requests of tasks below the awaited ones.

use std::collections::{BTreeMap, HashSet};

use offshoot_client::wire::{ApprovalRequest, Task};
use tokio::sync::mpsc::{Receiver, channel};

use crate::cli::approval_watch::ApprovalWatch;
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;

/// The approval requests below some tasks, which would block a wait unseen.
pub(super) struct PendingApprovals {
    open: Receiver<Vec<ApprovalRequest>>,
    reported: HashSet<String>,
}

impl PendingApprovals {
    /// Watches the requests below these tasks, as far as they are agents.
    pub(super) fn new(cx: &CommandContext, tasks: &[Task]) -> Self {
        let (sender, open) = channel(16);
        let mut sessions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for task in tasks.iter().filter(|task| !task.state.is_terminal() && task.agent.is_some()) {
            sessions.entry(&task.session).or_default().push(task.id.clone());
        }
        for (session, below) in sessions {
            let mut requests = ApprovalWatch::new(cx, session, below);
            let sender = sender.clone();
            tokio::spawn(async move {
                loop {
                    let open = requests.next().await;
                    if sender.send(open).await.is_err() {
                        return;
                    }
                }
            });
        }
        Self { open, reported: HashSet::new() }
    }

    /// Waits for new requests. Safe to drop while it waits.
    pub(super) async fn next(&mut self) -> Vec<ApprovalRequest> {
        loop {
            let Some(mut open) = self.open.recv().await else { std::future::pending().await };
            open.retain(|asked| self.reported.insert(format!("{}-{}", asked.task, asked.number)));
            if !open.is_empty() {
                return open;
            }
        }
    }
}

/// Finds the tasks, by id, that wait for the decision of a request below them.
///
/// A request is withdrawn when its task, or one above it, is cancelled.
pub(super) async fn above(
    cx: &CommandContext,
    open: &[ApprovalRequest],
    tasks: &[String],
) -> Result<Vec<String>, CliError> {
    let mut found = Vec::new();
    for asked in open {
        let mut task = cx.show(&asked.task).await?;
        let mut above = Vec::new();
        while task.cancel.is_none()
            && let Some(parent) = task.lineage.parent.take()
        {
            task = cx.show(&parent).await?;
            above.push(task.id.clone());
        }
        if task.cancel.is_none() {
            found.extend(above.into_iter().filter(|id| tasks.contains(id)));
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}
