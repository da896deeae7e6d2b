//! The nesting depth of JSON text.

/// The maximum nesting that can be read back: `serde_json` refuses 128 levels.
pub(super) const DEEPEST: usize = 127;

/// The nesting depth of JSON text, if it is too deep to be read back.
#[inline]
pub(super) fn too_deep(json: &str) -> Option<usize> {
    // Every level takes an opening and a closing character, so most texts are too short.
    if json.len() <= 2 * DEEPEST { None } else { deeper(json) }
}

fn deeper(json: &str) -> Option<usize> {
    // Counting brackets is much faster than parsing, and enough for most texts.
    let opens = |byte: &u8| matches!(byte, b'[' | b'{');
    if json.bytes().filter(opens).count() <= DEEPEST {
        return None;
    }
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => skip_text(&mut bytes),
            _ => {}
        }
    }
    (deepest > DEEPEST).then_some(deepest)
}

/// Skips to the end of a string.
fn skip_text(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> String {
        "[".repeat(depth) + &"]".repeat(depth)
    }

    #[test]
    fn the_nesting_limit_equals_the_limit_of_the_parser() {
        let read = |json: &str| serde_json::from_str::<serde_json::Value>(json).is_ok();
        assert!(read(&nested(DEEPEST)) && !read(&nested(DEEPEST + 1)));
        assert_eq!(too_deep(&nested(DEEPEST)), None);
        assert_eq!(too_deep(&nested(DEEPEST + 1)), Some(DEEPEST + 1));
    }

    #[test]
    fn breadth_and_brackets_in_strings_do_not_count_as_depth() {
        let broad = format!("[{}[]]", "[],".repeat(500));
        assert_eq!(too_deep(&broad), None);
        let text = format!(r#"["\"{}", "\\"]"#, "{[".repeat(500));
        assert_eq!(too_deep(&text), None);
    }
}
