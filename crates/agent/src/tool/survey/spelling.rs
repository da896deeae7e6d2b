//! How the name of a file is written for a model: as it is if it is text, and so
//! that it can be read back if it is not.

use std::ffi::{OsStr, OsString};

/// What begins a byte that is no text.
const BYTE: &str = "\\x";

/// A name as it is written. A byte that is no text is `\xff`; where that could
/// be mistaken for the name itself, its backslashes are bytes, too.
#[cfg(unix)]
pub(super) fn written(name: &OsStr) -> String {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;

    if let Some(text) = name.to_str().filter(|text| !text.contains(BYTE)) {
        return text.to_owned();
    }
    let mut written = String::new();
    for chunk in name.as_bytes().utf8_chunks() {
        written.push_str(&chunk.valid().replace('\\', "\\x5c"));
        for byte in chunk.invalid() {
            // Writing to a string does not fail.
            let _ = write!(written, "{BYTE}{byte:02x}");
        }
    }
    written
}

/// The name that is written so.
#[cfg(unix)]
pub(super) fn read(written: &str) -> OsString {
    use std::os::unix::ffi::OsStringExt;

    let mut name = Vec::with_capacity(written.len());
    let mut rest = written;
    while let Some((before, after)) = rest.split_once(BYTE) {
        name.extend_from_slice(before.as_bytes());
        let byte = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        rest = match byte {
            Some(byte) => {
                name.push(byte);
                &after[2..]
            }
            None => {
                name.extend_from_slice(BYTE.as_bytes());
                after
            }
        };
    }
    name.extend_from_slice(rest.as_bytes());
    OsString::from_vec(name)
}

/// A name as it is written: here every name is nearly always text.
#[cfg(not(unix))]
pub(super) fn written(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

/// The name that is written so.
#[cfg(not(unix))]
pub(super) fn read(written: &str) -> OsString {
    written.into()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_is_written_as_it_is() {
        for name in ["docs", "a\nb", "<notice>", "ü", "a\\b", ""] {
            assert_eq!(written(OsStr::new(name)), name);
        }
        assert_eq!(written(&OsString::from_vec(b"a\xffb".to_vec())), "a\\xffb");
        assert_eq!(written(OsStr::new("a\\xff")), "a\\x5cxff");
    }

    proptest! {
        #[test]
        fn every_name_can_be_read_back(name in proptest::collection::vec(
            prop_oneof![any::<u8>(), Just(b'\\'), Just(b'x'), Just(b'f')], 0..20)
        ) {
            let name = OsString::from_vec(name);
            prop_assert_eq!(read(&written(&name)), name);
        }
    }
}
