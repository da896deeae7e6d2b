//! JSON text, stored inline or shared.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use compact_str::CompactString;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The maximum length of text that is stored inline.
const SHORT: usize = size_of::<CompactString>();

/// JSON text. Short text, as in most results, is stored inline; cloning long text copies a
/// pointer.
#[derive(Clone)]
pub struct Json(JsonText);

#[derive(Clone)]
enum JsonText {
    Short(CompactString),
    Long(Arc<str>),
}

impl Deref for Json {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            JsonText::Short(text) => text,
            JsonText::Long(text) => text,
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self(if text.len() <= SHORT {
            JsonText::Short(CompactString::new(text))
        } else {
            JsonText::Long(text.into())
        })
    }
}

impl From<Arc<str>> for Json {
    fn from(text: Arc<str>) -> Self {
        if text.len() <= SHORT { Self::from(&*text) } else { Self(JsonText::Long(text)) }
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
