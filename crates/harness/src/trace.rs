//! The trace of events, for the report of a failure.

use std::collections::VecDeque;

/// The last events. They are recorded only for a trace that will be read: a failing seed is run
/// again with its trace on.
#[derive(Debug, Default)]
pub struct Trace {
    lines: Option<VecDeque<String>>,
    count: u64,
}

/// The number of lines that are kept.
const KEPT: usize = 4_000;

impl Trace {
    /// A trace that is kept.
    pub fn kept() -> Self {
        Self { lines: Some(VecDeque::new()), count: 0 }
    }

    /// Adds a line.
    pub fn note(&mut self, line: impl FnOnce() -> String) {
        self.count += 1;
        let Some(lines) = &mut self.lines else { return };
        if lines.len() == KEPT {
            lines.pop_front();
        }
        lines.push_back(format!("{:>6}  {}", self.count, short(&line())));
    }

    /// The last lines, oldest first.
    pub fn tail(&self) -> Vec<String> {
        self.lines.iter().flatten().cloned().collect()
    }
}

/// A text with its ids cut to their last digits, which are distinct enough for a reader.
pub fn short(text: &str) -> String {
    const LENGTH: usize = 36;
    let is_id = |part: &[u8]| {
        part.len() == LENGTH
            && part.iter().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => *byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    };
    let bytes = text.as_bytes();
    let mut shown = String::with_capacity(text.len());
    let mut from = 0;
    let mut at = 0;
    while at < bytes.len() {
        if is_id(&bytes[at..bytes.len().min(at + LENGTH)]) {
            shown.push_str(&text[from..at]);
            shown.push('#');
            shown.push_str(&text[at + LENGTH - 4..at + LENGTH]);
            at += LENGTH;
            from = at;
        } else {
            at += 1;
        }
    }
    shown.push_str(&text[from..]);
    shown
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn ids_are_cut_and_the_rest_stays() {
        let text = "put 018bcfe6-60fa-7118-a4fe-02f87ca1afdb — done";
        assert_eq!(short(text), "put #afdb — done");
        assert_eq!(short("übrig"), "übrig");
    }
}
