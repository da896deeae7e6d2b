//! The claims about the commands of the demo.

use offshoot_client::StreamItem;
use offshoot_client::wire::{Request, State, Tail, TailMode, TailStart};

use super::{Claims, ended, listed};
use crate::cli::demo::Stage;
use crate::cli::demo::board::find;
use crate::cli::error::CliError;
use crate::cli::show::size;

pub(super) async fn look(claims: &mut Claims, stage: &Stage) -> Result<(), CliError> {
    let sent: Vec<String> = stage.cast.iter().map(|task| task.id.clone()).collect();
    let tasks = ended(&stage.cx, &sent).await?;
    let count = |state| tasks.iter().filter(|task| task.state == state).count();
    let (completed, cancelled, lost) =
        (count(State::Completed), count(State::Cancelled), count(State::Lost));
    claims.add(
        completed + cancelled + lost == sent.len() && listed(&stage.cx).await?.len() == sent.len(),
        format!(
            "{} spawned, {} ended, each once: {completed} completed, {cancelled} cancelled, \
             {lost} reported as lost",
            size::count(sent.len() as u64, "command"),
            tasks.iter().filter(|task| task.state.is_terminal()).count()
        ),
    );
    let is = |name: &str, state| find(&tasks, name).is_some_and(|task| task.state == state);
    let steered = output(stage, "survey").await?.contains("took the short road");
    claims.add(
        steered && is("survey", State::Completed),
        "the message reached survey: it \"took the short road\"".to_owned(),
    );
    let forced = |name: &str| {
        let outcome = find(&tasks, name).and_then(|task| task.outcome.as_ref());
        outcome.is_some_and(|outcome| outcome.forced)
    };
    claims.add(
        ["storm", "rain", "hail"].iter().all(|name| is(name, State::Cancelled))
            && forced("hail")
            && !forced("rain"),
        "the cancel stopped the tree: two tasks by TERM, hail by KILL".to_owned(),
    );
    let press = find(&tasks, "press");
    let [_, second, third] = stage.daemons() else {
        claims.add(false, "two daemons were killed, and a third continued".to_owned());
        return Ok(());
    };
    claims.add(
        press.is_some_and(|press| press.attempts == 2)
            && is("press", State::Completed)
            && is("errand", State::Lost),
        format!(
            "daemon {second} died by kill -9, daemon {third} continued: press ran again, errand \
             was reported as lost"
        ),
    );
    Ok(())
}

/// Reads the output of a task.
async fn output(stage: &Stage, task: &str) -> Result<String, CliError> {
    let tail =
        Tail { task: stage.cx.named(task), reading: TailStart::Start, following: TailMode::Stop };
    let mut stream = stage.cx.client.follow(&Request::Tail(tail)).await?;
    let mut written = Vec::new();
    while let Some(item) = stream.next().await? {
        if let StreamItem::Output(chunk) = item {
            written.extend(chunk.bytes);
        }
    }
    Ok(String::from_utf8_lossy(&written).into_owned())
}
