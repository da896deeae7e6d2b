//! The start of a process for a command, with clear errors.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use offshoot_core::{Failure, FailureKind, TaskId};
use offshoot_sandbox::{Helper, passed_on};
use rustix::io::Errno;

use super::confiner::{Confiner, check_program, helper_refused};
use super::line::Command;
use super::report::{Origin, StartError};
use super::surroundings::Surroundings;
use crate::process::{
    Cgroup, Cgroups, InheritedMark, MARK_VARIABLE, Process, SignalRoute, restore, under_umask,
};

/// The search path for programs if the environment has none.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A command about to be started.
#[derive(Debug)]
pub(crate) struct CommandStart {
    pub(crate) task: TaskId,
    pub(crate) command: Command,
    pub(crate) surroundings: Option<Surroundings>,
    pub(crate) confiner: Confiner,
    pub(crate) cgroups: Cgroups,
}

/// A command that was started.
#[derive(Debug)]
pub(crate) struct StartedCommand {
    pub(crate) process: Process,
    pub(crate) cgroup: Option<Cgroup>,
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: Option<OwnedFd>,
    pub(crate) stderr: Option<OwnedFd>,
}

/// The reason for which a command could not be started.
#[derive(Clone, Debug)]
pub(crate) struct StartFailure {
    pub(crate) error: StartError,
    message: String,
    cause: Option<String>,
}

impl StartFailure {
    pub(crate) fn new(error: StartError, message: String) -> Self {
        Self { error, message, cause: None }
    }

    /// The failure of a command whose input is lost.
    pub(crate) fn without_input() -> Self {
        Self::new(
            StartError::InputGone,
            "it was not started: its input was to be passed on, and the process that had it is \
             gone; spawn the command again"
                .to_owned(),
        )
    }

    pub(crate) fn because(mut self, cause: &io::Error) -> Self {
        self.cause = Some(cause.to_string());
        self
    }

    pub(crate) fn failure(&self) -> Failure {
        let mut failure = Failure::new(FailureKind::Error, self.message.clone());
        failure.causes.extend(self.cause.clone());
        failure
    }
}

impl CommandStart {
    /// The origin of the environment of the process.
    pub(crate) fn origin(&self) -> Origin {
        match self.surroundings {
            Some(_) => Origin::Caller,
            None => Origin::Daemon,
        }
    }

    /// Starts the process, as the leader of a group of its own. Blocks until
    /// the program, or what becomes it, is loaded.
    pub(crate) fn start(self) -> Result<StartedCommand, StartFailure> {
        let (cgroup, helper) = self.cgroups.make(self.task).unzip();
        let started = self.start_in(helper);
        match started {
            Ok(started) => Ok(StartedCommand { cgroup, ..started }),
            Err(why) => {
                cgroup.inspect(Cgroup::remove);
                Err(why)
            }
        }
    }

    /// Starts the process through a helper that enters a cgroup, if there is one.
    fn start_in(self, entering: Option<Helper>) -> Result<StartedCommand, StartFailure> {
        let Self { task, command, surroundings, confiner, .. } = self;
        check_folder(command.folder())?;
        let surroundings = surroundings.unwrap_or_else(Surroundings::own);
        let surroundings = confiner.cleared(&command, surroundings);
        let mut variables: Vec<(OsString, OsString)> = surroundings
            .variables()
            .filter(|(name, _)| *name != MARK_VARIABLE)
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        variables
            .extend(command.variables().open().map(|(name, value)| (name.into(), value.into())));
        let path = variables.iter().rev().find(|(name, _)| name == "PATH");
        let path = path.map_or(OsStr::new(PATH), |(_, path)| path);
        // An absolute path lets the process start without copying this one.
        let program = find(&command, path)?;
        let name = OsStr::new(command.program());
        let helper = match command.confinement() {
            None => entering,
            Some(_) => {
                let usual = confiner.helper()?;
                Some(entering.unwrap_or_else(|| usual.clone()))
            }
        };
        let signals = match (&helper, command.confinement()) {
            (Some(helper), Some(_)) if helper.namespaces().is_ok() => SignalRoute::PassedOn,
            _ => SignalRoute::Direct,
        };
        let mut process = match helper {
            None => {
                let mut process = std::process::Command::new(&program);
                process.arg0(name).env_clear().envs(variables);
                process
            }
            Some(helper) => {
                check_program(&program, command.folder())
                    .map_err(|error| refusal(&command, &program, &error.into()))?;
                let mut process = match command.confinement() {
                    None => helper.command_as(&program, name),
                    Some(by) => by.command_as(&helper, &program, name),
                };
                let variables =
                    variables.into_iter().map(|(name, value)| (passed_on(&name), value));
                process.env_clear().envs(variables);
                process
            }
        };
        process
            .args(command.arguments())
            .env(MARK_VARIABLE, task.to_string())
            .current_dir(command.folder())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let begin = || under_umask(surroundings.umask(), || process.spawn());
        let begun = InheritedMark::of(task).set_during(begin);
        let mut child = begun.map_err(|error| match command.confinement() {
            None => refusal(&command, &program, &error),
            Some(_) => helper_refused(&command, &program, &error),
        })?;
        let stdin = child.stdin.take().map(OwnedFd::from);
        let stdout = child.stdout.take().map(OwnedFd::from);
        let stderr = child.stderr.take().map(OwnedFd::from);
        let process = Process::leading(child, signals);
        // The helper sets the limits of a confined command.
        if command.confinement().is_none() {
            restore(process.identity().pid);
        }
        Ok(StartedCommand { process, cgroup: None, stdin, stdout, stderr })
    }
}

fn check_folder(folder: &Path) -> Result<(), StartFailure> {
    let bad = |message| StartFailure::new(StartError::BadFolder, message);
    match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(bad(format!("the folder {folder:?} to start in is not a folder"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(bad(format!("the folder {folder:?} to start in does not exist")))
        }
        Err(error) => {
            Err(bad(format!("the folder {folder:?} to start in cannot be entered")).because(&error))
        }
    }
}

/// Finds the program. A name without a slash is searched in `path`.
fn find(command: &Command, path: &OsStr) -> Result<PathBuf, StartFailure> {
    let (program, folder) = (command.program(), command.folder());
    if program.contains('/') {
        let file = folder.join(program);
        return match executable(&file) {
            Executable::Yes => Ok(file),
            Executable::No => Err(not_executable(&file)),
            Executable::Missing => Err(StartFailure::new(
                StartError::NotFound,
                format!("there is no command {file:?}"),
            )),
        };
    }
    let mut seen = None;
    for place in std::env::split_paths(path) {
        let file = folder.join(place).join(program);
        match executable(&file) {
            Executable::Yes => return Ok(file),
            Executable::No => seen = seen.or(Some(file)),
            Executable::Missing => {}
        }
    }
    Err(match seen {
        Some(file) => not_executable(&file),
        None => StartFailure::new(
            StartError::NotFound,
            format!("there is no command {program:?} in PATH"),
        ),
    })
}

enum Executable {
    Yes,
    No,
    Missing,
}

fn executable(file: &Path) -> Executable {
    match std::fs::metadata(file) {
        // The system decides whether this user may execute it.
        Ok(found) if found.is_file() && found.permissions().mode() & 0o111 != 0 => Executable::Yes,
        Ok(_) => Executable::No,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Executable::No,
        Err(_) => Executable::Missing,
    }
}

fn not_executable(file: &Path) -> StartFailure {
    let why = match file.is_dir() {
        true => "is a folder",
        false => "is not executable",
    };
    StartFailure::new(StartError::NotExecutable, format!("{file:?} {why}"))
}

/// Converts an error of the system to a failure.
pub(crate) fn refusal(command: &Command, program: &Path, error: &io::Error) -> StartFailure {
    let (error_is, message) = match Errno::from_io_error(error) {
        Some(Errno::NOENT) if program.exists() => (
            StartError::NotExecutable,
            format!("{program:?} cannot be executed: the interpreter it names does not exist"),
        ),
        Some(Errno::NOENT) => {
            (StartError::NotFound, format!("there is no command {:?}", command.program()))
        }
        Some(Errno::ACCESS | Errno::PERM) => {
            (StartError::NotExecutable, format!("{program:?} may not be executed"))
        }
        Some(Errno::NOEXEC | Errno::ISDIR | Errno::TXTBSY) => (
            StartError::NotExecutable,
            format!("{program:?} is no program that this system can execute"),
        ),
        Some(Errno::TOOBIG) => (
            StartError::TooLong,
            "the arguments and the environment are longer than the system takes".to_owned(),
        ),
        Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => (
            StartError::Exhausted,
            "the system has no more processes, files or memory to give".to_owned(),
        ),
        _ => (StartError::Other, format!("{program:?} could not be started")),
    };
    StartFailure::new(error_is, message).because(error)
}
