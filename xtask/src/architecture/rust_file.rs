//! A Rust file, parsed.

use std::fmt::Display;
use std::ops::{Deref, Range};

use anyhow::{Result, anyhow};
use proc_macro2::{LexError, Span, TokenStream};

use super::text_file::TextFile;
use super::token::{self, SourceToken};

/// A Rust file with its tokens and its syntax tree. It dereferences to its text.
pub(crate) struct RustFile {
    file: TextFile,
    tokens: Vec<SourceToken>,
    /// The syntax tree.
    pub(crate) syntax: syn::File,
}

impl RustFile {
    /// Parses the file; an error names it.
    pub(crate) fn parse(file: TextFile) -> Result<Self> {
        let located = |span: Span, error: &dyn Display| {
            anyhow!("{}:{}: {error}", file.path, span.start().line)
        };
        let stream: TokenStream =
            file.text.parse().map_err(|error: LexError| located(error.span(), &error))?;
        let tokens = token::flatten(&stream);
        let syntax = syn::parse2(stream).map_err(|error| located(error.span(), &error))?;
        Ok(Self { file, tokens, syntax })
    }

    /// The string literals, those inside macros too, as ranges of the text.
    ///
    /// A doc comment is the literal of its attribute, and among them.
    pub(crate) fn string_literals(&self) -> impl Iterator<Item = Range<usize>> {
        self.tokens.iter().filter(|token| is_string(token)).map(SourceToken::range)
    }

    /// The text with everything blanked that is neither a comment nor a string of several words.
    ///
    /// Lines and offsets are those of the text, so a position in the one is a position in the
    /// other. A `;` stands for each byte of code, so that no phrase reaches across it.
    pub(crate) fn prose(&self) -> String {
        let code = |byte| if byte == b'\n' { b'\n' } else { b';' };
        let mut prose: Vec<u8> = self.text.bytes().map(code).collect();
        let mut end = 0;
        for token in &self.tokens {
            let range = token.range();
            // Between two tokens are only spaces and comments.
            if range.start > end {
                prose[end..range.start].copy_from_slice(&self.text.as_bytes()[end..range.start]);
            }
            if is_string(token) && self.text[range.clone()].contains(char::is_whitespace) {
                prose[range.clone()].copy_from_slice(&unescaped(&self.text[range.clone()]));
            }
            end = end.max(range.end);
        }
        prose[end..].copy_from_slice(&self.text.as_bytes()[end..]);
        String::from_utf8_lossy(&prose).into_owned()
    }
}

impl Deref for RustFile {
    type Target = TextFile;

    fn deref(&self) -> &TextFile {
        &self.file
    }
}

fn is_string(token: &SourceToken) -> bool {
    matches!(token, SourceToken::Literal(literal) if literal.to_string().ends_with(['"', '#']))
}

/// The bytes of a literal with each escape such as `\n` replaced by spaces.
fn unescaped(literal: &str) -> Vec<u8> {
    let mut bytes = literal.as_bytes().to_vec();
    let has_escapes = literal.starts_with(['"', 'b', 'c']) && !literal.starts_with("br");
    let mut at = 0;
    while has_escapes && at + 1 < bytes.len() {
        if bytes[at] == b'\\' && bytes[at + 1].is_ascii() {
            bytes[at] = b' ';
            if bytes[at + 1] != b'\n' {
                bytes[at + 1] = b' ';
            }
            at += 1;
        }
        at += 1;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<RustFile> {
        RustFile::parse(TextFile::new("a.rs".to_owned(), text.to_owned()))
    }

    #[test]
    fn prose_is_comments_and_strings_of_several_words() {
        let text =
            "/// Döc one.\nfn name() { /* two */ say(\"a b\\nc\", \"word\", ' '); } // three\n";
        let prose = parse(text).unwrap().prose();
        for part in ["/// Döc one.\n", "/* two */", "\"a b  c\"", "// three\n"] {
            assert!(prose.contains(part), "{part:?} in {prose:?}");
        }
        assert!(!prose.contains("name") && !prose.contains("word"), "{prose:?}");
        assert_eq!(prose.len(), text.len());
    }

    #[test]
    fn string_literals_are_found_inside_macros() {
        let file = parse("const A: &str = concat!(\"one\", r#\"two\"#, 'c', 4);\n").unwrap();
        let literals: Vec<_> = file.string_literals().map(|range| &file.text[range]).collect();
        assert_eq!(literals, ["\"one\"", "r#\"two\"#"]);
    }

    #[test]
    fn a_file_that_does_not_parse_is_named_with_its_line() {
        let error = parse("fn good() {}\nfn {}\n").err().unwrap();
        assert!(error.to_string().starts_with("a.rs:2: "), "{error}");
    }
}
