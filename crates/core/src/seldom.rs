//! A value that is hardly ever there.

use std::fmt;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a [`Seldom`] reads as while nothing was said.
pub trait Unsaid: Sized + PartialEq + 'static {
    /// That value.
    const UNSAID: &'static Self;
}

/// A value that most of its holders never set. Until somebody does it takes
/// the room of a pointer, and reads as [`Unsaid::UNSAID`].
///
/// ```
/// # use offshoot_core::{Seldom, Terms};
/// let mut terms = Seldom::<Terms>::default();
/// assert_eq!(terms.key, None);
/// terms.key = Some("step 1".into());
/// assert_eq!(terms.key.as_deref(), Some("step 1"));
/// ```
#[derive(Clone)]
pub struct Seldom<T>(Option<Box<T>>);

impl<T> Default for Seldom<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Seldom<T> {
    /// Whether nothing was said.
    pub fn is_unsaid(&self) -> bool {
        self.0.is_none()
    }
}

impl<T: Unsaid> Deref for Seldom<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::UNSAID)
    }
}

impl<T: Unsaid + Clone> DerefMut for Seldom<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_with(|| Box::new(T::UNSAID.clone()))
    }
}

impl<T: Unsaid> From<T> for Seldom<T> {
    fn from(value: T) -> Self {
        Self((value != *T::UNSAID).then(|| Box::new(value)))
    }
}

impl<T: Unsaid> PartialEq for Seldom<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Unsaid + Eq> Eq for Seldom<T> {}

impl<T: Unsaid + fmt::Debug> fmt::Debug for Seldom<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Unsaid + Serialize> Serialize for Seldom<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de, T: Unsaid + Deserialize<'de>> Deserialize<'de> for Seldom<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}
