//! `edit`: replaces a part of a file.

use std::sync::Arc;

use memchr::memmem;
use offshoot_agent::built_in_tools::EDIT;
use offshoot_agent::{Function, Tool, ToolContext, ToolError};
use offshoot_core::text as bounded;
use schemars::JsonSchema;
use serde::Deserialize;

use super::read::{WHOLE, no_text};
use super::write::wish;
use super::{Load, Shared, Work, diff, text, within};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file, as seen from the folder you work in.
    path: String,
    /// What is replaced: exactly as it stands there, without the numbers of
    /// lines, and with enough around it that it stands there once.
    old: String,
    /// What comes in its place.
    new: String,
    /// true: replaces it wherever it stands.
    #[serde(default)]
    all: bool,
}

/// The name of the tool.
const NAME: &str = EDIT.name;

/// The largest number of occurrences that an error names.
const NAMED: usize = 20;

pub(super) fn tool(shared: Arc<Shared>) -> impl Tool {
    Function::built_in(
        &EDIT,
        "Replaces a part of a file that you have read. It is refused if the file has changed since \
         then, or if the part does not stand there exactly once.",
        move |cx, asked| call(shared.clone(), cx, asked),
    )
    .wishing(|cx, asked: &Arguments| wish(cx, NAME, &asked.path))
}

async fn call(shared: Arc<Shared>, cx: ToolContext, asked: Arguments) -> Result<String, ToolError> {
    within(shared, &cx, Load::File, move |work| work.edit(&asked)).await
}

impl Work {
    fn edit(&self, asked: &Arguments) -> Result<String, ToolError> {
        if asked.old.is_empty() || asked.old == asked.new {
            return Err(ToolError::new(match asked.old.is_empty() {
                true => "What is replaced must not be empty. To make a file use write.",
                false => "What is replaced and what comes in its place are the same.",
            }));
        }
        let mut target = self.target(&asked.path)?;
        let shown = super::file_path::shown(&target.path);
        let Some(old) = target.old.take() else {
            return Err(ToolError::new(format!("There is no {shown}. To make a file use write.")));
        };
        let before = match std::str::from_utf8(&old.bytes) {
            Ok(text) if !text.contains('\0') => text,
            Ok(_) => return Err(no_text(&shown, &old.bytes)),
            Err(_) => {
                return Err(ToolError::new(format!(
                    "{shown} holds bytes that are no UTF-8, so it was left as it is. Use a command."
                )));
            }
        };
        self.check_known(&target, &old)?;
        let edited = Edit::new(before, &asked.old, &asked.new);
        let count = edited.places(before).count();
        match count {
            0 => return Err(ToolError::new(nowhere(&shown, before, &asked.old))),
            1 => {}
            _ if asked.all => {}
            number => {
                return Err(ToolError::new(format!(
                    "That stands in {shown} {number} times, in lines {}. Take more of what is \
                     around it, or say all. Nothing was changed.",
                    lines_of(before, edited.places(before))
                )));
            }
        }
        // The length is checked first: the new text may be long and occur often.
        let length = edited.length(before, count).filter(|length| *length as u64 <= WHOLE);
        let Some(length) = length else {
            return Err(ToolError::new(format!("{shown} would have more than {WHOLE} bytes.")));
        };
        let after = edited.made(before, length);
        let diff = diff::unified(before, &after);
        target.old = Some(old);
        self.replace(target, after.as_bytes())?;
        let number = text::count(count as u64, "place");
        Ok(format!("{shown} was changed in {number}.\n{}", diff.trim_end_matches('\n')))
    }
}

/// The old and the new text, with the line ends of the file.
struct Edit {
    old: String,
    new: String,
}

impl Edit {
    fn new(text: &str, old: &str, new: &str) -> Self {
        let ends = memmem::find_iter(text.as_bytes(), "\r\n").count();
        let all = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        // A model neither sees nor writes \r.
        let crlf = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
        let as_here = (ends > 0).then(|| crlf(old)).filter(|as_here| text.contains(as_here));
        let old = as_here.unwrap_or_else(|| old.to_owned());
        Self { old, new: if 2 * ends > all { crlf(new) } else { new.to_owned() } }
    }

    /// Returns the positions of the old text.
    fn places<'a>(&'a self, text: &'a str) -> impl Iterator<Item = usize> + 'a {
        memmem::find_iter(text.as_bytes(), &self.old)
    }

    /// Returns the length after the replacement of so many occurrences, or `None` on overflow.
    fn length(&self, text: &str, places: usize) -> Option<usize> {
        let kept = text.len().checked_sub(places.checked_mul(self.old.len())?)?;
        kept.checked_add(places.checked_mul(self.new.len())?)
    }

    /// Returns the new text, which has this length.
    fn made(&self, text: &str, length: usize) -> String {
        let mut made = String::with_capacity(length);
        let mut at = 0;
        for place in self.places(text) {
            made.push_str(&text[at..place]);
            made.push_str(&self.new);
            at = place + self.old.len();
        }
        made.push_str(&text[at..]);
        made
    }
}

/// Returns the numbers of the lines at these positions.
fn lines_of(text: &str, places: impl Iterator<Item = usize>) -> String {
    let (mut lines, mut at, mut number) = (Vec::new(), 0, 1);
    for (shown, place) in places.enumerate() {
        if shown == NAMED {
            lines.push("…".to_owned());
            break;
        }
        number += memchr::memchr_iter(b'\n', &text.as_bytes()[at..place]).count();
        at = place;
        lines.push(number.to_string());
    }
    lines.join(", ")
}

/// Returns the error for a text that does not occur, with the line most like its first.
fn nowhere(shown: &str, text: &str, old: &str) -> String {
    let said = format!("That stands nowhere in {shown}. Nothing was changed.");
    let first = old.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let alike = |line: &str| {
        let same = line.trim().chars().zip(first.chars()).take_while(|(one, other)| one == other);
        same.count()
    };
    let nearest = text.lines().enumerate().max_by_key(|(number, line)| {
        // Among equally similar lines the first wins.
        (alike(line), std::cmp::Reverse(*number))
    });
    match nearest {
        Some((number, line)) if alike(line) * 2 >= first.chars().count().max(1) => {
            format!("{said} Most like it is line {}: {}", number + 1, bounded::cut(line, 300))
        }
        _ => format!("{said} Read the file again."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(text: &str, old: &str, new: &str) -> String {
        let edit = Edit::new(text, old, new);
        let length = edit.length(text, edit.places(text).count()).unwrap();
        let made = edit.made(text, length);
        assert_eq!(made.len(), length);
        made
    }

    #[test]
    fn lines_end_as_they_did() {
        assert_eq!(edit("a\r\nb\r\nc", "a\nb", "x\ny"), "x\r\ny\r\nc");
        assert_eq!(edit("a\r\nb\r\n", "a\r\nb", "x\r\ny"), "x\r\ny\r\n");
        assert_eq!(edit("a\r\nb\r\n", "b", "x\ny"), "a\r\nx\r\ny\r\n");
        assert_eq!(edit("a\nb\n", "b", "x\ny"), "a\nx\ny\n");
        assert_eq!(edit("a\nb\nc\r\n", "a\nb", "x"), "x\nc\r\n");
        assert_eq!(edit("\u{feff}a\n", "a", "b"), "\u{feff}b\n");
    }

    #[test]
    fn what_stands_nowhere_is_told_with_what_is_like_it() {
        let told = nowhere("f", "fn a() {\n    let x = 1;\n}\n", "  let x = 2;\n");
        assert!(told.ends_with("Most like it is line 2:     let x = 1;"), "{told}");
        assert!(nowhere("f", "abc", "xyz").ends_with("Read the file again."));
    }

    #[test]
    fn lines_are_named() {
        assert_eq!(lines_of("x\n\nx x\n", [0, 3, 5].into_iter()), "1, 3, 3");
    }
}
