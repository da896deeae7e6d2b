//! Dialects: tool sets of other systems that stand for the built-in tools.
//!
//! A brief names its dialect by a [`DialectName`]. The application registers a
//! [`ToolMap`](crate::ToolMap) for each name with
//! [`Agents::dialects`](crate::Agents::dialects).

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of a dialect. The default is `offshoot`: the built-in tools under their
/// own names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DialectName(Cow<'static, str>);

impl DialectName {
    /// The built-in tools under their own names.
    pub const OFFSHOOT: Self = Self::from_static("offshoot");

    /// The dialect of this name.
    pub const fn from_static(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn is_default(&self) -> bool {
        *self == Self::OFFSHOOT
    }
}

impl Default for DialectName {
    fn default() -> Self {
        Self::OFFSHOOT
    }
}

impl fmt::Display for DialectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The error for a dialect that is not registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no dialect {:?}; there are {known}", name.as_str())]
pub struct UnknownDialect {
    /// The name that was asked for.
    pub name: DialectName,
    /// The registered names.
    pub known: String,
}
