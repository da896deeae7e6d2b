//! The tool `run_command`.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use offshoot_agent::built_in_tools::RUN_COMMAND;
use offshoot_agent::{Function, Output, Tool, ToolContext, ToolError};
use offshoot_backends::{Attach, Command, Commands, Input, Surroundings};
use offshoot_core::permissions::{Access, Action, NamedPaths};
use offshoot_core::{SessionId, TaskId, Wake};
use offshoot_runtime::{Error, TaskRef};
use offshoot_sandbox::{Confinement, ResourceLimits, Support};
use schemars::JsonSchema;
use serde::Deserialize;

use super::environment::{Environment, Variables, cleaned, is_withheld};
use super::line::GrantScope;
use super::workspace::{Scratch, Workspace};
use super::{NAME, line, output, report};

/// The default wait of a call, in seconds.
const USUAL: u64 = 120;

/// The longest wait of a call, in seconds.
const LONGEST: u64 = 3_600;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The command line, for a POSIX shell.
    command: String,
    /// false (the default): this call returns when the command has ended. true: it
    /// runs while you go on, and its end comes to you later.
    #[serde(default)]
    background: bool,
    /// How many seconds to wait for it: 120 unless you say, 3600 at the most. Then
    /// it goes on in the background. Not with background=true.
    timeout_seconds: Option<u64>,
    /// Where it starts, as seen from the folder you work in, without `..`.
    folder: Option<String>,
    /// A short name for it, such as "tests". Without one it gets a number.
    name: Option<String>,
}

/// Returns the variables of the client that began a session.
type Given = dyn Fn(SessionId) -> Variables + Send + Sync;

/// Returns the resource limits of a command that starts now, or the reason for having none.
type Limits = dyn Fn() -> Result<ResourceLimits, String> + Send + Sync;

/// Makes the tools `run_command` and `command_output`. Cheap to clone.
///
/// ```
/// # fn example(commands: offshoot_backends::Commands, agents: offshoot_agent::Agents) {
/// use offshoot_tools::Runs;
///
/// let runs = Runs::new(commands).confining(offshoot_sandbox::probe()).hiding(["/var/lib/me"]);
/// let agents = agents.tool(runs.run_command()).tool(runs.command_output());
/// # }
/// ```
#[derive(Clone)]
pub struct Runs(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    commands: Commands,
    confines: Confines,
    hidden: Vec<PathBuf>,
    named: Vec<(OsString, PathBuf)>,
    writable: Vec<PathBuf>,
    scratch: Scratch,
    given: Arc<Given>,
    passed: Arc<Given>,
    limits: Arc<Limits>,
}

/// Whether commands are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Confines {
    Yes,
    No,
}

impl fmt::Debug for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { confines, hidden, scratch, .. } = &*self.0;
        let mut debug = f.debug_struct("Runs");
        debug.field("confines", confines).field("hidden", hidden).field("scratch", scratch);
        debug.finish_non_exhaustive()
    }
}

impl Runs {
    /// Runs commands in the environment of this process.
    ///
    /// Each command needs an approval until [`Runs::confining`] is called.
    pub fn new(commands: Commands) -> Self {
        Self(Arc::new(Inner {
            commands,
            confines: Confines::No,
            hidden: Vec::new(),
            named: Vec::new(),
            writable: Vec::new(),
            scratch: Scratch::usual(),
            given: Arc::new(|_| std::env::vars_os().collect()),
            passed: Arc::new(|_| Vec::new()),
            limits: Arc::new(|| Ok(ResourceLimits::default())),
        }))
    }

    /// Sandboxes commands as far as this system can.
    ///
    /// The commands need the helper that confines them: see
    /// [`CommandsBuilder::helper`](offshoot_backends::CommandsBuilder::helper).
    #[must_use]
    pub fn confining(self, support: Support) -> Self {
        let confines = if support.confines() { Confines::Yes } else { Confines::No };
        self.change(|inner| inner.confines = confines)
    }

    /// Hides paths from sandboxed commands. They are real paths.
    #[must_use]
    pub fn hiding<P: Into<PathBuf>>(self, paths: impl IntoIterator<Item = P>) -> Self {
        self.change(|inner| inner.hidden.extend(paths.into_iter().map(Into::into)))
    }

    /// Hides files that variables name, each by its variable and its real path.
    ///
    /// A file stays visible where agents can write, and in a session to which its
    /// variable is [passed](Self::passing).
    #[must_use]
    pub fn hiding_named(self, named: impl IntoIterator<Item = (OsString, PathBuf)>) -> Self {
        self.change(|inner| inner.named.extend(named))
    }

    /// Lets sandboxed commands also write below these directories, such as the shared
    /// caches of the user's programs. They are real paths and must exist.
    #[must_use]
    pub fn writing<P: Into<PathBuf>>(self, folders: impl IntoIterator<Item = P>) -> Self {
        self.change(|inner| inner.writable.extend(folders.into_iter().map(Into::into)))
    }

    /// Sets the directory below which each agent has its own temporary directory.
    ///
    /// The path is a real path and may be hidden. The directory is created on first use.
    #[must_use]
    pub fn scratch(self, folder: impl Into<PathBuf>) -> Self {
        self.change(|inner| inner.scratch = Scratch::at(folder.into()))
    }

    /// Sets the source of the variables of commands: those of the client that began the
    /// session. Withheld variables are left out.
    #[must_use]
    pub fn surroundings(
        self,
        given: impl Fn(SessionId) -> Vec<(OsString, OsString)> + Send + Sync + 'static,
    ) -> Self {
        self.change(|inner| inner.given = Arc::new(given))
    }

    /// Passes the variables that the user names to the commands of a session, even
    /// credentials.
    #[must_use]
    pub fn passing(
        self,
        passed: impl Fn(SessionId) -> Vec<(OsString, OsString)> + Send + Sync + 'static,
    ) -> Self {
        self.change(|inner| inner.passed = Arc::new(passed))
    }

    /// Sets the source of the resource limits of sandboxed commands.
    ///
    /// It is called for each command. If it fails, the agent gets the error and no
    /// command runs.
    #[must_use]
    pub fn limits(
        self,
        limits: impl Fn() -> Result<ResourceLimits, String> + Send + Sync + 'static,
    ) -> Self {
        self.change(|inner| inner.limits = Arc::new(limits))
    }

    /// Removes the temporary directories of agents for which `keep` returns false.
    ///
    /// Returns the number of removed directories.
    pub async fn sweep<F, Keep>(&self, keep: F) -> io::Result<usize>
    where
        F: FnMut(TaskId) -> Keep,
        Keep: Future<Output = bool>,
    {
        self.0.scratch.sweep(keep).await
    }

    /// Returns the tool that runs commands.
    pub fn run_command(&self) -> impl Tool + use<> {
        let (runs, wishes) = (self.0.clone(), self.0.clone());
        Function::built_in(
            &RUN_COMMAND,
            "Has a shell run a command line in the folder you work in, and returns what it wrote \
             and how it ended. It gets no input: what asks for some finds its end. It can write \
             only in your folder and in $TMPDIR, unless more was approved. With \
             background=true it runs while you go on.",
            move |cx, asked| runs.clone().run(cx, asked),
        )
        .watchful()
        .wishing(move |cx, asked| wishes.wish(cx, asked))
    }

    /// Returns the tool that reads the output of commands.
    pub fn command_output(&self) -> impl Tool + use<> {
        output::tool(self.0.commands.clone())
    }

    fn change(self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.0);
        change(&mut inner);
        Self(Arc::new(inner))
    }
}

impl Inner {
    /// Returns the confinement of a command of this agent, or `None` without a sandbox.
    fn confinement(&self, cx: &ToolContext) -> Option<Confinement> {
        if self.confines == Confines::No {
            return None;
        }
        let own = [cx.folder()?.to_owned(), self.scratch.of(cx.task().id())];
        let writable = own.into_iter().chain(cx.commits_to()).chain(self.writable.clone());
        let writable: Vec<_> = writable.collect();
        let passed = (self.passed)(cx.task().lineage().session);
        let is_hidden = |(name, path): &&(OsString, PathBuf)| {
            !passed.iter().any(|(passed, _)| passed == name)
                && !writable.iter().any(|writable| path.starts_with(writable))
        };
        let named = self.named.iter().filter(is_hidden).map(|(_, path)| path);
        let hidden: Vec<_> = self.hidden.iter().chain(named).cloned().collect();
        Confinement::new(writable, hidden).ok()
    }

    /// Returns the names of the variables that commands of a session do not get.
    fn withheld(&self, session: SessionId) -> Vec<String> {
        let passed = (self.passed)(session);
        let given = (self.given)(session).into_iter();
        let withheld = given.filter(|(name, value)| is_withheld(name, value));
        let withheld = withheld.map(|(name, _)| name);
        let withheld = withheld.filter(|name| !passed.iter().any(|(passed, _)| passed == name));
        withheld.filter_map(|name| name.into_string().ok()).collect()
    }

    fn wish(&self, cx: &ToolContext, asked: &Arguments) -> Access {
        let mut wish = Access::new(NAME, Action::Run(line::wished(&asked.command)));
        wish = wish.implying(line::implied(&asked.command));
        wish = match (line::grant_scope(&asked.command), cx.folder()) {
            (GrantScope::Leads(why), _) => {
                wish.noting(&format!("{why}, so no standing grant covers it"))
            }
            (GrantScope::Within { rule, paths }, Some(directory)) => {
                let (start, directory) = (asked.folder.as_deref(), directory.to_owned());
                let paths = paths.into_iter().map(|path| from(start, path)).collect();
                wish.lasting(rule).naming(NamedPaths { directory, paths })
            }
            (GrantScope::Never, _) | (GrantScope::Within { .. }, None) => wish,
        };
        if self.confines == Confines::No {
            wish = wish.guarded("commands are not confined on this system");
        } else if self.confinement(cx).is_none() {
            wish = wish.guarded("commands cannot be confined to the folder it works in");
        }
        wish
    }

    async fn run(self: Arc<Self>, cx: ToolContext, asked: Arguments) -> Result<Output, ToolError> {
        let wait = match (asked.background, asked.timeout_seconds) {
            (true, None) => None,
            (true, Some(_)) => {
                return Err(ToolError::new(
                    "Nothing was run: a command in the background is not waited for. Leave out \
                     timeout_seconds, or use background=false.",
                ));
            }
            (false, span) => Some(Duration::from_secs(span.unwrap_or(USUAL).clamp(1, LONGEST))),
        };
        // The box keeps the future of the wait that follows small.
        let command = Box::pin(self.begin(&cx, asked)).await?;
        match wait {
            None => Ok(report::begun(&command)),
            Some(span) => self.wait(&cx, &command, span).await,
        }
    }

    /// Starts the command, or finds the one that this call started before a crash.
    async fn begin(&self, cx: &ToolContext, asked: Arguments) -> Result<TaskRef, ToolError> {
        if asked.command.trim().is_empty() {
            return Err(ToolError::new("Nothing was run: the command is empty. Say what to run."));
        }
        let Some(root) = cx.folder().map(ToOwned::to_owned) else {
            return Err(ToolError::new("Nothing was run: you work in no folder."));
        };
        let (scratch, agent) = (self.scratch.clone(), cx.task().id());
        let folder = asked.folder;
        let found = tokio::task::spawn_blocking(move || {
            Workspace::find(&root, folder.as_deref(), &scratch, agent)
        });
        let ground = found.await.map_err(|error| ToolError::of(&error))??;
        let command = Command::new("/bin/sh", &ground.folder)
            .and_then(|command| command.args(["-c", &asked.command]));
        let mut command = command.map_err(|error| ToolError::of(&error))?;
        if let Some(confinement) = self.confinement(cx) {
            let limits = (self.limits)();
            let limits =
                limits.map_err(|error| ToolError::new(format!("Nothing was run: {error}")))?;
            command = command.confined(confinement.limited(limits));
        }
        let session = cx.task().lineage().session;
        let (given, passed) = ((self.given)(session), (self.passed)(session));
        let named: Vec<_> = passed.iter().map(|(name, _)| name.clone()).collect();
        // The input has no writer, so the command reads its end at once.
        let (_, nothing) = Input::new();
        let (scratch, folder) = (&ground.scratch, &ground.folder);
        let variables = cleaned(Environment { given, passed, scratch, folder });
        let surroundings = Surroundings::new(variables).passing(named).with_input(nothing);
        let request = self.commands.request(command, Some(surroundings), Attach::No);
        let request = request.map_err(|error| ToolError::of(&error))?;
        let mut spawn = cx.spawn(request).wake(Wake::OnTerminal);
        if let Some(name) = &asked.name {
            spawn = spawn.name(name);
        }
        match spawn.await {
            // The command differs from the one that this call started before a crash.
            Err(Error::KeyReused { task, .. }) => {
                while_open(cx.task().task(&task.to_string()).await).await
            }
            begun => while_open(begun).await,
        }
    }

    /// Waits for the end of the command.
    ///
    /// The wait ends early after the time limit, or when a message arrives for the agent.
    /// The command then continues in the background.
    async fn wait(
        &self,
        cx: &ToolContext,
        command: &TaskRef,
        span: Duration,
    ) -> Result<Output, ToolError> {
        let wait = pin!(command.wait().timeout(span).into_future());
        let spoken_to = pin!(cx.spoken_to());
        let (record, why) = match select(wait, spoken_to).await {
            Either::Left((waited, _)) => {
                (while_open(waited).await?.task, format!("{} s are over.", span.as_secs()))
            }
            Either::Right(_) => {
                let why = "A message for you came before it had ended.";
                (while_open(command.record().await).await?, why.to_owned())
            }
        };
        // The command may have ended since.
        Ok(match record.ended() {
            Some(_) => {
                let withheld = self.withheld(cx.task().lineage().session);
                Box::pin(report::ended(&self.commands, &record, &withheld)).await
            }
            None => Box::pin(report::goes_on(&self.commands, &record, &why)).await,
        })
    }
}

/// Returns a path of a command relative to the working directory, not to where it starts.
fn from(start: Option<&str>, path: String) -> String {
    match start {
        Some(start) if !path.starts_with('/') => format!("{start}/{path}"),
        _ => path,
    }
}

/// Returns the result of a request to the runtime, and never returns once that is closed.
///
/// A closed runtime is about to drop this call, and the next one repeats it. A result
/// returned here might be stored as the result of the call.
async fn while_open<T>(asked: Result<T, Error>) -> Result<T, ToolError> {
    match asked {
        Err(Error::Closed) => std::future::pending().await,
        asked => Ok(asked?),
    }
}
