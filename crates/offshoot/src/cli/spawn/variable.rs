//! `--env`: variables for a command.
//!
//! A value may be a secret, so no error shows one. An error names the variable,
//! or the position of the option.

use std::collections::BTreeMap;
use std::convert::Infallible;

use offshoot_client::wire::Sealed;

use crate::cli::error::CliError;

/// A variable as typed. It is parsed later, because clap prints a rejected value.
#[derive(Clone)]
pub(super) struct Variable(String);

impl std::fmt::Debug for Variable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Variable(..)")
    }
}

/// Accepts any text.
pub(super) fn read(text: &str) -> Result<Variable, Infallible> {
    Ok(Variable(text.to_owned()))
}

/// Parses the variables; one without a value gets that of this environment.
pub(super) fn sealed(typed: &[Variable]) -> Result<Sealed, CliError> {
    let mut variables = BTreeMap::new();
    for (at, Variable(typed)) in typed.iter().enumerate() {
        let (name, value) = match typed.split_once('=') {
            Some(("", _)) => {
                let said = format!("{} has no name before the `=`", which(at));
                return Err(CliError::usage(said).hint("write --env KEY=VALUE"));
            }
            Some((name, value)) => (name, value.to_owned()),
            None => (typed.as_str(), here(at, typed)?),
        };
        variables.insert(name.to_owned(), value);
    }
    Ok(Sealed(variables))
}

/// Reads a variable of this environment.
fn here(at: usize, name: &str) -> Result<String, CliError> {
    let problem = match std::env::var_os(name).map(std::ffi::OsString::into_string) {
        Some(Ok(value)) => return Ok(value),
        Some(Err(_)) => "names a variable that is not UTF-8 here",
        None => "has no `=`, and no variable of this name is set here",
    };
    let said = format!("{} {problem}", which(at));
    Err(CliError::usage(said).hint("write --env KEY=VALUE, or --env KEY for the value it has here"))
}

fn which(at: usize) -> String {
    match at {
        0 => "the first --env".to_owned(),
        1 => "the second --env".to_owned(),
        2 => "the third --env".to_owned(),
        at => format!("the --env number {}", at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_refusal_shows_a_value() {
        for typed in ["=secret", "secret", ""] {
            let typed = [Variable("A=1".to_owned()), Variable(typed.to_owned())];
            let Err(CliError::Report { fault, .. }) = sealed(&typed) else { panic!("{typed:?}") };
            assert!(fault.message.starts_with("the second --env has no"), "{fault:?}");
            assert!(!format!("{fault:?}{typed:?}").contains("secret"), "{fault:?}");
        }
    }

    #[test]
    fn the_last_value_counts_and_may_be_anything() {
        let typed = ["A=1", "A=2=3", "B="].map(|typed| Variable(typed.to_owned()));
        let Sealed(variables) = sealed(&typed).unwrap();
        assert_eq!(variables["A"], "2=3");
        assert_eq!(variables["B"], "");
    }
}
