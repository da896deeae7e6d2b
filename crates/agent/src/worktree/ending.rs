//! The end of an isolated agent: its worktree is removed or kept, and its report
//! says so before its end is told.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::select;
use offshoot_core::{Owner, WaitingOn};
use offshoot_runtime::{BodyError, Context, Error, StepError};

use super::limit::{CANCEL_LIMIT, after};
use super::note::Note;
use super::{WorktreeState, Worktrees};
use crate::delivery::children_ended;
use crate::loop_exit::LoopExit;
use crate::report::AgentReport;
use crate::tool::AgentShared;

/// Who sees to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// The agent's own body, which gives its slot back while it waits.
    Body,
    /// The runtime, which has dropped the body.
    Runtime,
}

/// Tidies up after an agent that ends. Whatever does not succeed is left as it
/// is, and the report says since the agent's beginning where that is.
pub(crate) async fn tidy_up(shared: &AgentShared, cx: &Context, by: By) {
    let Some(trees) = &shared.worktrees else { return };
    if let Err(trouble) = try_tidy_up(trees, cx, by).await {
        tracing::debug!(task = %cx.id(), ?trouble, "a worktree is left as it is");
    }
}

async fn try_tidy_up(trees: &Worktrees, cx: &Context, by: By) -> Result<(), LoopExit> {
    let place = trees.note(cx.id());
    let Some(mut note) = Note::read(&place) else { return Ok(()) };
    be_alone(cx, by).await?;
    still_ours(cx).await?;
    let late = late(trees, cx, by);
    let worktree = trees.tidy_up(cx.id(), &mut note, late).await.unwrap_or_else(|error| {
        let path = note.tree.path.display();
        tracing::warn!(task = %cx.id(), %path, %error, "a worktree could not be tidied up");
        note.tree.shown(WorktreeState::Kept)
    });
    let report = cx.reported::<AgentReport>().await?.unwrap_or_default();
    Ok(cx.progress(&AgentReport { worktree: Some(worktree), ..report }).await?)
}

/// Resolves when git has had its time: less once the agent was told to stop.
async fn late(trees: &Worktrees, cx: &Context, by: By) -> Duration {
    let stopped = async {
        if by == By::Body {
            cx.cancelled().await;
        }
        after(CANCEL_LIMIT).await
    };
    select(pin!(trees.late()), pin!(stopped)).await.factor_first().0
}

/// Waits until nobody below the agent lives any more: they work in the same
/// folder. An agent that does well has waited for them; the others are stopped,
/// as they would be once its end is written.
async fn be_alone(cx: &Context, by: By) -> Result<(), LoopExit> {
    let mut page = cx.tasks().owner(Owner::Task(cx.id())).live().await?;
    loop {
        for child in &page.items {
            let child = cx.task(&child.id().to_string()).await?;
            match child.cancel("its owner ended").await {
                Ok(_) | Err(Error::Ended { .. } | Error::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let Some(next) = page.next else { break };
        page = cx.tasks().owner(Owner::Task(cx.id())).live().after(next).await?;
    }
    if by == By::Body && !cx.is_cancelled() {
        match cx.waiting(WaitingOn::Children, children_ended(cx)).await {
            Err(Error::Cancelled) => {}
            waited => return Ok(waited??),
        }
    }
    Ok(children_ended(cx).await?)
}

/// An error unless this attempt still has the task: another one may work in the
/// same worktree.
async fn still_ours(cx: &Context) -> Result<(), LoopExit> {
    let key = format!("worktree ends {:032x}", cx.random());
    let mut failures = 0;
    loop {
        let step = cx.step(&key, || async { Ok::<_, BodyError>(()) });
        match step.value().await {
            Ok(()) => return Ok(()),
            Err(StepError::Journal(Error::Store(_) | Error::Contended)) => {
                failures += 1;
                cx.back_off(failures).await?;
            }
            Err(error) => return Err(LoopExit::End(error.into())),
        }
    }
}
