//! Programs that write into a file that an argument names.
//!
//! A rule that denies redirections (`>`) also denies `sort -o file` and `tee file`.
//! Programs whose purpose is to change files (`cp`, `mv`, `touch`) need rules of their own.

use super::WRITES;
use super::programs::any_option;

/// The argument that names a file to write into.
enum By {
    /// An option: long ones, short ones.
    Option(&'static [&'static str], &'static str),
    /// The operand after so many others. The options before it take a word each.
    Operand(usize, &'static [&'static str]),
    /// A word that begins so.
    Word(&'static str),
    /// It always writes.
    Always,
}

const WRITERS: &[(&str, By)] = &[
    ("sort", By::Option(&["--output"], "o")),
    ("shuf", By::Option(&["--output"], "o")),
    ("base64", By::Option(&["--output"], "o")),
    ("tree", By::Option(&[], "o")),
    // The option compiles a list of file types.
    ("file", By::Option(&["--compile"], "C")),
    ("uniq", By::Operand(1, &["-f", "-s", "-w"])),
    ("xxd", By::Operand(1, XXD)),
    ("tee", By::Operand(0, &[])),
    ("dd", By::Word("of=")),
    ("split", By::Always),
];

const XXD: &[&str] = &[
    "-c",
    "-cols",
    "-g",
    "-groupsize",
    "-l",
    "-len",
    "-n",
    "-name",
    "-o",
    "-offset",
    "-s",
    "-seek",
    "-skip",
    "-R",
];

/// Returns the redirections that a command implies by writing into a file of an argument.
///
/// The argument is not determined, so each argument gets a redirection.
pub(super) fn implied(command: &[String]) -> Vec<Vec<String>> {
    let Some((name, rest)) = command.split_first() else { return Vec::new() };
    let by = WRITERS.iter().find(|(program, _)| program == name);
    let Some((_, by)) = by.filter(|(_, by)| by.writes(rest)) else { return Vec::new() };
    let files = rest.iter().flat_map(|word| by.files(word)).filter(|file| !file.is_empty());
    let into = |file: &str| vec![WRITES.to_owned(), file.to_owned()];
    // The command may also write without an argument.
    files.map(into).chain([vec![WRITES.to_owned()]]).collect()
}

impl By {
    /// Whether a program with these arguments writes.
    fn writes(&self, rest: &[String]) -> bool {
        match self {
            Self::Option(long, letters) => any_option(rest, long, letters),
            Self::Operand(others, taking) => operands(rest, taking) > *others,
            Self::Word(begin) => rest.iter().any(|word| word.starts_with(begin)),
            Self::Always => true,
        }
    }

    /// The files that an argument may name.
    fn files<'a>(&self, word: &'a str) -> [&'a str; 3] {
        let behind = word.split_once('=').map_or("", |(_, value)| value);
        let joined = match self {
            Self::Option(_, letters) if word.starts_with('-') && !word.starts_with("--") => {
                word.split_once(|letter| letters.contains(letter)).map_or("", |(_, value)| value)
            }
            _ => "",
        };
        [word, behind, joined]
    }
}

/// Returns the largest possible number of operands. A pattern of file names is several.
fn operands(words: &[String], taking: &[&str]) -> usize {
    let mut words = words.iter();
    let mut count = 0;
    let mut are_options = true;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--" if are_options => are_options = false,
            option if are_options && option.len() > 1 && option.starts_with('-') => {
                if taking.contains(&option) {
                    words.next();
                }
            }
            operand => count += if operand.contains(['*', '?', '[']) { 2 } else { 1 },
        }
    }
    count
}
