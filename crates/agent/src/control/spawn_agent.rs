//! `spawn_agent`: spawns another agent.

mod child_brief;
mod listing;
mod live;

use offshoot_core::permissions::PermissionMode;
use offshoot_core::{Capabilities, Payload, RunId, Sizes, Wake};
use offshoot_models::{Endpoint, ModelName};
use offshoot_runtime::{AgentKind, BodyError, StepError, TaskRef, TaskRequest};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use self::live::{is_same, live};
use super::foreground::ForegroundChild;
use crate::KIND;
use crate::brief::{Brief, BriefContext, Isolation};
use crate::built_in_tools::SPAWN_AGENT;
use crate::child_budget::{Bond, ChildBudget};
use crate::finish_tool::Finish;
use crate::isolation::worktree_base;
use crate::tool::{Function, Output, Tool, ToolContext, ToolError};

pub(super) use self::listing::{Choice, profiles};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// A short name for it, such as "docs". Without one it gets a number.
    name: Option<String>,
    /// What it shall do. It sees nothing of your conversation unless context is
    /// "fork", so say everything it needs to know.
    task: String,
    /// What kind of agent it is: the name of one of the profiles listed above.
    /// Without one it is as you are.
    profile: Option<String>,
    /// What the profile is configured with, if it takes a configuration.
    config: Option<Value>,
    /// Another model than yours or the profile's, as <provider>/<name>.
    model: Option<String>,
    /// The only tools that it has, of those that it would have without. What it
    /// speaks to you with it always has.
    tools: Option<Vec<String>>,
    /// How freely it acts. It is never freer than you are.
    mode: Option<Freely>,
    /// true (the default): it works while you go on, and its result comes to
    /// you later. false: this call returns its result, and you wait.
    #[serde(default = "yes")]
    background: bool,
    /// true: it is no longer yours once it is started, and goes on after you have
    /// ended. Its result goes to your session, and you can neither wait for it
    /// nor name it to any tool. Not with background=false.
    #[serde(default)]
    detached: bool,
    /// What it knows of your conversation.
    #[serde(default)]
    context: Knows,
    /// Where it works.
    #[serde(default)]
    isolation: Isolates,
    /// A JSON Schema of type object that its result must fit.
    result_schema: Option<Value>,
    /// The most that it and all that it spawns may spend, such as
    /// "2usd, 200k tokens, 10m, 20 steps". It never gets more than is left of yours.
    budget: Option<String>,
    /// Whether its end wakes you when you have ended your turn.
    #[serde(default)]
    wake: Wakes,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Knows {
    /// Nothing.
    #[default]
    Fresh,
    /// All of it, up to now.
    Fork,
    /// Its last turns, up to now: so many.
    LastTurns(usize),
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Isolates {
    /// In your folder.
    #[default]
    None,
    /// In a git worktree of its own, of the commit that is checked out in your
    /// folder: what you have not committed is not there. If it leaves changes or
    /// commits, the notice of its result names the worktree and its branch, for
    /// you to merge; else both are removed.
    Worktree,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Freely {
    /// It looks and plans, and changes nothing.
    Plan,
    /// Its approver is asked before it changes anything.
    Ask,
    /// It does what you may do.
    Auto,
}

impl From<Freely> for PermissionMode {
    fn from(freely: Freely) -> Self {
        match freely {
            Freely::Plan => Self::Plan,
            Freely::Ask => Self::Ask,
            Freely::Auto => Self::Auto,
        }
    }
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Wakes {
    /// It does.
    #[default]
    OnTerminal,
    /// It does, and so does its progress.
    OnActivity,
    /// You read of it the next time you are awake.
    Silent,
}

fn yes() -> bool {
    true
}

/// The tool of an agent that can choose from these profiles.
pub(super) fn tool(profiles: &str) -> impl Tool + use<> {
    let description = format!(
        "Sends another agent off to do a task. By default it works in the background: this call \
         returns at once with its handle and WITHOUT any result; the result comes to you later by \
         itself. Use background=false if you need the result before you can do anything else.{profiles}"
    );
    Function::built_in(&SPAWN_AGENT, &description, spawn).watchful()
}

fn spawn(cx: ToolContext, asked: Arguments) -> impl Future<Output = Result<Output, ToolError>> {
    // Boxed, so that the future of a wait that follows takes no room for it.
    let begun = Box::pin(begin(cx, asked));
    async move {
        match begun.await? {
            SpawnCall::Done(output) => Ok(output),
            SpawnCall::Waits(child) => child.wait().await,
        }
    }
}

/// The state of a call that has spawned an agent.
enum SpawnCall {
    /// The call returns this at once.
    Done(Output),
    /// The call returns when this child ends.
    Waits(ForegroundChild),
}

async fn begin(cx: ToolContext, asked: Arguments) -> Result<SpawnCall, ToolError> {
    let (background, detached) = (asked.background, asked.detached);
    if detached && !background {
        return Err(ToolError::new(
            "Nothing was started: the result of a detached agent goes to your session, so this \
             call cannot return it. Use background=true, or detached=false.",
        ));
    }
    let spawned = spawn_as_asked(&cx, asked).await;
    cx.turn.finish();
    let (task, isolation, granted) = match spawned? {
        SpawnedAgent::New { task, isolation, budget_note } => (task, isolation, budget_note),
        SpawnedAgent::Existing(twin) if background => {
            return Ok(SpawnCall::Done(Output::text(format!(
                "Nothing was started: the agent {} is doing exactly this task already. Its \
                 result comes to you by itself.",
                twin.handle()
            ))));
        }
        // The existing agent returns the requested result.
        SpawnedAgent::Existing(twin) => (twin, Isolation::None, None),
    };
    match background {
        true => {
            let started = match detached {
                true => started_detached(task.handle()),
                false => started(task.handle()),
            };
            let started = match isolation {
                Isolation::None => started,
                Isolation::Worktree => format!("{started} {IN_WORKTREE}"),
            };
            Ok(SpawnCall::Done(Output::text(match granted {
                None => started,
                Some(granted) => format!("{started} {granted}"),
            })))
        }
        false => {
            let (cx, allowance) = (cx.cx, cx.shared.limits.allowance);
            Ok(SpawnCall::Waits(ForegroundChild { cx, task, allowance }))
        }
    }
}

/// The agent that performs a requested task.
#[derive(Debug)]
pub enum SpawnedAgent {
    /// The call spawned it.
    New {
        /// The agent.
        task: TaskRef,
        /// Where it works.
        isolation: Isolation,
        /// A note for the owner on the agent's budget, if it got less than requested.
        budget_note: Option<String>,
    },
    /// A live agent of the same owner already has this task.
    Existing(TaskRef),
}

/// Spawns an agent with the arguments of the `spawn_agent` tool.
pub async fn spawn_agent(cx: &ToolContext, arguments: &Value) -> Result<SpawnedAgent, ToolError> {
    let asked = serde_json::from_str(&arguments.to_string()).map_err(|error| ToolError::of(&error));
    let spawned = match asked {
        Ok(asked) => spawn_as_asked(cx, asked).await,
        Err(error) => Err(error),
    };
    cx.turn.finish();
    spawned
}

async fn spawn_as_asked(cx: &ToolContext, asked: Arguments) -> Result<SpawnedAgent, ToolError> {
    if asked.task.trim().is_empty() {
        return Err(ToolError::new("The task is empty. Say what the agent shall do."));
    }
    // Calls spawn one after another, so that each sees the agents spawned before it.
    cx.turn.wait().await;
    let live = live(cx, &asked.task).await?;
    if let Some((child, isolation)) = live.itself {
        let task = cx.cx.task(&child.to_string()).await?;
        return Ok(SpawnedAgent::New { task, isolation, budget_note: None });
    }
    let (mut brief, other) = brief(cx, &asked).await?;
    let (isolation, profile) = (brief.isolation, brief.profile.clone());
    // A detached task has no owner to notify.
    let twin = live.twins.iter().find(|(_, other)| !asked.detached && is_same(other, &brief));
    if let Some((twin, _)) = twin {
        return Ok(SpawnedAgent::Existing(cx.cx.task(&twin.to_string()).await?));
    }
    let most = cx.shared.limits.children;
    if live.count >= most {
        return Err(ToolError::new(format!(
            "Nothing was started: {} that you spawned {} alive, and there may be {most}. Wait \
             until some have ended, or do more with each.",
            if live.count == 1 { "1 agent".to_owned() } else { format!("{} agents", live.count) },
            if live.count == 1 { "is" } else { "are" },
        )));
    }
    let bond = if asked.detached { Bond::Detached } else { Bond::Owned };
    let share = ChildBudget::decide(cx, asked.budget.as_deref(), (&brief, bond)).await?;
    let granted = share.enter(&mut brief);
    let brief = Payload::encode(&brief).map_err(|error| ToolError::of(&error))?;
    let most = Sizes::default().inline as u64;
    if brief.bytes() > most {
        return Err(ToolError::new(format!(
            "Nothing was started: the task has {} bytes and may have {most}. Say where the agent \
             finds what it needs.",
            brief.bytes()
        )));
    }
    let kind = other.as_ref().map_or(KIND, |other| &*other.kind);
    let request = TaskRequest::new(kind, brief);
    let mut spawn = cx.cx.spawn(request).key(&format!("call {}", cx.key)).wake(match asked.wake {
        Wakes::OnTerminal => Wake::OnTerminal,
        Wakes::OnActivity => Wake::OnActivity,
        Wakes::Silent => Wake::Silent,
    });
    spawn = spawn.tool_call(&cx.call).agent(cx.cx.handle());
    if let Some(run) = RunId::from_bytes(cx.cx.id().to_bytes()) {
        // Each agent has one run of its own.
        spawn = spawn.run(run);
    }
    if let Some(name) = &asked.name {
        spawn = spawn.name(name);
    }
    if let Some(profile) = &profile {
        spawn = spawn.profile(profile);
    }
    if asked.detached {
        spawn = spawn.detached();
    }
    Ok(SpawnedAgent::New { task: spawn.await?, isolation, budget_note: granted })
}

/// A note for the model on a child that works in a worktree.
pub const IN_WORKTREE: &str = "It works in a git worktree of its own: what you have not committed is not \
     there, and what it changes is not in your folder.";

fn started(handle: &str) -> String {
    format!(
        "Started in the background: {handle}. NOTHING IS DONE YET, and there is no result to \
         report or to guess. Its result will come to you by itself, as a notice with \
         task=\"{handle}\", when it has ended. Go on with other work now, or end your turn. Do not \
         poll. If you can do nothing at all without it, call wait_tasks."
    )
}

fn started_detached(handle: &str) -> String {
    format!(
        "Started in the background, on its own: {handle}. NOTHING IS DONE YET, and there is no \
         result to report or to guess. It is not yours any more: its result goes to your session, \
         where the caller of the session is told of it, and wait_tasks, inspect_task, \
         send_message and cancel_task do not know it. Do not wait for it. Go on with other work \
         now, or end your turn."
    )
}

async fn brief(
    cx: &ToolContext,
    asked: &Arguments,
) -> Result<(Brief, Option<AgentKind>), ToolError> {
    let (mut brief, other) = child_brief::brief(cx, asked).await?;
    if let Some(model) = &asked.model {
        brief.model = model.parse().map_err(|error| ToolError::of(&error))?;
    }
    match other {
        Some(other) => Ok((brief_of_other(cx, (asked, &other), brief)?, Some(other))),
        None => Ok((own_brief(cx, asked, brief).await?, None)),
    }
}

/// The brief of an agent of another backend.
///
/// Such an agent cannot share a conversation, and this crate makes no worktree for it.
fn brief_of_other(
    cx: &ToolContext,
    (asked, other): (&Arguments, &AgentKind),
    brief: Brief,
) -> Result<Brief, ToolError> {
    let refused = |what: &str| {
        let kind = &other.kind;
        Err(ToolError::new(format!("Nothing was started: an agent {kind:?} {what}.")))
    };
    if !matches!(asked.context, Knows::Fresh) {
        return refused(
            "cannot know your conversation. Use context=\"fresh\" and say in the task \
                        what it needs to know",
        );
    }
    if asked.isolation == Isolates::Worktree {
        return refused("gets no worktree of its own. Leave out isolation");
    }
    if asked.detached && is_in_worktree(cx) {
        return refused("would lose the folder in which it works when you end. Do not detach it");
    }
    match &asked.result_schema {
        Some(_) if !other.capabilities.has(Capabilities::STRUCTURED_OUTPUT) => {
            refused("takes no result_schema. Leave it out and say in the task what you need")
        }
        Some(schema) => Ok(brief.result_schema(schema.clone())),
        None => Ok(brief),
    }
}

/// The brief of an agent of the owner's backend.
async fn own_brief(
    cx: &ToolContext,
    asked: &Arguments,
    mut brief: Brief,
) -> Result<Brief, ToolError> {
    let known = cx.shared.dialects.position(&brief.dialect);
    known.map_err(|error| ToolError::new(format!("Nothing was started: {error}.")))?;
    brief.endpoint = endpoint(cx, &brief.model).await?;
    let found = cx.shared.model(&brief, cx.cx.lineage().session);
    let (found, _) = found.map_err(|error| ToolError::of(&error))?;
    if asked.isolation == Isolates::Worktree {
        brief.isolation = Isolation::Worktree;
    }
    match brief.isolation {
        Isolation::Worktree => brief.base = Some(base(cx).await?),
        Isolation::None if asked.detached && is_in_worktree(cx) => {
            return Err(ToolError::new(
                "Nothing was started: you work in a worktree that may be removed when you end, and \
                 a detached agent would lose the folder in which it works. Use isolation=\"worktree\", or do \
                 not detach it.",
            ));
        }
        Isolation::None => {}
    }
    if let Some(schema) = &asked.result_schema {
        Finish::new(schema).map_err(|error| ToolError::of(&error))?;
        brief = brief.result_schema(schema.clone());
    }
    let (from, size) = match asked.context {
        Knows::Fresh => return Ok(brief),
        Knows::Fork => (0, cx.branch.size),
        Knows::LastTurns(0) => {
            return Err(ToolError::new("Say at least one turn, or use context=\"fresh\"."));
        }
        Knows::LastTurns(turns) => cx.branch.last(turns),
    };
    if size > found.limits().window / 2 {
        return Err(ToolError::new(
            "That much of your conversation is longer than half of what that model can read, so \
             it cannot be forked. Ask for fewer turns, or use context=\"fresh\" and say in the \
             task what it needs to know.",
        ));
    }
    brief.context = BriefContext::Fork { from, blocks: cx.branch.blocks };
    Ok(brief)
}

/// The provider address that a child calls.
///
/// At the provider of its owner, the child uses the owner's address. At another
/// provider it uses the current address. That address is journalled, so that a
/// repeated call requests the same child.
async fn endpoint(cx: &ToolContext, model: &ModelName) -> Result<Option<Endpoint>, ToolError> {
    if model.provider().shares_access_with(cx.brief.model.provider()) {
        return Ok(cx.brief.endpoint.clone());
    }
    let now = cx.shared.models.endpoint(model, Some(cx.cx.lineage().session));
    if now.is_none() {
        return Ok(None);
    }
    let key = format!("endpoint {}", cx.key);
    let kept = cx.cx.step(&key, move || async move { Ok::<_, BodyError>(now) });
    kept.value().await.map_err(|error| match error {
        StepError::Journal(error) => error.into(),
        _ => ToolError::new("Nothing was started: where its model is could not be kept."),
    })
}

fn is_in_worktree(cx: &ToolContext) -> bool {
    let (trees, folder) = (cx.shared.worktrees.as_ref(), cx.brief.folder.as_deref());
    trees.zip(folder).is_some_and(|(trees, folder)| trees.contain(folder))
}

/// The commit at which the worktree of a child begins.
///
/// The commit, or the reason why there is none, is journalled, so that a repeated
/// call requests the same child.
async fn base(cx: &ToolContext) -> Result<String, ToolError> {
    let (trees, folder) = (cx.shared.worktrees.clone(), cx.brief.folder.clone());
    let task = cx.cx.id();
    let look = move || async move {
        let found = worktree_base(trees.as_ref(), folder.as_deref(), task).await;
        Ok::<_, BodyError>(found.map_err(|error| ToolError::of(&error).to_string()))
    };
    let kept = cx.cx.step(&format!("worktree {}", cx.key), look);
    let found: Result<String, String> = kept.value().await.map_err(|error| match error {
        StepError::Journal(error) => error.into(),
        _ => ToolError::new("Nothing was started: the commit to begin at could not be kept."),
    })?;
    found.map_err(|why| ToolError::new(format!("Nothing was started: {why}.")))
}
