//! Findings of the doctor: warnings and errors, each with a hint.

use serde::Serialize;

use crate::cli::error::CliError;
use crate::cli::show::{Colour, Part, text};

/// One finding.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    level: Level,
    about: &'static str,
    text: String,
    hint: Option<String>,
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Level {
    /// A warning: Offshoot works.
    Warning,
    /// An error: Offshoot does not work.
    Error,
}

impl Finding {
    /// Makes a warning.
    pub(super) fn warning(about: &'static str, text: impl Into<String>) -> Self {
        Self { level: Level::Warning, about, text: text.into(), hint: None }
    }

    /// Makes an error.
    pub(super) fn error(about: &'static str, text: impl Into<String>) -> Self {
        Self { level: Level::Error, ..Self::warning(about, text) }
    }

    /// Adds a hint.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Makes a finding of an error of the program.
    pub(super) fn of_error(about: &'static str, error: &CliError) -> Self {
        match error {
            CliError::ReaderGone => Self::error(about, "the output was closed"),
            CliError::Report { fault, .. } => {
                let said: Vec<&str> = std::iter::once(fault.message.as_str())
                    .chain(fault.causes.iter().map(String::as_str))
                    .collect();
                Self { hint: fault.hint.clone(), ..Self::error(about, said.join(": ")) }
            }
        }
    }
}

/// All findings.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(super) struct Findings {
    found: Vec<Finding>,
}

impl Findings {
    /// Adds a finding.
    pub(super) fn add(&mut self, finding: Finding) {
        self.found.push(finding);
    }

    /// Whether there is an error.
    pub(super) fn has_errors(&self) -> bool {
        self.found.iter().any(|finding| finding.level == Level::Error)
    }

    /// Formats the findings.
    pub(super) fn render(&self, colour: Colour) -> String {
        if self.found.is_empty() {
            return "all is well\n".to_owned();
        }
        let mut shown = String::new();
        for finding in &self.found {
            let (part, word) = match finding.level {
                Level::Warning => (Part::Hint, "warning"),
                Level::Error => (Part::Bad, "error"),
            };
            let word = colour.paint(part, word);
            shown.push_str(&format!("{word}: {}: {}\n", finding.about, text::line(&finding.text)));
            if let Some(hint) = &finding.hint {
                let label = colour.paint(Part::Hint, "hint");
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
    fn a_finding_is_printed_with_its_hint() {
        let mut findings = Findings::default();
        assert_eq!(findings.render(Colour::Plain), "all is well\n");
        findings.add(Finding::warning("data", "others may read it").hint("chmod 700"));
        assert!(!findings.has_errors());
        findings.add(Finding::error("data", "it is\u{1b}[2J read-only"));
        assert!(findings.has_errors());
        assert_eq!(
            findings.render(Colour::Plain),
            "warning: data: others may read it\n  hint: chmod 700\nerror: data: it is read-only\n"
        );
    }
}
