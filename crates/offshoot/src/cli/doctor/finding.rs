//! What the doctor finds: odd, or wrong, and the way out.

use serde::Serialize;

use crate::cli::error::CliError;
use crate::cli::show::{Colour, Part, text};

/// Something that is not as it should be.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    level: Level,
    about: &'static str,
    text: String,
    hint: Option<String>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    /// It works all the same.
    Odd,
    /// It does not work.
    Wrong,
}

impl Finding {
    /// Something that is odd, and works.
    pub(super) fn odd(about: &'static str, text: impl Into<String>) -> Self {
        Self { level: Level::Odd, about, text: text.into(), hint: None }
    }

    /// Something that does not work.
    pub(super) fn wrong(about: &'static str, text: impl Into<String>) -> Self {
        Self { level: Level::Wrong, ..Self::odd(about, text) }
    }

    /// This finding, with what to do about it.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// An error.
    pub(super) fn of_error(about: &'static str, error: &CliError) -> Self {
        match error {
            CliError::ReaderGone => Self::wrong(about, "the output was closed"),
            CliError::Report { fault, .. } => {
                let said: Vec<&str> = std::iter::once(fault.message.as_str())
                    .chain(fault.causes.iter().map(String::as_str))
                    .collect();
                Self { hint: fault.hint.clone(), ..Self::wrong(about, said.join(": ")) }
            }
        }
    }
}

/// All that was found.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(super) struct Findings {
    found: Vec<Finding>,
}

impl Findings {
    /// Adds one.
    pub(super) fn add(&mut self, finding: Finding) {
        self.found.push(finding);
    }

    /// Whether something does not work.
    pub(super) fn anything_wrong(&self) -> bool {
        self.found.iter().any(|finding| finding.level == Level::Wrong)
    }

    /// The findings, or that all is well.
    pub(super) fn render(&self, colour: Colour) -> String {
        if self.found.is_empty() {
            return "all is well\n".to_owned();
        }
        let mut shown = String::new();
        for finding in &self.found {
            let (part, word) = match finding.level {
                Level::Odd => (Part::Hint, "odd"),
                Level::Wrong => (Part::Bad, "wrong"),
            };
            let word = colour.paint(part, word);
            shown.push_str(&format!("{word}: {}: {}\n", finding.about, text::line(&finding.text)));
            if let Some(hint) = &finding.hint {
                let label = colour.paint(Part::Hint, "way out");
                shown.push_str(&format!("  {label}: {}\n", text::line(hint)));
            }
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_told_with_the_way_out() {
        let mut findings = Findings::default();
        assert_eq!(findings.render(Colour::Plain), "all is well\n");
        findings.add(Finding::odd("data", "others may read it").hint("chmod 700"));
        assert!(!findings.anything_wrong());
        findings.add(Finding::wrong("data", "it is\u{1b}[2J read-only"));
        assert!(findings.anything_wrong());
        assert_eq!(
            findings.render(Colour::Plain),
            "odd: data: others may read it\n  way out: chmod 700\nwrong: data: it is read-only\n"
        );
    }
}
