//! The shells: what each is given to ask with, and how it is answered.
//!
//! Each passes on what was typed as it reads it itself, except bash, which has
//! no such thing and passes on the line.

use std::ffi::OsString;
use std::io::{Error, Write};
use std::path::Path;
use std::sync::OnceLock;

use clap::Command;
use clap_complete::engine::{CompletionCandidate, complete};
use clap_complete::env::EnvCompleter;

use super::words::PartialLine;

const BASH: &str = include_str!("offshoot.bash");
const ZSH: &str = include_str!("offshoot.zsh");
const FISH: &str = include_str!("offshoot.fish");

/// The words of the completed line. A value completer gets only its value.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// The words of the completed line.
pub(super) fn words() -> Vec<OsString> {
    let given = || std::env::args_os().skip_while(|arg| arg != "--").skip(1).collect();
    WORDS.get().cloned().unwrap_or_else(given)
}

/// The candidates for the last word.
fn candidates(
    command: &mut Command,
    words: Vec<OsString>,
    folder: Option<&Path>,
) -> Result<Vec<CompletionCandidate>, Error> {
    let words = WORDS.get_or_init(|| words);
    complete(command, words.clone(), words.len().saturating_sub(1), folder)
}

/// The first line of a candidate's help.
fn help(candidate: &CompletionCandidate) -> Option<String> {
    let help = candidate.get_help()?.to_string();
    help.lines().next().filter(|line| !line.is_empty()).map(str::to_owned)
}

/// A shell with a completion script of ours.
#[derive(Clone, Copy, Debug)]
pub(super) enum CompletionShell {
    /// Bash, which gets the text to insert.
    Bash,
    /// Zsh, which gets values and their help.
    Zsh,
    /// Fish, which gets values and their help.
    Fish,
}

impl EnvCompleter for CompletionShell {
    fn name(&self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
        }
    }

    fn is(&self, name: &str) -> bool {
        name == self.name()
    }

    fn write_registration(
        &self,
        _var: &str,
        _name: &str,
        _bin: &str,
        _completer: &str,
        script: &mut dyn Write,
    ) -> Result<(), Error> {
        script.write_all(match self {
            Self::Bash => BASH.as_bytes(),
            Self::Zsh => ZSH.as_bytes(),
            Self::Fish => FISH.as_bytes(),
        })
    }

    fn write_complete(
        &self,
        command: &mut Command,
        args: Vec<OsString>,
        folder: Option<&Path>,
        answer: &mut dyn Write,
    ) -> Result<(), Error> {
        let typed = self.typed(&args);
        let words = match (self, &typed) {
            (Self::Bash, Some(typed)) => typed.words.iter().map(OsString::from).collect(),
            (_, Some(typed)) => {
                let before = args.len().saturating_sub(1);
                let last = OsString::from(typed.words.join(" "));
                args.into_iter().take(before).chain([last]).collect()
            }
            (_, None) => args,
        };
        for candidate in candidates(command, words, folder)? {
            let value = candidate.get_value().to_string_lossy();
            let line = match (self, &typed) {
                (Self::Bash, Some(typed)) => typed.replacement(&value),
                (Self::Zsh, _) => zsh_line(&value, help(&candidate)),
                _ => match help(&candidate) {
                    Some(help) => format!("{value}\t{help}"),
                    None => value.into_owned(),
                },
            };
            writeln!(answer, "{line}")?;
        }
        Ok(())
    }
}

impl CompletionShell {
    /// The typed text, where the shell has not parsed it: bash passes the line
    /// and its word breaks, fish the current word with its quotes.
    fn typed(self, args: &[OsString]) -> Option<PartialLine> {
        let said = |at: usize| args.get(at).map(|arg| arg.to_string_lossy()).unwrap_or_default();
        match self {
            Self::Bash => Some(PartialLine::read(&said(0), &said(1))),
            Self::Zsh => None,
            Self::Fish => args.last().map(|last| PartialLine::read(&last.to_string_lossy(), "")),
        }
    }
}

fn zsh_line(value: &str, help: Option<String>) -> String {
    let value = value.replace('\\', r"\\").replace(':', r"\:");
    match help {
        Some(help) => format!("{value}:{}", help.replace('\\', r"\\")),
        None => value,
    }
}
