//! `offshoot demo`: agents and commands, a message, a cancel, and a daemon that
//! is killed, in half a minute.
//!
//! The demo sends the same requests as the other commands, in a temporary data
//! directory, and checks everything that it claims at the end.

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

/// Watch agents and commands survive a `kill -9` of the daemon
#[derive(Debug, Args)]
#[command(after_help = "\
The demo needs no key and no network: its agents use the offline model, which
plans by rule. It takes less than half a minute, works in a temporary data
directory, and leaves nothing running; --data and --session have no effect. It
exits with 0 if every claim that it prints was verified. With --json, each line
is a step, a changed task, or a claim and whether it holds.")]
pub(super) struct Demo {}

impl Demo {
    pub(super) async fn run(self, screen: Screen) -> Result<Exit, CliError> {
        // Listen before there is anything to clean up.
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
    /// Starts to listen. From here on no signal ends the program by itself.
    fn listen() -> Result<Self, CliError> {
        let listen = |kind| signal(kind).map_err(|error| CliError::other(&error));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal, and returns the exit for it.
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

/// Ends all tasks after a signal. A second signal skips the wait for that; the
/// remaining tasks then end by themselves.
async fn interrupted(mut stage: Stage, mut ends: EndSignals, end: Exit) -> Exit {
    let screen = stage.screen();
    let hurry = async {
        ends.next().await;
        tokio::time::sleep(HURRY).await;
    };
    tokio::select! {
        () = stage.shut_down() => screen.remark("\ninterrupted: all tasks have ended"),
        () = hurry => screen.remark("\ninterrupted: the remaining tasks end by themselves"),
    }
    end
}

/// Plays the acts of the demo, and checks its claims.
async fn tell(stage: &mut Stage) -> Result<(Proof, Team), CliError> {
    let team = agents::spawn(stage).await?;
    agents::kill(stage, &team).await?;
    agents::deliver(stage, &team).await?;
    commands::spawn(stage).await?;
    commands::steer_and_stop(stage).await?;
    commands::kill(stage).await?;
    Ok((Proof::look(stage, &team).await?, team))
}

/// The time limit of a step of the demo.
const PATIENCE: Duration = Duration::from_secs(60);

/// The time limit of the clean-up after a second signal.
const HURRY: Duration = Duration::from_secs(1);

/// The width at which commands and their descriptions share a line.
const BESIDE: usize = 80;

fn next_steps(screen: Screen) -> String {
    let mut shown = format!("\n{}\n", screen.out.paint(Part::Name, "What to type next"));
    for (command, about) in [
        ("export ANTHROPIC_API_KEY=…", "or OPENAI_API_KEY, GEMINI_API_KEY"),
        ("git diff | offshoot run 'Review this.'", "run an agent"),
        ("offshoot models ls", "list models"),
        ("offshoot spawn --detach --name it -- make", "run a command in the background"),
        ("offshoot tasks ls --all-sessions", "list live tasks"),
        ("offshoot tasks wait it", "get its result, today or tomorrow"),
        ("offshoot --help", "list all commands"),
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
