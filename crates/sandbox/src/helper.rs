//! The helper process, which confines itself and becomes the program.
//!
//! The variables of the program must not affect the helper: the loader could load other
//! code because of them. They have other names until the program starts.
//!
//! The helper can also enter a cgroup first. An unconfined program can be started through
//! it for that purpose alone.

use std::convert::Infallible;
use std::ffi::{CString, OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::confinement::{Confinement, NOT_EXECUTED};

/// The first argument of a helper that confines itself.
const ASKED: &str = "__offshoot-confined";

/// The first argument of a helper that also makes namespaces.
const ASKED_APART: &str = "__offshoot-isolated";

/// The first argument of a helper that is already in namespaces.
const ASKED_WITHIN: &str = "__offshoot-within";

/// The first argument of a helper that tries to make namespaces.
const ATTEMPT: &str = "__offshoot-namespaces";

/// The first argument of a helper that only enters a cgroup.
const CGROUP: &str = "__offshoot-cgroup";

/// The file of a cgroup that moves processes into it.
const PROCESSES: &str = "cgroup.procs";

/// The prefix of the name of a variable for the program alone.
const PASSED_ON: &[u8] = b"offshoot-confined:";

/// Whether `main` of this process has called [`enter_if_asked`].
static LOOKS: AtomicBool = AtomicBool::new(false);

/// The result of trying to make namespaces.
static NAMESPACES: OnceLock<Result<(), NoNamespaces>> = OnceLock::new();

/// The executable that confines: its `main` begins with [`enter_if_asked`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helper {
    program: PathBuf,
    namespaces: Namespaces,
    cgroup: Option<PathBuf>,
}

/// Whether a helper makes namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Namespaces {
    WherePossible,
    Never,
}

/// The reason for confining without namespaces.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoNamespaces(String);

impl Helper {
    /// Returns the executable of this process, even if its file has been replaced since.
    ///
    /// There is none unless `main` began with [`enter_if_asked`]: any other program would
    /// ignore the argument and run as usual.
    pub fn own() -> Option<Self> {
        let program = if cfg!(target_os = "linux") {
            PathBuf::from("/proc/self/exe")
        } else {
            std::env::current_exe().ok()?
        };
        LOOKS.load(Ordering::Relaxed).then(|| Self::at(program))
    }

    /// Uses another executable, by its absolute path.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), namespaces: Namespaces::WherePossible, cgroup: None }
    }

    /// Confines without namespaces, by Landlock and seccomp alone.
    #[must_use]
    pub fn without_namespaces(mut self) -> Self {
        self.namespaces = Namespaces::Never;
        self
    }

    /// Returns whether programs run in namespaces of their own.
    ///
    /// The first call starts a helper process that tries it, and blocks meanwhile. The
    /// result is kept for the life of this process.
    pub fn namespaces(&self) -> Result<(), NoNamespaces> {
        if self.namespaces == Namespaces::Never {
            return Err(NoNamespaces("they are turned off".to_owned()));
        }
        if let Some(known) = NAMESPACES.get() {
            return known.clone();
        }
        let mut attempt = Command::new(&self.program);
        attempt.arg(ATTEMPT).env_clear().current_dir("/").stdin(Stdio::null());
        // A helper that cannot start now may start later.
        let ended = attempt.output().map_err(|error| NoNamespaces(error.to_string()))?;
        let told = String::from_utf8_lossy(&ended.stderr);
        let result = match ended.status.success() {
            true => Ok(()),
            false => Err(NoNamespaces(told.trim().to_owned())),
        };
        NAMESPACES.get_or_init(|| result).clone()
    }

    /// Makes the helper enter a cgroup first, given by its directory.
    ///
    /// The program is executed even if the helper cannot enter.
    #[must_use]
    pub fn in_cgroup(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cgroup = Some(directory.into());
        self
    }

    /// Returns a command that executes a program without confining it.
    ///
    /// The program is given by its absolute path; `name` is its argument zero. The caller
    /// clears the environment and adds variables under the names of [`passed_on`].
    ///
    /// If the program cannot be executed, the command exits with 126 and writes the reason
    /// to its standard error in one line.
    pub fn command_as(&self, program: &Path, name: &OsStr) -> Command {
        let mut command = self.command();
        command.arg(program).arg(name);
        command
    }

    /// Returns a command that enters the cgroup and exits: with 0, or with 126 and the
    /// reason in one line on its standard error.
    pub fn trial(&self) -> Command {
        self.command()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(CGROUP).arg(self.cgroup.as_deref().unwrap_or(Path::new("")));
        command
    }

    /// Returns the path of the helper executable.
    pub fn program(&self) -> &Path {
        &self.program
    }
}

impl Confinement {
    /// Returns a command that executes a program, given by its absolute path, confined.
    ///
    /// The caller adds arguments as usual. It clears the environment and adds untrusted
    /// variables under the names of [`passed_on`].
    ///
    /// If the program cannot be confined, the command exits with 126 and writes the reason
    /// to its standard error in one line.
    pub fn command(&self, helper: &Helper, program: impl AsRef<Path>) -> Command {
        self.command_as(helper, program.as_ref(), program.as_ref().as_os_str())
    }

    /// The same, with another argument zero for the program.
    pub fn command_as(&self, helper: &Helper, program: &Path, name: &OsStr) -> Command {
        // Serializing text cannot fail. If it did, no program would be executed.
        let json = serde_json::to_string(self).unwrap_or_default();
        let asked = match helper.namespaces() {
            Ok(()) => ASKED_APART,
            Err(_) => ASKED,
        };
        let mut command = match helper.cgroup {
            Some(_) => helper.command(),
            None => Command::new(&helper.program),
        };
        command.arg(asked).arg(json).arg(program).arg(name);
        command
    }
}

/// Returns the name under which a variable is passed to a confined command.
///
/// The helper ignores a variable of that name, and the program gets its original name.
pub fn passed_on(name: &OsStr) -> OsString {
    OsString::from_vec([PASSED_ON, name.as_bytes()].concat())
}

/// Acts as the helper if this process was started as one.
///
/// It then enters a cgroup, confines this process and becomes the program. Call it first in
/// `main`, while there is no other thread.
pub fn enter_if_asked() {
    LOOKS.store(true, Ordering::Relaxed);
    let mut args = std::env::args_os().skip(1).peekable();
    let cgroup = args.next_if(|first| first == CGROUP).map(|_| args.next().unwrap_or_default());
    let directory = cgroup.as_deref().filter(|directory| !directory.is_empty());
    if args.peek().is_some_and(|first| first == ASKED_APART) {
        complain(&refusal(lead_program(args.skip(1), directory)));
    }
    let entered = directory.map(|directory| CgroupFile::open(directory)?.enter());
    complain(&match args.next() {
        Some(first) if first == ASKED => refusal(become_program(args, Stage::Alone)),
        Some(first) if first == ASKED_WITHIN => refusal(become_program(args, Stage::Within)),
        Some(first) if first == ATTEMPT => attempt(),
        Some(first) if first == INIT => run_init(),
        Some(program) if cgroup.is_some() => refusal(become_unconfined(program, args)),
        None if cgroup.is_some() => match entered {
            Some(Err(error)) => format!("offshoot: {error}"),
            _ => std::process::exit(0),
        },
        _ => return,
    });
}

fn complain(why: &str) -> ! {
    eprintln!("{why}");
    std::process::exit(NOT_EXECUTED);
}

/// The open file of a cgroup that takes processes.
struct CgroupFile(File);

impl CgroupFile {
    fn open(directory: &OsStr) -> io::Result<Self> {
        OpenOptions::new().write(true).open(Path::new(directory).join(PROCESSES)).map(Self)
    }

    /// Moves this process, which has one thread, into the cgroup.
    fn enter(mut self) -> io::Result<()> {
        self.0.write_all(b"0")
    }
}

/// Whether a process that becomes the program was prepared by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Alone,
    Within,
}

/// The request to a helper.
struct ConfineRequest {
    confinement: Confinement,
    program: OsString,
    name: OsString,
}

impl ConfineRequest {
    fn read(args: &mut impl Iterator<Item = OsString>) -> Result<Self, String> {
        let (Some(json), Some(program), Some(name)) = (args.next(), args.next(), args.next())
        else {
            return Err("not executed: how to confine it was not said in full".to_owned());
        };
        match serde_json::from_slice(json.as_bytes()) {
            Ok(confinement) => Ok(Self { confinement, program, name }),
            Err(error) => Err(format!("{program:?} was not executed: {error}")),
        }
    }

    fn not_confined(&self, error: &dyn std::fmt::Display) -> String {
        format!("{:?} was not executed, as it cannot be confined: {error}", self.program)
    }

    fn not_executed(&self, error: &dyn std::fmt::Display) -> String {
        format!("{:?} was not executed: {error}", self.program)
    }
}

/// Reports that a program was not executed.
fn refusal(result: Result<Infallible, String>) -> String {
    match result {
        Ok(never) => match never {},
        Err(why) => format!("offshoot: {why}"),
    }
}

/// Confines this process and becomes the program.
fn become_program(
    mut args: impl Iterator<Item = OsString>,
    stage: Stage,
) -> Result<Infallible, String> {
    let request = ConfineRequest::read(&mut args)?;
    let confined = match stage {
        Stage::Alone => confine(&request.confinement),
        Stage::Within => confine_within(&request.confinement),
    };
    confined.map_err(|error| request.not_confined(&error))?;
    Err(request.not_executed(&exec(&request.program, &request.name, args)))
}

/// Becomes the program without confining this process.
fn become_unconfined(
    program: OsString,
    mut args: impl Iterator<Item = OsString>,
) -> Result<Infallible, String> {
    let name = args.next().unwrap_or_else(|| program.clone());
    Err(format!("{program:?} was not executed: {}", exec(&program, &name, args)))
}

/// Becomes the program, with its variables. Returns only the error.
///
/// `Command::exec` would have a shell read a file that the system refuses to execute.
fn exec(program: &OsStr, name: &OsStr, args: impl Iterator<Item = OsString>) -> io::Error {
    let variables = std::env::vars_os().filter(|(name, _)| name != HELD_BACK);
    let variables = variables.map(|(name, value)| {
        let mut pair = own_name(&name).unwrap_or(&name).to_owned();
        pair.push("=");
        pair.push(value);
        pair
    });
    let words = std::iter::once(name.to_owned()).chain(args);
    let (program, words, variables) =
        match (c_string(program.to_owned()), c_strings(words), c_strings(variables)) {
            (Ok(program), Ok(words), Ok(variables)) => (program, words, variables),
            (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => return error,
        };
    // The call fails, but first it resets signals that this process ignores and the
    // program must not.
    let _ = Command::new("/").exec();
    let Err(error) = nix::unistd::execve(&program, &words, &variables);
    error.into()
}

fn c_strings(texts: impl Iterator<Item = OsString>) -> io::Result<Vec<CString>> {
    texts.map(c_string).collect()
}

fn c_string(text: OsString) -> io::Result<CString> {
    Ok(CString::new(text.into_vec())?)
}

/// Makes namespaces, has a child become the program in them, and ends as it does.
///
/// Process 1 of the namespaces is none of the program's processes, so it stays outside
/// the cgroup that this process enters.
fn lead_program(
    mut args: impl Iterator<Item = OsString>,
    cgroup: Option<&OsStr>,
) -> Result<Infallible, String> {
    let request = ConfineRequest::read(&mut args)?;
    close_inherited().map_err(|error| request.not_confined(&error))?;
    let cgroup = cgroup.map(CgroupFile::open);
    let (init, found) =
        isolate(&request.confinement).map_err(|error| request.not_confined(&error))?;
    // The program is executed even if this fails.
    cgroup.map(|cgroup| cgroup?.enter()).transpose().ok();
    let json = serde_json::to_string(&found).map_err(|error| request.not_confined(&error))?;
    // For the child this path names its own executable, which is this one.
    let mut command = Command::new("/proc/self/exe");
    command.arg(ASKED_WITHIN).arg(json).arg(&request.program).arg(&request.name).args(args);
    Err(request.not_executed(&lead(command, init)))
}

/// Tries to make namespaces. Returns the error, if there is one.
fn attempt() -> String {
    match attempt_namespaces() {
        Ok(()) => std::process::exit(0),
        Err(error) => error.to_string(),
    }
}

/// Returns the original name of a variable that was passed on.
fn own_name(passed: &OsStr) -> Option<&OsStr> {
    passed.as_bytes().strip_prefix(PASSED_ON).map(OsStr::from_bytes)
}

#[cfg(target_os = "linux")]
use crate::linux::{
    HELD_BACK, INIT, attempt_namespaces, close_inherited, confine, confine_within, isolate, lead,
    run_init,
};

#[cfg(not(target_os = "linux"))]
use elsewhere::{
    HELD_BACK, INIT, attempt_namespaces, close_inherited, confine, confine_within, isolate, lead,
    run_init,
};

/// Other systems have no confinement.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::convert::Infallible;
    use std::io;
    use std::process::Command;

    use crate::confinement::Confinement;
    use crate::support::Lack;

    pub(super) const HELD_BACK: &str = "offshoot-held-back";
    pub(super) const INIT: &str = "__offshoot-init";

    pub(super) fn close_inherited() -> Result<(), Lack> {
        Err(Lack::System)
    }

    pub(super) fn confine(_confinement: &Confinement) -> Result<(), Lack> {
        Err(Lack::System)
    }

    pub(super) fn confine_within(_confinement: &Confinement) -> Result<(), Lack> {
        Err(Lack::System)
    }

    pub(super) fn isolate(_confinement: &Confinement) -> Result<(Infallible, Confinement), Lack> {
        Err(Lack::System)
    }

    pub(super) fn attempt_namespaces() -> Result<(), Lack> {
        Err(Lack::System)
    }

    pub(super) fn lead(_program: Command, init: Infallible) -> io::Error {
        match init {}
    }

    pub(super) fn run_init() -> ! {
        std::process::exit(super::NOT_EXECUTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_has_its_own_name_again() {
        let name = OsStr::new("LD_PRELOAD");
        assert_ne!(passed_on(name), name);
        assert_eq!(own_name(&passed_on(name)), Some(name));
        let twice = passed_on(&passed_on(name));
        assert_eq!(own_name(&twice), Some(passed_on(name).as_os_str()));
        assert_eq!(own_name(name), None);
    }

    #[test]
    fn a_program_that_does_not_look_for_the_argument_is_no_helper() {
        // As this one, which is the test's.
        assert_eq!(Helper::own(), None);
    }
}
