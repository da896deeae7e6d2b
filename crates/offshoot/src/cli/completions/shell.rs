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

use super::words::Typed;

const BASH: &str = include_str!("offshoot.bash");
const ZSH: &str = include_str!("offshoot.zsh");
const FISH: &str = include_str!("offshoot.fish");

/// The words of the line that is completed. Who completes a value is handed no
/// more than that value.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// The words of the line that is completed.
pub(super) fn words() -> Vec<OsString> {
    let given = || std::env::args_os().skip_while(|arg| arg != "--").skip(1).collect();
    WORDS.get().cloned().unwrap_or_else(given)
}

/// What may stand in the place of the last word.
fn candidates(
    command: &mut Command,
    words: Vec<OsString>,
    folder: Option<&Path>,
) -> Result<Vec<CompletionCandidate>, Error> {
    let words = WORDS.get_or_init(|| words);
    complete(command, words.clone(), words.len().saturating_sub(1), folder)
}

/// The first line of what is said of a candidate.
fn help(candidate: &CompletionCandidate) -> Option<String> {
    let help = candidate.get_help()?.to_string();
    help.lines().next().filter(|line| !line.is_empty()).map(str::to_owned)
}

/// Bash, which is answered with what it is to insert.
pub(super) struct Bash;

/// Zsh, which is answered with values and what is said of them.
pub(super) struct Zsh;

/// Fish, which is answered likewise.
pub(super) struct Fish;

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        "bash"
    }

    fn is(&self, name: &str) -> bool {
        name == "bash"
    }

    fn write_registration(
        &self,
        _var: &str,
        _name: &str,
        _bin: &str,
        _completer: &str,
        script: &mut dyn Write,
    ) -> Result<(), Error> {
        script.write_all(BASH.as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut Command,
        args: Vec<OsString>,
        folder: Option<&Path>,
        answer: &mut dyn Write,
    ) -> Result<(), Error> {
        let mut args = args.iter().map(|arg| arg.to_string_lossy());
        let line = args.next().unwrap_or_default();
        let breaks = args.next().unwrap_or_default();
        let typed = Typed::read(&line, &breaks);
        let words = typed.words.iter().map(OsString::from).collect();
        for candidate in candidates(command, words, folder)? {
            let value = candidate.get_value().to_string_lossy();
            writeln!(answer, "{}", typed.replacement(&value))?;
        }
        Ok(())
    }
}

impl EnvCompleter for Zsh {
    fn name(&self) -> &'static str {
        "zsh"
    }

    fn is(&self, name: &str) -> bool {
        name == "zsh"
    }

    fn write_registration(
        &self,
        _var: &str,
        _name: &str,
        _bin: &str,
        _completer: &str,
        script: &mut dyn Write,
    ) -> Result<(), Error> {
        script.write_all(ZSH.as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut Command,
        args: Vec<OsString>,
        folder: Option<&Path>,
        answer: &mut dyn Write,
    ) -> Result<(), Error> {
        for candidate in candidates(command, args, folder)? {
            let value = candidate.get_value().to_string_lossy();
            let value = value.replace('\\', r"\\").replace(':', r"\:");
            match help(&candidate) {
                Some(help) => writeln!(answer, "{value}:{}", help.replace('\\', r"\\"))?,
                None => writeln!(answer, "{value}")?,
            }
        }
        Ok(())
    }
}

impl EnvCompleter for Fish {
    fn name(&self) -> &'static str {
        "fish"
    }

    fn is(&self, name: &str) -> bool {
        name == "fish"
    }

    fn write_registration(
        &self,
        _var: &str,
        _name: &str,
        _bin: &str,
        _completer: &str,
        script: &mut dyn Write,
    ) -> Result<(), Error> {
        script.write_all(FISH.as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut Command,
        mut args: Vec<OsString>,
        folder: Option<&Path>,
        answer: &mut dyn Write,
    ) -> Result<(), Error> {
        // Fish gives the word that is being typed with its quotes.
        if let Some(last) = args.last_mut() {
            let typed = Typed::read(&last.to_string_lossy(), "");
            *last = typed.words.join(" ").into();
        }
        for candidate in candidates(command, args, folder)? {
            let value = candidate.get_value().to_string_lossy();
            match help(&candidate) {
                Some(help) => writeln!(answer, "{value}\t{help}")?,
                None => writeln!(answer, "{value}")?,
            }
        }
        Ok(())
    }
}
