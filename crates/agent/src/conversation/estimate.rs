//! How many tokens a model reads at the most, and how many it took at the least.
//!
//! The number is not known before the call, since each provider cuts text in its own way. A
//! budget that holds needs a bound that none of them passes, and one that is not
//! so far off that small budgets allow nothing. Words are cut into pieces of two
//! letters or more, a space goes with the word behind it, and what is rare is cut
//! into bytes at the worst.

use offshoot_models::{Answer, Call, Message, ModelName, Part, ToolSpec, Usage};
use serde_json::Value;

/// What a picture takes at the most.
const PICTURE: u64 = 5_000;

/// What stands around each part of a conversation.
pub(crate) const AROUND: u64 = 5;

/// How many letters a token has at the most, on average. Of prose and code it has
/// three to five, of a list of long names ten.
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
        // One space belongs to the word that follows.
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
            // A provider wants back more of it than can be shown.
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

/// How many bytes a value takes.
fn value(value: &Value) -> u64 {
    if value.is_null() { 0 } else { value.to_string().len() as u64 }
}

/// The bound for messages.
pub(crate) fn messages(messages: &[Message]) -> u64 {
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts.map(part).sum::<u64>() + AROUND * messages.len() as u64
}

/// The bound for what stands before every conversation of an agent. It is prose
/// and JSON with words in it, of which a token is three bytes and a half at least
/// on average, or three with those who cut it finest.
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

/// Raises what an answer is said to have taken to what it took at the least: else
/// whoever counts too little would make a budget endless. Nothing changes if it
/// was counted honestly, so only what everybody counts is looked at. That is no
/// thought, of which there is a summary at best, no picture, and nothing of what
/// Ollama has read: it leaves out what it still knew, and what it had no room for.
/// An answer of which nothing is said stays so.
pub(crate) fn raise(answer: &mut Answer, sent: Sent) {
    let usage = &mut answer.usage;
    if *usage == Usage::default() {
        return;
    }
    usage.input = usage.input.max(sent.0);
    usage.output = usage.output.max(letters(&answer.parts) / LETTERS);
}

/// What a call sends, in tokens at the least.
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

/// How many letters of a tool are certainly read: its name, its description, and
/// the words of its schema. Providers write the rest of a schema in their own way.
fn tool_letters(tool: &ToolSpec) -> u64 {
    distinct(&tool.name) + distinct(&tool.description) + words(&tool.parameters)
}

/// The letters of all names and texts in a value.
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

/// How many letters of parts are certainly read or written.
fn letters(parts: &[Part]) -> u64 {
    let each = parts.iter().map(|part| match part {
        Part::Text { text, .. } => distinct(text),
        Part::ToolCall(call) => distinct(&call.arguments),
        Part::ToolResult(result) => distinct(&result.text),
        _ => 0,
    });
    each.sum()
}

/// How many letters a text has. Of a run of the same letter one counts, since
/// many spaces or dashes can be one token. In some scripts a letter has several
/// bytes and a token as many letters as elsewhere.
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
    fn s8_2_what_is_counted_too_low_is_raised_and_what_nobody_counted_stays_unknown() {
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
    fn s8_2_ollama_is_believed_in_what_it_reads() {
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

    /// What the scripted model says that it has read.
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
        fn s8_2_an_estimate_is_no_less_than_what_the_scripted_model_takes(
            said in proptest::collection::vec(proptest::collection::vec(parts(), 0..4), 0..4),
        ) {
            let said: Vec<_> = said.into_iter().map(Message::assistant).collect();
            prop_assert!(messages(&said) >= scripted(&said));
        }

        #[test]
        fn s8_2_an_estimate_of_a_whole_is_no_more_than_that_of_its_parts(
            one in "[a-z0-9 .ü]{0,40}", other in "[a-z0-9 .ü]{0,40}",
        ) {
            // So what is added bit by bit is never less than what is sent.
            let whole = [one.as_str(), &other].concat();
            prop_assert!(text(&whole) <= text(&one) + text(&other) + 1);
        }
    }
}
