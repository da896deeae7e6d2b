//! The subset of YAML that front matter needs: texts, lists and mappings with positions.
//!
//! Constructs that can make a small file large, such as aliases, are refused.

use offshoot_core::text;
use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Map, Number, Value};

use crate::error::{Position, Wrong, quoted};

/// The deepest nesting of lists and mappings.
const DEEP: usize = 32;

/// The largest number of values.
const MOST: usize = 10_000;

/// A value with its position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) is: Is,
}

/// The content of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Is {
    /// An unquoted text, which may denote another value such as a number.
    Plain(String),
    /// A quoted text.
    Text(String),
    List(Vec<Node>),
    Map(Vec<Field>),
}

/// A field of a mapping.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) at: Position,
    pub(crate) value: Node,
}

/// A list or mapping that is not closed yet.
#[derive(Debug)]
enum Open {
    List(Position, Vec<Node>),
    Map(Position, Vec<Field>, Option<(String, Position)>),
}

/// Parses fields. The first line of the text is line `first` of its file.
pub(crate) fn fields(written: &str, first: usize) -> Result<Vec<Field>, Wrong> {
    match read(written, first)? {
        None => Ok(Vec::new()),
        Some(Node { is: Is::Map(fields), .. }) => Ok(fields),
        Some(Node { is: Is::Plain(text), .. }) if is_null(&text) => Ok(Vec::new()),
        Some(other) => Err(Wrong::at(
            other.at,
            format!("the front matter must be fields, as in `name: explore`, not {}", other.kind()),
        )),
    }
}

fn read(written: &str, first: usize) -> Result<Option<Node>, Wrong> {
    let place =
        |line: usize, column: usize| Position { line: line + first - 1, column: column + 1 };
    let at = |span: Span| place(span.start.line(), span.start.col());
    let mut root = None;
    let mut open: Vec<Open> = Vec::new();
    let mut count = 0;
    for event in Parser::new_from_str(written) {
        let (event, span) = event.map_err(|error| {
            let mark = error.marker();
            let why = format!("this is not YAML: {}", text::cut(error.info(), 200));
            Wrong::at(place(mark.line(), mark.col()), why)
        })?;
        let at = at(span);
        count += 1;
        if count > MOST {
            return Err(Wrong::at(at, format!("there are more than {MOST} values")));
        }
        let done = match event {
            Event::Alias(_) => {
                return Err(Wrong::at(at, "aliases (*) are not taken: write it out"));
            }
            Event::Scalar(_, _, anchor, _)
            | Event::SequenceStart(anchor, _)
            | Event::MappingStart(anchor, _)
                if anchor > 0 =>
            {
                return Err(Wrong::at(at, "anchors (&) are not taken: write it out each time"));
            }
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => {
                return Err(Wrong::at(at, "tags (!) are not taken"));
            }
            Event::Scalar(text, style, ..) => Some(Node {
                at,
                is: match style {
                    ScalarStyle::Plain => Is::Plain(text.into_owned()),
                    _ => Is::Text(text.into_owned()),
                },
            }),
            Event::SequenceStart(..) => {
                open.push(Open::List(at, Vec::new()));
                None
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(at, Vec::new(), None));
                None
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(at, all)) => Some(Node { at, is: Is::List(all) }),
                Some(Open::Map(at, all, _)) => Some(Node { at, is: Is::Map(all) }),
                None => None,
            },
            Event::DocumentStart(_) if root.is_some() => {
                return Err(Wrong::at(at, "the front matter has more than one part"));
            }
            _ => None,
        };
        if open.len() > DEEP {
            return Err(Wrong::at(at, format!("it is nested deeper than {DEEP}")));
        }
        if let Some(node) = done {
            match open.last_mut() {
                Some(parent) => parent.take(node)?,
                None => root = Some(node),
            }
        }
    }
    Ok(root)
}

impl Open {
    fn take(&mut self, node: Node) -> Result<(), Wrong> {
        match self {
            Self::List(_, all) => all.push(node),
            Self::Map(_, all, name) => match name.take() {
                Some((name, at)) => all.push(Field { name, at, value: node }),
                None => {
                    let at = node.at;
                    let (Is::Plain(key) | Is::Text(key)) = node.is else {
                        return Err(Wrong::at(at, "the name of a field must be a text"));
                    };
                    if let Some(other) = all.iter().find(|field| field.name == key) {
                        let (key, line) = (quoted(&key), other.at.line);
                        let why = format!("the field {key} is there already, in line {line}");
                        return Err(Wrong::at(at, why));
                    }
                    *name = Some((key, at));
                }
            },
        }
        Ok(())
    }
}

impl Node {
    /// Describes the value in words.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.is {
            Is::Plain(text) if is_null(text) => "nothing",
            Is::Plain(_) | Is::Text(_) => "a text",
            Is::List(_) => "a list",
            Is::Map(_) => "a mapping",
        }
    }

    /// Returns the text, or `None` for an empty value or one that is not text.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.is {
            Is::Plain(text) if is_null(text) => None,
            Is::Plain(text) | Is::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Converts the value to JSON.
    pub(crate) fn to_json(&self) -> Value {
        match &self.is {
            Is::Text(text) => Value::from(text.as_str()),
            Is::Plain(text) => plain(text),
            Is::List(all) => all.iter().map(Self::to_json).collect(),
            Is::Map(fields) => {
                let json = |field: &Field| (field.name.clone(), field.value.to_json());
                Value::Object(fields.iter().map(json).collect::<Map<_, _>>())
            }
        }
    }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// Returns the value that an unquoted text denotes.
fn plain(text: &str) -> Value {
    if is_null(text) {
        return Value::Null;
    }
    match text {
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let number = || {
        let digits = text.trim_start_matches(['-', '+']);
        if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return None;
        }
        let unsigned = text.strip_prefix('+').unwrap_or(text);
        let whole = unsigned.parse::<i64>().map(Number::from);
        let whole = whole.or_else(|_| unsigned.parse::<u64>().map(Number::from));
        whole.ok().or_else(|| Number::from_f64(unsigned.parse().ok()?))
    };
    number().map_or_else(|| Value::from(text), Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn json_of(written: &str) -> Value {
        read(written, 1).unwrap().unwrap().to_json()
    }

    #[test]
    fn values_are_what_yaml_says_they_are() {
        let written = "a: 1\nb: -2.5\nc: true\nd: ~\ne: \"1\"\nf: [x, 'y']\ng:\n  - h: |\n      two\n      lines\ni: 1.2.3\nj: -\n";
        // A dash alone is an entry of a list, so the last line is invalid.
        assert!(read(written, 1).is_err());
        let written = written.trim_end_matches("j: -\n");
        let wanted = json!({"a": 1, "b": -2.5, "c": true, "d": null, "e": "1", "f": ["x", "y"],
            "g": [{"h": "two\nlines\n"}], "i": "1.2.3"});
        assert_eq!(json_of(written), wanted);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let wrong = |written: &str| {
            let wrong = fields(written, 2).unwrap_err();
            let place = wrong.place.unwrap();
            (place.line, place.column, wrong.why)
        };
        let (line, column, why) = wrong("a: 1\nb: 2\na: 3\n");
        assert_eq!((line, column), (4, 1));
        assert_eq!(why, "the field \"a\" is there already, in line 2");
        let (line, _, why) = wrong("a: 1\nb: [1, 2\nc: 3\n");
        assert!(line >= 3 && why.starts_with("this is not YAML"), "{line} {why}");
        assert!(wrong("- a\n").2.contains("must be fields"));
        assert!(wrong("a: &x [1]\nb: *x\n").2.contains("anchors"));
        assert!(wrong("a: !!str 1\n").2.contains("tags"));
        assert!(wrong(&format!("a: {}{}", "[".repeat(40), "]".repeat(40))).2.contains("deeper"));
        assert!(wrong(&format!("a: [{}]", "1, ".repeat(20_000))).2.contains("more than 10000"));
        assert!(wrong("? [a]\n: b\n").2.contains("must be a text"));
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_written_is_read_or_refused(written in "[a-c:\\-&*!\\[\\]{}|>\"'# \n,?%@`.~0-9]{0,80}") {
            let _ = fields(&written, 2);
        }
    }
}
