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
    /// Removed with the last of them.
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

/// Whether the commands of a test are confined.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confined {
    Yes,
    /// They are not, and every call is approved.
    No,
    /// They are not, and each call needs an approval.
    Never,
}

/// A tool whose calls are approved: an unconfined command needs an approval.
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
    /// Agents that answer as `script` says.
    pub(crate) async fn new(script: impl FnMut(&Call) -> Turn + Send + 'static) -> Self {
        Self::open(&TestDirs::new(), Confined::No, script).await
    }

    /// One agent that makes this call and ends.
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

    /// The same with something said about how commands are run.
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

    /// An agent in its folder.
    pub(crate) async fn agent(&self) -> TaskRef {
        let request = self.agents.request(&self.brief()).unwrap();
        self.session.spawn(request).name("agent").await.unwrap()
    }

    /// What the first call of an agent returns.
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

    /// All that the model was told in the end.
    pub(crate) fn told(&self) -> String {
        whole(self.model.asked().last().unwrap())
    }
}

/// What a call of `run_command` returns that has this command.
pub(crate) async fn run(command: &str) -> ToolResult {
    World::calling(json!({"command": command})).await.result().await
}

/// An agent that makes this call, and ends.
pub(crate) fn calls(arguments: Value) -> impl FnMut(&Call) -> Turn + Send + 'static {
    move |call| match answers(call) {
        0 => Turn::call([("run_command", arguments.clone())]),
        _ => Turn::say("over"),
    }
}

/// The results that were told last.
pub(crate) fn results(call: &Call) -> Vec<ToolResult> {
    let parts = call.messages.iter().flat_map(|message| &message.parts);
    let results = parts.filter_map(|part| match part {
        Part::ToolResult(result) => Some(result.clone()),
        _ => None,
    });
    results.collect()
}

/// How often the model has answered in this conversation.
pub(crate) fn answers(call: &Call) -> usize {
    call.messages.iter().filter(|Message { role, .. }| *role == Role::Assistant).count()
}

/// All that a call says, as one text.
pub(crate) fn whole(call: &Call) -> String {
    let parts = call.messages.iter().flat_map(|message| &message.parts);
    let texts = parts.filter_map(|part| match part {
        Part::Text { text, .. } => Some(text.clone()),
        Part::ToolResult(result) => Some(result.text.clone()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Waits until a file has a line, which some process writes.
pub(crate) async fn until_written(path: &Path) -> String {
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => tokio::task::yield_now().await,
        }
    }
}

/// Whether a process of this number runs.
pub(crate) fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim().starts_with('Z'))
}

/// Variables as pairs.
pub(crate) fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

/// How often the end of a task is told.
pub(crate) fn notices(told: &str, task: &str) -> usize {
    told.matches(&format!("<notice kind=\"result\" task=\"{task}\"")).count()
}
