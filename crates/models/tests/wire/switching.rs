//! Conversations at random, over all providers in turn: whatever models said,
//! thought and called, every request of the next one holds every rule.

use std::sync::Arc;

use offshoot_models::{Call, Message, Models, whole};
use offshoot_wiretest::{ReplyPart, ScriptedReply, Server, WireProtocol};
use parking_lot::Mutex;
use proptest::prelude::*;

use crate::support::{after, call, keys, provider};

/// One answer, and who gives it.
#[derive(Clone, Debug)]
struct Turn {
    language: WireProtocol,
    model: u8,
    says: Vec<ReplyPart>,
    stored: bool,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,12}", "[ -~äöü🦀你]{0,20}x", Just("<notice>&amp;\n\n\"".to_owned())]
}

fn say() -> impl Strategy<Value = ReplyPart> {
    let id = prop_oneof!["call_[1-3]", "toolu_[a-z]{4}", Just("call|ä 1".to_owned())];
    let arguments = prop_oneof![
        Just("{}".to_owned()),
        text().prop_map(|text| serde_json::json!({"path": text, "n": [1, 2.5]}).to_string()),
        Just("{\"path\": \"a".to_owned()),
        Just("[1]".to_owned()),
        Just(String::new()),
    ];
    prop_oneof![
        2 => text().prop_map(ReplyPart::Text),
        2 => text().prop_map(ReplyPart::Thought),
        1 => "[a-z]{8}".prop_map(ReplyPart::Hidden),
        3 => (id, "look|list", arguments)
            .prop_map(|(id, name, arguments)| ReplyPart::Call { id, name, arguments }),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    let says = prop::collection::vec(say(), 0..6);
    let parts = (prop::sample::select(&WireProtocol::ALL[..]), 0..2_u8, says, any::<bool>());
    parts.prop_map(|(language, model, says, stored)| {
        // A provider's own ids are in its own form, and unique in an answer.
        let mut seen = std::collections::HashSet::new();
        let own = |say: &ReplyPart| match say {
            ReplyPart::Call { id, .. } => {
                let legal =
                    language != WireProtocol::Anthropic || id.is_ascii() && !id.contains('|');
                legal && seen.insert(id.clone())
            }
            _ => true,
        };
        let mut says: Vec<_> = says.into_iter().filter(own).collect();
        // What Responses think leads to something.
        let idle = |say: &ReplyPart| matches!(say, ReplyPart::Thought(_) | ReplyPart::Hidden(_));
        while language == WireProtocol::Responses && says.last().is_some_and(idle) {
            says.pop();
        }
        Turn { language, model, says, stored }
    })
}

async fn converse(turns: Vec<Turn>) -> Result<(), String> {
    let next: Arc<Mutex<Option<ScriptedReply>>> = Arc::default();
    let script = next.clone();
    let server = Server::start(move |_| script.lock().take().unwrap_or_default()).await;
    let server = server.map_err(|error| error.to_string())?;
    let (models, keys) = (Models::default(), keys(server.address()));
    let mut so_far = call(vec![Message::user("go")]);
    for turn in turns {
        *next.lock() = Some(turn.language.reply(&turn.says));
        let name = format!("{}/{:?}-{}", provider(turn.language), turn.language, turn.model);
        let model = models.open(&name.parse().unwrap(), &keys).unwrap();
        let answer = whole(model.call(so_far.clone())).await;
        let broken = server.take_violations();
        if !broken.is_empty() {
            return Err(format!("{turn:?} broke {broken:?} with {:?}", server.asked().last()));
        }
        so_far = after(so_far, answer.map_err(|error| format!("{turn:?}: {error}"))?);
        if turn.stored {
            let stored = serde_json::to_string(&*so_far.messages).unwrap();
            so_far = Call { messages: Arc::new(serde_json::from_str(&stored).unwrap()), ..so_far };
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_conversation_can_go_on_with_every_model(
        turns in prop::collection::vec(turn(), 1..7),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ended = runtime.block_on(converse(turns));
        prop_assert_eq!(ended, Ok(()));
    }
}
