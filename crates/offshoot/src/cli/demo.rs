//! The main job in half a minute: agents and commands, a steer, a cancel, and a
//! daemon that is killed before one's eyes.
//!
//! Everything is done through the same requests that the other commands send,
//! in a data folder of its own, and everything that is claimed at the end was
//! looked at.

mod agents;
mod board;
mod commands;
mod model_calls;
mod project;
mod proof;
mod stage;

use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::error::CliError;
use super::exit::Exit;
use super::show::{Format, Part, Screen};
use agents::Team;
use proof::Proof;
use stage::{DemoCommand, Stage};

/// Watch agents and commands outlive a `kill -9` of the daemon
#[derive(Debug, Args)]
#[command(after_help = "\
It needs no key and no network: its agents ask the offline model, which plans by
rule. It takes less than half a minute and plays in a data folder of its own,
which is gone afterwards: nothing is left running, and --data and --session mean
nothing here. It exits with 0 if everything held that it claims. With --json
each line is a step, a task that changed, or a claim and whether it holds.")]
pub(super) struct Demo {}

impl Demo {
    pub(super) async fn run(self, screen: Screen) -> Result<Exit, CliError> {
        // Before anything is there that would have to be ended.
        let mut ends = EndSignals::listen()?;
        let mut stage = Stage::set(screen)?;
        let told = tokio::select! {
            told = tell(&mut stage) => told,
            end = ends.next() => return Ok(interrupted(stage, ends, end).await),
        };
        tokio::select! {
            () = stage.shut_down() => {}
            end = ends.next() => return Ok(interrupted(stage, ends, end).await),
        }
        let (mut proof, team) = told?;
        proof.look_into_store(&stage, &team).await?;
        proof.show(screen)?;
        if !proof.holds() {
            return Ok(Exit::Error);
        }
        if screen.format == Format::Text {
            screen.say(&next_steps(screen))?;
        }
        Ok(Exit::Done)
    }
}

/// The signals that end the demo.
#[derive(Debug)]
struct EndSignals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl EndSignals {
    /// Listens. From here on none of them ends the program by itself.
    fn listen() -> Result<Self, CliError> {
        let listen = |kind| signal(kind).map_err(|error| CliError::other(&error));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// How the program ends for the next of them.
    async fn next(&mut self) -> Exit {
        let number = |kind: SignalKind| u8::try_from(kind.as_raw_value()).unwrap_or_default();
        tokio::select! {
            Some(()) = self.interrupt.recv() => Exit::Interrupted,
            Some(()) = self.terminate.recv() => Exit::Signalled(number(SignalKind::terminate())),
            Some(()) = self.hangup.recv() => Exit::Signalled(number(SignalKind::hangup())),
            else => std::future::pending().await,
        }
    }
}

/// EndSignals what was running. Whoever does not wait for that leaves soon: what is
/// left then ends by itself.
async fn interrupted(mut stage: Stage, mut ends: EndSignals, end: Exit) -> Exit {
    let screen = stage.screen();
    let hurry = async {
        ends.next().await;
        tokio::time::sleep(HURRY).await;
    };
    tokio::select! {
        () = stage.shut_down() => screen.remark("\ninterrupted: ended what was running"),
        () = hurry => screen.remark("\ninterrupted: what was running ends by itself"),
    }
    end
}

/// The story, act by act, and what it has proved.
async fn tell(stage: &mut Stage) -> Result<(Proof, Team), CliError> {
    let team = agents::spawn(stage).await?;
    agents::kill(stage, &team).await?;
    agents::deliver(stage, &team).await?;
    commands::spawn(stage).await?;
    commands::steer_and_stop(stage).await?;
    commands::kill(stage).await?;
    Ok((Proof::look(stage, &team).await?, team))
}

/// How long anything in the demo may take before it is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long the end may take for somebody who has asked for it twice.
const HURRY: Duration = Duration::from_secs(1);

/// From how many columns on a command and what it does stand side by side.
const BESIDE: usize = 80;

fn next_steps(screen: Screen) -> String {
    let mut shown = format!("\n{}\n", screen.out.paint(Part::Name, "What to type next"));
    for (command, about) in [
        ("export ANTHROPIC_API_KEY=…", "or OPENAI_API_KEY, GEMINI_API_KEY"),
        ("git diff | offshoot run 'Review this.'", "have an agent do something"),
        ("offshoot models ls", "which models there are"),
        ("offshoot spawn --detach --name it -- make", "send a command off"),
        ("offshoot tasks ls --all-sessions", "what is under way"),
        ("offshoot tasks wait it", "its result, any day"),
        ("offshoot --help", "everything else"),
    ] {
        let narrow = screen.width.is_some_and(|columns| columns < BESIDE);
        let about = screen.out.paint(Part::Faint, about);
        shown.push_str(&match narrow {
            true => format!("  {command}\n    {about}\n"),
            false => format!("  {command:<43}{about}\n"),
        });
    }
    shown
}
