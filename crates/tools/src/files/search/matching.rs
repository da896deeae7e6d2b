//! The patterns of lines and files.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use memchr::{memchr, memchr_iter, memrchr};
use offshoot_agent::ToolError;
use offshoot_core::text;
use regex::bytes::{Regex, RegexBuilder};

use super::Case;

/// The largest size of a compiled expression, in bytes.
const LARGEST: usize = 4 << 20;

/// The pattern of lines.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
}

impl Pattern {
    pub(super) fn new(pattern: &str, case: Case) -> Result<Self, ToolError> {
        if pattern.is_empty() {
            return Err(ToolError::new("The pattern is empty: every line would match."));
        }
        let insensitive = match case {
            Case::Sensitive => false,
            Case::Insensitive => true,
            Case::Smart => !has_capitals(pattern),
        };
        let regex = RegexBuilder::new(pattern)
            .case_insensitive(insensitive)
            .multi_line(true)
            // A line that ends in \r\n ends before both.
            .crlf(pattern.contains('$'))
            .size_limit(LARGEST)
            .dfa_size_limit(LARGEST)
            .build();
        let regex = regex.map_err(|error| {
            ToolError::new(format!(
                "The pattern cannot be searched for: {}. Look-around and back-references are not \
                 known; to search for a sign itself write \\ before it.",
                text::cut(error.to_string().trim(), 800)
            ))
        })?;
        Ok(Self { regex })
    }

    /// Returns the bounds of the next matching line from a position on.
    pub(super) fn next(&self, bytes: &[u8], from: usize) -> Option<(usize, usize)> {
        let mut at = from;
        while at < bytes.len() {
            let found = self.regex.find_at(bytes, at)?;
            // A match may begin after the last line.
            if found.start() == bytes.len() && bytes.ends_with(b"\n") {
                return None;
            }
            let start = memrchr(b'\n', &bytes[..found.start()]).map_or(0, |end| end + 1);
            let end = memchr(b'\n', &bytes[found.start()..]);
            let end = end.map_or(bytes.len(), |end| found.start() + end);
            // A match that reaches into the next line is invalid. No line before this
            // one matches: it would have been found first.
            if found.end() <= end || self.regex.is_match(&bytes[start..end]) {
                return Some((start, end));
            }
            at = end + 1;
        }
        None
    }
}

/// Whether a pattern has a literal capital letter.
fn has_capitals(pattern: &str) -> bool {
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                let named = matches!(letters.next(), Some('p' | 'P' | 'x' | 'u' | 'U'));
                if named && letters.clone().next() == Some('{') {
                    letters.by_ref().find(|letter| *letter == '}');
                }
            }
            letter if letter.is_uppercase() => return true,
            _ => {}
        }
    }
    false
}

/// Counts the line ends.
pub(super) fn ends(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

/// The globs of the files to search.
#[derive(Debug)]
pub(super) struct Glob {
    matcher: GlobMatcher,
    by: By,
    not: bool,
}

/// The part of a path that a glob matches.
#[derive(Clone, Copy, Debug)]
enum By {
    Name,
    Path,
}

impl Glob {
    pub(super) fn new(written: &str) -> Result<Self, ToolError> {
        let (not, glob) = match written.strip_prefix('!') {
            Some(glob) => (true, glob),
            None => (false, written),
        };
        let by = if glob.contains('/') { By::Path } else { By::Name };
        let glob = glob.trim_start_matches("./").trim_start_matches('/');
        // A directory means all its content.
        let all = if glob.ends_with('/') { "**" } else { "" };
        let built = GlobBuilder::new(&format!("{glob}{all}")).literal_separator(true).build();
        let built =
            built.map_err(|error| ToolError::new(format!("The glob is wrong: {error}.")))?;
        Ok(Self { matcher: built.compile_matcher(), by, not })
    }

    /// Whether the file at a path relative to the root is searched.
    pub(super) fn fits(&self, path: &Path) -> bool {
        let fits = match self.by {
            By::Path => self.matcher.is_match(path),
            By::Name => path.file_name().is_some_and(|name| self.matcher.is_match(name)),
        };
        fits != self.not
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(pattern: &str, text: &str) -> Vec<String> {
        let pattern = Pattern::new(pattern, Case::Smart).unwrap();
        let mut found = Vec::new();
        let mut at = 0;
        while let Some((start, end)) = pattern.next(text.as_bytes(), at) {
            found.push(text[start..end].to_owned());
            at = end + 1;
        }
        found
    }

    #[test]
    fn a_match_lies_within_a_line() {
        assert_eq!(lines(r"a\s+b", "a\nb\na b\n"), ["a b"]);
        assert_eq!(lines("[^x]b", "a\nb\ncb"), ["cb"]);
        assert_eq!(lines("^b$", "a\nb\r\nbb\nb"), ["b\r", "b"]);
        assert_eq!(lines("^$", "a\n\nb\n"), [""]);
        assert_eq!(lines("fn|let", "Fn a\nlet\n"), ["Fn a", "let"]);
        assert_eq!(lines("Fn", "fn\nFn"), ["Fn"]);
        assert_eq!(lines(r"\S+\p{Lu}", "aB\n"), ["aB"]);
    }

    #[test]
    fn what_is_wrong_with_a_pattern_is_told() {
        for pattern in ["(", "a(?=b)", "", "x{1000}{1000}{1000}"] {
            assert!(Pattern::new(pattern, Case::Smart).is_err(), "{pattern}");
        }
    }

    #[test]
    fn globs_are_about_names_or_paths() {
        let fits = |glob: &str, path: &str| Glob::new(glob).unwrap().fits(Path::new(path));
        assert!(fits("*.rs", "a/b.rs") && !fits("*.rs", "a/b.rsx"));
        assert!(fits("src/**/*.{ts,tsx}", "src/a/b.tsx") && fits("src/**/*.ts", "src/b.ts"));
        assert!(!fits("src/*.ts", "src/a/b.ts") && fits("src/", "src/a/b.ts"));
        assert!(fits("!*.lock", "a.rs") && !fits("!*.lock", "a.lock"));
        assert!(Glob::new("[").is_err());
    }

    proptest! {
        #[test]
        fn lines_are_found_as_if_one_by_one(
            pattern in r"(a|b|\\s|\[\^a\]|\.|\^|\$|a\+|b\*){1,4}", text in "[ab \n]{0,30}"
        ) {
            let Ok(regex) = RegexBuilder::new(&pattern).multi_line(true).crlf(pattern.contains('$'))
                .build() else { return Ok(()) };
            let whole = text.strip_suffix('\n').unwrap_or(&text);
            let one_by_one: Vec<_> = if text.is_empty() { Vec::new() } else {
                whole.split('\n').filter(|line| regex.is_match(line.as_bytes()))
                    .map(str::to_owned).collect()
            };
            prop_assert_eq!(lines(&pattern, &text), one_by_one);
        }
    }
}
