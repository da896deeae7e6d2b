//! Upper and lower bounds for the tokens of a model call.
//!
//! The exact number is unknown before the call, because each provider splits text in its
//! own way. A budget needs an upper bound that holds for every provider and that is still
//! low enough for small budgets. The bound assumes that words split into pieces of two
//! letters or more, that a space belongs to the word after it, and that rare characters
//! split into bytes.

use offshoot_models::{Answer, Call, Message, ModelName, Part, ToolSpec, Usage};
use serde_json::Value;

/// The most tokens of a picture.
const PICTURE: u64 = 5_000;

/// The tokens around each part of a conversation.
pub(crate) const AROUND: u64 = 5;

/// The most letters of a token on average.
///
/// Prose and code have three to five, a list of long names ten.
const LETTERS: u64 = 16;

/// The bound for a text.
pub(crate) fn text(text: &str) -> u64 {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Kind {
        Letter,
        Space,
        Other,
    }
    let (mut sum, mut run, mut last) = (0_u64, 0_u64, Kind::Other);
    let close = |kind: Kind, run: u64, next: Option<u8>| match kind {
        Kind::Letter => run.div_ceil(2),
        // A single space belongs to the word after it.
        Kind::Space if run == 1 && next.is_some_and(|byte| byte.is_ascii_alphanumeric()) => 0,
        Kind::Space => 1 + run / 4,
        Kind::Other => run,
    };
    for byte in text.bytes() {
        let kind = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => Kind::Letter,
            byte if byte.is_ascii_whitespace() => Kind::Space,
            _ => Kind::Other,
        };
        if kind != last {
            sum += close(last, run, Some(byte));
            (run, last) = (0, kind);
        }
        run += 1;
    }
    sum + close(last, run, None)
}

/// The bound for a part of a conversation.
pub(crate) fn part(part: &Part) -> u64 {
    AROUND
        + match part {
            Part::Text { text: said, .. } => text(said),
            // The provider requires more of a thought back than its visible text.
            Part::Thought(thought) => {
                text(&thought.text).max(value(&thought.item) / 2).saturating_add(AROUND)
            }
            Part::ToolCall(call) => text(&call.name) + text(&call.arguments) + text(&call.id),
            Part::ToolResult(result) => {
                text(&result.text) + text(&result.call) + PICTURE * result.images.len() as u64
            }
            _ => PICTURE,
        }
}

/// The number of bytes of a value as JSON.
fn value(value: &Value) -> u64 {
    if value.is_null() { 0 } else { value.to_string().len() as u64 }
}

/// The bound for messages.
pub(crate) fn messages(messages: &[Message]) -> u64 {
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts.map(part).sum::<u64>() + AROUND * messages.len() as u64
}

/// The bound for the system text and the tools before a conversation.
///
/// They are prose, and JSON that contains words. A token of such text has at least three
/// and a half bytes on average, and at least three with the finest tokenizers.
pub(crate) fn preface(system: &str, tools: &[ToolSpec], model: &ModelName) -> u64 {
    let bytes = |spec: &ToolSpec| {
        (spec.name.len() + spec.description.len()) as u64 + value(&spec.parameters)
    };
    let sum = system.len() as u64 + tools.iter().map(bytes).sum::<u64>();
    let around = AROUND * (tools.len() as u64 + 1);
    let counting = model.provider().spec().tokens;
    let preamble = if tools.is_empty() { 0 } else { counting.tool_preamble };
    (2 * sum).div_ceil(counting.half_bytes_per_token) + around + preamble
}

/// Raises the reported usage of an answer to its lower bound.
///
/// A provider that reports too few tokens would otherwise make a budget endless. An
/// honest report stays unchanged, because the bound includes only text that every
/// provider counts:
///
/// - It excludes thoughts, of which there is a summary at best, and pictures.
/// - It excludes the input of Ollama, which reports neither cached nor truncated input.
///
/// An answer without usage figures stays without them.
pub(crate) fn raise(answer: &mut Answer, sent: Sent) {
    let usage = &mut answer.usage;
    if *usage == Usage::default() {
        return;
    }
    usage.input = usage.input.max(sent.0);
    usage.output = usage.output.max(letters(&answer.parts) / LETTERS);
}

/// The lower bound for the tokens that a call sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent(u64);

impl Sent {
    pub(crate) fn of(call: &Call, model: &ModelName) -> Self {
        if !model.provider().spec().tokens.reports_whole_input {
            return Self(0);
        }
        let said = call.messages.iter().map(|message| letters(&message.parts)).sum::<u64>();
        let tools = call.tools.iter().map(tool_letters).sum::<u64>();
        Self((said + distinct(&call.system) + tools) / LETTERS)
    }
}

/// The number of letters of a tool that every provider sends: its name, its description
/// and the words of its schema. The rest of a schema depends on the provider.
fn tool_letters(tool: &ToolSpec) -> u64 {
    distinct(&tool.name) + distinct(&tool.description) + words(&tool.parameters)
}

/// The number of letters of all names and texts in a value.
fn words(value: &Value) -> u64 {
    match value {
        Value::String(text) => distinct(text),
        Value::Array(items) => items.iter().map(words).sum(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| distinct(name) + words(value)).sum()
        }
        _ => 0,
    }
}

/// The number of letters of parts that every provider counts.
fn letters(parts: &[Part]) -> u64 {
    let each = parts.iter().map(|part| match part {
        Part::Text { text, .. } => distinct(text),
        Part::ToolCall(call) => distinct(&call.arguments),
        Part::ToolResult(result) => distinct(&result.text),
        _ => 0,
    });
    each.sum()
}

/// The number of letters of a text, where a run of one letter counts once.
///
/// Many spaces or dashes can be one token. The function counts letters instead of bytes,
/// because a token has about as many letters in scripts whose letters have several bytes.
fn distinct(text: &str) -> u64 {
    let (mut sum, mut last) = (0, None);
    for letter in text.chars() {
        sum += u64::from(last != Some(letter));
        last = Some(letter);
    }
    sum
}

#[cfg(test)]
mod tests {
    use offshoot_models::{Cache, Image, Picture, ToolCall, ToolChoice, ToolResult};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_bound_is_not_absurd() {
        let prose = "Sends another agent off to do a task. By default it works in the background, \
                     and this call returns at once with its handle and without any result.";
        let bound = text(prose);
        // There are 29 words, and most are a token each.
        assert!((32..=75).contains(&bound), "{bound}");
        assert_eq!(text(""), 0);
        assert_eq!(text("1234"), 4);
        assert_eq!(text("ü"), 2);
        assert_eq!(text("a b"), 2);
        assert_eq!(text("a  b"), 3);
    }

    fn raised(text: &str, said: Usage, sent: u64) -> Usage {
        let (parts, stop) = (vec![Part::text(text)], offshoot_models::Stop::Done);
        let mut answer = Answer { parts, stop, usage: said };
        raise(&mut answer, Sent(sent));
        answer.usage
    }

    #[test]
    fn s8_2_usage_that_is_too_low_is_raised_and_missing_usage_stays_missing() {
        let usage = |input, output| Usage { input, output, ..Usage::default() };
        let long = "lorem ipsum ".repeat(400);
        assert_eq!(raised(&long, usage(1, 1), 70), usage(70, 300));
        assert_eq!(raised(&long, usage(0, 1_000), 70), usage(70, 1_000));
        assert_eq!(raised(&long, usage(900, 1_000), 70), usage(900, 1_000));
        assert_eq!(raised(&long, Usage::default(), 70), Usage::default());
        // A single token can be as long as these.
        for short in [" UnsupportedOperationException", &" ".repeat(900), &"=".repeat(80)] {
            assert_eq!(raised(short, usage(1, 1), 0), usage(1, 1), "{short}");
        }
    }

    #[test]
    fn s8_2_the_input_that_ollama_reports_is_not_raised() {
        let messages = std::sync::Arc::new(vec![Message::user("lorem ipsum ".repeat(400))]);
        let call = Call {
            system: "".into(),
            messages,
            tools: [].into(),
            choice: ToolChoice::Auto,
            max_output: None,
            schema: None,
            cache: Cache::Off,
        };
        let sent = |model: &str| Sent::of(&call, &model.parse().unwrap());
        assert_eq!(sent("openai/gpt-5"), Sent(300));
        assert_eq!(sent("ollama/llama3"), Sent(0));
    }

    fn parts() -> impl Strategy<Value = Part> {
        let said = "[a-z0-9 \n\t.,{}\"ü\u{1f980}]{0,200}|[ ]{0,300}|\n{0,100}|[a-z]{0,300}";
        (0..4_u32, said).prop_map(|(kind, said): (u32, String)| match kind {
            0 => Part::text(said),
            1 => Part::ToolCall(ToolCall {
                id: String::new(),
                name: "read".into(),
                arguments: said,
                item: Value::Null,
            }),
            2 => Part::Image(Image { media_type: String::new(), picture: Picture::Url(said) }),
            _ => Part::ToolResult(ToolResult {
                call: String::new(),
                name: String::new(),
                text: said,
                images: Vec::new(),
                failed: false,
            }),
        })
    }

    /// The input that the scripted model reports.
    fn scripted(messages: &[Message]) -> u64 {
        let bytes = |part: &Part| match part {
            Part::Text { text, .. } => text.len(),
            Part::ToolCall(call) => call.arguments.len(),
            Part::ToolResult(result) => result.text.len(),
            _ => 4_000,
        };
        let each =
            |message: &Message| message.parts.iter().map(bytes).sum::<usize>() as u64 / 4 + 1;
        messages.iter().map(each).sum()
    }

    proptest! {
        #[test]
        fn s8_2_an_estimate_is_at_least_the_usage_of_the_scripted_model(
            said in proptest::collection::vec(proptest::collection::vec(parts(), 0..4), 0..4),
        ) {
            let said: Vec<_> = said.into_iter().map(Message::assistant).collect();
            prop_assert!(messages(&said) >= scripted(&said));
        }

        #[test]
        fn s8_2_an_estimate_of_a_whole_is_at_most_that_of_its_parts(
            one in "[a-z0-9 .ü]{0,40}", other in "[a-z0-9 .ü]{0,40}",
        ) {
            // So the sum of added parts is never less than the whole request.
            let whole = [one.as_str(), &other].concat();
            prop_assert!(text(&whole) <= text(&one) + text(&other) + 1);
        }
    }
}
