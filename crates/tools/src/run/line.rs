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
    match commands(line) {
        Some(commands) if !commands.is_empty() => Line::Clear(commands),
        _ => Line::Unclear,
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

/// The commands of a line, if it is certain which they are.
fn commands(line: &str) -> Option<Vec<Vec<String>>> {
    if line.len() > LONGEST {
        return None;
    }
    let mut commands = Vec::new();
    let mut files = Vec::new();
    let mut words: Vec<lexer::Word> = Vec::new();
    let mut between = Between::Free;
    let mut lexer = Lexer::new(line);
    loop {
        let token = lexer.next()?;
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
            Token::End if between == Between::Free => return Some(commands),
            _ if between != Between::Command => return None,
            _ => {}
        }
        let command = plain::command(std::mem::take(&mut words))?;
        known::is_plain(&command).then_some(())?;
        commands.push(command);
        commands.append(&mut files);
        between = match token {
            Token::Joins => Between::Open,
            Token::End => return Some(commands),
            _ => Between::Free,
        };
    }
}

/// Whether a word is one of those in a text.
fn among(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|one| one == word)
}
