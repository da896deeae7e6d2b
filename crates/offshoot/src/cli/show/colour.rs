//! Colour: only on a terminal, and only where it is wanted.

use std::fmt;
use std::io::IsTerminal;

use anstyle::{AnsiColor, Style};
use offshoot_client::wire::State;

/// Whether a stream shows colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    /// It does.
    Shown,
    /// It is not a terminal, or colour is not wanted.
    Plain,
}

/// The meaning of a part of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The head of a table, the name of a field.
    Head,
    /// A name.
    Name,
    /// Secondary text.
    Faint,
    /// An error.
    Bad,
    /// A hint.
    Hint,
    /// A state.
    State(State),
}

impl Colour {
    /// Whether this stream shows colours: it is a terminal, without `NO_COLOR`
    /// and `TERM=dumb`.
    pub(crate) fn of<S: IsTerminal>(stream: &S) -> Self {
        let said = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let unwanted =
            said("NO_COLOR").is_some() || said("TERM").is_some_and(|term| term == "dumb");
        if stream.is_terminal() && !unwanted { Self::Shown } else { Self::Plain }
    }

    /// The text in the colour of its meaning.
    pub(crate) fn paint<T: fmt::Display>(self, part: Part, text: T) -> String {
        match self {
            Self::Plain => text.to_string(),
            Self::Shown => {
                let style = style(part);
                format!("{style}{text}{style:#}")
            }
        }
    }
}

fn style(part: Part) -> Style {
    let plain = Style::new();
    let coloured = |colour: AnsiColor| plain.fg_color(Some(colour.into()));
    match part {
        Part::Head | Part::Faint => plain.dimmed(),
        Part::Name => plain.bold(),
        Part::Bad => coloured(AnsiColor::Red).bold(),
        Part::Hint => coloured(AnsiColor::Cyan),
        Part::State(State::Queued) => plain.dimmed(),
        Part::State(State::Running) => coloured(AnsiColor::Blue),
        Part::State(State::Waiting) => coloured(AnsiColor::Cyan),
        Part::State(State::Completed) => coloured(AnsiColor::Green),
        Part::State(State::Failed | State::Lost) => coloured(AnsiColor::Red),
        Part::State(State::Cancelled) => coloured(AnsiColor::Yellow),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_has_no_sequences() {
        assert_eq!(Colour::Plain.paint(Part::Bad, "error"), "error");
        let shown = Colour::Shown.paint(Part::State(State::Completed), "completed");
        assert!(shown.starts_with("\u{1b}[") && shown.ends_with("\u{1b}[0m"), "{shown:?}");
    }
}
