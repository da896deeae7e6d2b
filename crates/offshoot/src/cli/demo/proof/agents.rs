//! The claims about the agents of the demo.

use std::path::Path;

use offshoot::{BlockKind, Runtime, Sqlite};
use offshoot_client::wire::{State, Task};

use super::{Claims, listed};
use crate::cli::demo::Stage;
use crate::cli::demo::agents::{Team, answer};
use crate::cli::demo::model_calls::ModelCalls;
use crate::cli::error::CliError;
use crate::cli::show::size;

pub(super) async fn look(
    claims: &mut Claims,
    stage: &mut Stage,
    team: &Team,
) -> Result<(), CliError> {
    let agents = listed(&team.cx).await?;
    let completed = agents.iter().filter(|task| task.state == State::Completed).count();
    claims.add(
        agents.len() == team.project.parts.len() + 1 && completed == agents.len(),
        format!(
            "the lead spawned {} children in the background; {completed} of {} agents completed",
            agents.len().saturating_sub(1),
            agents.len()
        ),
    );
    let lead = team.cx.show(&team.lead.id).await?;
    claims.add(
        team.project.is_counted_by(&answer(&lead)),
        format!("its totals equal the demo's own count: {}", team.project.whole),
    );
    let resumed = agents.iter().filter(|task| task.attempts == 2).count();
    let again = agents.iter().all(|task| task.attempts <= 2);
    claims.add(
        resumed > 0 && again,
        format!(
            "daemon {} died by kill -9 while {} were running, and all continued with daemon {}",
            stage.daemon(0),
            size::count(resumed as u64, "agent"),
            stage.daemon(1)
        ),
    );
    let log = stage.status().await?.log.path;
    let calls = ModelCalls::read(Path::new(&log)).map_err(|error| CliError::other(&error))?;
    let (asked, answers) = (calls.asked(), calls.answers());
    let repeated = asked.saturating_sub(answers);
    claims.add(
        calls.repeats_only_what_was_under_way()
            && answers == agents.iter().map(steps).sum::<u64>()
            && repeated <= resumed as u64,
        format!(
            "the model was called {asked} times for {answers} answers: again for the {repeated} \
             pending at the kill, for no other"
        ),
    );
    Ok(())
}

/// The number of answers of an agent's model.
fn steps(task: &Task) -> u64 {
    let report = task.progress.as_ref().map(|progress| &progress.value);
    report.and_then(|report| report["steps"].as_u64()).unwrap_or(0)
}

/// Checks in the store that the lead was notified of each result once.
pub(super) async fn read(claims: &mut Claims, data: &Path, team: &Team) -> Result<(), CliError> {
    let told = results(data, team).await.map_err(|error| CliError::other(&error))?;
    let once = |part: &&'static str| {
        let start = format!("{RESULT} task=\"{part}\"");
        told.iter().filter(|text| text.starts_with(&start)).count() == 1
    };
    let parts = team.project.parts.len();
    claims.add(
        team.project.parts.keys().all(once) && told.len() == parts,
        format!("{parts} results are in the lead's conversation, each once"),
    );
    Ok(())
}

/// The start of a notice about a result.
const RESULT: &str = "<notice kind=\"result\"";

/// Reads the notices about results in the lead's conversation.
async fn results(data: &Path, team: &Team) -> Result<Vec<String>, offshoot::Error> {
    let runtime = Runtime::builder(Sqlite::at(data)).open().await?;
    let session = runtime.session(&team.cx.session).await?;
    let lead = session.task(&team.lead.id).await?;
    let peek = lead.peek().last(1_000).limit(200).await?;
    let notices = peek.blocks.into_iter().filter(|block| block.kind == BlockKind::Notice);
    let texts = notices.filter_map(|block| block.text);
    Ok(texts.filter(|text| text.starts_with(RESULT)).collect())
}
