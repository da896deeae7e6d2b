//! Text with a limit: cut between Unicode scalars, with a note of how much is missing.

mod unseen;

pub use unseen::{is_blank, is_format};

use std::borrow::Cow;

/// Cuts `text` to `limit` Unicode scalars and appends ` …(+N more chars)` if anything is
/// missing.
///
/// ```
/// assert_eq!(offshoot_core::text::cut("héllo", 5), "héllo");
/// assert_eq!(offshoot_core::text::cut("héllo", 2), "hé …(+3 more chars)");
/// ```
pub fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    // A scalar takes at least one byte, so short texts need no counting.
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    match text.char_indices().nth(limit) {
        None => Cow::Borrowed(text),
        Some((at, _)) => {
            let more = text[at..].chars().count();
            Cow::Owned(format!("{} …(+{more} more chars)", &text[..at]))
        }
    }
}

/// Cuts `text` to the Unicode scalars that fit into `bytes` and appends ` …(+N more chars)`
/// if anything is missing.
///
/// ```
/// assert_eq!(offshoot_core::text::fit("héllo", 6), "héllo");
/// assert_eq!(offshoot_core::text::fit("héllo", 2), "h …(+4 more chars)");
/// ```
pub fn fit(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    cut(text, text[..text.floor_char_boundary(bytes)].chars().count())
}

/// Whether a character controls a terminal or misleads a reader: control characters
/// including line breaks, and characters that change the direction of text.
pub fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(character, '\u{2066}'..='\u{2069}')
}

/// The visible replacement of an unsafe character: its control picture, if it has one.
///
/// ```
/// assert_eq!(offshoot_core::text::picture('\u{1b}'), '␛');
/// ```
pub fn picture(character: char) -> char {
    match u32::from(character) {
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '\u{2421}',
        _ => char::REPLACEMENT_CHARACTER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn s10_2_a_cut_keeps_the_first_scalars_and_counts_the_rest(text in "\\PC*", limit in 0usize..40) {
            let total = text.chars().count();
            let out = cut(&text, limit);
            if total <= limit {
                proptest::prop_assert_eq!(out.as_ref(), text.as_str());
            } else {
                let head: String = text.chars().take(limit).collect();
                proptest::prop_assert_eq!(out, format!("{head} …(+{} more chars)", total - limit));
            }
        }

        #[test]
        fn s8_5_text_that_fits_is_kept_and_the_rest_is_counted(text in "\\PC*", bytes in 0usize..40) {
            let out = fit(&text, bytes);
            if text.len() <= bytes {
                proptest::prop_assert_eq!(out.as_ref(), text.as_str());
            } else {
                let (head, more) = out.rsplit_once(" …(+").unwrap();
                let more: usize = more.trim_end_matches(" more chars)").parse().unwrap();
                proptest::prop_assert!(head.len() <= bytes && text.starts_with(head));
                proptest::prop_assert_eq!(head.chars().count() + more, text.chars().count());
            }
        }
    }
}
