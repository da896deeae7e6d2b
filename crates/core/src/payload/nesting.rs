//! How deep arrays and objects lie in one another.

/// The deepest nesting that can be read back: `serde_json` gives up at 128.
pub(super) const DEEPEST: usize = 127;

/// The nesting of a JSON text, if it is deeper than can be read back.
#[inline]
pub(super) fn too_deep(json: &str) -> Option<usize> {
    // Every level takes an opening and a closing character, so most texts
    // need no look.
    if json.len() <= 2 * DEEPEST { None } else { deeper(json) }
}

fn deeper(json: &str) -> Option<usize> {
    // Most need only a count, which is much faster than to follow the text.
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

/// Goes on behind the closing quotation mark.
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
    fn the_deepest_that_passes_is_the_deepest_that_can_be_read() {
        let read = |json: &str| serde_json::from_str::<serde_json::Value>(json).is_ok();
        assert!(read(&nested(DEEPEST)) && !read(&nested(DEEPEST + 1)));
        assert_eq!(too_deep(&nested(DEEPEST)), None);
        assert_eq!(too_deep(&nested(DEEPEST + 1)), Some(DEEPEST + 1));
    }

    #[test]
    fn breadth_and_brackets_in_texts_are_no_depth() {
        let broad = format!("[{}[]]", "[],".repeat(500));
        assert_eq!(too_deep(&broad), None);
        let text = format!(r#"["\"{}", "\\"]"#, "{[".repeat(500));
        assert_eq!(too_deep(&text), None);
    }
}
