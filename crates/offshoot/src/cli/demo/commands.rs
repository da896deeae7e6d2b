//! The acts with commands: spawn, message, cancel and crash.

use jiff::Timestamp;
use offshoot_client::wire::Task;

use super::board::{find, written};
use super::{DemoCommand, Stage};
use crate::cli::error::CliError;
use crate::cli::show::size;

// Each command ends by itself within a minute, in case the demo is killed.

/// Prints until the file `enough` exists.
const PRESS: &str = "n=0; until [ -e enough ] || [ $n = 300 ]; do n=$((n+1)); echo \"sheet $n\"; \
                     sleep 0.2; done; echo \"$n sheets printed\"";

/// Waits for a message, while its children work.
const SURVEY: &str = "read road && echo \"took the $road road\"";

/// Ignores TERM, so it must be killed.
const STUBBORN: &str = "trap '' TERM; for n in $(seq 60); do sleep 1; done";

pub(super) async fn spawn(stage: &mut Stage) -> Result<(), CliError> {
    stage.heading(4, "Commands are tasks too: each is stored before it starts")?;
    stage.spawn(DemoCommand::new("press", PRESS).restarting()).await?;
    stage.spawn(DemoCommand::new("errand", "sleep 60")).await?;
    stage.spawn(DemoCommand::new("survey", SURVEY).waiting()).await?;
    for (name, script) in [
        ("north", "sleep 0.5; echo \"$(ls /etc | wc -l) entries in /etc\""),
        ("south", "sleep 1; echo \"$(ls /usr/bin | wc -l) programs in /usr/bin\""),
    ] {
        stage.spawn(DemoCommand::new(name, script).under("survey")).await?;
    }
    stage.spawn(DemoCommand::new("storm", "sleep 60")).await?;
    stage.spawn(DemoCommand::new("rain", "sleep 60").under("storm")).await?;
    stage.spawn(DemoCommand::new("hail", STUBBORN).under("storm")).await?;
    stage.status().await?;
    stage.board.follow(&stage.cx);
    stage.board.until(|tasks| find(tasks, "press").is_some_and(|press| written(press) > 0)).await
}

pub(super) async fn steer_and_stop(stage: &mut Stage) -> Result<(), CliError> {
    stage
        .heading(5, "Message and cancel: a message is a line of input; a cancel stops the tree")?;
    stage.send("survey", "short").await?;
    let reached = stage.cancel("storm", "the weather is better").await?;
    stage.say(&format!(
        "{} reached. hail ignores TERM, and is killed after its grace time of one second.",
        size::count(reached as u64, "task")
    ))?;
    stage
        .board
        .until(|tasks| ["survey", "storm", "rain", "hail"].iter().all(|one| ended(tasks, one)))
        .await
}

pub(super) async fn kill(stage: &mut Stage) -> Result<(), CliError> {
    stage.heading(
        6,
        "Second crash: a restartable command runs again, the other is reported as lost",
    )?;
    stage.kill("press and errand were running").await?;
    stage.board.follow(&stage.cx);
    stage
        .board
        .until(|tasks| {
            let again = |press: &Task| press.attempts == 2 && written(press) > 0 && is_fresh(press);
            ended(tasks, "errand") && find(tasks, "press").is_some_and(again)
        })
        .await?;
    let enough = stage.folder().join("enough");
    std::fs::write(enough, "").map_err(|error| CliError::other(&error))?;
    stage.board.still_until(|tasks| tasks.iter().all(|task| task.state.is_terminal())).await
}

fn ended(tasks: &[Task], name: &str) -> bool {
    find(tasks, name).is_some_and(|task| task.state.is_terminal())
}

/// Whether the last report of a task is from its current attempt.
fn is_fresh(task: &Task) -> bool {
    let moment = |text: &str| text.parse::<Timestamp>().ok();
    let reported = task.progress.as_ref().and_then(|progress| moment(&progress.at));
    let started = task.started_at.as_deref().and_then(moment);
    reported.is_some() && reported > started
}
