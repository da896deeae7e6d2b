//! Which of the providers' languages is spoken where.

use std::fmt;

use rig_core::DynModel;
use rig_core::completion::ReplayTarget;
use rig_core::driver::{Exchange, Model, Opening, Transport};
use rig_core::message::Origin;
use rig_core::operation::Completion;
use rig_core::providers::anthropic::wire::{ANTHROPIC, AnthropicConfig, ToolInputStreaming};
use rig_core::providers::gemini::GeminiConfig;
use rig_core::providers::ollama::OllamaConfig;
use rig_core::providers::openai::OpenAIConfig;
use rig_core::providers::openai::wire::{Auth, Dialect, OPENAI};
use rig_core::wire::{Encoded, WireFrame};
use serde_json::{Value, json};

use crate::call::Cache;
use crate::catalog;
use crate::keys::ProviderAccess;
use crate::model::ModelLimits;
use crate::name::ModelName;
use crate::provider::Protocol;

use super::http::{Line, Tail};
use super::ledger::SharedLedger;

/// How one model is asked. The key is not in it: the line adds it.
pub(super) struct Wire {
    plain: Box<Bind>,
    caching: Box<Bind>,
    line: Line,
    origin: Origin,
    params: Option<Value>,
}

/// A model for one call.
pub(super) struct OneCall {
    pub(super) model: DynModel<Completion>,
    /// The end of its line.
    pub(super) tail: Tail,
    /// What is collected of the answer.
    pub(super) ledger: SharedLedger,
}

/// Makes a model that asks through this line.
type Bind = dyn Fn(Line) -> DynModel<Completion> + Send + Sync;

impl Wire {
    /// How the model of this name is asked at this address.
    pub(super) fn new(
        name: &ModelName,
        limits: ModelLimits,
        access: &ProviderAccess,
        line: Line,
    ) -> Self {
        let (model, address) = (name.name(), &*access.address);
        match name.provider().spec().protocol {
            Protocol::Messages => {
                let config = AnthropicConfig::new("").with_base_url(address);
                let mut wire = config.connect(line.clone()).completion(model).wire;
                if wire.default_max_tokens.is_none() {
                    wire.default_max_tokens = Some(limits.output);
                }
                if wire.provider.base_url != ANTHROPIC.base_url {
                    // Others may not know the field that asks for it.
                    wire.tool_input_streaming = ToolInputStreaming::Off;
                }
                let caching = bind(wire.clone().with_prompt_caching());
                Self { caching, ..Self::alike(wire, line) }
            }
            Protocol::Gemini => {
                let config = GeminiConfig::new("").with_base_url(address);
                Self::alike(config.connect(line.clone()).completion(model).wire, line)
            }
            Protocol::Ollama => {
                let config = OllamaConfig::new().with_base_url(address);
                Self::alike(config.connect(line.clone()).completion(model).wire, line)
            }
            Protocol::Responses => {
                let wire = openai(address).connect(line.clone()).responses(model).wire;
                match catalog::thinks(name) {
                    // Told by rig that nothing is stored, it would be asked for
                    // thoughts, and a model without any refuses that.
                    Some(false) => Self::alike(wire, line.with_field("\"store\":false")),
                    _ => Self { params: Some(stateless()), ..Self::alike(wire, line) },
                }
            }
            Protocol::Chat | Protocol::Local => Self::alike(openai(address).chat(model), line),
        }
    }

    /// A model that keeps what it likes of a call, told or not.
    fn alike<W>(wire: W, line: Line) -> Self
    where
        W: HttpWire + ReplayTarget,
    {
        let origin = Origin::new(wire.api(), wire.provider(), wire.model());
        let (plain, caching) = (bind(wire.clone()), bind(wire));
        Self { plain, caching, line, origin, params: None }
    }

    /// The model for one call with this much kept for the next one.
    pub(super) fn model(&self, cache: Cache) -> OneCall {
        let (line, tail, ledger) = self.line.for_one_call();
        let bind = match cache {
            Cache::Prefix => &self.caching,
            Cache::Off => &self.plain,
        };
        OneCall { model: bind(line), tail, ledger }
    }

    /// What marks an answer as this model's own.
    pub(super) fn origin(&self) -> Origin {
        self.origin.clone()
    }

    /// What is said in every request beside what it holds.
    pub(super) fn params(&self) -> Option<Value> {
        self.params.clone()
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("origin", &self.origin).finish_non_exhaustive()
    }
}

fn bind<W: HttpWire>(wire: W) -> Box<Bind> {
    Box::new(move |line| Model::new(wire.clone(), Undocumented(line)).erase())
}

/// A wire of completions that is spoken over HTTP.
trait HttpWire: rig_core::wire::Wire<Op = Completion, Payload = Encoded, Frame = WireFrame> {}

impl<W> HttpWire for W where
    W: rig_core::wire::Wire<Op = Completion, Payload = Encoded, Frame = WireFrame>
{
}

/// A line whose answers are not put together a second time: rig would rebuild the
/// provider's document, of which nothing is used.
#[derive(Clone)]
struct Undocumented(Line);

impl<W: HttpWire> Transport<W> for Undocumented {
    fn send(&self, payload: Encoded, exchange: Exchange) -> Opening<WireFrame> {
        let opening = Transport::<W>::send(&self.0, payload, exchange);
        Opening::new(async move { Ok(opening.await?.with_document(Value::Null)) })
    }
}

fn openai(address: &str) -> OpenAIConfig {
    let mut dialect: Dialect = OPENAI;
    // A schema of the answer applies with and without tools.
    dialect.quirks.response_format_with_tools = true;
    OpenAIConfig::with_key(&dialect, "").with_base_url(address).with_auth(Auth::OptionalBearer)
}

/// Nothing is stored at the provider, so what it thought comes along and goes
/// back.
fn stateless() -> Value {
    json!({ "store": false, "include": ["reasoning.encrypted_content"] })
}
