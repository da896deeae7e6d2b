//! An agent whose model makes the calls of a test, one after the other.

use std::path::{Path, PathBuf};

use futures_util::{StreamExt, stream};
use offshoot_agent::{Agents, Brief, KIND};
use offshoot_models::{
    Answer, AnswerEvent, AnswerStream, Call, Image, Model, ModelLimits, ModelName, Part, Stop,
    ToolCall, Usage,
};
use offshoot_runtime::Runtime;
use offshoot_store::Memory;
use offshoot_tools::Files;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{Mutex, mpsc};

/// A working directory for an agent, and a directory beside it that it must not reach.
pub(crate) struct World {
    home: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        for folder in ["in", "out"] {
            std::fs::create_dir(home.path().join(folder)).unwrap();
        }
        let world = Self { home };
        std::fs::write(world.outside("secret"), SECRET).unwrap();
        world
    }

    fn at(&self, path: &str) -> PathBuf {
        self.home.path().canonicalize().unwrap().join(path)
    }

    /// Returns the working directory of the agent.
    pub(crate) fn folder(&self) -> PathBuf {
        self.at("in")
    }

    /// Returns a path in the working directory.
    pub(crate) fn inside(&self, path: &str) -> PathBuf {
        self.folder().join(path)
    }

    /// Returns a path beside the working directory.
    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        self.at("out").join(path)
    }

    /// Writes a file in the working directory, with its parents.
    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.inside(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Creates a link in the working directory.
    pub(crate) fn link(&self, path: &str, to: impl AsRef<Path>) {
        std::os::unix::fs::symlink(to, self.inside(path)).unwrap();
    }

    /// Checks that the directory outside is unchanged.
    pub(crate) fn assert_untouched(&self) {
        assert_eq!(std::fs::read_to_string(self.outside("secret")).unwrap(), SECRET);
        assert_eq!(std::fs::read_dir(self.at("out")).unwrap().count(), 1);
    }

    /// Starts an agent with all file tools.
    pub(crate) async fn agent(&self) -> Agent {
        self.agent_of(Files::new()).await
    }

    /// Starts an agent with these file tools.
    ///
    /// The tools already know the file system, so tests also cover reads on the calling
    /// thread.
    pub(crate) async fn agent_of(&self, files: Files) -> Agent {
        let agent = self.agent_with(|agents| files.give(agents)).await;
        agent.call("list", json!({})).await.done();
        agent
    }

    /// Starts an agent with these tools.
    pub(crate) async fn agent_with(&self, give: impl FnOnce(Agents) -> Agents) -> Agent {
        Agent::start(&self.folder(), give).await
    }
}

/// The content of the file outside.
pub(crate) const SECRET: &str = "the secret outside\n";

/// The calls of one answer: tools and arguments.
type Calls = Vec<(String, Value)>;

/// An agent that makes the calls of a test.
pub(crate) struct Agent {
    calls: mpsc::UnboundedSender<Calls>,
    results: Mutex<mpsc::UnboundedReceiver<CallOutcome>>,
    _runtime: Runtime,
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) struct CallOutcome {
    pub(crate) text: String,
    pub(crate) failed: bool,
    pub(crate) images: Vec<Image>,
}

impl CallOutcome {
    /// Checks that the call succeeded, and returns its text.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert!(!self.failed, "{}", self.text);
        self.text
    }

    /// Checks that the call failed for a reason with these words, and shows no secret.
    #[track_caller]
    pub(crate) fn refused(self, why: &str) -> String {
        assert!(self.failed, "{}", self.text);
        assert!(self.text.contains(why), "{}", self.text);
        assert!(!self.text.contains(SECRET.trim()), "{}", self.text);
        self.text
    }
}

impl Agent {
    pub(crate) async fn start(folder: &Path, give: impl FnOnce(Agents) -> Agents) -> Self {
        let (calls, to_make) = mpsc::unbounded_channel();
        let (told, results) = mpsc::unbounded_channel();
        let name: ModelName = "scripted/model".parse().unwrap();
        let puppet = Puppet { name: name.clone(), told, to_make: Mutex::new(to_make).into() };
        let agents = give(Agents::with_model(puppet));
        let limits = offshoot_agent::Limits { steps: 100_000, ..Default::default() };
        let agents = agents.limits(limits);
        let runtime = Runtime::builder(Memory::new()).backend(KIND, agents.backend());
        let runtime = runtime.open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        let mut brief = Brief::new(name, "Do as you are told.");
        brief.folder = Some(folder.to_owned());
        session.spawn(agents.request(&brief).unwrap()).await.unwrap();
        Self { calls, results: Mutex::new(results), _runtime: runtime }
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> CallOutcome {
        self.calls.send(vec![(tool.to_owned(), arguments)]).unwrap();
        self.results.lock().await.recv().await.unwrap()
    }

    /// Makes many calls of a tool in one answer. The test of costs uses it.
    #[allow(dead_code)]
    pub(crate) async fn call_at_once(&self, tool: &str, calls: Vec<Value>) -> Vec<CallOutcome> {
        let count = calls.len();
        let calls = calls.into_iter().map(|arguments| (tool.to_owned(), arguments));
        self.calls.send(calls.collect()).unwrap();
        let mut results = self.results.lock().await;
        let mut told = Vec::new();
        while told.len() < count {
            told.push(results.recv().await.unwrap());
        }
        told
    }
}

/// A model that makes the calls of a test.
#[derive(Debug)]
struct Puppet {
    name: ModelName,
    told: mpsc::UnboundedSender<CallOutcome>,
    to_make: std::sync::Arc<Mutex<mpsc::UnboundedReceiver<Calls>>>,
}

impl Model for Puppet {
    fn name(&self) -> &ModelName {
        &self.name
    }

    fn limits(&self) -> ModelLimits {
        ModelLimits { window: 100_000_000, ..ModelLimits::default() }
    }

    fn call(&self, call: Call) -> AnswerStream {
        let parts = call.messages.last().map_or(&[][..], |message| &message.parts[..]);
        for part in parts {
            if let Part::ToolResult(result) = part {
                let (text, images) = (result.text.clone(), result.images.clone());
                // A test that has ended reads no results.
                let _ = self.told.send(CallOutcome { text, failed: result.failed, images });
            }
        }
        let to_make = self.to_make.clone();
        let answer = stream::once(async move {
            let next = to_make.lock().await.recv().await;
            let (parts, stop) = match next {
                Some(calls) => {
                    let calls = calls.into_iter().enumerate().map(|(number, (name, arguments))| {
                        let (id, arguments) = (format!("call{number}"), arguments.to_string());
                        Part::ToolCall(ToolCall { id, name, arguments, item: Value::Null })
                    });
                    (calls.collect(), Stop::ToolCalls)
                }
                None => (vec![Part::text("Done.")], Stop::Done),
            };
            Ok(AnswerEvent::Whole(Box::new(Answer { parts, stop, usage: Usage::default() })))
        });
        answer.boxed()
    }
}
