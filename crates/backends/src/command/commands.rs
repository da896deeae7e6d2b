//! All commands of one data folder.

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
use super::body::Given;
use super::confiner::Confiner;
use super::input::EndedInputs;
use super::keeper::Keeper;
use super::keepers::Keepers;
use super::line::{Command, CommandError, Stdin};
use super::surroundings::Surroundings;
use crate::log::{Lives, Log, LogLimits, Seat};
use crate::process::{CgroupLack, Cgroups, Formers, HolderFile, Scanner, Session};
use crate::workers::Workers;

/// Executes the commands of one data folder and keeps their output. Cheap to
/// clone; there is one for each folder.
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
pub struct Commands(Arc<Shared>);

/// What all commands of a data folder have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    logs: PathBuf,
    session: Session,
    pub(crate) lives: Lives,
    pub(crate) limits: LogLimits,
    pub(crate) keepers: Keepers,
    pub(crate) ended_inputs: EndedInputs,
    pub(crate) scanner: Scanner,
    /// Start processes.
    pub(crate) starters: Workers,
    /// Write logs.
    pub(crate) writers: Workers,
    pub(crate) formers: Formers,
    pub(crate) confiner: Confiner,
    pub(crate) cgroups: Cgroups,
    pub(crate) sessions_ended: OnceCell<usize>,
}

/// A data folder about to be used for commands.
#[derive(Clone, Debug)]
#[must_use = "nothing is done before `open`"]
pub struct Holding {
    folder: PathBuf,
    limits: LogLimits,
    session: Session,
    confiner: Confiner,
    cgroups: bool,
}

/// Whether somebody reads along from the start and must miss nothing.
#[derive(Debug)]
pub enum Attach<'a> {
    /// Nobody does.
    No,
    /// Whoever has this seat does: see
    /// [`Log::follow_seated`](crate::Log::follow_seated).
    Lossless(&'a Seat),
}

/// Why commands cannot be executed here, or a request not be made.
#[derive(Debug, thiserror::Error)]
pub enum CommandsError {
    /// The folder for the output cannot be used.
    #[error(
        "the folder {path:?} cannot be used for the output of commands: check that it is yours and can be written to"
    )]
    Folder {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The system has no thread or no descriptor for what ends commands.
    #[error(
        "commands could not be ended here: the system has no more threads or open files to give"
    )]
    Threads(#[source] io::Error),
    /// The command cannot be one.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The command cannot be stored.
    #[error(transparent)]
    Payload(#[from] PayloadError),
}

impl Holding {
    /// How much of each command's output is kept.
    pub fn limits(mut self, limits: LogLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Says that this process leads a session in which nobody is but what it
    /// starts for commands, as a daemon does. Should it die, the next one ends
    /// everything that is left in that session.
    pub fn sole_session(mut self) -> Self {
        self.session = Session::Sole;
        self
    }

    /// What confines those commands that are to be: see
    /// [`Command::confined`]. Without it they are not started. It also has
    /// commands enter their cgroups.
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

    /// Names further variables that no confined command is given by its
    /// surroundings, as those that hold keys of providers. Variables whose
    /// [names](offshoot_sandbox::is_credential) or
    /// [values](offshoot_sandbox::holds_password) say that they hold a credential
    /// are not given either, nor are those by which Offshoot is told things.
    pub fn secrets<N: Into<OsString>>(mut self, named: impl IntoIterator<Item = N>) -> Self {
        self.confiner.secrets = named.into_iter().map(Into::into).collect();
        self
    }

    /// Uses the folder. This process holds it: nothing else may use it for
    /// commands at the same time.
    pub fn open(self) -> Result<Commands, CommandsError> {
        let Self { folder, limits, session, confiner, cgroups } = self;
        let logs = folder.join("logs");
        let cgroups = match cgroups {
            true => Cgroups::open(confiner.helper.as_ref()),
            false => Cgroups::off(),
        };
        let formers = crate::file::make_folder(&logs)
            .and_then(|()| HolderFile::in_folder(&logs).enter(session, &cgroups));
        let formers =
            formers.map_err(|source| CommandsError::Folder { path: logs.clone(), source })?;
        // What ends commands is there before the first one starts.
        let scanner = Scanner::start().map_err(CommandsError::Threads)?;
        let starters = Workers::start("offshoot-start").map_err(CommandsError::Threads)?;
        let writers = Workers::start("offshoot-log").map_err(CommandsError::Threads)?;
        Ok(Commands(Arc::new(Shared {
            logs,
            session,
            lives: Lives::default(),
            limits,
            keepers: Keepers::default(),
            ended_inputs: EndedInputs::default(),
            scanner,
            starters,
            writers,
            formers,
            confiner,
            cgroups,
            sessions_ended: OnceCell::new(),
        })))
    }
}

impl Commands {
    /// The kind under which the backend is registered.
    pub const KIND: &'static str = "command";

    /// The commands of this data folder, as usual.
    pub fn at(folder: impl AsRef<Path>) -> Result<Self, CommandsError> {
        Self::holding(folder).open()
    }

    /// The same with something to say beforehand.
    pub fn holding(folder: impl AsRef<Path>) -> Holding {
        let folder = folder.as_ref().to_path_buf();
        let (limits, confiner) = (LogLimits::default(), Confiner::default());
        Holding { folder, limits, session: Session::Shared, confiner, cgroups: true }
    }

    /// What executes commands, to be registered under [`KIND`](Self::KIND).
    pub fn backend(&self) -> CommandBackend {
        CommandBackend::new(self.0.clone(), Given::default())
    }

    /// A request to execute a command in these surroundings; without any, in
    /// those of this process. They are never stored, so a command that starts
    /// only after this process is gone gets those of the next one, and its
    /// [`Report`](super::Report) says so.
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
        let given = Given { surroundings, hold };
        let backend = CommandBackend::of(&command, self.0.clone(), given);
        Ok(TaskRequest::new(Self::KIND, input).executed_by(Arc::new(backend)))
    }

    /// Where each command has a cgroup of its own, or why it has none. Commands in
    /// one leave no process behind whatever they do to their limits, environment,
    /// group and parents.
    pub fn cgroups(&self) -> Result<&Path, &CgroupLack> {
        self.0.cgroups.directory()
    }

    /// Says that everything former holders of the folder left behind has been
    /// ended, so that nobody is taken for it later.
    pub fn recovered(&self) -> io::Result<()> {
        if !self.0.formers.any_lives() {
            self.0.formers.clear_cgroups();
        }
        HolderFile::in_folder(&self.0.logs).forget_formers(self.0.session, &self.0.cgroups)
    }

    /// Says that this holder ends and leaves nothing behind.
    pub fn leave(&self) -> io::Result<()> {
        self.0.cgroups.remove();
        HolderFile::in_folder(&self.0.logs).leave()
    }

    /// The output of a task.
    pub fn log(&self, task: TaskId) -> Log {
        self.0.log(task)
    }

    /// Deletes the output of the tasks that `keep` does not want kept: those
    /// that are no more. How many logs went.
    pub async fn sweep<F, Keep>(&self, mut keep: F) -> io::Result<usize>
    where
        F: FnMut(TaskId) -> Keep,
        Keep: Future<Output = bool>,
    {
        let logs = self.0.logs.clone();
        let tasks = crate::log::blocking(move || logged(&logs)).await?;
        let mut swept = 0;
        for task in tasks {
            if self.0.keepers.of(task).is_some() || keep(task).await {
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

impl Shared {
    pub(crate) fn log_folder(&self, task: TaskId) -> PathBuf {
        self.logs.join(task.to_string())
    }

    /// Whoever had to be told of the end of a command has been.
    pub(crate) fn forget(&self, keeper: &Arc<Keeper>) {
        self.keepers.forget(keeper);
        self.ended_inputs.forget(keeper.task);
    }

    pub(crate) fn log(&self, task: TaskId) -> Log {
        Log::new(self.log_folder(task), self.lives.get(task))
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
