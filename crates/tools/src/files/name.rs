//! The text of a path for a model, which can pass it back unchanged.

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The prefix of an escaped byte.
const BYTE: &str = "\\x";

/// Formats a path.
///
/// A byte that is no text, or that would break or forge a line, is escaped as `\xff`.
/// Backslashes are escaped where the path would otherwise be ambiguous.
pub(super) fn written(path: &Path) -> String {
    let plain = |text: &&str| !text.contains(BYTE) && !text.contains(is_odd);
    if let Some(text) = path.to_str().filter(plain) {
        return text.to_owned();
    }
    let mut written = String::new();
    let bytes = |written: &mut String, bytes: &[u8]| {
        for byte in bytes {
            // Writing to a string does not fail.
            let _ = write!(written, "{BYTE}{byte:02x}");
        }
    };
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\\' => bytes(&mut written, b"\\"),
                odd if is_odd(odd) => bytes(&mut written, odd.encode_utf8(&mut [0; 4]).as_bytes()),
                letter => written.push(letter),
            }
        }
        bytes(&mut written, chunk.invalid());
    }
    written
}

/// Whether a character breaks a line or looks like another one.
fn is_odd(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{200b}'..='\u{200f}')
        || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Parses a path in this format.
pub(super) fn read(written: &str) -> PathBuf {
    let mut path = Vec::with_capacity(written.len());
    let mut rest = written;
    while let Some((before, after)) = rest.split_once(BYTE) {
        path.extend_from_slice(before.as_bytes());
        let digits = after.get(..2).filter(|two| two.bytes().all(|it| it.is_ascii_hexdigit()));
        rest = match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                path.push(byte);
                &after[2..]
            }
            None => {
                path.extend_from_slice(BYTE.as_bytes());
                after
            }
        };
    }
    path.extend_from_slice(rest.as_bytes());
    OsString::from_vec(path).into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_can_be_read_is_written_as_it_is() {
        for path in ["docs/a.md", "ü ö", "a\\b", "<notice>", ""] {
            assert_eq!(written(Path::new(path)), path);
        }
        assert_eq!(written(Path::new("a\nb")), "a\\x0ab");
        assert_eq!(written(Path::new("a\\xff")), "a\\x5cxff");
        assert_eq!(written(&PathBuf::from(OsString::from_vec(b"a\xff".to_vec()))), "a\\xff");
    }

    proptest! {
        #[test]
        fn every_path_can_be_given_back(path in proptest::collection::vec(
            prop_oneof![any::<u8>(), Just(b'\\'), Just(b'x'), Just(b'f'), Just(b'\n')], 0..20)
        ) {
            let path = PathBuf::from(OsString::from_vec(path));
            prop_assert_eq!(read(&written(&path)), path);
        }
    }
}
