//! Isolation: an isolated agent gets a worktree before it starts, and cleanup when it ends.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select;
use offshoot_core::{Owner, TaskId, WaitingOn};
use offshoot_runtime::{BodyError, Context, Error, StepError};
use offshoot_worktree::{
    CANCEL_LIMIT, WorktreeError, WorktreeNote, WorktreeRequest, WorktreeSpec, WorktreeState,
    Worktrees,
};

use crate::brief::Brief;
use crate::delivery::children_ended;
use crate::loop_exit::LoopExit;
use crate::report::AgentReport;
use crate::tool::AgentShared;

/// The commit at which the worktree of a child would begin now.
pub(crate) async fn worktree_base(
    worktrees: Option<&Worktrees>,
    directory: Option<&Path>,
    task: TaskId,
) -> Result<String, WorktreeError> {
    let worktrees = worktrees.ok_or(WorktreeError::NoPlace)?;
    worktrees.base(directory.ok_or(WorktreeError::NoFolder)?, task).await
}

/// Makes the worktree of an agent and sets the working directory of its brief.
pub(crate) async fn make_worktree(
    shared: &AgentShared,
    cx: &Context,
    brief: &mut Brief,
) -> Result<Arc<WorktreeSpec>, BodyError> {
    let worktrees = shared.worktrees.as_ref().ok_or(WorktreeError::NoPlace)?;
    let request = WorktreeRequest {
        task: cx.id(),
        handle: cx.handle().to_owned(),
        continues: cx.continues(),
        directory: brief.folder.clone(),
        base: brief.base.clone(),
    };
    let mut failures = 0;
    loop {
        match try_make_worktree(worktrees, cx, request.clone()).await {
            Ok(spec) => {
                brief.folder = Some(spec.directory());
                return Ok(Arc::new(spec));
            }
            Err(LoopExit::End(error)) => return Err(error),
            Err(LoopExit::Store(error)) => {
                tracing::warn!(task = %cx.id(), %error, "a worktree could not be noted");
                failures += 1;
                cx.back_off(failures).await?;
            }
        }
    }
}

async fn try_make_worktree(
    worktrees: &Worktrees,
    cx: &Context,
    request: WorktreeRequest,
) -> Result<WorktreeSpec, LoopExit> {
    // The future that runs git is dropped before anything is removed.
    let made = {
        let made = plan_and_make(worktrees, cx, request);
        tokio::select! {
            biased;
            made = made => made,
            () = cx.cancelled() => Err(LoopExit::End(BodyError::Cancelled)),
        }
    };
    if made.is_err() {
        worktrees.give_up(cx.id()).await;
    }
    let spec = made?;
    let report = cx.reported::<AgentReport>().await?.unwrap_or_default();
    let worktree = Some(spec.shown(WorktreeState::InUse));
    cx.progress(&AgentReport { worktree, ..report }).await?;
    Ok(spec)
}

async fn plan_and_make(
    worktrees: &Worktrees,
    cx: &Context,
    request: WorktreeRequest,
) -> Result<WorktreeSpec, LoopExit> {
    let plan = {
        let worktrees = worktrees.clone();
        cx.step("worktree", move || async move { worktrees.plan(request).await })
    };
    let spec: WorktreeSpec = plan.value().await.map_err(|error| match error {
        StepError::Journal(error) => error.into(),
        error => LoopExit::End(error.into()),
    })?;
    let made = worktrees.make(cx.id(), &spec).await;
    made.map_err(|error| LoopExit::End(error.into()))?;
    Ok(spec)
}

/// The caller of the cleanup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CleanupCaller {
    /// The agent's body, which gives its slot back while it waits.
    Body,
    /// The runtime, which has dropped the body.
    Runtime,
}

/// Removes or keeps the worktree of an agent that ends, and reports which. If that fails, the
/// worktree is left as it is; the report has had its path since the agent's start.
pub(crate) async fn tidy_up(shared: &AgentShared, cx: &Context, caller: CleanupCaller) {
    let Some(worktrees) = &shared.worktrees else { return };
    if let Err(exit) = try_tidy_up(worktrees, cx, caller).await {
        tracing::debug!(task = %cx.id(), ?exit, "a worktree is left as it is");
    }
}

async fn try_tidy_up(
    worktrees: &Worktrees,
    cx: &Context,
    caller: CleanupCaller,
) -> Result<(), LoopExit> {
    let Some(mut note) = worktrees.note(cx.id()) else { return Ok(()) };
    wait_for_descendants(cx, caller).await?;
    check_attempt(cx).await?;
    let late = late(worktrees, cx, caller);
    let worktree = worktrees.tidy_up(cx.id(), &mut note, late).await;
    let worktree = worktree.unwrap_or_else(|error| kept(cx, &note, &error));
    let report = cx.reported::<AgentReport>().await?.unwrap_or_default();
    Ok(cx.progress(&AgentReport { worktree: Some(worktree), ..report }).await?)
}

fn kept(cx: &Context, note: &WorktreeNote, error: &WorktreeError) -> offshoot_worktree::Worktree {
    let path = note.spec().path().display();
    tracing::warn!(task = %cx.id(), %path, %error, "a worktree could not be tidied up");
    note.spec().shown(WorktreeState::Kept)
}

/// Resolves at the time limit of the cleanup, which is shorter once the agent was cancelled.
async fn late(worktrees: &Worktrees, cx: &Context, caller: CleanupCaller) -> Duration {
    let cancelled = async {
        if caller == CleanupCaller::Body {
            cx.cancelled().await;
        }
        tokio::time::sleep(CANCEL_LIMIT).await;
        CANCEL_LIMIT
    };
    select(pin!(worktrees.late()), pin!(cancelled)).await.factor_first().0
}

/// Waits until no descendant of the agent is live: they work in the same directory. An agent that
/// completes has waited for them. Otherwise they are cancelled, as they would be once its end is
/// written.
async fn wait_for_descendants(cx: &Context, caller: CleanupCaller) -> Result<(), LoopExit> {
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
    if caller == CleanupCaller::Body && !cx.is_cancelled() {
        match cx.waiting(WaitingOn::Children, children_ended(cx)).await {
            Err(Error::Cancelled) => {}
            waited => return Ok(waited??),
        }
    }
    Ok(children_ended(cx).await?)
}

/// Fails unless this attempt still has the task. Another attempt may work in the same worktree.
async fn check_attempt(cx: &Context) -> Result<(), LoopExit> {
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
