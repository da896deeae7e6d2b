//! The tokens of a stream in the order of the source, groups opened.

use std::ops::Range;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A token as it stands in the source. A group is its two delimiters and the tokens between them.
#[derive(Clone, Debug)]
pub(crate) enum SourceToken {
    /// An identifier or keyword.
    Ident(proc_macro2::Ident),
    /// A string, character or number.
    Literal(proc_macro2::Literal),
    /// A punctuation character, or a delimiter.
    Mark(char, proc_macro2::Span),
}

impl SourceToken {
    /// The bytes of the source that it covers.
    pub(crate) fn range(&self) -> Range<usize> {
        match self {
            Self::Ident(ident) => ident.span().byte_range(),
            Self::Literal(literal) => literal.span().byte_range(),
            Self::Mark(_, span) => span.byte_range(),
        }
    }

    /// Whether it is this punctuation character or delimiter.
    pub(crate) fn is(&self, mark: char) -> bool {
        matches!(self, Self::Mark(own, _) if *own == mark)
    }

    /// The text of an identifier.
    pub(crate) fn ident(&self) -> Option<String> {
        match self {
            Self::Ident(ident) => Some(ident.to_string()),
            Self::Literal(_) | Self::Mark(..) => None,
        }
    }
}

/// Every token of the stream, in the order of the source.
pub(crate) fn flatten(stream: &TokenStream) -> Vec<SourceToken> {
    let mut tokens = Vec::new();
    append(stream, &mut tokens);
    tokens
}

fn append(stream: &TokenStream, tokens: &mut Vec<SourceToken>) {
    for tree in stream.clone() {
        match tree {
            TokenTree::Ident(ident) => tokens.push(SourceToken::Ident(ident)),
            TokenTree::Literal(literal) => tokens.push(SourceToken::Literal(literal)),
            TokenTree::Punct(punct) => {
                tokens.push(SourceToken::Mark(punct.as_char(), punct.span()))
            }
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ('(', ')'),
                    Delimiter::Brace => ('{', '}'),
                    Delimiter::Bracket => ('[', ']'),
                    Delimiter::None => (' ', ' '),
                };
                tokens.push(SourceToken::Mark(open, group.span_open()));
                append(&group.stream(), tokens);
                tokens.push(SourceToken::Mark(close, group.span_close()));
            }
        }
    }
}
