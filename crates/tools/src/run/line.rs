//! Command lines: which commands a line runs, as far as that is certain.
//!
//! A rule about commands is reliable only if no spelling of a command escapes it. A line
//! is *clear* if a shell adds nothing to its text: simple commands of plain and quoted
//! words, one after another. A variable, a substitution, a compound command, or a program
//! that runs its arguments makes the whole line *unclear*.
//!
//! A clear line has two parts that are not commands by themselves:
//! - A redirection into a file is reported as a command `>` with the file, because a rule
//!   about a program does not cover the file that is written. A program that writes into
//!   the file of an argument implies such a redirection (`writing`).
//! - A pattern of file names expands to the names that match. It must begin with a
//!   directory, so that no match is an option or a subcommand.
//!
//! A command of a clear line may still run others. The line is *launching* unless all its
//! programs are known to run no other one (`self_contained`).

mod grant_scope;
mod lexer;
mod plain;
mod programs;
mod self_contained;
mod writing;

#[cfg(test)]
mod tests;

use offshoot_core::permissions::LineAnalysis;

use lexer::{Lexer, Token};

pub use grant_scope::{GrantScope, grant_scope};

/// The longest line that is read, in bytes.
const LONGEST: usize = 16 << 10;

/// The name under which a redirection into a file is reported.
pub(super) const WRITES: &str = ">";

/// Reads a command line as a POSIX shell does.
///
/// ```
/// use offshoot_core::permissions::LineAnalysis;
///
/// let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
/// let read = offshoot_tools::read("ls src && wc 'a b'");
/// let [ls, wc] = [words("ls src"), vec!["wc".to_owned(), "a b".to_owned()]];
/// assert_eq!(read, LineAnalysis::Clear(vec![ls.clone(), wc]));
///
/// let git = words("git push origin");
/// let (commands, launchers) = (vec![ls, git.clone()], vec![git]);
/// let read = offshoot_tools::read("ls src && git 'push' origin");
/// assert_eq!(read, LineAnalysis::Launching { commands, launchers });
/// assert_eq!(offshoot_tools::read("$(echo rm) -r x"), LineAnalysis::Unclear);
/// ```
pub fn read(line: &str) -> LineAnalysis {
    match wished(line) {
        LineAnalysis::Partly(_) => LineAnalysis::Unclear,
        line => line,
    }
}

/// Reads a command line for rules that deny.
///
/// An unclear line also yields the commands that it certainly runs, as far as they can
/// be read. A rule that denies `sudo` also denies `sudo "$x"`.
pub(super) fn wished(line: &str) -> LineAnalysis {
    let mut parts = Parts::default();
    let is_clear = parts.parse(line).is_some();
    let Parts { commands, launchers, .. } = parts;
    match (is_clear, commands.is_empty()) {
        (_, true) => LineAnalysis::Unclear,
        (true, false) if launchers.is_empty() => LineAnalysis::Clear(commands),
        (true, false) => LineAnalysis::Launching { commands, launchers },
        (false, false) => LineAnalysis::Partly(commands),
    }
}

/// Returns the redirections that arguments of programs imply (see `writing`), as far as
/// the line can be read.
pub(super) fn implied(line: &str) -> Vec<Vec<String>> {
    let mut parts = Parts::default();
    // The commands before the unclear part are valid.
    parts.parse(line);
    parts.commands.iter().flat_map(|command| writing::implied(command)).collect()
}

/// The parts of a line, as far as they can be read.
#[derive(Default)]
struct Parts {
    /// Its commands, each as its words.
    commands: Vec<Vec<String>>,
    /// The commands that may run other programs.
    launchers: Vec<Vec<String>>,
    /// The files that redirections read from.
    reads: Vec<String>,
    /// The words that are patterns of file names.
    patterns: Vec<String>,
}

/// The position of the parser between two commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    /// At the beginning, or after a token that may end a line.
    Free,
    /// A command has been read.
    Command,
    /// A command must follow.
    Open,
}

impl Parts {
    /// Parses a line. Returns `None` if its commands are uncertain.
    ///
    /// The parts then hold the commands before that point, the last one possibly in part.
    fn parse(&mut self, line: &str) -> Option<()> {
        if line.len() > LONGEST {
            return None;
        }
        let mut files = Vec::new();
        let mut words: Vec<lexer::Word> = Vec::new();
        let mut between = Between::Free;
        let mut lexer = Lexer::new(line);
        loop {
            let Some(token) = lexer.next() else {
                self.commands.extend(plain::command(words));
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
                Token::Reads(file) => {
                    self.reads.push(file);
                    between = Between::Command;
                    continue;
                }
                // A redirection to another stream writes no file.
                Token::Passes => {
                    between = Between::Command;
                    continue;
                }
                Token::Newline if between != Between::Command => continue,
                Token::End if between == Between::Free => return Some(()),
                _ if between != Between::Command => return None,
                _ => {}
            }
            let patterns = words.iter().filter(|word| word.pattern.is_some());
            self.patterns.extend(patterns.map(|word| word.text.clone()));
            let command = plain::command(std::mem::take(&mut words))?;
            let is_plain = programs::is_plain(&command);
            if !self_contained::is_self_contained(&command) {
                self.launchers.push(command.clone());
            }
            self.commands.push(command);
            self.commands.append(&mut files);
            is_plain.then_some(())?;
            between = match token {
                Token::Joins => Between::Open,
                Token::End => return Some(()),
                _ => Between::Free,
            };
        }
    }
}

/// Whether a text has a word.
fn among(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|one| one == word)
}
