//! One directory: its workers, one after another, and the model they call.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use offshoot_wiretest::{Server, WireProtocol};
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::agents::audit::{Ask, Evidence, Original, audit, check_rows};
use crate::agents::kill_point::KillPoint;
use crate::agents::kill_switch::commits;
use crate::agents::late;
use crate::agents::model_script::{self, ScriptedConversation};
use crate::agents::records::TaskRecords;
use crate::agents::tools::effects;
use crate::agents::worker;
use crate::planted::PlantedBug;
use crate::violation::{Checked, Violation, ensure};

/// The name of a protocol on the command line.
pub fn word(language: WireProtocol) -> &'static str {
    match language {
        WireProtocol::Chat => "chat",
        WireProtocol::Responses => "responses",
        WireProtocol::Anthropic => "anthropic",
    }
}

/// One directory.
#[derive(Debug)]
pub struct Case<'a> {
    /// The program that is killed.
    pub program: &'a Path,
    /// The server of the model.
    pub executor: &'a Runtime,
    /// The protocol of the model.
    pub language: WireProtocol,
    /// The bug in the workers' stores, if there is one.
    pub bug: Option<PlantedBug>,
}

/// The result of a directory.
#[derive(Debug)]
pub struct CaseResult {
    /// The number of workers that died at their kill point.
    pub kills: usize,
    /// The commits of the first worker that are known by name.
    pub commits: Vec<String>,
    /// The evidence.
    pub evidence: Evidence,
    /// The broken promise, if there is one.
    pub violation: Option<Violation>,
    /// The directory.
    pub folder: TempDir,
}

/// The end of a worker.
enum Ended {
    Killed,
    Done,
    Failed(String),
}

impl Case<'_> {
    /// Has one worker after another die at these points, and a last one finish. Without an
    /// original to compare with, no request may be repeated.
    pub fn play(&self, points: &[KillPoint], original: Option<&Original>) -> Result<CaseResult> {
        let folder = tempfile::tempdir().context("no folder for the data")?;
        let server = self.executor.block_on(Server::start(model_script::reply));
        let server = server.context("the model cannot be served")?;
        let mut evidence = Evidence::default();
        let mut checked = self.live(folder.path(), (&server, points), &mut evidence)?;
        evidence.end = self.executor.block_on(TaskRecords::read(folder.path()))?;
        evidence.effects = effects(folder.path())?;
        let broken = server.take_violations();
        if checked.is_ok() {
            checked = ensure(broken.is_empty(), "every request is one that is taken", || {
                format!("{broken:#?}")
            });
        }
        evidence.asked = asked(&server)?;
        if checked.is_ok() {
            let own = Original::of(&evidence);
            checked = audit(&evidence, original.unwrap_or(&own));
        }
        let kills = evidence.kills.len();
        let was_late = points[..kills].iter().any(|point| matches!(point, KillPoint::Late(_)));
        if checked.is_ok() && was_late {
            let fate = late::fate(folder.path());
            checked = ensure(fate.starts_with("refused"), "S9.1 a stale writer is refused", || {
                format!("the end that came too late was {fate}")
            });
        }
        let commits = std::mem::take(&mut evidence.commits);
        Ok(CaseResult { kills, commits, evidence, violation: checked.err(), folder })
    }

    fn live(
        &self,
        folder: &Path,
        (server, points): (&Server, &[KillPoint]),
        evidence: &mut Evidence,
    ) -> Result<Checked> {
        for (number, point) in points.iter().map(Some).chain([None]).enumerate() {
            let ended = self.work(folder, server, (number + 1, point))?;
            if number == 0 {
                evidence.commits = commits(folder)?;
            }
            match ended {
                Ended::Done => break,
                Ended::Failed(said) => {
                    return Ok(Err(Violation::new("the agents go on to their end", said)));
                }
                Ended::Killed => {}
            }
            let books = self.executor.block_on(TaskRecords::read(folder))?;
            let checked = check_rows(&books);
            evidence.kills.push(books);
            if checked.is_err() {
                return Ok(checked);
            }
        }
        Ok(Ok(()))
    }

    /// Runs a worker until it ends.
    fn work(
        &self,
        folder: &Path,
        server: &Server,
        (life, point): (usize, Option<&KillPoint>),
    ) -> Result<Ended> {
        let mut command = Command::new(self.program);
        command.arg("agent-worker").arg(folder).arg(server.address());
        command.args(["--language", word(self.language), "--life", &life.to_string()]);
        if let Some(point) = point {
            command.arg("--point").arg(point.to_string());
        }
        if let Some(bug) = self.bug {
            command.arg("--bug").arg(bug.word());
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let program = self.program.display();
        let ended = command.output().with_context(|| format!("could not start {program}"))?;
        let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
        Ok(match (ended.status.signal(), point) {
            (Some(signal), Some(_)) if signal == Signal::KILL.as_raw() => Ended::Killed,
            (None, _) if ended.status.success() => Ended::Done,
            _ => Ended::Failed(format!("worker {life} ended ({}): {said}", ended.status)),
        })
    }
}

/// The requests to the model.
fn asked(server: &Server) -> Result<Vec<Ask>> {
    let asked = server.asked();
    let asked = asked.iter().map(|one| {
        let ScriptedConversation { who, answers, .. } =
            ScriptedConversation::of(one).map_err(anyhow::Error::msg)?;
        let key = one.header("x-api-key").or(one.header("authorization")).unwrap_or_default();
        let Some(life) = (1..100).find(|life| key.ends_with(&worker::key(*life))) else {
            bail!("no task has the key {key:?}");
        };
        Ok(Ask { life, who, answers })
    });
    asked.collect()
}
