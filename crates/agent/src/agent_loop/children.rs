//! The live tasks of an agent, and whether each waits for the agent's answer.

use std::time::Duration;

use offshoot_core::{Addressee, Owner, TaskState, WaitingOn};
use offshoot_runtime::{Context, TaskRef};

use crate::approval;
use crate::brief::Brief;
use crate::delivery::{question, steered};
use crate::loop_exit::LoopExit;

/// The most tasks that an agent looks at individually. A result of any other task
/// wakes it, too.
pub(super) const MOST_CHILDREN: usize = 64;

/// The longest wait of a repeated poll.
const LONGEST_POLL: Duration = Duration::from_secs(60);

/// A live task of the agent.
pub(super) struct Child {
    pub(super) task: TaskRef,
    /// The party whose answer the task waits for.
    pub(super) waits_for: Answerer,
}

/// The party whose answer a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answerer {
    /// The task works, or waits for a person.
    Other,
    /// The agent.
    Agent,
    /// A person: the agent itself lacks the permission that the task requests.
    PersonInstead,
}

/// Finds the first live tasks of the agent.
pub(super) async fn live_children(cx: &Context, brief: &Brief) -> Result<Vec<Child>, LoopExit> {
    // Only the agent's own tasks: a session may have any number of others.
    let page = cx.tasks().owner(Owner::Task(cx.id())).live().limit(MOST_CHILDREN).await?;
    let mut children = Vec::new();
    for task in &page.items {
        let waits_for = match task.state {
            TaskState::Waiting(WaitingOn::Approval(number)) => {
                match question(cx, task.id(), number).await? {
                    Some(asked) if asked.addressee == Addressee::Owner => {
                        match approval::may_approve(brief.authority.as_deref(), &asked) {
                            true => Answerer::Agent,
                            false => Answerer::PersonInstead,
                        }
                    }
                    _ => Answerer::Other,
                }
            }
            TaskState::Waiting(WaitingOn::Input(_)) => Answerer::Agent,
            _ => Answerer::Other,
        };
        children.push(Child { task: cx.task(&task.id().to_string()).await?, waits_for });
    }
    Ok(children)
}

/// Waits until a working child ends or asks, a message arrives, or a minute has
/// passed. A child that already waits for the agent changes only by its answer.
pub(super) async fn wait_for_change(cx: &Context, brief: &Brief) -> Result<(), LoopExit> {
    let children = live_children(cx, brief).await?;
    if children.is_empty() {
        return Ok(());
    }
    let working = children.into_iter().filter(|child| child.waits_for == Answerer::Other);
    let working: Vec<_> = working.map(|child| child.task).collect();
    let ended = async {
        match working.as_slice() {
            [] => cx.waiting(WaitingOn::Children, tokio::time::sleep(LONGEST_POLL)).await,
            working => cx.wait(working).any().timeout(LONGEST_POLL).await.map(drop),
        }
    };
    tokio::select! {
        biased;
        ended = ended => ended?,
        () = steered(cx) => {}
    }
    Ok(())
}
