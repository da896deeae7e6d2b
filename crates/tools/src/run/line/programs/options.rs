//! Options, however they are written.

/// Whether there is one of these options among some words: a long one, or one
/// that holds such a letter. The beginning of a long option stands for all of it,
/// and letters can be joined.
pub(in crate::run::line) fn any_option(words: &[String], long: &[&str], letters: &str) -> bool {
    words
        .iter()
        .any(|word| long.iter().any(|long| is_long(word, long)) || has_letter(word, letters))
}

fn is_long(word: &str, long: &str) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    // With one dash, as `find` has them, all of it must be there.
    name == long || (name.len() > 2 && name.starts_with("--") && long.starts_with(name))
}

fn has_letter(word: &str, letters: &str) -> bool {
    let rest = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    rest.is_some_and(|rest| rest.contains(|letter| letters.contains(letter)))
}
