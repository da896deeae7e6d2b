//! `offshoot doctor`
//!
//! It changes nothing: it starts and replaces no daemon, and creates no
//! directory. Only `--repair` writes, and only to a damaged store.

use std::io::ErrorKind;
use std::path::Path;

use clap::Args;
use jiff::Timestamp;
use offshoot_client::wire::{LogFile, Reply, Request, Status};
use offshoot_client::{
    Client, DaemonAddress, DaemonDir, DaemonDirError, DirLookup, Error, LONGEST_SHUTDOWN, Start,
};
use offshoot_daemon::Config;
use offshoot_sandbox::Helper;
use serde::Serialize;

use super::error::CliError;
use super::exit::Exit;
use super::globals::Globals;
use super::show::fields::Fields;
use super::show::{Colour, Format, Screen, size, text, time};
use data_dir::DataDirReport;
use finding::{Finding, Findings};

mod data_dir;
mod finding;
mod log;
mod store;

/// Check the data directory and its daemon
#[derive(Debug, Args)]
#[command(after_help = "\
The check reads the whole store. It starts no daemon and creates no directory.
It exits with 0 if all is well, and with 125 if it finds an error.

--repair copies all readable data of a damaged store into a new one, and keeps
the damaged files in a directory that it prints. A task with missing data ends
as lost. The daemon must not run: see `offshoot daemon stop`.")]
pub(crate) struct Doctor {
    /// Rebuild a damaged store from its readable data
    #[arg(long)]
    repair: bool,
}

/// The report of the doctor.
#[derive(Debug, Serialize)]
struct Report {
    version: &'static str,
    data: Option<DataDirReport>,
    /// The socket at which the daemon listens, or would listen.
    socket: Option<String>,
    daemon: Option<Status>,
    log: Option<LogFile>,
    /// Whether commands of agents can be sandboxed on this machine.
    sandbox: Sandbox,
    /// The limits and variables of commands of agents.
    commands: Commands,
    findings: Findings,
}

/// The limits and variables of commands of agents.
#[derive(Debug, Serialize)]
struct Commands {
    /// The resource limits of a command.
    limits: String,
    /// Credential variables of this environment that the configuration passes on.
    passed: Vec<String>,
    /// Credential variables of this environment that commands do not get.
    withheld: Vec<String>,
}

impl Commands {
    fn look(findings: &mut Findings) -> Self {
        let config = Config::own().unwrap_or_else(|error| {
            let hint = "correct or remove the file; until then, agents run no commands";
            findings.add(Finding::error("configuration", error.to_string()).hint(hint));
            Config::default()
        });
        let held =
            std::env::vars_os().filter(|(name, value)| offshoot_tools::is_withheld(name, value));
        let names = held.filter_map(|(name, _)| name.into_string().ok());
        let (mut passed, mut withheld): (Vec<_>, Vec<_>) =
            names.partition(|name| config.commands.pass_env.contains(name));
        passed.sort();
        withheld.sort();
        Self { limits: config.commands.limits().to_string(), passed, withheld }
    }
}

/// Whether commands of agents can be sandboxed.
#[derive(Debug, Serialize)]
struct Sandbox {
    confines: bool,
    /// Whether each command gets its own namespaces.
    namespaces: bool,
    text: String,
}

impl Sandbox {
    fn look() -> Self {
        let support = offshoot_sandbox::probe();
        let namespaces = Helper::own().map(|helper| helper.namespaces());
        let text = match (support.confines(), &namespaces) {
            (false, _) => format!("{support}; each command needs an approval"),
            (true, Some(Ok(()))) => format!("{support}; each command has its own namespaces"),
            (true, Some(Err(why))) => format!("{support}; without namespaces: {why}"),
            (true, None) => support.to_string(),
        };
        let namespaces = support.confines() && matches!(namespaces, Some(Ok(())));
        Self { confines: support.confines(), namespaces, text }
    }
}

impl Doctor {
    pub(crate) async fn run(self, globals: &Globals, screen: Screen) -> Result<Exit, CliError> {
        if self.repair {
            return store::repair(globals, screen).await;
        }
        let report = examine(globals).await;
        match screen.format {
            Format::Text => screen.say(&render(&report, Timestamp::now(), screen.out))?,
            Format::Json => screen.json(&report)?,
        }
        Ok(if report.findings.has_errors() { Exit::Error } else { Exit::Done })
    }
}

async fn examine(globals: &Globals) -> Report {
    let mut findings = Findings::default();
    let commands = Commands::look(&mut findings);
    let mut report = Report {
        version: env!("CARGO_PKG_VERSION"),
        data: None,
        socket: None,
        daemon: None,
        log: None,
        sandbox: Sandbox::look(),
        commands,
        findings,
    };
    let (place, folder) = match globals.look_up() {
        Ok(DirLookup::Found(place)) => {
            let folder = DataDirReport::examine(place.data(), &mut report.findings);
            (place, folder)
        }
        Ok(DirLookup::Missing(place)) => {
            let folder = DataDirReport::absent(place.data(), &mut report.findings);
            (place, folder)
        }
        Err(error) => {
            report.findings.add(Finding::of_error("data", &error));
            return report;
        }
    };
    report.data = Some(folder);
    ask(&place, &mut report).await;
    report.log = match &report.daemon {
        Some(status) => Some(status.log.clone()),
        None => log::read(place.data()),
    };
    report
}

/// Asks the daemon for its status, and finds out why if none answers.
async fn ask(place: &DaemonDir, report: &mut Report) {
    let told = place.daemon_address();
    report.socket = match &told {
        Some(told) => Some(shown(&told.socket)),
        None => place.socket().ok().map(|socket| shown(&socket)),
    };
    match place.check_socket_dir() {
        Ok(()) => {}
        // The directory is created on demand.
        Err(DaemonDirError::Unusable { error, .. }) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => {
            report.findings.add(Finding::of_error("socket", &Error::from(error).into()));
        }
    }
    let client = Client::new(place.clone(), Start::Never);
    match client.ask(&Request::Status).await {
        Ok(Reply::Status(status)) => {
            compare(&status, &mut report.findings);
            report.daemon = Some(*status);
            store::ask(&client, &mut report.findings).await;
        }
        Ok(_) => report.findings.add(Finding::of_error("daemon", &Error::WrongAnswer.into())),
        Err(Error::NotRunning(_)) => absent(place, told, &mut report.findings),
        Err(error) => report.findings.add(Finding::of_error("daemon", &error.into())),
    }
}

fn compare(status: &Status, findings: &mut Findings) {
    let ours = env!("CARGO_PKG_VERSION");
    if status.version != ours {
        let said = format!("the daemon is of version {}, this program of {ours}", status.version);
        findings.add(
            Finding::warning("daemon", said)
                .hint("a newer program replaces the daemon; otherwise run `offshoot daemon stop`"),
        );
    }
    if !status.recovered {
        let text = "the daemon is still recovering the tasks of an earlier one";
        findings.add(Finding::warning("daemon", text).hint("recovery continues by itself"));
    }
}

/// Checks why no daemon answers: it may not be running, be ending, or hang.
fn absent(place: &DaemonDir, told: Option<DaemonAddress>, findings: &mut Findings) {
    let last = log::read(place.data()).map(|log| log::LastEntry::of(&log, Timestamp::now()));
    if let Some(holder) = data_dir::holder(place.data()) {
        if last == Some(log::LastEntry::Ends) && holder.contains("(offshoot") {
            let said = format!("the daemon is ending ({holder}): it stops its commands");
            let hint = format!(
                "it ends within {}, and the next command waits for that",
                time::long(u64::try_from(LONGEST_SHUTDOWN.as_millis()).unwrap_or(u64::MAX))
            );
            findings.add(Finding::warning("daemon", said).hint(hint));
            return;
        }
        let text = format!("the data directory is locked by {holder}, which does not answer");
        findings.add(Finding::error("daemon", text).hint(
            "if that is your own program that embeds Offshoot, stop it or choose another data \
             directory with --data; if it is a daemon that hangs, kill that process",
        ));
        return;
    }
    if let Err(finding) = store::look(place, findings) {
        findings.add(finding);
    } else if let Some(log::LastEntry::CannotRun(why)) = last {
        let said = format!("the last daemon could not run: {why}");
        let hint = "correct that; the next command tries again";
        findings.add(Finding::error("daemon", said).hint(hint));
    }
    if let Some(told) = told {
        let said = format!("the last daemon (process {}) crashed", told.pid);
        let hint = "the next command starts a daemon, which recovers its tasks";
        findings.add(Finding::warning("daemon", said).hint(hint));
    }
}

fn render(report: &Report, now: Timestamp, colour: Colour) -> String {
    let mut fields = Fields::default();
    fields.add("version", report.version);
    if let Some(folder) = &report.data {
        fields.add("data", folder.told());
    }
    fields.add_some("socket", report.socket.as_ref());
    match &report.daemon {
        Some(status) => daemon(&mut fields, status, now),
        None => fields.add("daemon", "not running; commands start it"),
    }
    if let Some(log) = &report.log {
        fields.add("log", logged(log));
    }
    fields.add("sandbox", &report.sandbox.text);
    fields.add("limits", &report.commands.limits);
    if !report.commands.passed.is_empty() {
        fields.add("passed", text::line(&report.commands.passed.join(", ")));
    }
    if !report.commands.withheld.is_empty() {
        let names = report.commands.withheld.join(", ");
        let names = text::line(&names);
        fields.add("withheld", format!("{names} (`run --pass-env NAME` passes one to commands)"));
    }
    let mut shown = fields.render(colour);
    shown.push('\n');
    shown.push_str(&report.findings.render(colour));
    shown
}

/// Adds the status of a daemon.
pub(super) fn daemon(fields: &mut Fields, status: &Status, now: Timestamp) {
    let memory = status.memory_bytes.map(size::bytes).map(|memory| format!(", {memory} of memory"));
    fields.add(
        "daemon",
        format!(
            "version {}, process {}, started {}{}",
            status.version,
            status.pid,
            time::ago(&status.started_at, now),
            memory.unwrap_or_default()
        ),
    );
    fields.add(
        "tasks",
        format!(
            "{} running, {} waiting, {} queued, {} finished; at most {} run at once",
            status.running, status.waiting, status.queued, status.finished, status.slots
        ),
    );
    fields.add_some("cgroups", status.cgroups.as_deref().map(text::line));
    let idle = time::long(status.idle_seconds.saturating_mul(1_000));
    fields.add("idle", format!("the daemon ends after {idle} without work"));
}

fn logged(log: &LogFile) -> String {
    let mut said = format!("{} ({})", log.path, size::bytes(log.bytes));
    for line in &log.last {
        said.push_str("\n  ");
        said.push_str(&text::line(line));
    }
    said
}

/// Formats a path.
fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
