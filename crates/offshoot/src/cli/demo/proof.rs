//! What the demo has proved: each claim was looked at, and may turn out wrong.

use offshoot_client::wire::{
    Following, List, Reading, Reply, Request, Scope, Sealed, State, Tail, Task, Wait, Waiting,
};
use offshoot_client::{Error, Followed};

use super::Stage;
use super::board::find;
use crate::cli::desk::waited_of;
use crate::cli::show::{Form, Part, Screen, size, text};
use crate::cli::trouble::Trouble;

/// What was looked at, and whether it held.
#[derive(Debug, Default)]
pub(super) struct Proof {
    claims: Vec<(String, bool)>,
}

impl Proof {
    /// Looks at everything that the story claims.
    pub(super) async fn look(stage: &mut Stage) -> Result<Self, Trouble> {
        let mut proof = Self::default();
        let sent: Vec<String> = stage.cast.iter().map(|task| task.id.clone()).collect();
        let wait = Wait {
            session: stage.desk.session.clone(),
            tasks: sent.clone(),
            waiting: Waiting::All,
            timeout_ms: Some(0),
            keys: Sealed::default(),
        };
        let waited = waited_of(stage.desk.ask(&Request::Wait(wait)).await?)?;
        let tasks: Vec<Task> = waited.into_iter().map(|waited| waited.task).collect();
        let count = |state| tasks.iter().filter(|task| task.state == state).count();
        let (completed, cancelled, lost) =
            (count(State::Completed), count(State::Cancelled), count(State::Lost));
        proof.claim(
            completed + cancelled + lost == sent.len() && listed(stage).await? == sent.len(),
            format!(
                "{} sent off, {} ended, each once: {completed} completed, {cancelled} cancelled, \
                 {lost} lost and said so",
                size::count(sent.len() as u64, "task"),
                tasks.iter().filter(|task| task.state.is_terminal()).count()
            ),
        );
        let is = |name: &str, state| find(&tasks, name).is_some_and(|task| task.state == state);
        let steered = output(stage, "survey").await?.contains("took the short road");
        proof.claim(
            steered && is("survey", State::Completed),
            "the steer reached survey: it \"took the short road\"".to_owned(),
        );
        let forced = |name: &str| {
            let outcome = find(&tasks, name).and_then(|task| task.outcome.as_ref());
            outcome.is_some_and(|outcome| outcome.forced)
        };
        proof.claim(
            ["storm", "rain", "hail"].iter().all(|name| is(name, State::Cancelled))
                && forced("hail")
                && !forced("rain"),
            "the cancel went down the tree: two stopped when asked, hail by force".to_owned(),
        );
        let press = find(&tasks, "press");
        proof.claim(
            stage.daemons.len() == 2
                && press.is_some_and(|press| press.attempts == 2)
                && is("press", State::Completed)
                && is("errand", State::Lost),
            format!(
                "daemon {} died by kill -9, daemon {} recovered: press ran again, errand was told \
                 as lost",
                stage.daemons.first().copied().unwrap_or_default(),
                stage.daemons.last().copied().unwrap_or_default()
            ),
        );
        stage.desk.acknowledge(sent.clone()).await;
        let unread = unread(stage).await?;
        let delivered = size::count(sent.len() as u64, "result");
        proof.claim(unread == 0, format!("{delivered} delivered, {unread} unread"));
        if let Some(left) = processes_of(&sent) {
            proof.claim(
                left == 0,
                format!("{} left running", size::many(left as u64, "process", "processes")),
            );
        }
        Ok(proof)
    }

    fn claim(&mut self, holds: bool, claim: String) {
        self.claims.push((claim, holds));
    }

    /// Whether everything held.
    pub(super) fn holds(&self) -> bool {
        self.claims.iter().all(|(_, holds)| *holds)
    }

    /// Says what was proved.
    pub(super) fn show(&self, screen: Screen) -> Result<(), Trouble> {
        if screen.form == Form::People {
            return screen.say(&self.render(screen));
        }
        for (claim, holds) in &self.claims {
            screen.json_line(&serde_json::json!({ "claim": claim, "holds": holds }))?;
        }
        screen.json_line(&serde_json::json!({ "proved": self.holds() }))
    }

    fn render(&self, screen: Screen) -> String {
        let colour = screen.out;
        let mut shown = format!("\n{}\n", colour.paint(Part::Name, "What was just proved"));
        for (claim, holds) in &self.claims {
            let mark = match holds {
                true => colour.paint(Part::State(State::Completed), "✓"),
                false => colour.paint(Part::Bad, "✗"),
            };
            let claim = match holds {
                true => claim.clone(),
                false => format!("this did not hold: {claim}"),
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

/// How many tasks there are.
async fn listed(stage: &Stage) -> Result<usize, Trouble> {
    let list =
        List { session: None, scope: Scope::All, states: Vec::new(), cursor: None, limit: 1_000 };
    match stage.desk.ask(&Request::List(list)).await? {
        Reply::Tasks(page) => Ok(page.tasks.len()),
        _ => Err(Error::WrongAnswer.into()),
    }
}

/// How many results nobody has read.
async fn unread(stage: &Stage) -> Result<u64, Trouble> {
    match stage.desk.ask(&Request::Sessions { cursor: None, limit: 100 }).await? {
        Reply::Sessions(page) => Ok(page.sessions.iter().map(|session| session.unread).sum()),
        _ => Err(Error::WrongAnswer.into()),
    }
}

/// What a task wrote.
async fn output(stage: &Stage, task: &str) -> Result<String, Trouble> {
    let tail =
        Tail { task: stage.desk.named(task), reading: Reading::Start, following: Following::Stop };
    let mut stream = stage.desk.client.follow(&Request::Tail(tail)).await?;
    let mut written = Vec::new();
    while let Some(item) = stream.next().await? {
        if let Followed::Output(chunk) = item {
            written.extend(chunk.bytes);
        }
    }
    Ok(String::from_utf8_lossy(&written).into_owned())
}

/// How many processes carry the mark of one of these tasks, where the platform
/// tells.
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
