//! A scripted model server, and the program that uses it.

use std::io::Write;
use std::process::{Command, Stdio};

use offshoot_wiretest::{ReceivedRequest, ReplyPart, ScriptedReply, Server, WireProtocol};
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::support::{ProgramOutput, World};

/// The key of the model.
pub(crate) const KEY: &str = "sk-never-to-be-shown";

/// A model on a socket of this machine.
pub(crate) struct Model {
    server: Server,
    runtime: Runtime,
}

impl Model {
    /// Starts a model that answers every request with a function.
    pub(crate) fn new(
        script: impl FnMut(&ReceivedRequest) -> ScriptedReply + Send + 'static,
    ) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let server = runtime.block_on(Server::start(script)).unwrap();
        Self { server, runtime }
    }

    /// Starts a model with these answers, one after the other.
    pub(crate) fn saying<const N: usize>(texts: [&str; N]) -> Self {
        let mut replies = texts.map(says).into_iter();
        Self::new(move |_| replies.next().unwrap_or_default())
    }

    /// The program with these arguments, which finds the model and its key.
    pub(crate) fn command(&self, world: &World, args: &[&str]) -> Command {
        let mut command = self.without_key(world, args);
        command.env("OPENAI_API_KEY", KEY);
        command
    }

    /// The program with these arguments, which finds the model and no key.
    pub(crate) fn without_key(&self, world: &World, args: &[&str]) -> Command {
        let mut command = world.command(args);
        command.env("OFFSHOOT_MODEL", "openai/test");
        command.env("OPENAI_BASE_URL", format!("{}/v1", self.address()));
        command
    }

    /// Returns its address.
    pub(crate) fn address(&self) -> &str {
        self.server.address()
    }

    /// Runs a command.
    pub(crate) fn run(&self, world: &World, args: &[&str]) -> ProgramOutput {
        ProgramOutput::of(self.command(world, args).output().unwrap())
    }

    /// The output of a command that must succeed.
    pub(crate) fn done(&self, world: &World, args: &[&str]) -> String {
        let said = self.run(world, args);
        assert_eq!(said.code, 0, "{args:?}: {said:?}");
        said.out
    }

    /// Returns the requests so far.
    pub(crate) fn asked(&self) -> Vec<ReceivedRequest> {
        self.server.asked()
    }

    /// Waits until it has got this many requests.
    pub(crate) fn was_asked(&self, times: usize) {
        self.runtime.block_on(self.server.was_asked(times));
    }

    /// Waits until this many of its callers have hung up.
    pub(crate) fn hung_up(&self, times: usize) {
        self.runtime.block_on(self.server.hung_up(times));
    }
}

/// An answer of this text.
pub(crate) fn says(text: &str) -> ScriptedReply {
    WireProtocol::Chat.reply(&[ReplyPart::text(text)])
}

/// An answer that does not come.
pub(crate) fn hangs() -> ScriptedReply {
    ScriptedReply::begun([]).then_hang()
}

/// Returns the messages of a conversation, each with its role.
pub(crate) fn talk(asked: &ReceivedRequest) -> Vec<(String, String)> {
    let messages = asked.body["messages"].as_array().unwrap().iter();
    let said = messages.map(|message| {
        let text = match &message["content"] {
            Value::String(text) => text.clone(),
            Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
            _ => String::new(),
        };
        (message["role"].as_str().unwrap().to_owned(), text)
    });
    said.filter(|(role, _)| role != "system" && role != "developer").collect()
}

/// Runs a program with this input, and returns its output.
pub(crate) fn fed(mut command: Command, text: &str) -> ProgramOutput {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    ProgramOutput::of(child.wait_with_output().unwrap())
}
