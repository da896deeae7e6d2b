//! The command line: its commands, and how results and errors are printed.

use std::ffi::OsString;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use offshoot_client::wire::{Code, WireError};

mod agents;
mod approval_watch;
mod approvals;
mod bug;
mod completions;
mod context;
mod daemon;
mod demo;
mod directory;
mod doctor;
mod duration;
mod error;
mod exit;
mod globals;
mod interrupt;
mod lines;
mod models;
mod number;
mod output;
mod pump;
mod run;
mod sessions;
mod show;
mod spawn;
mod tasks;
mod trust;
mod version;

use error::CliError;
use exit::Exit;
use globals::Globals;
use show::{Format, Screen};

/// Run agents and commands in the background, and get every result
#[derive(Debug, Parser)]
#[command(name = "offshoot", version, after_help = exit::HELP, max_term_width = 80)]
#[command(disable_help_subcommand = true)]
struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    Spawn(spawn::Spawn),
    /// List, wait for, message and stop tasks
    #[command(subcommand, alias = "task")]
    Tasks(tasks::Tasks),
    /// List, stop and remove sessions
    #[command(subcommand, alias = "session")]
    Sessions(sessions::Sessions),
    /// List approval requests and grants
    #[command(subcommand, alias = "approval")]
    Approvals(approvals::Approvals),
    Approve(approvals::Approve),
    Deny(approvals::Deny),
    /// List and show agent profiles
    #[command(subcommand, alias = "agent")]
    Agents(agents::Agents),
    Trust(trust::Trust),
    /// List the models that agents can use
    #[command(subcommand)]
    Models(models::Models),
    Doctor(doctor::Doctor),
    Demo(demo::Demo),
    /// Run, stop or inspect the daemon of a data directory
    #[command(subcommand)]
    Daemon(daemon::Daemon),
    Completions(completions::Completions),
    Version(version::Version),
}

/// Parses the command line, runs the command and returns its exit code.
pub(crate) fn main() -> ExitCode {
    completions::answer_shell::<Cli>();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return unparsed(&error).into(),
    };
    let screen = Screen::new(cli.globals.format());
    if let Command::Daemon(daemon::Daemon::Run(daemon)) = cli.command {
        return daemon.run(&cli.globals).unwrap_or_else(|error| tell(error, screen).into());
    }
    bug::be_told_shortly(screen.format);
    let exit = match catch_unwind(AssertUnwindSafe(|| run(cli, screen))) {
        Ok(Ok(exit)) => exit,
        Ok(Err(error)) => tell(error, screen),
        // The panic hook has printed the error.
        Err(_) => Exit::Error,
    };
    exit.into()
}

fn run(cli: Cli, screen: Screen) -> Result<Exit, CliError> {
    let globals = cli.globals;
    match cli.command {
        Command::Version(version) => version.run(screen),
        Command::Completions(completions) => completions.run(screen),
        Command::Run(run) => block_on(run.run(&globals, screen)),
        Command::Models(models) => block_on(models.run(&globals, screen)),
        Command::Approvals(approvals) => block_on(approvals.run(&globals, screen)),
        Command::Approve(approve) => block_on(approve.run(&globals, screen)),
        Command::Deny(deny) => block_on(deny.run(&globals, screen)),
        Command::Agents(agents) => block_on(agents.run(&globals, screen)),
        Command::Trust(trust) => block_on(trust.run(&globals, screen)),
        Command::Spawn(spawn) => block_on(spawn.run(&globals, screen)),
        Command::Tasks(tasks) => block_on(tasks.run(&globals, screen)),
        Command::Sessions(sessions) => block_on(sessions.run(&globals, screen)),
        Command::Doctor(doctor) => block_on(doctor.run(&globals, screen)),
        Command::Demo(demo) => block_on(demo.run(screen)),
        Command::Daemon(daemon) => block_on(daemon.run(&globals, screen)),
    }
}

/// Runs a command on this thread. It talks to one process, and must start fast.
fn block_on<T>(asked: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().map_err(|error| CliError::other(&error))?;
    let answer = runtime.block_on(asked);
    // Don't wait for a thread that still reads the standard input.
    runtime.shutdown_background();
    answer
}

/// Prints an error on the standard error, and returns its exit code.
fn tell(error: CliError, screen: Screen) -> Exit {
    let CliError::Report { fault, exit } = error else { return Exit::Done };
    let shown = show::error::told(&fault, screen.format, screen.err);
    // A closed standard error is not an error of the command.
    std::io::stderr().write_all(shown.as_bytes()).ok();
    exit
}

/// Prints the help, the version or the error that clap returns.
fn unparsed(error: &clap::Error) -> Exit {
    use clap::error::ErrorKind;
    let screen = Screen::new(format_of(std::env::args_os()));
    let answered = match (error.kind(), screen.format) {
        (ErrorKind::DisplayHelp | ErrorKind::DisplayVersion, Format::Text) => {
            error.print().map(|()| Exit::Done).map_err(CliError::output)
        }
        (ErrorKind::DisplayHelp, Format::Json) => {
            let help = serde_json::json!({ "help": error.render().to_string() });
            screen.json(&help).map(|()| Exit::Done)
        }
        (ErrorKind::DisplayVersion, Format::Json) => version::Version {}.run(screen),
        (ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, Format::Text) => {
            // A closed standard error is not an error of the command.
            error.print().ok();
            Ok(Exit::Usage)
        }
        _ => Err(misread(error, &asked_for(std::env::args_os())).into()),
    };
    answered.unwrap_or_else(|error| tell(error, screen))
}

/// Converts an error of clap into one of ours.
///
/// Its paragraphs are the error, a tip, the usage, and where to read more.
fn misread(error: &clap::Error, command: &str) -> WireError {
    use clap::error::ErrorKind;
    let more = format!("see `{command} --help`");
    let kind = error.kind();
    match kind {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            let message = format!("`{command}` needs a subcommand");
            return WireError::new(Code::BadRequest, message).hint(more);
        }
        ErrorKind::InvalidUtf8 => {
            let hint = "put the command into a script, and run the script";
            return WireError::new(Code::BadRequest, "an argument is not UTF-8").hint(hint);
        }
        _ => {}
    }
    let said = error.render().to_string();
    let mut paragraphs = said.split("\n\n").map(str::trim);
    let error = paragraphs.next().unwrap_or_default();
    let error = error.strip_prefix("error: ").unwrap_or(error);
    let rest: Vec<&str> = paragraphs.collect();
    let told = |label: &str| rest.iter().find_map(|told| told.strip_prefix(label)).map(str::trim);
    let hint = match (told("tip:"), told("Usage:")) {
        // The first of several is the likely one.
        (Some(tip), _) => tip.lines().next().unwrap_or_default().to_owned(),
        (None, Some(usage)) if kind != ErrorKind::InvalidSubcommand => {
            format!("usage: {usage}")
        }
        _ => more,
    };
    WireError::new(Code::BadRequest, error).hint(hint)
}

/// Finds the command that a command line with an error names.
fn asked_for(args: impl Iterator<Item = OsString>) -> String {
    let root = Cli::command();
    let mut command = &root;
    let mut path = root.get_name().to_owned();
    for word in args.skip(1).take_while(|arg| arg != "--") {
        if let Some(next) = word.to_str().and_then(|word| command.find_subcommand(word)) {
            command = next;
            path.push_str(&format!(" {}", next.get_name()));
        }
    }
    path
}

/// Finds the output format that a command line with an error asks for.
fn format_of(args: impl Iterator<Item = OsString>) -> Format {
    let mut ours = args.take_while(|arg| arg != "--");
    if ours.any(|arg| arg == "--json") { Format::Json } else { Format::Text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use show::Colour;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_usage_error_has_a_hint() {
        let told = |line: &str| {
            let error = Cli::try_parse_from(line.split(' ')).unwrap_err();
            let command = asked_for(line.split(' ').map(OsString::from));
            show::error::render(&misread(&error, &command), Colour::Plain)
        };
        let shown = told("offshoot taks ls");
        assert!(shown.starts_with("error: unrecognized subcommand 'taks'\nhint: "), "{shown}");
        assert!(shown.contains("'tasks'"), "{shown}");
        let shown = told("offshoot tasks help");
        assert!(shown.ends_with("hint: see `offshoot tasks --help`\n"), "{shown}");
        let shown = told("offshoot spawn echo");
        assert!(shown.contains("usage: offshoot spawn [OPTIONS] -- <COMMAND>"), "{shown}");
        let shown = told("offshoot tasks wait --timeout 30 x");
        assert!(shown.contains("30s for seconds"), "{shown}");
        assert!(shown.contains("see `offshoot tasks wait --help`"), "{shown}");
        let shown = told("offshoot spawn --envv=A=b -- x");
        assert!(shown.ends_with("hint: a similar argument exists: '--env'\n"), "{shown}");
    }

    #[test]
    fn the_format_of_an_invalid_line_is_known() {
        let format = |line: &str| format_of(line.split(' ').map(OsString::from));
        assert_eq!(format("offshoot tasks --json lss"), Format::Json);
        assert_eq!(format("offshoot spawn -- tool --json"), Format::Text);
    }

    #[test]
    fn every_command_has_a_one_line_description() {
        fn check(command: &clap::Command) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let name = command.get_name();
            assert!(!about.is_empty() && !about.ends_with('.'), "{name}: {about:?}");
            command.get_subcommands().for_each(check);
        }
        Cli::command().get_subcommands().for_each(check);
    }

    #[test]
    fn help_fits_eighty_columns() {
        fn check(command: &mut clap::Command) {
            let help = command.render_help().to_string();
            let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            // The text after the options is wrapped by hand.
            let mut lines = help.lines().chain(after.lines());
            assert_eq!(lines.find(|line| show::text::width(line) > 80), None, "{help}");
            command.get_subcommands_mut().for_each(check);
        }
        let mut command = Cli::command();
        command.build();
        check(&mut command);
    }

    #[test]
    fn help_is_the_same_however_it_is_asked_for() {
        fn check(command: &mut clap::Command) {
            let help = command.render_help().to_string();
            assert!(!help.contains("see more"), "{}: {help}", command.get_name());
            command.get_subcommands_mut().for_each(check);
        }
        let mut command = Cli::command();
        command.build();
        check(&mut command);
    }
}
