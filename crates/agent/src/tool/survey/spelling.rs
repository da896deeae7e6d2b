//! The spelling of file names for a model.
//!
//! A name that is UTF-8 is spelled as it is. Other names have escapes, so that they can
//! be read back.

use std::ffi::{OsStr, OsString};

/// The prefix of an escaped byte.
const BYTE: &str = "\\x";

/// The spelling of a name.
///
/// A byte that is not UTF-8 becomes an escape such as `\xff`. In a name with such bytes,
/// or one that contains `\x` itself, backslashes are escaped, too.
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

/// The name with this spelling.
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

/// The spelling of a name. On this platform nearly every name is Unicode.
#[cfg(not(unix))]
pub(super) fn written(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

/// The name with this spelling.
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
