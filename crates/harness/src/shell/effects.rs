//! The effects of a command, as the command recorded them.

use std::io;
use std::path::Path;

/// The effects of a command, attempt by attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Each start of the command.
    pub attempts: Vec<Attempt>,
    /// Lines that no command writes, or that are in an impossible position.
    pub strange: Vec<String>,
}

/// The effects of one attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempt {
    /// The lines it read.
    pub read: Vec<String>,
    /// The number of times it came to its end.
    pub ends: usize,
}

impl Effects {
    /// Reads the file, which does not exist if the command never began.
    pub fn read(path: &Path) -> io::Result<Self> {
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Self::parse(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    fn parse(text: &str) -> Self {
        let mut effects = Self::default();
        for line in text.lines() {
            match (line, effects.attempts.last_mut()) {
                ("b", _) => effects.attempts.push(Attempt::default()),
                ("e", Some(attempt)) => attempt.ends += 1,
                (line, Some(attempt)) if line.starts_with("r ") => {
                    attempt.read.push(line[2..].to_owned());
                }
                (line, _) => effects.strange.push(line.to_owned()),
            }
        }
        effects
    }

    /// The number of times the command came to its end.
    pub fn ends(&self) -> usize {
        self.attempts.iter().map(|attempt| attempt.ends).sum()
    }

    /// The lines that the last attempt read.
    pub fn last_read(&self) -> &[String] {
        self.attempts.last().map_or(&[], |attempt| &attempt.read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_distinguished() {
        let effects = Effects::parse("b\nr one\nb\nr one\nr two\ne\n");
        assert_eq!(effects.attempts.len(), 2);
        assert_eq!(effects.last_read(), ["one", "two"]);
        assert_eq!(effects.ends(), 1);
        assert!(effects.strange.is_empty());
        assert_eq!(Effects::parse("e\n").strange, ["e"]);
    }
}
