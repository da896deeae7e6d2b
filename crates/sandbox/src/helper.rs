//! The process that confines itself and becomes the program.
//!
//! It must not do anything for the program before: the variables that the
//! program is to have could make the loader bring in other code. So they have
//! other names until the program begins.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::confinement::Confinement;

/// The first argument by which a program knows that it is asked to confine.
const ASKED: &str = "__offshoot-confined";

/// Put before the name of a variable that only the program is to have.
const PASSED_ON: &[u8] = b"offshoot-confined:";

/// How a shell tells that a program is there and was not executed.
const NOT_EXECUTED: i32 = 126;

/// Whether this process looks for the argument when it starts.
static LOOKS: AtomicBool = AtomicBool::new(false);

/// The program that confines: one whose `main` begins with [`enter_if_asked`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helper {
    program: PathBuf,
}

impl Helper {
    /// The program of this process, even if its file has been replaced since.
    /// There is none unless this process began with [`enter_if_asked`]: any
    /// other program would only do again what it always does.
    pub fn own() -> Option<Self> {
        let program = if cfg!(target_os = "linux") {
            PathBuf::from("/proc/self/exe")
        } else {
            std::env::current_exe().ok()?
        };
        LOOKS.load(Ordering::Relaxed).then_some(Self { program })
    }

    /// Another program, by its absolute path.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }

    /// Where the program is.
    pub fn program(&self) -> &Path {
        &self.program
    }
}

impl Confinement {
    /// A command that executes the program, given by its absolute path, so
    /// confined. Its arguments are to be added as usual. So are variables; those
    /// that come from whom the confinement is to hold have to be named as
    /// [`passed_on`] says, on a cleared environment.
    ///
    /// What cannot be confined exits with 126 and says why in a line on its
    /// standard error.
    pub fn command(&self, helper: &Helper, program: impl AsRef<Path>) -> Command {
        self.command_as(helper, program.as_ref(), program.as_ref().as_os_str())
    }

    /// The same for a program that is told another name for itself.
    pub fn command_as(&self, helper: &Helper, program: &Path, name: &OsStr) -> Command {
        // Text and lists of it can always be written; if not, nothing is executed.
        let json = serde_json::to_string(self).unwrap_or_default();
        let mut command = Command::new(&helper.program);
        command.arg(ASKED).arg(json).arg(program).arg(name);
        command
    }
}

/// The name under which a variable is given to a confined command, so that it
/// means nothing to the helper and has its own name for the program.
pub fn passed_on(name: &OsStr) -> OsString {
    OsString::from_vec([PASSED_ON, name.as_bytes()].concat())
}

/// Confines this process and becomes the program, if that is what it was
/// started for. To be called before anything else in `main`, while there is no
/// other thread.
pub fn enter_if_asked() {
    LOOKS.store(true, Ordering::Relaxed);
    let mut args = std::env::args_os().skip(1);
    if args.next().is_none_or(|first| first != ASKED) {
        return;
    }
    let refused = enter(args);
    eprintln!("offshoot: {refused}");
    std::process::exit(NOT_EXECUTED);
}

/// Why it did not become the program.
fn enter(mut args: impl Iterator<Item = OsString>) -> String {
    let (Some(json), Some(program), Some(name)) = (args.next(), args.next(), args.next()) else {
        return "not executed: how to confine it was not said in full".to_owned();
    };
    let confinement = match serde_json::from_slice::<Confinement>(json.as_bytes()) {
        Ok(confinement) => confinement,
        Err(error) => return format!("{program:?} was not executed: {error}"),
    };
    if let Err(error) = confine(&confinement) {
        return format!("{program:?} was not executed, as it cannot be confined: {error}");
    }
    let mut command = Command::new(&program);
    std::os::unix::process::CommandExt::arg0(&mut command, name);
    let variables = std::env::vars_os().map(|(name, value)| match own_name(&name) {
        Some(name) => (name.to_owned(), value),
        None => (name, value),
    });
    let variables: Vec<_> = variables.collect();
    command.args(args).env_clear().envs(variables);
    let error = std::os::unix::process::CommandExt::exec(&mut command);
    format!("{program:?} was not executed: {error}")
}

/// What a variable is called that was passed on.
fn own_name(passed: &OsStr) -> Option<&OsStr> {
    passed.as_bytes().strip_prefix(PASSED_ON).map(OsStr::from_bytes)
}

#[cfg(target_os = "linux")]
use crate::linux::confine;

#[cfg(not(target_os = "linux"))]
fn confine(_confinement: &Confinement) -> Result<(), crate::support::Lack> {
    Err(crate::support::Lack::System)
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
