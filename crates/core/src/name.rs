//! Task names chosen by people and models.

mod series;

use std::fmt;

use compact_str::CompactString;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

pub use self::series::Series;

/// The maximum length of a name, in Unicode scalars.
pub const NAME_LIMIT: usize = 64;

/// Words that are addresses and cannot be names.
pub const RESERVED: [&str; 5] = ["parent", "self", "all", "broadcast", "root"];

/// The name of a session's top-level agent. It is reserved for the program:
/// [`Name::check_chosen`] refuses it as a chosen name.
pub const LEAD: &str = "lead";

/// A valid name: one short trimmed line that cannot be mistaken for an id, a path or a
/// reserved word. Names are compared after NFKC normalisation and lower-casing.
///
/// ```
/// use offshoot_core::{Name, NameError};
///
/// let name = Name::new("  Docs ")?;
/// assert_eq!(name.as_str(), "Docs");
/// assert_eq!(name, Name::new("docs")?);
/// assert_eq!(Name::new("Parent"), Err(NameError::Reserved("parent")));
/// # Ok::<(), NameError>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "CompactString", from = "CompactString")]
pub struct Name {
    shown: CompactString,
    key: Key,
}

/// The form in which a name is compared.
#[derive(Clone, Debug)]
enum Key {
    /// Equal to the displayed form, as for most names. `number` is zero if the name was not
    /// counted.
    Shown { number: u64 },
    /// Different from the displayed form.
    Folded(Box<str>),
}

impl Name {
    /// Validates `text` as a name.
    pub fn new(text: &str) -> Result<Self, NameError> {
        let shown = text.trim();
        if shown.is_empty() {
            return Err(NameError::Blank);
        }
        let length = shown.chars().count();
        if length > NAME_LIMIT {
            return Err(NameError::TooLong(length));
        }
        check_characters(shown)?;
        let key = fold(shown);
        // Normalisation can lengthen a name, make it invisible or reveal a slash.
        check_characters(&key)?;
        if uuid::Uuid::parse_str(&key).is_ok() {
            return Err(NameError::Uuid);
        }
        if let Some(word) = RESERVED.iter().find(|word| **word == key) {
            return Err(NameError::Reserved(word));
        }
        Ok(Self::from_parts(shown, key))
    }

    /// Refuses a name that is reserved for the program.
    pub fn check_chosen(&self) -> Result<(), NameError> {
        if self.key() == LEAD { Err(NameError::Reserved(LEAD)) } else { Ok(()) }
    }

    /// The generated name of a task: `<stem>-<n>`.
    pub fn numbered(stem: &str, n: u64) -> Self {
        Series::new(stem, n).advance()
    }

    /// The name as it is displayed.
    pub fn as_str(&self) -> &str {
        &self.shown
    }

    /// The normalised form in which names are compared.
    pub fn key(&self) -> &str {
        match &self.key {
            Key::Shown { .. } => &self.shown,
            Key::Folded(key) => key,
        }
    }

    /// The number in a generated name, if known. A name that was read from storage has no
    /// known number.
    pub fn number(&self) -> Option<u64> {
        match self.key {
            Key::Shown { number } if number > 0 => Some(number),
            _ => None,
        }
    }

    /// The normalised form of `text`, which need not be a valid name.
    pub fn key_of(text: &str) -> String {
        fold(text.trim())
    }

    fn from_parts(shown: &str, key: String) -> Self {
        let key = match key == shown {
            true => Key::Shown { number: 0 },
            false => Key::Folded(key.into()),
        };
        Self { shown: shown.into(), key }
    }
}

fn check_characters(text: &str) -> Result<(), NameError> {
    if text.chars().all(crate::text::is_blank) {
        return Err(NameError::Blank);
    }
    match text.chars().find(|c| *c == '/' || c.is_control() || crate::text::is_format(*c)) {
        None => Ok(()),
        Some(unseen) if crate::text::is_format(unseen) => Err(NameError::Unseen(unseen)),
        Some(bad) => Err(NameError::Character(bad)),
    }
}

fn is_folded(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase())
}

fn fold(text: &str) -> String {
    if is_folded(text) {
        return text.to_owned();
    }
    // Lower-casing can break the normal form (İ, ϓ), so the text is normalised again. The
    // normal form of some marks (¸) begins with a space.
    let folded: String = text.nfkc().flat_map(char::to_lowercase).nfkc().collect();
    folded.trim().to_owned()
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Name {}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown.fmt(f)
    }
}

impl From<Name> for CompactString {
    fn from(name: Name) -> Self {
        name.shown
    }
}

impl From<CompactString> for Name {
    /// Accepts a stored name without validation: it was valid when it was written.
    fn from(shown: CompactString) -> Self {
        let key = fold(&shown);
        Self::from_parts(&shown, key)
    }
}

/// Why a text is not a valid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No visible character.
    #[error("a name must not be blank: give it at least one visible character")]
    Blank,
    /// Longer than [`NAME_LIMIT`].
    #[error("a name has at most {NAME_LIMIT} characters, this one has {0}: shorten it")]
    TooLong(usize),
    /// Contains a slash or a control character.
    #[error("a name must not contain {0:?}: use letters, digits, '-' or '_'")]
    Character(char),
    /// Contains an invisible character or one that changes the direction of text.
    #[error("a name must not contain the invisible character {0:?}: take it out")]
    Unseen(char),
    /// Parses as an id.
    #[error("a name must not look like a UUID, because ids are UUIDs: choose another")]
    Uuid,
    /// Is an address.
    #[error("the name {0:?} is reserved: choose another")]
    Reserved(&'static str),
}

#[cfg(test)]
mod tests;
