//! Reading a command line: which commands it runs, as far as that is certain.
//!
//! Rules about commands hold only if a command cannot be spelled so that they
//! miss it. A shell can do anything with a line, so only lines of which a shell
//! makes nothing but what stands there count as clear: simple commands of plain
//! and quoted words, one after another. Whatever else there is in a line, be it
//! a variable, a substitution, a compound command, or a program that runs what it
//! is told to, makes all of it unclear.
//!
//! Two things in a clear line are not commands as they stand:
//! - A redirection into a file is told as a command `>` with the file: what may
//!   be said about a program says nothing about what is written.
//! - A pattern of file names stands for the names that fit it. It begins with a
//!   folder, so that what comes of it can be neither an option nor a sub-command.

mod known;
mod lasting;
mod lexer;
mod plain;

#[cfg(test)]
mod tests;

use offshoot_core::authority::Line;

use lexer::{Lexer, Token};

pub use lasting::lasting;

/// How long a line may be to be read.
const LONGEST: usize = 16 << 10;

/// The command that stands for a redirection into a file.
pub(super) const WRITES: &str = ">";

/// What is known of a command line that a POSIX shell is given.
///
/// ```
/// use offshoot_core::authority::Line;
///
/// let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
/// let read = offshoot_tools::read("cargo test && git 'push' origin");
/// assert_eq!(read, Line::Clear(vec![words("cargo test"), words("git push origin")]));
/// assert_eq!(offshoot_tools::read("$(echo rm) -r x"), Line::Unclear);
/// ```
pub fn read(line: &str) -> Line {
    let mut known = Vec::new();
    match commands(line, &mut known) {
        Some(()) if !known.is_empty() => Line::Clear(known),
        _ => Line::Unclear,
    }
}

/// The same for whoever forbids commands: of a line that is not clear, too, the
/// commands are told that it certainly runs, as far as they can be read. Who
/// forbids `sudo` means `sudo "$x"`, whatever that is for.
pub(super) fn wished(line: &str) -> Line {
    let mut known = Vec::new();
    match (commands(line, &mut known), known.is_empty()) {
        (_, true) => Line::Unclear,
        (Some(()), false) => Line::Clear(known),
        (None, false) => Line::Partly(known),
    }
}

/// What stands between two commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    /// Nothing, at the beginning or after something that may end a line.
    Free,
    /// A command has been read.
    Command,
    /// A command must follow.
    Open,
}

/// The commands of a line. Nothing comes of it if it is not certain which they are;
/// then those are known that were read before, the last as far as it was.
fn commands(line: &str, known: &mut Vec<Vec<String>>) -> Option<()> {
    if line.len() > LONGEST {
        return None;
    }
    let mut files = Vec::new();
    let mut words: Vec<lexer::Word> = Vec::new();
    let mut between = Between::Free;
    let mut lexer = Lexer::new(line);
    loop {
        let Some(token) = lexer.next() else {
            known.extend(plain::command(words));
            return None;
        };
        match token {
            Token::Word(word) => {
                words.push(word);
                between = Between::Command;
                continue;
            }
            Token::Writes(file) => {
                files.push(vec![WRITES.to_owned(), file]);
                between = Between::Command;
                continue;
            }
            // What is read or passed on to another stream changes nothing.
            Token::Reads | Token::Passes => {
                between = Between::Command;
                continue;
            }
            Token::Newline if between != Between::Command => continue,
            Token::End if between == Between::Free => return Some(()),
            _ if between != Between::Command => return None,
            _ => {}
        }
        let command = plain::command(std::mem::take(&mut words))?;
        let is_plain = known::is_plain(&command);
        known.push(command);
        known.append(&mut files);
        is_plain.then_some(())?;
        between = match token {
            Token::Joins => Between::Open,
            Token::End => return Some(()),
            _ => Between::Free,
        };
    }
}

/// Whether a word is one of those in a text.
fn among(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|one| one == word)
}
