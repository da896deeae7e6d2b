//! A runtime with agents that run commands.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_agent::{Agents, Brief, Effect, KIND, Output, Span, Tool, ToolContext, ToolError};
use offshoot_backends::Commands;
use offshoot_core::permissions::Access;
use offshoot_models::{Call, Message, Part, Role, Scripted, ToolResult, ToolSpec, Turn};
use offshoot_runtime::{BoxFuture, Runtime, Session, TaskRef};
use offshoot_sandbox::{Helper, Support};
use offshoot_sqlite::Sqlite;
use offshoot_tools::Runs;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) type Test = Result<(), Box<dyn std::error::Error>>;

/// The directories of a test: `data`, `work`, `scratch`.
#[derive(Clone)]
pub(crate) struct TestDirs {
    real: PathBuf,
    /// Removed with the last clone.
    _folder: Arc<TempDir>,
}

impl TestDirs {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        for name in ["data", "work"] {
            std::fs::create_dir(real.join(name)).unwrap();
        }
        Self { real, _folder: Arc::new(folder) }
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.real.join(path)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.at(path)).unwrap_or_default()
    }
}

/// Whether the commands of a test are sandboxed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confined {
    Yes,
    /// They are not, and every call is approved.
    No,
    /// They are not, and each call needs an approval.
    Never,
}

/// A tool whose calls are approved, because an unsandboxed command needs an approval.
#[derive(Debug)]
struct Granted<T>(T);

impl<T: Tool> Tool for Granted<T> {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn effect(&self) -> Effect {
        self.0.effect()
    }

    fn span(&self) -> Span {
        self.0.span()
    }

    fn wish(&self, cx: &ToolContext, arguments: &str) -> Result<Access, ToolError> {
        let wish = self.0.wish(cx, arguments)?;
        Ok(Access { guarded: None, ..wish })
    }

    fn call(&self, cx: ToolContext, arguments: String) -> BoxFuture<Result<Output, ToolError>> {
        self.0.call(cx, arguments)
    }
}

/// A runtime, its session, and its agents.
pub(crate) struct World {
    pub(crate) place: TestDirs,
    pub(crate) runtime: Runtime,
    pub(crate) session: Session,
    pub(crate) agents: Agents,
    pub(crate) model: Scripted,
    pub(crate) commands: Commands,
}

impl World {
    /// Opens a runtime whose agents answer as `script` says.
    pub(crate) async fn new(script: impl FnMut(&Call) -> Turn + Send + 'static) -> Self {
        Self::open(&TestDirs::new(), Confined::No, script).await
    }

    /// Opens a runtime whose agent makes one call and ends.
    pub(crate) async fn calling(arguments: Value) -> Self {
        Self::new(calls(arguments)).await
    }

    pub(crate) async fn open(
        place: &TestDirs,
        confined: Confined,
        script: impl FnMut(&Call) -> Turn + Send + 'static,
    ) -> Self {
        Self::with(place, confined, script, |runs| runs).await
    }

    /// The same with options for running commands.
    pub(crate) async fn with(
        place: &TestDirs,
        confined: Confined,
        script: impl FnMut(&Call) -> Turn + Send + 'static,
        say: impl FnOnce(Runs) -> Runs,
    ) -> Self {
        let helper = Helper::at(env!("CARGO_BIN_EXE_offshoot-tools-confiner"));
        let commands = Commands::builder(place.at("data")).helper(helper).open().unwrap();
        let runs = Runs::new(commands.clone()).scratch(place.at("scratch"));
        let runs = runs.hiding([place.at("data"), place.at("hidden")]);
        let runs = say(match confined {
            Confined::Yes => runs.confining(Support::Whole),
            Confined::No | Confined::Never => runs,
        });
        let model = Scripted::new(script);
        let agents =
            Agents::with_model(model.clone()).dialects(offshoot_dialects::Dialect::tool_maps());
        let agents = match confined {
            Confined::Yes | Confined::Never => agents.tool(runs.run_command()),
            Confined::No => agents.tool(Granted(runs.run_command())),
        };
        let agents = agents.tool(runs.command_output());
        let builder = Runtime::builder(Sqlite::at(place.at("data")));
        let builder = builder.backend(KIND, agents.backend());
        let runtime = builder.backend(Commands::KIND, commands.backend()).open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        Self { place: place.clone(), runtime, session, agents, model, commands }
    }

    pub(crate) fn brief(&self) -> Brief {
        Brief::new("scripted/model".parse().unwrap(), "work").folder(self.place.at("work"))
    }

    /// Spawns an agent in its working directory.
    pub(crate) async fn agent(&self) -> TaskRef {
        let request = self.agents.request(&self.brief()).unwrap();
        self.session.spawn(request).name("agent").await.unwrap()
    }

    /// Returns the result of the first call of an agent.
    pub(crate) async fn result(&self) -> ToolResult {
        self.agent().await.wait().await.unwrap().decode::<String>().unwrap();
        results(&self.model.asked()[1]).remove(0)
    }

    /// A task that an agent spawns at some point.
    pub(crate) async fn task(&self, handle: &str) -> TaskRef {
        loop {
            match self.runtime.task(handle).await {
                Ok(task) => return task,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }

    /// Returns the whole text of the last request to the model.
    pub(crate) fn told(&self) -> String {
        whole(self.model.asked().last().unwrap())
    }
}

/// Runs a command with `run_command` and returns the result.
pub(crate) async fn run(command: &str) -> ToolResult {
    World::calling(json!({"command": command})).await.result().await
}

/// Returns the script of an agent that makes one call and ends.
pub(crate) fn calls(arguments: Value) -> impl FnMut(&Call) -> Turn + Send + 'static {
    move |call| match answers(call) {
        0 => Turn::call([("run_command", arguments.clone())]),
        _ => Turn::say("over"),
    }
}

/// Returns the tool results in a request to the model.
pub(crate) fn results(call: &Call) -> Vec<ToolResult> {
    let parts = call.messages.iter().flat_map(|message| &message.parts);
    let results = parts.filter_map(|part| match part {
        Part::ToolResult(result) => Some(result.clone()),
        _ => None,
    });
    results.collect()
}

/// Counts the answers of the model in a conversation.
pub(crate) fn answers(call: &Call) -> usize {
    call.messages.iter().filter(|Message { role, .. }| *role == Role::Assistant).count()
}

/// Returns the whole text of a request to the model.
pub(crate) fn whole(call: &Call) -> String {
    let parts = call.messages.iter().flat_map(|message| &message.parts);
    let texts = parts.filter_map(|part| match part {
        Part::Text { text, .. } => Some(text.clone()),
        Part::ToolResult(result) => Some(result.text.clone()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Waits until a process has written a line to a file.
pub(crate) async fn until_written(path: &Path) -> String {
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => tokio::task::yield_now().await,
        }
    }
}

/// Whether the process with this number runs.
pub(crate) fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim().starts_with('Z'))
}

/// Converts variables to pairs.
pub(crate) fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

/// Counts the notices about the end of a task.
pub(crate) fn notices(told: &str, task: &str) -> usize {
    told.matches(&format!("<notice kind=\"result\" task=\"{task}\"")).count()
}
