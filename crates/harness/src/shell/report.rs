//! The report of many kills and of the broken promises.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::rng::Rng;
use crate::shell::ledger::{BrokenPromise, KillMoment, LedgerState};
use crate::shell::snapshot::Snapshot;
use crate::shell::trial::Trial;

/// The number of kills after which a directory is ended and a new one begun.
const KILLS_PER_FOLDER: u64 = 100;

/// The number of kills after which the round comes to rest for an audit.
const KILLS_PER_ROUND: u64 = 10;

/// The number of broken promises that are reported in full.
const TOLD: usize = 6;

/// The number of last lines of the daemon's log in a report.
const LINES: usize = 40;

/// The result of many kills.
#[derive(Debug, Default)]
pub struct KillReport {
    /// Daemons that were killed.
    pub kills: u64,
    /// The number of kills by moment.
    pub moments: BTreeMap<&'static str, u64>,
    /// Daemons that were asked to end.
    pub terms: u64,
    /// Data directories.
    pub folders: u64,
    /// Audits at rest.
    pub audits: u64,
    /// Calls that were acknowledged.
    pub acknowledged: u64,
    /// The permitted refusals, by their reason.
    pub refused: BTreeMap<String, u64>,
    /// Calls that failed because the daemon was killed during them.
    pub cut: Vec<String>,
    /// Tasks by outcome.
    pub ends: BTreeMap<&'static str, u64>,
    /// Attempts beyond the first.
    pub restarts: u64,
    /// Bytes of output that were read and checked.
    pub log_bytes: u64,
    /// The duration.
    pub took: Duration,
    /// The broken promises, and the directory that shows them.
    pub broken: Option<(FailureReport, PathBuf)>,
}

/// The broken promises with their explanation.
#[derive(Debug)]
pub struct FailureReport {
    text: String,
}

/// Kills `kills` daemons of `program` and audits the result. Stops at the first broken promise.
pub fn kill_many(program: &Path, kills: u64, seed: u64) -> Result<KillReport> {
    let began = Instant::now();
    let mut report = KillReport::default();
    let mut rng = Rng::new(seed);
    while report.kills < kills && report.broken.is_none() {
        let mut trial = Trial::begin(program, rng.fork())?;
        report.folders += 1;
        let until = kills.min(report.kills + KILLS_PER_FOLDER);
        let mut broken = Ok(None);
        while report.kills < until && matches!(broken, Ok(None)) {
            let kills = KILLS_PER_ROUND.min(until - report.kills);
            broken = trial.round(usize::try_from(kills)?, &mut report);
            report.audits += 1;
        }
        if matches!(broken, Ok(None)) {
            broken = trial.end();
        }
        match broken {
            Ok(None) => {}
            Ok(Some(broken)) => report.broken = Some((broken, trial.keep())),
            Err(error) => {
                let kept = trial.keep();
                return Err(error.context(format!("the folder is kept in {}", kept.display())));
            }
        }
    }
    report.took = began.elapsed();
    Ok(report)
}

impl KillReport {
    /// Adds the counters of a round.
    pub fn count(&mut self, books: &LedgerState, world: &Snapshot) {
        let blows = |blow| books.strikes.iter().filter(|strike| strike.blow == blow).count();
        self.kills += blows(KillMoment::Kill) as u64;
        self.terms += blows(KillMoment::Term) as u64;
        self.acknowledged += books.acknowledged;
        for strike in &books.strikes {
            *self.moments.entry(strike.moment).or_default() += 1;
        }
        for (why, calls) in &books.refused {
            *self.refused.entry(why.clone()).or_default() += calls;
        }
        self.cut.extend(books.cut.iter().cloned());
        for (_, task) in &world.tasks {
            *self.ends.entry(task.state.word()).or_default() += 1;
            self.restarts += u64::from(task.attempts.saturating_sub(1));
        }
    }
}

impl fmt::Display for KillReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, terms, folders, audits, acknowledged, restarts, .. } = self;
        let seconds = self.took.as_secs_f64();
        writeln!(f, "{kills} kills and {terms} orderly ends in {seconds:.1} s")?;
        writeln!(f, "  hit: {}", counts(&self.moments))?;
        writeln!(f, "  {acknowledged} calls acknowledged, {} cut", self.cut.len())?;
        writeln!(f, "  refused: {}", counts(&self.refused))?;
        writeln!(f, "  tasks: {}; {restarts} restarts", counts(&self.ends))?;
        let mib = self.log_bytes as f64 / f64::from(1 << 20);
        write!(f, "  {mib:.1} MiB of output checked, {audits} audits of {folders} folders")
    }
}

fn counts<W: fmt::Display>(of: &BTreeMap<W, u64>) -> String {
    let counts: Vec<String> = of.iter().map(|(what, many)| format!("{many} {what}")).collect();
    if counts.is_empty() { "none".into() } else { counts.join(", ") }
}

impl FailureReport {
    /// The violations, with the history and record of each command and the last lines of the
    /// daemon's log.
    pub fn new(
        found: Vec<BrokenPromise>,
        books: &LedgerState,
        world: &Snapshot,
        log: &[u8],
    ) -> Self {
        let mut text = String::new();
        for found in found.iter().take(TOLD) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "a promise is broken: {}", found.violation);
            if let Some(number) = found.errand {
                let _ = write!(text, "{}", history(number, books, world));
            }
        }
        if found.len() > TOLD {
            let _ = writeln!(text, "… and {} more", found.len() - TOLD);
        }
        let log = String::from_utf8_lossy(log);
        let lines: Vec<&str> = log.lines().collect();
        let _ = writeln!(text, "the daemon's log ends with");
        for line in &lines[lines.len().saturating_sub(LINES)..] {
            let _ = writeln!(text, "  {line}");
        }
        Self { text }
    }
}

impl fmt::Display for FailureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The full description of a command.
fn history(number: usize, books: &LedgerState, world: &Snapshot) -> String {
    let Some(entry) = books.entry(number) else { return String::new() };
    let mut text = format!("  {:?}\n", entry.errand);
    let mut told: Vec<(Instant, String)> = entry.history.clone();
    let last = told.last().map_or(entry.begun, |(at, _)| *at);
    for strike in books
        .strikes
        .iter()
        .filter(|strike| strike.to >= entry.begun && strike.from <= last + Duration::from_secs(1))
    {
        told.push((strike.from, format!("-- {:?} {}", strike.blow, strike.moment)));
    }
    told.sort_by_key(|(at, _)| *at);
    for (at, what) in told {
        let since = at.saturating_duration_since(entry.begun).as_secs_f64();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {since:>8.3} s  {what}");
    }
    for task in world.of(number) {
        let record = serde_json::to_string(task).unwrap_or_default();
        let _ = writeln!(text, "  its record: {record}");
    }
    if let Some(effects) = world.effects.get(&number) {
        let _ = writeln!(text, "  what it did: {effects:?}");
    }
    text
}
