//! The text of a file, by lines.

/// A file's text and its path.
#[derive(Debug)]
pub(crate) struct TextFile {
    /// The path, relative to the root of the tree, with `/` between its parts.
    pub(crate) path: String,
    /// The text.
    pub(crate) text: String,
    /// The offset at which each line begins.
    line_starts: Vec<usize>,
}

impl TextFile {
    /// A file with this path and text.
    pub(crate) fn new(path: String, text: String) -> Self {
        let newlines = text.match_indices('\n').map(|(offset, _)| offset + 1);
        let line_starts = [0].into_iter().chain(newlines).collect();
        Self { path, text, line_starts }
    }

    /// The number of the line with this offset, counted from one.
    pub(crate) fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    /// The text of the line with this number.
    pub(crate) fn line(&self, number: usize) -> &str {
        self.text.lines().nth(number - 1).unwrap_or_default()
    }

    /// The number of lines.
    pub(crate) fn line_count(&self) -> usize {
        self.text.lines().count()
    }

    /// Whether the file is in this directory, or is this file.
    pub(crate) fn is_within(&self, path: &str) -> bool {
        self.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_in_the_line_that_holds_it() {
        let file = TextFile::new("a".to_owned(), "one\ntwo\n\nfour".to_owned());
        let lines: Vec<_> = [0, 3, 4, 8, 9, 12].map(|offset| file.line_of(offset)).to_vec();
        assert_eq!(lines, [1, 1, 2, 3, 4, 4]);
        assert_eq!(file.line(4), "four");
        assert_eq!(file.line_count(), 4);
    }

    #[test]
    fn a_path_is_compared_by_whole_parts() {
        let file = TextFile::new("crates/core/src/lib.rs".to_owned(), String::new());
        assert!(file.is_within("crates/core"));
        assert!(file.is_within("crates/core/src/lib.rs"));
        assert!(!file.is_within("crates/co"));
    }
}
