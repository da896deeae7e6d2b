//! The main job in a minute: real tasks, a steer, a cancel, and a daemon that is
//! killed before one's eyes.
//!
//! Everything is done through the same requests that the other commands send,
//! in a data folder of its own, and everything that is claimed at the end was
//! looked at.

mod act;
mod board;
mod proof;
mod stage;

use std::time::Duration;

use clap::Args;

use super::exit::Exit;
use super::show::{Form, Part, Screen};
use super::trouble::Trouble;
use proof::Proof;
use stage::{Errand, Stage};

/// Watch real tasks outlive a daemon that is killed with `kill -9`
#[derive(Debug, Args)]
#[command(after_help = "\
It takes some seconds and plays in a data folder of its own, which is gone
afterwards: nothing is left running, and --data and --session mean nothing here.
It exits with 0 if everything held that it claims. With --json each line is a
step, a task that changed, or a claim and whether it holds.")]
pub(super) struct Demo {}

impl Demo {
    pub(super) async fn run(self, screen: Screen) -> Result<Exit, Trouble> {
        let mut stage = Stage::set(screen)?;
        let told = tell(&mut stage).await;
        stage.strike().await;
        let proof = told?;
        proof.show(screen)?;
        if !proof.holds() {
            return Ok(Exit::Trouble);
        }
        if screen.form == Form::People {
            screen.say(&next_steps(screen))?;
        }
        Ok(Exit::Done)
    }
}

/// The story, act by act, and what it has proved.
async fn tell(stage: &mut Stage) -> Result<Proof, Trouble> {
    act::send_off(stage).await?;
    act::steer(stage).await?;
    act::stop(stage).await?;
    act::kill(stage).await?;
    act::bring_home(stage).await?;
    Proof::look(stage).await
}

/// How long anything in the demo may take before it is given up.
const PATIENCE: Duration = Duration::from_secs(60);

fn next_steps(screen: Screen) -> String {
    let mut shown = format!("\n{}\n", screen.out.paint(Part::Name, "What to type next"));
    for (command, about) in [
        ("offshoot spawn --detach --name build -- cargo build", "send a command off"),
        ("offshoot tasks ls", "see what is under way"),
        ("offshoot tasks tail -f build", "read along"),
        ("offshoot tasks wait build", "get its result, also tomorrow"),
        ("offshoot --help", "everything else"),
    ] {
        let about = screen.out.paint(Part::Faint, about);
        shown.push_str(&format!("  {command:<53}{about}\n"));
    }
    shown
}
