//! Bounded text: what enters a context or a screen is cut where Unicode
//! allows it and says how much is missing.

use std::borrow::Cow;

/// `text`, or its first `limit` Unicode scalars and ` …(+N more chars)`.
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
    }
}
