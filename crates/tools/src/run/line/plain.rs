//! Words that are a simple command.

use super::among;
use super::lexer::Word;

/// Words that a shell does not take as the name of a command.
const RESERVED: &str = "
    if then else elif fi do done case esac while until for in select function time coproc
    namespace repeat foreach end nocorrect noglob
";

/// Returns the words of a simple command, or `None` if they are not one.
pub(super) fn command(words: Vec<Word>) -> Option<Vec<String>> {
    let name = words.first()?;
    if name.pattern.is_some() || !is_name(&name.text) || among(RESERVED, &name.text) {
        return None;
    }
    words.iter().all(is_certain).then(|| words.into_iter().map(|word| word.text).collect())
}

/// Whether a word names a program that is found in the search path.
///
/// A path does not: it may lead to a program of any other name.
fn is_name(text: &str) -> bool {
    let of_name =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'+' | b':');
    // A file system that ignores case also ignores the case of programs.
    let folded = cfg!(target_os = "macos") && text.bytes().any(|byte| byte.is_ascii_uppercase());
    !text.is_empty()
        && !folded
        && text.bytes().all(of_name)
        && (text == ":" || text.as_bytes()[0].is_ascii_alphanumeric())
}

/// Whether the expansion of a word is certain.
fn is_certain(word: &Word) -> bool {
    match word.pattern {
        None => true,
        Some(at) => {
            let begins = &word.text[..at];
            !word.quoted && begins.contains('/') && !begins.starts_with('-')
        }
    }
}
