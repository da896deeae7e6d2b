//! Words without the key that stands in them, however it is written there.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use offshoot_core::text;

/// What stands in the place of a key.
const GONE: char = '…';

/// How many characters a sequence for a terminal has at the most.
const SEQUENCE: usize = 256;

/// The words without the key: neither as it is, nor with blanks or sequences for
/// a terminal in it, nor as it is written in an address or in base64.
pub(super) fn without(words: &str, key: &str) -> String {
    if key.is_empty() {
        return words.to_owned();
    }
    let forms = [
        key.to_owned(),
        in_address(key, Digits::Upper),
        in_address(key, Digits::Lower),
        STANDARD_NO_PAD.encode(key),
        URL_SAFE_NO_PAD.encode(key),
    ];
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
    let mut rest = words;
    while let Some(found) = rest.chars().next() {
        if found == want {
            rest = &rest[found.len_utf8()..];
            match wanted.next() {
                Some(next) => want = next,
                None => return Some(words.len() - rest.len()),
            }
        } else if rest.len() < words.len() && is_blank(found) {
            rest = &rest[sequence(rest).unwrap_or(found.len_utf8())..];
        } else {
            return None;
        }
    }
    None
}

/// How many bytes a sequence for a terminal takes at the start of the words, if
/// one stands there: one that sets a colour, say, or a title.
fn sequence(words: &str) -> Option<usize> {
    let (introduced, sets_text) = match words.strip_prefix('\u{1b}') {
        Some(rest) => match rest.chars().next()? {
            '[' => (2, false),
            ']' | 'P' | 'X' | '^' | '_' => (2, true),
            // A few intermediate ones, and the one that ends it.
            _ => (1, false),
        },
        None if words.starts_with('\u{9b}') => ('\u{9b}'.len_utf8(), false),
        None => return None,
    };
    let mut rest = words[introduced..].char_indices().take(SEQUENCE);
    let (at, end) = match sets_text {
        true => rest.find(|(_, found)| matches!(found, '\u{7}' | '\u{9c}' | '\u{1b}'))?,
        false => rest.find(|(_, found)| !matches!(found, '\u{20}'..='\u{3f}'))?,
    };
    let ends = introduced + at;
    match end {
        // It ends with this and a backslash.
        '\u{1b}' if sets_text => words[ends..].starts_with("\u{1b}\\").then_some(ends + 2),
        _ => Some(ends + end.len_utf8()),
    }
}

/// Whether the character is invisible, so that the key is readable around it.
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
            ("the s\u{1b}[0mk-a/\u{1b}[1;31mb+\u{9b}mc!", "the …!"),
            ("sk-\u{1b}]0;title\u{7}a/b\u{1b}]0;title\u{1b}\\+\u{1b}(Bc", "…"),
            ("\u{1b}[sk-a/b+c", "\u{1b}[…"),
            ("Basic c2stYS9iK2M=", "Basic …="),
            ("sk-a\u{1b}[0m", "sk-a\u{1b}[0m"),
            ("sk-a\u{1b}]/b+c", "sk-a\u{1b}]/b+c"),
            ("sk-a\u{1b}", "sk-a\u{1b}"),
            ("sk-a", "sk-a"),
            ("", ""),
        ] {
            assert_eq!(without(words, "sk-a/b+c"), left, "{words}");
        }
        assert_eq!(without("words", ""), "words");
        for written in ["Pj4+Pz8/", "Pj4-Pz8_"] {
            assert_eq!(without(&format!("{written}!"), ">>>???"), "…!");
        }
    }
}
