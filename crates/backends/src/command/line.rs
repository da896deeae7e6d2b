//! A command: the input of its task.

use std::ffi::OsStr;
use std::path::Path;

use offshoot_sandbox::{Confinement, ConfinementError};
use serde::{Deserialize, Serialize};

use super::seal::Sealed;
use crate::process::MARK_VARIABLE;

/// A command to execute: the input of a task of kind
/// [`command`](super::Commands::KIND).
///
/// ```
/// use offshoot_backends::{Command, Restart};
///
/// let build = Command::new("cargo", "/home/me/project")?
///     .args(["build", "--release"])?
///     .env("TOKEN", "secret")?
///     .restart(Restart::OnCrash);
/// assert!(!format!("{build:?}").contains("secret"));
/// # Ok::<_, offshoot_backends::CommandError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    program: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    cwd: String,
    #[serde(default, skip_serializing_if = "Sealed::is_empty")]
    env: Sealed,
    #[serde(default)]
    restart: Restart,
    #[serde(default, skip_serializing_if = "Stdin::is_messages")]
    stdin: Stdin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confinement: Option<Confinement>,
}

/// The source of a command's standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    /// Each message to its task, as a line.
    #[default]
    Messages,
    /// The input that the caller sends: see
    /// [`Surroundings::with_input`](super::Surroundings::with_input).
    Input,
}

impl Stdin {
    fn is_messages(&self) -> bool {
        *self == Self::Messages
    }
}

/// What to do with a command whose runtime dies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restart {
    /// It is lost.
    #[default]
    Never,
    /// It is started again. The caller declares that executing it twice does no harm.
    OnCrash,
}

/// The parts of a command that may be shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownCommand {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its working directory.
    pub cwd: String,
    /// The names of the variables that were set for it.
    pub env: Vec<String>,
    /// What to do with it when its runtime dies.
    pub restart: Restart,
    /// Its confinement, if it is confined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<Confinement>,
}

/// An error in a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The program is empty.
    #[error("the {0} is empty: say what to use")]
    Empty(&'static str),
    /// A part is not UTF-8, which records require.
    #[error("the {0} {1:?} is not UTF-8: rename it, or pass it inside a script")]
    NotUtf8(&'static str, std::ffi::OsString),
    /// A part contains a NUL byte.
    #[error("the {0} holds a zero byte, which no command can be given: leave it out")]
    Nul(&'static str),
    /// The working directory is not absolute.
    #[error("the folder {0:?} is not absolute: say where it is from the root on")]
    RelativeFolder(String),
    /// The name of a variable is invalid.
    #[error("{0:?} cannot be the name of a variable: it is empty or holds an equals sign")]
    VariableName(String),
    /// The variable belongs to Offshoot.
    #[error("{0} is set by Offshoot, so that a task's processes are known: choose another name")]
    Reserved(&'static str),
    /// The input of the caller cannot be repeated for a second attempt.
    #[error(
        "a command whose input is passed on cannot be restarted, as its input cannot be given \
         twice: leave out the one or the other"
    )]
    InputTwice,
    /// The confinement is invalid.
    #[error(transparent)]
    Confinement(#[from] ConfinementError),
}

impl Command {
    /// Makes a command of a program and its absolute working directory.
    ///
    /// The program is found as a shell finds it.
    pub fn new(program: impl AsRef<OsStr>, folder: impl AsRef<Path>) -> Result<Self, CommandError> {
        let program = text("program", program.as_ref())?;
        let cwd = text("folder", folder.as_ref().as_os_str())?;
        let (args, env) = (Vec::new(), Sealed::default());
        let (restart, stdin) = (Restart::default(), Stdin::default());
        let command = Self { program, args, cwd, env, restart, stdin, confinement: None };
        command.check()?;
        Ok(command)
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(
        mut self,
        args: impl IntoIterator<Item = A>,
    ) -> Result<Self, CommandError> {
        for arg in args {
            self.args.push(text("argument", arg.as_ref())?);
        }
        Ok(self)
    }

    /// Sets a variable of its environment. The value is stored and never
    /// shown.
    pub fn env(
        mut self,
        name: impl AsRef<OsStr>,
        value: impl AsRef<OsStr>,
    ) -> Result<Self, CommandError> {
        let name = text("variable", name.as_ref())?;
        check_variable(&name)?;
        // A value that is refused is not shown either.
        let value = match value.as_ref().to_str() {
            Some(value) => value.to_owned(),
            None => return Err(CommandError::NotUtf8("value of the variable", name.into())),
        };
        check_nul("value of a variable", &value)?;
        self.env.set(name, value);
        Ok(self)
    }

    /// What to do with it when its runtime dies.
    pub fn restart(mut self, restart: Restart) -> Self {
        self.restart = restart;
        self
    }

    /// Confines the command and all its processes.
    ///
    /// It gets no secrets from its surroundings: see
    /// [`CommandsBuilder::secrets`](super::CommandsBuilder::secrets). A command that cannot
    /// be confined is not started.
    pub fn confined(mut self, by: Confinement) -> Self {
        self.confinement = Some(by);
        self
    }

    /// The source of its standard input.
    pub(crate) fn reads(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// Checks a command from another process.
    pub fn check(&self) -> Result<(), CommandError> {
        let texts = self.args.iter().map(|arg| ("argument", arg));
        for (what, text) in texts.chain([("program", &self.program), ("folder", &self.cwd)]) {
            check_nul(what, text)?;
        }
        if self.program.is_empty() {
            return Err(CommandError::Empty("program"));
        }
        if !Path::new(&self.cwd).is_absolute() {
            return Err(CommandError::RelativeFolder(self.cwd.clone()));
        }
        for (name, value) in self.env.open() {
            check_variable(name)?;
            check_nul("value of a variable", value)?;
        }
        if self.stdin == Stdin::Input && self.restart == Restart::OnCrash {
            return Err(CommandError::InputTwice);
        }
        if let Some(confinement) = &self.confinement {
            confinement.check()?;
        }
        Ok(())
    }

    /// Returns the parts of the command that may be shown.
    pub fn shown(&self) -> ShownCommand {
        ShownCommand {
            program: self.program.clone(),
            args: self.args.clone(),
            cwd: self.cwd.clone(),
            env: self.env.names().map(str::to_owned).collect(),
            restart: self.restart,
            confinement: self.confinement.clone(),
        }
    }

    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    pub(crate) fn arguments(&self) -> &[String] {
        &self.args
    }

    pub(crate) fn folder(&self) -> &Path {
        Path::new(&self.cwd)
    }

    pub(crate) fn variables(&self) -> &Sealed {
        &self.env
    }

    pub(crate) fn confinement(&self) -> Option<&Confinement> {
        self.confinement.as_ref()
    }

    pub(crate) fn restarts(&self) -> Restart {
        self.restart
    }

    pub(crate) fn stdin(&self) -> Stdin {
        self.stdin
    }
}

fn text(what: &'static str, value: &OsStr) -> Result<String, CommandError> {
    let text = value.to_str().ok_or_else(|| CommandError::NotUtf8(what, value.to_owned()))?;
    check_nul(what, text)?;
    Ok(text.to_owned())
}

fn check_nul(what: &'static str, text: &str) -> Result<(), CommandError> {
    if text.contains('\0') { Err(CommandError::Nul(what)) } else { Ok(()) }
}

fn check_variable(name: &str) -> Result<(), CommandError> {
    if name == MARK_VARIABLE {
        return Err(CommandError::Reserved(MARK_VARIABLE));
    }
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(CommandError::VariableName(name.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn a_command_reads_as_json_that_people_can_write() {
        let json = r#"{"program":"make","args":["all"],"cwd":"/src","env":{"A":"1"},"restart":"on_crash"}"#;
        let command: Command = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&command).unwrap(), json);
        let least: Command = serde_json::from_str(r#"{"program":"make","cwd":"/"}"#).unwrap();
        assert_eq!(least, Command::new("make", "/").unwrap());
        assert!(serde_json::from_str::<Command>(r#"{"program":"a","cwd":"/","shell":1}"#).is_err());
    }

    #[test]
    fn a_confinement_is_stored_with_the_command() {
        let json = r#"{"program":"make","cwd":"/src","restart":"never","confinement":{"writable":["/src"]}}"#;
        let command: Command = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&command).unwrap(), json);
        let by = Confinement::new(["/src"], [""; 0]).unwrap();
        assert_eq!(command, Command::new("make", "/src").unwrap().confined(by.clone()));
        assert_eq!(command.shown().confinement, Some(by));
        let wrong: Command =
            serde_json::from_str(&json.replace("[\"/src\"]", "[\"src\"]")).unwrap();
        let relative = ConfinementError::Relative("src".into());
        assert_eq!(wrong.check(), Err(CommandError::Confinement(relative)));
    }

    #[test]
    fn values_of_variables_are_not_shown() {
        let command = Command::new("make", "/").unwrap().env("TOKEN", "hush").unwrap();
        assert!(!format!("{command:?}").contains("hush"));
        let shown = serde_json::to_string(&command.shown()).unwrap();
        assert!(shown.contains("TOKEN") && !shown.contains("hush"));
    }

    #[test]
    fn what_cannot_be_executed_is_refused_and_said() {
        let make = || Command::new("make", "/").unwrap();
        assert_eq!(Command::new("", "/"), Err(CommandError::Empty("program")));
        let relative = Err(CommandError::RelativeFolder("here".into()));
        assert_eq!(Command::new("make", "here"), relative);
        let odd = OsStr::from_bytes(b"\xff");
        assert_eq!(make().args([odd]), Err(CommandError::NotUtf8("argument", odd.into())));
        assert_eq!(make().args(["a\0b"]), Err(CommandError::Nul("argument")));
        assert_eq!(make().env("A=B", "1"), Err(CommandError::VariableName("A=B".into())));
        assert_eq!(make().env(MARK_VARIABLE, "1"), Err(CommandError::Reserved(MARK_VARIABLE)));
    }
}
