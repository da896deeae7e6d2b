//! The commands of one data directory.

use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_core::{Payload, PayloadError, TaskId};
use offshoot_runtime::TaskRequest;
use offshoot_sandbox::{Helper, remove_tree};
use tokio::sync::OnceCell;

use super::backend::CommandBackend;
use super::body::CallerContext;
use super::confiner::Confiner;
use super::input::EndedInputs;
use super::line::{Command, CommandError, Stdin};
use super::supervisor::Supervisor;
use super::supervisors::Supervisors;
use super::surroundings::Surroundings;
use crate::log::{LiveLogs, LogLimits, LosslessReader, OutputLog};
use crate::process::{CgroupLack, Cgroups, DeadHolders, HolderFile, Scanner, SessionUse};
use crate::workers::Workers;

/// Executes the commands of one data directory and keeps their output. Cheap to clone;
/// there is one for each directory.
///
/// It needs a Tokio runtime with its timer and its I/O enabled.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use offshoot_backends::{Attach, Command, Commands, Surroundings};
/// use offshoot_runtime::Runtime;
/// use offshoot_store::Memory;
///
/// let commands = Commands::at("/var/lib/me")?;
/// let builder = Runtime::builder(Memory::new());
/// let runtime = builder.backend(Commands::KIND, commands.backend()).open().await?;
/// let command = Command::new("cargo", "/home/me/project")?.args(["build"])?;
/// let request = commands.request(command, Some(Surroundings::own()), Attach::No)?;
/// let build = runtime.session("main").await?.spawn(request).name("build").await?;
/// let mut output = commands.log(build.id()).follow(0);
/// while let Some(piece) = output.next().await? {
///     println!("{} bytes", piece.chunks.len());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Commands(Arc<CommandsShared>);

/// The state that all commands of a data directory share.
#[derive(Debug)]
pub(crate) struct CommandsShared {
    logs: PathBuf,
    session: SessionUse,
    pub(crate) live_logs: LiveLogs,
    pub(crate) limits: LogLimits,
    pub(crate) supervisors: Supervisors,
    pub(crate) ended_inputs: EndedInputs,
    pub(crate) scanner: Scanner,
    /// Start processes.
    pub(crate) starters: Workers,
    /// Write logs.
    pub(crate) writers: Workers,
    pub(crate) dead_holders: DeadHolders,
    pub(crate) confiner: Confiner,
    pub(crate) cgroups: Cgroups,
    pub(crate) sessions_ended: OnceCell<usize>,
}

/// Options of [`Commands`].
#[derive(Clone, Debug)]
#[must_use = "nothing is done before `open`"]
pub struct CommandsBuilder {
    folder: PathBuf,
    limits: LogLimits,
    session: SessionUse,
    confiner: Confiner,
    cgroups: bool,
}

/// Whether a reader follows the output from the start and must miss nothing.
#[derive(Debug)]
pub enum Attach<'a> {
    /// No reader does.
    No,
    /// The owner of this [`LosslessReader`] does: see
    /// [`OutputLog::follow_lossless`](crate::OutputLog::follow_lossless).
    Lossless(&'a LosslessReader),
}

/// The reason for which commands cannot be executed, or a request not be made.
#[derive(Debug, thiserror::Error)]
pub enum CommandsError {
    /// The directory for the output cannot be used.
    #[error(
        "the directory {path:?} cannot be used for the output of commands: check that it is yours and can be written to"
    )]
    Directory {
        /// Its path.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The system has no thread or descriptor left for ending commands.
    #[error(
        "commands could not be ended here: the system has no more threads or open files to give"
    )]
    Threads(#[source] io::Error),
    /// The command is malformed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The command cannot be stored.
    #[error(transparent)]
    Payload(#[from] PayloadError),
}

impl CommandsBuilder {
    /// Sets how much of each command's output is kept.
    pub fn limits(mut self, limits: LogLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Declares that this process leads a session that has only the processes of its
    /// commands, as a daemon does. If it dies, the next holder of the directory ends
    /// every process that is left in that session.
    pub fn sole_session(mut self) -> Self {
        self.session = SessionUse::Sole;
        self
    }

    /// Sets the helper that confines commands: see [`Command::confined`]. Without a
    /// helper, confined commands are not started. The helper also moves commands into
    /// their cgroups.
    pub fn helper(mut self, helper: impl Into<Option<Helper>>) -> Self {
        self.confiner.helper = helper.into();
        self
    }

    /// Starts no command in a cgroup. Otherwise each has one of its own, if there
    /// is a [`helper`](Self::helper) and the system lets this process make some.
    pub fn without_cgroups(mut self) -> Self {
        self.cgroups = false;
        self
    }

    /// Names more variables that confined commands do not get from their surroundings,
    /// such as the keys of providers.
    ///
    /// They never get variables whose [name](offshoot_sandbox::is_credential) or
    /// [value](offshoot_sandbox::holds_password) is that of a credential, nor the
    /// variables of Offshoot itself.
    pub fn secrets<N: Into<OsString>>(mut self, named: impl IntoIterator<Item = N>) -> Self {
        self.confiner.secrets = named.into_iter().map(Into::into).collect();
        self
    }

    /// Opens the directory. This process must hold it: no other process may use it for
    /// commands at the same time.
    pub fn open(self) -> Result<Commands, CommandsError> {
        let Self { folder, limits, session, confiner, cgroups } = self;
        let logs = folder.join("logs");
        let cgroups = match cgroups {
            true => Cgroups::open(confiner.helper.as_ref()),
            false => Cgroups::off(),
        };
        let dead_holders = crate::file::make_folder(&logs)
            .and_then(|()| HolderFile::in_folder(&logs).enter(session, &cgroups));
        let dead_holders = dead_holders
            .map_err(|source| CommandsError::Directory { path: logs.clone(), source })?;
        // The threads that end commands exist before the first command starts.
        let scanner = Scanner::start().map_err(CommandsError::Threads)?;
        let starters = Workers::start("offshoot-start").map_err(CommandsError::Threads)?;
        let writers = Workers::start("offshoot-log").map_err(CommandsError::Threads)?;
        Ok(Commands(Arc::new(CommandsShared {
            logs,
            session,
            live_logs: LiveLogs::default(),
            limits,
            supervisors: Supervisors::default(),
            ended_inputs: EndedInputs::default(),
            scanner,
            starters,
            writers,
            dead_holders,
            confiner,
            cgroups,
            sessions_ended: OnceCell::new(),
        })))
    }
}

impl Commands {
    /// The kind under which the backend is registered.
    pub const KIND: &'static str = "command";

    /// The commands of this data directory, with the default options.
    pub fn at(folder: impl AsRef<Path>) -> Result<Self, CommandsError> {
        Self::builder(folder).open()
    }

    /// The options of the commands of this data directory.
    pub fn builder(folder: impl AsRef<Path>) -> CommandsBuilder {
        let folder = folder.as_ref().to_path_buf();
        let (limits, confiner) = (LogLimits::default(), Confiner::default());
        CommandsBuilder { folder, limits, session: SessionUse::Shared, confiner, cgroups: true }
    }

    /// The backend that executes commands, to be registered under [`KIND`](Self::KIND).
    pub fn backend(&self) -> CommandBackend {
        CommandBackend::new(self.0.clone(), CallerContext::default())
    }

    /// A request to execute a command in these surroundings, or in those of this process.
    ///
    /// Surroundings are never stored. A command that starts after the end of this
    /// process gets those of the next one, and its [`Report`](super::Report) says so.
    pub fn request(
        &self,
        command: Command,
        surroundings: Option<Surroundings>,
        attach: Attach<'_>,
    ) -> Result<TaskRequest, CommandsError> {
        let fed = surroundings.as_ref().is_some_and(Surroundings::has_input);
        let command = command.reads(if fed { Stdin::Input } else { Stdin::Messages });
        command.check()?;
        let hold = match attach {
            Attach::No => None,
            Attach::Lossless(seat) => Some(seat.hold()),
        };
        let input = Payload::encode(&command)?;
        let caller = CallerContext { surroundings, hold };
        let backend = CommandBackend::of(&command, self.0.clone(), caller);
        Ok(TaskRequest::new(Self::KIND, input).executed_by(Arc::new(backend)))
    }

    /// The directory of the commands' cgroups, or the reason for which there are none.
    ///
    /// A command in a cgroup leaves no process behind, even if its processes change
    /// their limits, environment, group and parents.
    pub fn cgroups(&self) -> Result<&Path, &CgroupLack> {
        self.0.cgroups.directory()
    }

    /// Notes that every process of dead holders of the directory has ended, so that no
    /// later process is taken for one of theirs.
    pub fn recovered(&self) -> io::Result<()> {
        if !self.0.dead_holders.any_lives() {
            self.0.dead_holders.clear_cgroups();
        }
        HolderFile::in_folder(&self.0.logs).forget_formers(self.0.session, &self.0.cgroups)
    }

    /// Gives the directory up: this holder ends and leaves no process behind.
    pub fn release(&self) -> io::Result<()> {
        self.0.cgroups.remove();
        HolderFile::in_folder(&self.0.logs).clear()
    }

    /// The output of a task.
    pub fn log(&self, task: TaskId) -> OutputLog {
        self.0.log(task)
    }

    /// Deletes the logs of the tasks for which `keep` returns `false`, and returns their
    /// number.
    pub async fn sweep<F, Keep>(&self, mut keep: F) -> io::Result<usize>
    where
        F: FnMut(TaskId) -> Keep,
        Keep: Future<Output = bool>,
    {
        let logs = self.0.logs.clone();
        let tasks = crate::log::blocking(move || logged(&logs)).await?;
        let mut swept = 0;
        for task in tasks {
            if self.0.supervisors.of(task).is_some() || keep(task).await {
                continue;
            }
            let folder = self.0.log_folder(task);
            crate::log::blocking(move || remove_tree(&folder)).await?;
            swept += 1;
        }
        for task in self.0.ended_inputs.all() {
            if !keep(task).await {
                self.0.ended_inputs.forget(task);
            }
        }
        Ok(swept)
    }
}

impl CommandsShared {
    pub(crate) fn log_folder(&self, task: TaskId) -> PathBuf {
        self.logs.join(task.to_string())
    }

    /// Forgets a command whose end has been read.
    pub(crate) fn forget(&self, supervisor: &Arc<Supervisor>) {
        self.supervisors.forget(supervisor);
        self.ended_inputs.forget(supervisor.task);
    }

    pub(crate) fn log(&self, task: TaskId) -> OutputLog {
        OutputLog::new(self.log_folder(task), self.live_logs.get(task))
    }
}

/// The tasks that have a log.
fn logged(logs: &Path) -> io::Result<Vec<TaskId>> {
    let mut tasks = Vec::new();
    for entry in std::fs::read_dir(logs)? {
        let name = entry?.file_name();
        tasks.extend(name.to_str().and_then(|name| name.parse::<TaskId>().ok()));
    }
    Ok(tasks)
}
