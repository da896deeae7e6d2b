//! The claims of the demo. Each one is checked and may fail.

mod agents;
mod commands;

use offshoot_client::Error;
use offshoot_client::wire::{
    ListTasks, OnApproval, OnMissing, Reply, Request, Scope, Sealed, State, Task, WaitMode,
    WaitTasks,
};

use super::Stage;
use super::agents::Team;
use crate::cli::context::{CommandContext, wait_reply};
use crate::cli::error::CliError;
use crate::cli::show::{Format, Part, Screen, size, text};

/// The checked claims.
#[derive(Debug, Default)]
pub(super) struct Proof {
    agents: Claims,
    others: Claims,
}

/// Claims, and whether each holds.
#[derive(Debug, Default)]
struct Claims(Vec<(String, bool)>);

impl Claims {
    fn add(&mut self, holds: bool, claim: String) {
        self.0.push((claim, holds));
    }
}

impl Proof {
    /// Checks the claims of all acts.
    pub(super) async fn look(stage: &mut Stage, team: &Team) -> Result<Self, CliError> {
        let mut proof = Self::default();
        agents::look(&mut proof.agents, stage, team).await?;
        let claims = &mut proof.others;
        commands::look(claims, stage).await?;
        let mut sent: Vec<String> = stage.cast.iter().map(|task| task.id.clone()).collect();
        sent.push(team.lead.id.clone());
        stage.cx.acknowledge(sent.clone()).await;
        let (results, unread) = (size::count(sent.len() as u64, "result"), unread(stage).await?);
        claims.add(unread == 0, format!("{results} delivered, {unread} unread"));
        if let Some(left) = processes_of(&sent) {
            let left_running = size::many(left as u64, "process", "processes");
            claims.add(left == 0, format!("{left_running} left running"));
        }
        Ok(proof)
    }

    /// Checks the claims about the store, once the daemon has ended.
    pub(super) async fn look_into_store(
        &mut self,
        stage: &Stage,
        team: &Team,
    ) -> Result<(), CliError> {
        agents::read(&mut self.agents, stage.folder(), team).await
    }

    fn claims(&self) -> impl Iterator<Item = &(String, bool)> {
        self.agents.0.iter().chain(&self.others.0)
    }

    /// Whether all claims hold.
    pub(super) fn holds(&self) -> bool {
        self.claims().all(|(_, holds)| *holds)
    }

    /// Prints the claims.
    pub(super) fn show(&self, screen: Screen) -> Result<(), CliError> {
        if screen.format == Format::Text {
            return screen.say(&self.render(screen));
        }
        for (claim, holds) in self.claims() {
            screen.json_line(&serde_json::json!({ "claim": claim, "holds": holds }))?;
        }
        screen.json_line(&serde_json::json!({ "proved": self.holds() }))
    }

    fn render(&self, screen: Screen) -> String {
        let colour = screen.out;
        let mut shown = format!("\n{}\n", colour.paint(Part::Name, "Verified in this run"));
        for (claim, holds) in self.claims() {
            let mark = match holds {
                true => colour.paint(Part::State(State::Completed), "✓"),
                false => colour.paint(Part::Bad, "✗"),
            };
            let claim = match holds {
                true => claim.clone(),
                false => format!("failed: {claim}"),
            };
            let claim = match screen.width {
                Some(columns) => text::wrapped(&claim, columns, "    "),
                None => claim,
            };
            shown.push_str(&format!("  {mark} {claim}\n"));
        }
        shown
    }
}

/// Reads the records of ended tasks.
async fn ended(cx: &CommandContext, tasks: &[String]) -> Result<Vec<Task>, CliError> {
    let wait = WaitTasks {
        session: cx.session.clone(),
        tasks: tasks.to_vec(),
        mode: WaitMode::All,
        timeout_ms: Some(0),
        keys: Sealed::default(),
        on_missing: OnMissing::Wait,
        on_approval: OnApproval::Return,
    };
    let waited = wait_reply(cx.ask(&Request::Wait(wait)).await?)?;
    Ok(waited.into_iter().map(|waited| waited.task).collect())
}

/// Lists all tasks of a session.
async fn listed(cx: &CommandContext) -> Result<Vec<Task>, CliError> {
    let list = ListTasks {
        session: Some(cx.session.clone()),
        scope: Scope::All,
        states: Vec::new(),
        cursor: None,
        limit: 1_000,
    };
    match cx.ask(&Request::List(list)).await? {
        Reply::Tasks(page) => Ok(page.tasks),
        _ => Err(Error::WrongAnswer.into()),
    }
}

/// The number of unread results.
async fn unread(stage: &Stage) -> Result<u64, CliError> {
    match stage.cx.ask(&Request::Sessions { cursor: None, limit: 100 }).await? {
        Reply::Sessions(page) => Ok(page.sessions.iter().map(|session| session.unread).sum()),
        _ => Err(Error::WrongAnswer.into()),
    }
}

/// The number of processes that carry the mark of one of these tasks, if known.
fn processes_of(tasks: &[String]) -> Option<usize> {
    let entries = std::fs::read_dir("/proc").ok()?;
    let environments =
        entries.flatten().filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
    let marks: Vec<String> = tasks.iter().map(|id| format!("OFFSHOOT_TASK={id}")).collect();
    let marked = environments.filter(|environment| {
        let mut variables = environment.split(|byte| *byte == 0);
        variables.any(|variable| marks.iter().any(|mark| mark.as_bytes() == variable))
    });
    Some(marked.count())
}
