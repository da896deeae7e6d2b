//! The command line: what there is to type, and how an answer or an error
//! leaves the program.

use std::ffi::OsString;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use offshoot_client::wire::{Code, Fault};

mod bug;
mod completions;
mod daemon;
mod demo;
mod desk;
mod doctor;
mod duration;
mod exit;
mod globals;
mod interrupt;
mod outlet;
mod pump;
mod sessions;
mod show;
mod spawn;
mod tasks;
mod trouble;
mod version;

use exit::Exit;
use globals::Globals;
use show::{Colour, Form, Screen};
use trouble::Trouble;

/// Send commands off, and get every result back
#[derive(Debug, Parser)]
#[command(name = "offshoot", version, after_help = exit::HELP, max_term_width = 100)]
#[command(disable_help_subcommand = true)]
struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Spawn(spawn::Spawn),
    /// Look at tasks, wait for them, write to them, stop them
    #[command(subcommand, visible_alias = "task")]
    Tasks(tasks::Tasks),
    /// List sessions, stop or remove them
    #[command(subcommand, visible_alias = "session")]
    Sessions(sessions::Sessions),
    Doctor(doctor::Doctor),
    Demo(demo::Demo),
    /// Run, stop or look at the process that holds the data folder
    #[command(subcommand)]
    Daemon(daemon::Daemon),
    Completions(completions::Completions),
    Version(version::Version),
}

/// Does what the command line says.
pub(crate) fn main() -> ExitCode {
    completions::answer_shell::<Cli>();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return unparsed(&error).into(),
    };
    let screen = Screen::new(cli.globals.form());
    if let Command::Daemon(daemon::Daemon::Run(daemon)) = cli.command {
        return daemon.run(&cli.globals).unwrap_or_else(|trouble| tell(trouble, screen).into());
    }
    bug::be_told_shortly();
    let exit = match catch_unwind(AssertUnwindSafe(|| run(cli, screen))) {
        Ok(Ok(exit)) => exit,
        Ok(Err(trouble)) => tell(trouble, screen),
        // It was told where it happened.
        Err(_) => Exit::Trouble,
    };
    exit.into()
}

fn run(cli: Cli, screen: Screen) -> Result<Exit, Trouble> {
    let globals = cli.globals;
    match cli.command {
        Command::Version(version) => version.run(screen),
        Command::Completions(completions) => completions.run(screen),
        Command::Spawn(spawn) => block_on(spawn.run(&globals, screen)),
        Command::Tasks(tasks) => block_on(tasks.run(&globals, screen)),
        Command::Sessions(sessions) => block_on(sessions.run(&globals, screen)),
        Command::Doctor(doctor) => block_on(doctor.run(&globals, screen)),
        Command::Demo(demo) => block_on(demo.run(screen)),
        Command::Daemon(daemon) => block_on(daemon.run(&globals, screen)),
    }
}

/// Runs on this thread: a command asks one process, and starts in no time.
fn block_on<T>(asked: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().map_err(|error| Trouble::other(&error))?;
    let answer = runtime.block_on(asked);
    // A thread that still reads our input must not be waited for.
    runtime.shutdown_background();
    answer
}

/// Says what went wrong: on the standard error, for scripts as JSON there.
fn tell(trouble: Trouble, screen: Screen) -> Exit {
    let Trouble::Told { fault, exit } = trouble else { return Exit::Done };
    let shown = match screen.form {
        Form::People => show::fault::render(&fault, screen.err),
        Form::Json => {
            let json = serde_json::json!({ "error": fault });
            format!("{}\n", show::screen::inert(&json.to_string()))
        }
    };
    // Whoever closed it does not want to hear it.
    std::io::stderr().write_all(shown.as_bytes()).ok();
    exit
}

/// What clap has to say: help, the version, or what is wrong.
fn unparsed(error: &clap::Error) -> Exit {
    use clap::error::ErrorKind;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Nobody is there to read it.
            error.print().ok();
            Exit::Done
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            error.print().ok();
            Exit::Usage
        }
        _ => {
            let fault = misread(&error.render().to_string());
            let form = form_of(std::env::args_os());
            let trouble = Trouble::Told { fault: Box::new(fault), exit: Exit::Usage };
            tell(trouble, Screen { err: Colour::of(&std::io::stderr()), ..Screen::new(form) })
        }
    }
}

/// What clap says is wrong, in our own form. Its paragraphs are the error, a
/// tip, the usage, and where to read more.
fn misread(said: &str) -> Fault {
    let mut paragraphs = said.split("\n\n").map(str::trim);
    let error = paragraphs.next().unwrap_or_default();
    let error = error.strip_prefix("error: ").unwrap_or(error);
    let rest: Vec<&str> = paragraphs.collect();
    let told = |label: &str| rest.iter().find_map(|told| told.strip_prefix(label)).map(str::trim);
    let hint = match (told("tip:"), told("Usage:")) {
        (Some(tip), _) => tip.to_owned(),
        (None, Some(usage)) => format!("it is used so: {usage}"),
        (None, None) => "--help says what there is".to_owned(),
    };
    Fault::new(Code::BadRequest, error).hint(hint)
}

/// The form that a command line asks for which could not be read.
fn form_of(args: impl Iterator<Item = OsString>) -> Form {
    let mut ours = args.take_while(|arg| arg != "--");
    if ours.any(|arg| arg == "--json") { Form::Json } else { Form::People }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn what_is_typed_wrongly_is_told_with_the_way_out() {
        let told = |line: &str| {
            let error = Cli::try_parse_from(line.split(' ')).unwrap_err();
            show::fault::render(&misread(&error.render().to_string()), Colour::Plain)
        };
        let shown = told("offshoot taks ls");
        assert!(shown.starts_with("error: unrecognized subcommand 'taks'\nhint: "), "{shown}");
        assert!(shown.contains("'tasks'"), "{shown}");
        let shown = told("offshoot spawn echo");
        assert!(shown.contains("it is used so: offshoot spawn [OPTIONS] -- <COMMAND>"), "{shown}");
        let shown = told("offshoot tasks wait --timeout 30 x");
        assert!(shown.contains("30s for seconds"), "{shown}");
    }

    #[test]
    fn the_form_is_known_even_of_a_line_that_makes_no_sense() {
        let form = |line: &str| form_of(line.split(' ').map(OsString::from));
        assert_eq!(form("offshoot tasks --json lss"), Form::Json);
        assert_eq!(form("offshoot spawn -- tool --json"), Form::People);
    }

    #[test]
    fn every_command_says_in_a_line_what_it_does() {
        fn check(command: &clap::Command) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let name = command.get_name();
            assert!(!about.is_empty() && !about.ends_with('.'), "{name}: {about:?}");
            command.get_subcommands().for_each(check);
        }
        Cli::command().get_subcommands().for_each(check);
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
