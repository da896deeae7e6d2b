//! A model with a price, and the amounts it was paid.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{StreamExt, stream};
use offshoot_agent::{Agents, Budget};
use offshoot_core::{FailureKind, Outcome};
use offshoot_models::{
    Answer, AnswerStream, Call, Model, ModelLimits, ModelName, Part, Price, Prices, Scripted,
    ToolChoice, Turn, Usage,
};
use offshoot_runtime::WaitResult;
use serde_json::json;

use crate::support::{Doors, purpose};

/// The price that every test pays.
pub(crate) const PRICE: Price =
    Price { input: 1_000, cache_read: 100, cache_write: 1_250, output: 5_000 };

/// The tokens that the calls used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    tokens: Arc<AtomicU64>,
    money: Arc<AtomicU64>,
    calls: Arc<AtomicU64>,
}

impl Meter {
    /// A model that answers as `script` says and records the tokens of each call.
    pub(crate) fn model(&self, mut script: impl FnMut(&Call) -> Turn + Send + 'static) -> Scripted {
        let meter = self.clone();
        Scripted::new(move |call| match script(call) {
            Turn::Answer(answer) => Turn::Answer(meter.take(call, answer)),
            other => other,
        })
    }

    fn take(&self, call: &Call, mut answer: Answer) -> Answer {
        let sizes = call.messages.iter().flat_map(|message| &message.parts).map(size);
        let tools = call.tools.iter().map(|tool| {
            tool.name.len() + tool.description.len() + tool.parameters.to_string().len()
        });
        let preface = (call.system.len() + tools.sum::<usize>()) as u64;
        let input = (sizes.sum::<u64>() + preface) / 4 + 100;
        let output = answer.parts.iter().map(size).sum::<u64>() / 4 + 10;
        assert!(call.max_output.is_none_or(|most| output <= most), "{output} {call:?}");
        // Every kind of token is used.
        let (cache_read, cache_write) = (input / 3, input / 2);
        let usage = Usage { input, cache_read, cache_write, output, thought: 0 };
        answer.usage = usage;
        self.tokens.fetch_add(usage.total(), Ordering::SeqCst);
        self.money.fetch_add(PRICE.of(usage).0, Ordering::SeqCst);
        self.calls.fetch_add(1, Ordering::SeqCst);
        answer
    }

    pub(crate) fn tokens(&self) -> u64 {
        self.tokens.load(Ordering::SeqCst)
    }

    pub(crate) fn money(&self) -> u64 {
        self.money.load(Ordering::SeqCst)
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }
}

fn size(part: &Part) -> u64 {
    let bytes = match part {
        Part::Text { text, .. } => text.len(),
        Part::ToolCall(call) => call.arguments.len(),
        Part::ToolResult(result) => result.text.len(),
        _ => 0,
    };
    bytes as u64
}

/// The price table of the scripted model.
pub(crate) fn priced(agents: Agents) -> Agents {
    agents.prices(Prices::default().with("scripted/model".parse().unwrap(), PRICE))
}

pub(crate) fn budget(written: &str) -> Budget {
    written.parse().unwrap()
}

/// A script that works on and on, and reports its progress when tools are no longer allowed.
pub(crate) fn tireless(call: &Call) -> Turn {
    match call.choice {
        ToolChoice::None => Turn::say("half of it"),
        _ => Turn::call([("list_tasks", json!({}))]),
    }
}

pub(crate) fn failure(ended: &WaitResult) -> (FailureKind, String) {
    match ended.outcome() {
        Some(Outcome::Failed(failure)) => (failure.kind, failure.message.clone()),
        other => panic!("{other:?}"),
    }
}

/// A model that answers a request to wait only once the door of that name is open.
#[derive(Clone, Debug)]
pub(crate) struct SlowModel {
    pub(crate) inner: Scripted,
    pub(crate) doors: Doors,
}

impl Model for SlowModel {
    fn name(&self) -> &ModelName {
        self.inner.name()
    }

    fn limits(&self) -> ModelLimits {
        self.inner.limits()
    }

    fn call(&self, call: Call) -> AnswerStream {
        let door = purpose(&call).strip_prefix("wait: ").map(ToOwned::to_owned);
        let (inner, doors) = (self.inner.clone(), self.doors.clone());
        let come = async move {
            if let Some(door) = door {
                doors.pass(&door).await;
            }
            inner.call(call)
        };
        Box::pin(stream::once(come).flatten())
    }
}
