//! The shape of a JSON text, read once as it arrives: how deep it nests, how many
//! values it holds, whether it is whole. Nothing is built, and nothing is checked
//! beyond that.

/// The shape of the text so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JsonScan {
    in_string: bool,
    escaped: bool,
    depth: usize,
    deepest: usize,
    values: usize,
    closed: bool,
}

impl JsonScan {
    /// The shape of a whole text.
    pub(super) fn of(text: &str) -> Self {
        let mut scan = Self::default();
        scan.push(text);
        scan
    }

    /// Reads on.
    pub(super) fn push(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => {
                    self.depth += 1;
                    self.values += 1;
                    self.deepest = self.deepest.max(self.depth);
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.closed |= self.depth == 0;
                }
                b',' => self.values += 1,
                _ => {}
            }
        }
    }

    /// How deep it nests.
    pub(super) fn deepest(&self) -> usize {
        self.deepest
    }

    /// How many values it holds, give or take one.
    pub(super) fn values(&self) -> usize {
        self.values
    }

    /// Whether its outermost list or object has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.closed && self.depth == 0
    }
}

/// The text with everything below this depth replaced by `null`.
pub(super) fn flattened(text: &str, most: usize) -> String {
    let mut scan = JsonScan::default();
    let mut flat = String::with_capacity(text.len().min(64 * 1024));
    let mut kept_from = 0;
    for (at, byte) in text.bytes().enumerate() {
        let before = scan.depth;
        // Structure is ASCII, so every cut lies between two characters.
        if !byte.is_ascii() {
            continue;
        }
        scan.push(text.get(at..=at).unwrap_or_default());
        if before == most && scan.depth > most {
            flat.push_str(text.get(kept_from..at).unwrap_or_default());
            flat.push_str("null");
        }
        if before > most && scan.depth == most {
            kept_from = at + 1;
        }
    }
    if scan.depth <= most {
        flat.push_str(text.get(kept_from..).unwrap_or_default());
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_knows_depth_values_and_whether_a_text_is_whole() {
        let scan = JsonScan::of(r#"{"a":[1,2,{"b":"}]\"{"}],"c":3}"#);
        assert_eq!((scan.deepest(), scan.values(), scan.is_closed()), (3, 6, true));
        assert!(!JsonScan::of(r#"{"a":{}"#).is_closed());
        let mut parts = JsonScan::default();
        ["{\"a", "\\", "\"{\":[", "1]}"].iter().for_each(|part| parts.push(part));
        assert_eq!((parts.deepest(), parts.is_closed()), (2, true));
    }

    #[test]
    fn a_text_is_flattened_below_a_depth() {
        assert_eq!(
            flattened(r#"{"ä":[[1,{"é":2}],"ü[["],"b":[3]}"#, 2),
            r#"{"ä":[null,"ü[["],"b":[3]}"#
        );
        assert_eq!(flattened(r#"{"a":1}"#, 2), r#"{"a":1}"#);
    }
}
