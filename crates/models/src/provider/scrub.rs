//! Words without the key that stands in them, however it is written there.

use offshoot_core::text;

/// What stands in the place of a key.
const GONE: char = '…';

/// The words without the key: neither as it is, nor with blanks in it, nor as it
/// is written in an address.
pub(super) fn without(words: &str, key: &str) -> String {
    if key.is_empty() {
        return words.to_owned();
    }
    let forms = [key.to_owned(), in_address(key, Digits::Upper), in_address(key, Digits::Lower)];
    let mut left = String::with_capacity(words.len());
    let mut rest = words;
    while let Some(next) = rest.chars().next() {
        match forms.iter().find_map(|form| length(rest, form)) {
            Some(length) => {
                left.push(GONE);
                rest = &rest[length..];
            }
            None => {
                left.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    left
}

/// How many bytes the key takes at the start of the words, if it stands there.
fn length(words: &str, key: &str) -> Option<usize> {
    let mut wanted = key.chars();
    let mut want = wanted.next()?;
    for (at, found) in words.char_indices() {
        if found == want {
            match wanted.next() {
                Some(next) => want = next,
                None => return Some(at + found.len_utf8()),
            }
        } else if at == 0 || !is_blank(found) {
            return None;
        }
    }
    None
}

/// Whether nobody sees the character, so that the key is read around it.
fn is_blank(character: char) -> bool {
    character.is_whitespace()
        || text::is_unsafe(character)
        || matches!(character, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

/// Which digits stand for ten and more.
#[derive(Clone, Copy)]
enum Digits {
    Upper,
    Lower,
}

/// The key as it is written in an address.
fn in_address(key: &str, digits: Digits) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let written = key.bytes().map(|byte| match digits {
        _ if plain(byte) => char::from(byte).to_string(),
        Digits::Upper => format!("%{byte:02X}"),
        Digits::Lower => format!("%{byte:02x}"),
    });
    written.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_gone_however_it_is_written() {
        for (words, left) in [
            ("Bearer sk-a/b+c.", "Bearer …."),
            ("sk-a/b+c sk-a/b+csk-a/b+", "… …sk-a/b+"),
            ("the sk-a /b\u{200b}+\u{7}c", "the …"),
            ("?key=sk-a%2Fb%2Bc&", "?key=…&"),
            ("?key=sk-a%2fb%2bc", "?key=…"),
            ("ssk-a/b+c", "s…"),
            ("sk-a", "sk-a"),
            ("", ""),
        ] {
            assert_eq!(without(words, "sk-a/b+c"), left, "{words}");
        }
        assert_eq!(without("words", ""), "words");
    }
}
