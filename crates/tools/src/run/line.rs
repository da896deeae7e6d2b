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
//!   A program that writes into a file which an argument names implies one (`writing`).
//! - A pattern of file names stands for the names that fit it. It begins with a
//!   folder, so that what comes of it can be neither an option nor a sub-command.
//!
//! A command of a clear line may still run others: the line is *launching* unless all
//! its programs are known to run no other one (`self_contained`).

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

/// How long a line may be to be read.
const LONGEST: usize = 16 << 10;

/// The command that stands for a redirection into a file.
pub(super) const WRITES: &str = ">";

/// What is known of a command line that a POSIX shell is given.
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

/// The same for whoever forbids commands: of a line that is not clear, too, the
/// commands are told that it certainly runs, as far as they can be read. Who
/// forbids `sudo` means `sudo "$x"`, whatever that is for.
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

/// The redirections that a line comes to by arguments of its programs, as far as it can be
/// read: see `writing`.
pub(super) fn implied(line: &str) -> Vec<Vec<String>> {
    let mut parts = Parts::default();
    // What was read before it became unclear counts.
    parts.parse(line);
    parts.commands.iter().flat_map(|command| writing::implied(command)).collect()
}

/// The parts of a line, as far as they can be read.
#[derive(Default)]
struct Parts {
    /// Its commands, each as its words.
    commands: Vec<Vec<String>>,
    /// Those of them that may run other programs.
    launchers: Vec<Vec<String>>,
    /// Files that redirections read from.
    reads: Vec<String>,
    /// Words that are patterns of file names.
    patterns: Vec<String>,
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

impl Parts {
    /// Takes a line apart. Nothing comes of it if it is not certain which commands it
    /// has; then those are known that were read before, the last as far as it was.
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
                // What is passed on to another stream changes nothing.
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

/// Whether a word is one of those in a text.
fn among(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|one| one == word)
}
