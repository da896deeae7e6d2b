//! Answers that try to cost their reader too much, in every provider's language.
//!
//! A [`HostileServer`] sends such an answer. Bodies are generated while they are
//! sent and requests are read without being kept, so a test that measures memory
//! measures the client alone.

mod items;
mod server;
mod wire;

pub use server::HostileServer;
pub use wire::HostileWire;

/// How much of a value one event carries, if the answer does not say otherwise.
const FRAGMENT: usize = 32 * 1024;

/// A family of hostile answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostileAnswer {
    /// Arguments that are arrays inside arrays, closed again.
    DeepArrays,
    /// Arguments that are objects inside objects, closed again.
    DeepObjects,
    /// Arguments of arrays and objects inside each other that never close.
    DeepUnterminated,
    /// Arguments that are a flat list with a mistake at its end.
    FlatMalformed,
    /// Arguments that are a flat list of numbers.
    FlatValid,
    /// Arguments that are one string full of escapes that do not exist.
    BadEscapes,
    /// Arguments in fragments of a few letters.
    TinyArguments,
    /// Many calls, each with arguments of its own.
    ManyCalls,
    /// Many calls without a name.
    NamelessCalls,
    /// A few calls whose fragments come in turn.
    Interleaved,
    /// Text in deltas of one letter.
    TinyDeltas,
    /// A long text.
    LongText,
    /// A long thought.
    LongThought,
    /// Text blocks of one letter each, as far as the language has blocks.
    ManyBlocks,
    /// One event that is a single line.
    OneLine,
    /// One line that arrives byte by byte.
    ByteByByte,
    /// Blank lines.
    BlankLines,
    /// Many short items that only the provider understands, never ended.
    ManyItems,
    /// A few long ones.
    LongItems,
    /// Items that go on, or are stated again with other words.
    ContinuedItems,
    /// A refusal beside what is read.
    HiddenRefusal,
    /// Ids that are long.
    LongIds,
    /// Fragments of a call that repeat its name and change its id.
    RenamedCalls,
    /// One event of many blocks.
    CrowdedEvent,
}

impl HostileAnswer {
    /// All families.
    pub const ALL: [Self; 24] = [
        Self::DeepArrays,
        Self::DeepObjects,
        Self::DeepUnterminated,
        Self::FlatMalformed,
        Self::FlatValid,
        Self::BadEscapes,
        Self::TinyArguments,
        Self::ManyCalls,
        Self::NamelessCalls,
        Self::Interleaved,
        Self::TinyDeltas,
        Self::LongText,
        Self::LongThought,
        Self::ManyBlocks,
        Self::OneLine,
        Self::ByteByByte,
        Self::BlankLines,
        Self::ManyItems,
        Self::LongItems,
        Self::ContinuedItems,
        Self::HiddenRefusal,
        Self::LongIds,
        Self::RenamedCalls,
        Self::CrowdedEvent,
    ];

    /// The body of an answer of this family with about `size` letters, in
    /// pieces of at most a few dozen kilobytes.
    pub(crate) fn body(self, wire: HostileWire, size: usize) -> Body {
        let opened = std::iter::once(wire.open());
        let closed = std::iter::once_with(move || wire.close());
        let inner: Body = match self {
            Self::DeepArrays => {
                let half = size / 2;
                one_call(wire, framed("{\"path\":", repeated("[", half), repeated("]", half), "}"))
            }
            Self::DeepObjects => {
                let half = size / 6;
                let opens = repeated("{\"a\":", half);
                one_call(wire, framed("{\"path\":", opens, repeated("}", half), "}"))
            }
            Self::DeepUnterminated => {
                one_call(wire, framed("{\"path\":", repeated("[{\"a\":", size / 6), none(), ""))
            }
            Self::FlatMalformed => {
                one_call(wire, framed("{\"path\":[", repeated("1,", size / 2), none(), "oops"))
            }
            Self::FlatValid => {
                one_call(wire, framed("{\"path\":[", repeated("1,", size / 2), none(), "1]}"))
            }
            Self::BadEscapes => {
                one_call(wire, framed("{\"path\":\"", repeated("\\q", size / 2), none(), ""))
            }
            Self::TinyArguments => {
                let pieces = std::iter::repeat_n("xy".to_owned(), size / 2);
                let pieces = std::iter::once("{\"path\":\"".to_owned()).chain(pieces);
                one_call(wire, Box::new(pieces.chain(std::iter::once("\"}".to_owned()))))
            }
            Self::ManyCalls => Box::new((0..size / 80).flat_map(move |number| {
                let whole = std::iter::once("{\"path\":\"a\"}".to_owned());
                wire.call(number, "look", Box::new(whole))
            })),
            Self::NamelessCalls => Box::new((0..size / 80).flat_map(move |number| {
                wire.call(number, "", Box::new(std::iter::once("{}".to_owned())))
            })),
            Self::Interleaved => wire.interleaved(size),
            Self::TinyDeltas => Box::new((0..size).map(move |_| wire.text("x"))),
            Self::LongText => Box::new(repeated("word ", size / 5).map(move |it| wire.text(&it))),
            Self::LongThought => wire.thought(repeated("word ", size / 5)),
            Self::ManyBlocks => Box::new((0..size / 80).flat_map(move |number| wire.block(number))),
            Self::OneLine => {
                let (before, after) = wire.around_text();
                Box::new(framed(&before, repeated("word ", size / 5), none(), &after))
            }
            Self::ByteByByte => {
                let (before, after) = wire.around_text();
                let letters = std::iter::repeat_n("x".to_owned(), size);
                Box::new(framed(&before, Box::new(letters), none(), &after))
            }
            Self::BlankLines => Box::new(repeated("\n", size)),
            Self::ManyItems => Box::new((0..size / 80).map(move |number| wire.item(number, "xy"))),
            Self::LongItems => long(size, move |number| wire.item(number, HERE)),
            Self::ContinuedItems => long(size, move |number| wire.continued(number, HERE)),
            Self::HiddenRefusal => {
                let said = std::iter::once(wire.before_refusal());
                Box::new(said.chain(long(size, move |_| wire.hidden_refusal(HERE))))
            }
            Self::LongIds => long(size, move |number| wire.named(number, HERE)),
            Self::RenamedCalls => {
                Box::new((0..size / 80).map(move |number| wire.renamed_call(number)))
            }
            Self::CrowdedEvent => {
                let (before, each, after) = wire.crowded();
                Box::new(framed(&before, repeated(each, size / each.len()), none(), &after))
            }
        };
        Box::new(opened.chain(inner).chain(closed))
    }
}

/// Pieces of text.
pub(crate) type Body = Box<dyn Iterator<Item = String> + Send>;

/// One call with these arguments.
fn one_call(wire: HostileWire, arguments: Body) -> Body {
    wire.call(0, "look", arguments)
}

/// This text so many times, in pieces.
fn repeated(text: &'static str, times: usize) -> Body {
    let each = (FRAGMENT / text.len()).max(1);
    let whole = std::iter::repeat_n(each, times / each);
    Box::new(whole.chain(std::iter::once(times % each)).map(|times| text.repeat(times)))
}

/// What stands in an event for a long value.
const HERE: &str = "HERE";

/// How long such a value is.
const LONG: usize = 256 * 1024;

/// Events of this shape, each with a long value, of so many letters in all.
fn long(size: usize, event: impl Fn(usize) -> String + Send + 'static) -> Body {
    Box::new((0..size / LONG).flat_map(move |number| {
        let event = event(number);
        let (before, after) = event.split_once(HERE).unwrap_or((event.as_str(), ""));
        framed(before, repeated("x", LONG), none(), after)
    }))
}

fn none() -> Body {
    Box::new(std::iter::empty())
}

/// Pieces between a beginning and an end.
fn framed(before: &str, first: Body, second: Body, after: &str) -> Body {
    let (before, after) = (before.to_owned(), after.to_owned());
    let begun = std::iter::once(before).chain(first).chain(second);
    Box::new(begun.chain(std::iter::once(after)).filter(|piece| !piece.is_empty()))
}
