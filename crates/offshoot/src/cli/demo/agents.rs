//! The acts with agents: a lead spawns children, the daemon is killed, and the
//! results are delivered.

use offshoot_client::wire::{Network, Request, Run, RunApprover, RunSession, Sealed, State, Task};

use super::Stage;
use super::project::Project;
use crate::cli::context::{CommandContext, run_reply};
use crate::cli::error::CliError;
use crate::cli::show::{Format, size, text};

/// The model of the agents.
const MODEL: &str = "offline/slow-survey";

/// The prompt of the lead.
const ASKED: &str = "What is in this directory?";

/// The agents of the demo.
#[derive(Debug)]
pub(super) struct Team {
    /// The context of their session.
    pub(super) cx: CommandContext,
    /// The agent that spawned the others.
    pub(super) lead: Task,
    /// The directory that they count.
    pub(super) project: Project,
}

pub(super) async fn spawn(stage: &mut Stage) -> Result<Team, CliError> {
    stage.heading(1, "Agents: a lead spawns one child per directory, and they work in parallel")?;
    stage
        .say("No key and no network: the offline model plans by rule and is no language model.")?;
    let project = Project::make(stage.folder()).map_err(|error| CliError::other(&error))?;
    stage.typed("cd project")?;
    stage.typed(&format!("offshoot run --model {MODEL} {}", text::quoted(ASKED)))?;
    let run = Run {
        talk: RunSession::New,
        task: ASKED.to_owned(),
        model: Some(MODEL.to_owned()),
        usual: None,
        folder: project.folder.to_string_lossy().into_owned(),
        profile: None,
        mode: None,
        budget: None,
        approver: RunApprover::None,
        network: Network::Closed,
        keys: Sealed::default(),
        pass_env: Sealed::default(),
        key: uuid::Uuid::new_v4().simple().to_string(),
    };
    let lead = run_reply(stage.cx.ask(&Request::Run(Box::new(run))).await?)?.task;
    stage.status().await?;
    let mut cx = stage.cx.clone();
    cx.session.clone_from(&lead.session);
    stage.board.follow(&cx);
    let all = project.parts.len() + 1;
    stage
        .board
        .until(|tasks| {
            let home = tasks.iter().filter(|task| task.state == State::Completed).count();
            tasks.len() == all && home > 0
        })
        .await?;
    Ok(Team { cx, lead, project })
}

pub(super) async fn kill(stage: &mut Stage, team: &Team) -> Result<(), CliError> {
    stage.heading(2, "Crash: the daemon is killed with `kill -9` while agents wait for answers")?;
    let at_work = stage.board.live();
    stage.kill(&format!("{} were running", size::count(at_work as u64, "agent"))).await?;
    stage.say("The agents continue where they were: no answered question is asked again.")?;
    stage.board.follow(&team.cx);
    stage.board.until(|tasks| tasks.iter().all(|task| task.state.is_terminal())).await
}

pub(super) async fn deliver(stage: &mut Stage, team: &Team) -> Result<(), CliError> {
    stage.heading(3, "Results: the lead read each result once, and has answered")?;
    let answer = answer(&team.cx.show(&team.lead.id).await?);
    let screen = stage.screen();
    match screen.format {
        Format::Json => screen.json_line(&serde_json::json!({ "answer": answer })),
        Format::Text => {
            let lines = text::lines(&answer);
            screen.say(&lines.lines().map(|line| format!("   {line}\n")).collect::<String>())
        }
    }?;
    stage.board.clear();
    Ok(())
}

/// The answer of an agent.
pub(super) fn answer(task: &Task) -> String {
    let value = task.outcome.as_ref().and_then(|outcome| outcome.value.as_ref());
    value.and_then(|value| value.as_str()).unwrap_or_default().to_owned()
}
