//! The screen: where answers and remarks go, and in which form.

use std::io::{IsTerminal, Write};

use serde::Serialize;

use super::colour::{Colour, Part};
use super::text;
use crate::cli::error::CliError;

/// How answers are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Words and tables, for people.
    Text,
    /// JSON, for scripts.
    Json,
}

/// Where answers and remarks go: answers to the standard output, and remarks
/// to the standard error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// How answers are given.
    pub(crate) format: Format,
    /// Colour of the standard output.
    pub(crate) out: Colour,
    /// Colour of the standard error.
    pub(crate) err: Colour,
    /// The number of columns of the standard output, if it is a terminal.
    pub(crate) width: Option<usize>,
    /// The number of columns of the standard error, if it is a terminal.
    pub(crate) err_width: Option<usize>,
    /// The kind of the standard error.
    pub(crate) err_kind: StreamKind,
}

/// The kind of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamKind {
    /// A terminal.
    Terminal,
    /// A file or a pipe.
    Other,
}

impl StreamKind {
    /// Whether this stream is a terminal.
    pub(crate) fn of<S: IsTerminal>(stream: &S) -> Self {
        if stream.is_terminal() { Self::Terminal } else { Self::Other }
    }
}

impl Screen {
    /// The screen of this process.
    pub(crate) fn new(format: Format) -> Self {
        let (out, err) = (std::io::stdout(), std::io::stderr());
        Self {
            format,
            out: Colour::of(&out),
            err: Colour::of(&err),
            width: columns(&out),
            err_width: columns(&err),
            err_kind: StreamKind::of(&err),
        }
    }

    /// Prints an answer for people.
    pub(crate) fn say(&self, shown: &str) -> Result<(), CliError> {
        let mut out = std::io::stdout().lock();
        out.write_all(shown.as_bytes()).and_then(|()| out.flush()).map_err(CliError::output)
    }

    /// Prints an answer for scripts: one line, or several on a terminal.
    pub(crate) fn json<T: Serialize>(&self, answer: &T) -> Result<(), CliError> {
        let json = match self.width {
            Some(_) => serde_json::to_string_pretty(answer),
            None => serde_json::to_string(answer),
        };
        let json = json.map_err(|error| CliError::other(&error))?;
        self.say(&format!("{}\n", inert(&json)))
    }

    /// Prints one of several answers for scripts, on a line of its own.
    pub(crate) fn json_line<T: Serialize>(&self, answer: &T) -> Result<(), CliError> {
        self.say(&json_line(answer)?)
    }

    /// Prints a remark on the standard error.
    pub(crate) fn remark(&self, shown: &str) {
        let said = match self.format {
            Format::Text => format!("{}\n", text::lines(shown)),
            Format::Json => {
                let json = serde_json::json!({ "remark": text::lines(shown).trim() });
                format!("{}\n", inert(&json.to_string()))
            }
        };
        // A closed standard error is ignored.
        std::io::stderr().write_all(said.as_bytes()).ok();
    }

    /// Prints a remark on the standard error of a terminal only.
    pub(crate) fn tell(&self, shown: &str) {
        if self.err_kind == StreamKind::Terminal && self.format == Format::Text {
            let shown = self.err.paint(Part::Faint, text::lines(shown));
            writeln!(std::io::stderr(), "{shown}").ok();
        }
    }
}

/// An answer for scripts on one line.
pub(crate) fn json_line<T: Serialize>(answer: &T) -> Result<String, CliError> {
    let json = serde_json::to_string(answer).map_err(|error| CliError::other(&error))?;
    Ok(format!("{}\n", inert(&json)))
}

/// Escapes the control characters in a JSON text that a terminal would obey.
///
/// JSON allows some of them inside strings.
pub(crate) fn inert(json: &str) -> String {
    if !json.chars().any(|c| text::is_unsafe(c) && c != '\n') {
        return json.to_owned();
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            '\n' => shown.push(c),
            _ if text::is_unsafe(c) => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => shown.push(c),
        }
    }
    shown
}

fn columns<S: IsTerminal + std::os::fd::AsFd>(stream: &S) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(stream).ok();
    let columns = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    Some(columns.unwrap_or(80))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_holds_nothing_that_a_terminal_obeys_and_says_the_same() {
        let said = "a\u{9b}31m\u{7f}\u{202e}\u{1b}[0m\n日本";
        let json = inert(&serde_json::to_string(said).unwrap());
        assert!(!json.chars().any(text::is_unsafe), "{json:?}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), said);
    }
}
