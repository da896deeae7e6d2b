//! What reading one answer costs, and sending it back afterwards.

use std::sync::Arc;
use std::time::Duration;

use offshoot_models::{
    Answer, Call, Keys, Message, Model, ModelError, ModelName, Models, ToolResult, ToolSpec, json,
    whole,
};
use offshoot_wiretest::{HostileAnswer, HostileServer, HostileWire};
use peak_alloc::PeakAlloc;
use tokio::sync::oneshot;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// How often the history with the answer is sent on.
const STEPS: usize = 5;

/// What one hostile answer cost.
#[derive(Debug)]
pub(crate) struct Cost {
    /// How many bytes were in use at once, beyond those before the call.
    pub(crate) peak: usize,
    /// The same while the history is sent on.
    pub(crate) sent_on: usize,
    /// How long the processor has worked for both, beside the server.
    pub(crate) cpu: Duration,
    /// What came of it.
    pub(crate) answer: Result<Answer, ModelError>,
}

/// Has a model answer with this.
pub(crate) async fn measure(family: HostileAnswer, wire: HostileWire, size: usize) -> Cost {
    let (address, _serving) = serve(family, wire, size);
    let model = model(wire, &address);
    // The client's own tables, connections and buffers are not the answer's.
    let call = first_call();
    let before = (ALLOCATED.current_usage(), cpu());
    ALLOCATED.reset_peak_usage();
    let answer = whole(model.call(call.clone())).await;
    let peak = ALLOCATED.peak_usage().saturating_sub(before.0);
    let mut sent_on = 0;
    if let Ok(answer) = &answer {
        let next = after(call, answer.clone());
        let base = ALLOCATED.current_usage();
        for _ in 0..STEPS {
            ALLOCATED.reset_peak_usage();
            whole(model.call(next.clone())).await.expect("the history is sent on");
            sent_on = sent_on.max(ALLOCATED.peak_usage().saturating_sub(base));
        }
    }
    Cost { peak, sent_on, cpu: cpu().saturating_sub(before.1), answer }
}

/// Serves from a thread of its own, so that its work is not counted.
fn serve(family: HostileAnswer, wire: HostileWire, size: usize) -> (String, oneshot::Sender<()>) {
    let (tell, told) = std::sync::mpsc::channel();
    let (stop, stopped) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let server = HostileServer::start(family, wire, size).await.expect("a server");
            tell.send(server.address().to_owned()).expect("a measurement");
            // It ends when the measurement does.
            let _stopped = stopped.await;
        });
    });
    (told.recv().expect("an address"), stop)
}

fn model(wire: HostileWire, address: &str) -> Arc<dyn Model> {
    let name: ModelName = match wire {
        HostileWire::Chat => "openai/m",
        HostileWire::Responses => "openai-responses/m",
        HostileWire::Anthropic => "anthropic/m",
        HostileWire::Gemini => "gemini/m",
    }
    .parse()
    .expect("a name");
    let address = address.to_owned();
    let keys = Keys::from_lookup(move |name| match name {
        "OPENAI_BASE_URL" => Some(format!("{address}/v1")),
        "ANTHROPIC_BASE_URL" | "GOOGLE_GEMINI_BASE_URL" => Some(address.clone()),
        name if name.ends_with("_API_KEY") => Some("sk-secret".to_owned()),
        _ => None,
    });
    Models::default().open(&name, &keys).expect("a model")
}

fn first_call() -> Call {
    let tool = ToolSpec {
        name: "look".into(),
        description: "Looks.".into(),
        parameters: Arc::new(json!({"type": "object"})),
    };
    Call { tools: [tool].into(), ..Call::new("Be brief.", vec![Message::user("go")]) }
}

/// The call that follows an answer, with a result for each of its calls.
fn after(mut call: Call, answer: Answer) -> Call {
    let results: Vec<_> = answer
        .calls()
        .map(|made| ToolResult {
            call: made.id.clone(),
            name: made.name.clone(),
            text: "seen".to_owned(),
            images: Vec::new(),
            failed: false,
        })
        .collect();
    let messages = Arc::make_mut(&mut call.messages);
    messages.push(answer.into_message());
    if !results.is_empty() {
        messages.push(Message::results(results));
    }
    messages.push(Message::user("go on"));
    call
}

/// How long the processor has worked for this thread; nothing where the system
/// does not tell.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = stat.split(' ').next().and_then(|field| field.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}
