//! The type of a file by its bytes: text, a picture, or another one.

use std::borrow::Cow;

/// The number of bytes that show whether a file is text.
pub(super) const HEAD: usize = 8 << 10;

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content<'a> {
    /// Text.
    Text(Text<'a>),
    /// Other content, with its probable type.
    Binary(&'static str),
}

/// Decoded text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) encoding: Encoding,
}

/// The encoding of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    /// UTF-8.
    Utf8,
    /// UTF-8 with invalid bytes.
    Broken,
    /// UTF-16.
    Utf16,
}

/// The byte order mark of UTF-8.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

impl<'a> Content<'a> {
    /// Determines the content of a file from all or its first bytes.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        if let Some(text) = wide(bytes) {
            return Self::Text(Text { text: text.into(), encoding: Encoding::Utf16 });
        }
        if memchr::memchr(0, &bytes[..bytes.len().min(HEAD)]).is_some() || is_packed(bytes) {
            return Self::Binary(kind(bytes));
        }
        let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes);
        let encoding = match &text {
            Cow::Borrowed(_) => Encoding::Utf8,
            Cow::Owned(_) => Encoding::Broken,
        };
        Self::Text(Text { text, encoding })
    }
}

/// Decodes UTF-16 with a byte order mark.
fn wide(bytes: &[u8]) -> Option<String> {
    let order: fn([u8; 2]) -> u16 = match bytes {
        // UTF-32 begins with the same bytes.
        [0xff, 0xfe, 0, 0, ..] => return None,
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let units = bytes[2..].chunks_exact(2).map(|two| order([two[0], two[1]]));
    let text = char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER));
    Some(text.collect())
}

/// The first bytes of some file types.
const KINDS: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x7fELF", "a program or library (ELF)"),
    (b"\xcf\xfa\xed\xfe", "a program or library (Mach-O)"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive, or a document that is one"),
    (b"\x1f\x8b", "compressed (gzip)"),
    (b"BZh", "compressed (bzip2)"),
    (b"\xfd7zXZ\0", "compressed (xz)"),
    (b"\x28\xb5\x2f\xfd", "compressed (zstd)"),
    (b"7z\xbc\xaf\x27\x1c", "an archive (7z)"),
    (b"SQLite format 3\0", "a SQLite database"),
    (b"\0asm", "a program (WebAssembly)"),
    (b"\xca\xfe\xba\xbe", "a program (Java or Mach-O)"),
    (b"!<arch>\n", "a library of objects (ar)"),
];

/// Returns the probable type of other bytes: a media type for pictures that models can
/// see, words for the rest.
pub(super) fn kind(bytes: &[u8]) -> &'static str {
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return "image/webp";
    }
    let known = KINDS.iter().find(|(begins, _)| bytes.starts_with(begins));
    known.map_or("of no kind that is known", |(_, kind)| kind)
}

/// Whether bytes without a zero are still binary.
fn is_packed(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD)];
    kind(head) != "of no kind that is known"
        && (std::str::from_utf8(head).is_err_and(|error| error.error_len().is_some())
            || head.starts_with(b"%PDF-"))
}

/// Formats a number with its noun.
pub(super) fn count(number: u64, one: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number => format!("{number} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> (String, Encoding) {
        match Content::of(bytes) {
            Content::Text(Text { text, encoding }) => (text.into_owned(), encoding),
            Content::Binary(kind) => panic!("{kind}"),
        }
    }

    #[test]
    fn text_is_told_from_what_is_none() {
        assert_eq!(text(b"\xef\xbb\xbfa\r\n"), ("a\r\n".into(), Encoding::Utf8));
        assert_eq!(text(b"a\xffb"), ("a\u{fffd}b".into(), Encoding::Broken));
        assert_eq!(text(b"\xff\xfeh\0\xfc\0"), ("hü".into(), Encoding::Utf16));
        assert_eq!(text(b"\xfe\xff\0h"), ("h".into(), Encoding::Utf16));
        assert_eq!(text(b"BZh is a name"), ("BZh is a name".into(), Encoding::Utf8));
        assert_eq!(Content::of(b"a\0b"), Content::Binary("of no kind that is known"));
        assert_eq!(Content::of(b"RIFF\0\0\0\0WEBP"), Content::Binary("image/webp"));
        assert_eq!(Content::of(b"\xff\xd8\xff\xe0abc"), Content::Binary("image/jpeg"));
    }
}
