//! The acts of the agents: a lead sends others off, the daemon dies under them,
//! and what they have counted comes home.

use offshoot_client::wire::{Network, Request, Run, RunApprover, RunSession, Sealed, State, Task};

use super::Stage;
use super::project::Project;
use crate::cli::context::{CommandContext, run_reply};
use crate::cli::error::CliError;
use crate::cli::show::{Format, size, text};

/// The model that the agents ask.
const MODEL: &str = "offline/slow-survey";

/// What the lead is asked.
const ASKED: &str = "What is in this folder?";

/// The agents of the demo.
#[derive(Debug)]
pub(super) struct Team {
    /// Where they are looked at: in a session of their own.
    pub(super) cx: CommandContext,
    /// The one that has sent the others off.
    pub(super) lead: Task,
    /// What they count.
    pub(super) project: Project,
}

pub(super) async fn spawn(stage: &mut Stage) -> Result<Team, CliError> {
    stage.heading(1, "Agents: a lead sends one off for each folder, and they work side by side")?;
    stage.say(
        "No key, no network: they ask the offline model, which plans by rule and is no language \
         model.",
    )?;
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
    stage.heading(2, "Crash: the daemon is killed with `kill -9` while they wait for answers")?;
    let at_work = stage.board.live();
    stage.kill(&format!("{} were at work", size::count(at_work as u64, "agent"))).await?;
    stage.say("They go on where they were: what the model has answered is not asked again.")?;
    stage.board.follow(&team.cx);
    stage.board.until(|tasks| tasks.iter().all(|task| task.state.is_terminal())).await
}

pub(super) async fn deliver(stage: &mut Stage, team: &Team) -> Result<(), CliError> {
    stage.heading(3, "Home: the lead was told of each result once, and has answered")?;
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

/// What an agent has answered.
pub(super) fn answer(task: &Task) -> String {
    let value = task.outcome.as_ref().and_then(|outcome| outcome.value.as_ref());
    value.and_then(|value| value.as_str()).unwrap_or_default().to_owned()
}
