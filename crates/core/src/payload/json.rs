//! JSON text that is shared or short.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use compact_str::CompactString;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest text that is kept in place.
const SHORT: usize = size_of::<CompactString>();

/// JSON text. Cloning it never copies a long one, and a short one, as most
/// results are, takes no memory of its own.
#[derive(Clone)]
pub struct Json(Kept);

#[derive(Clone)]
enum Kept {
    Short(CompactString),
    Long(Arc<str>),
}

impl Deref for Json {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Kept::Short(text) => text,
            Kept::Long(text) => text,
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self(if text.len() <= SHORT {
            Kept::Short(CompactString::new(text))
        } else {
            Kept::Long(text.into())
        })
    }
}

impl From<Arc<str>> for Json {
    fn from(text: Arc<str>) -> Self {
        if text.len() <= SHORT { Self::from(&*text) } else { Self(Kept::Long(text)) }
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Arc::<str>::deserialize(deserializer).map(Self::from)
    }
}
