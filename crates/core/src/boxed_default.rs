//! A boxed value that takes the space of a pointer while it is the default.

use std::fmt;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A type with a constant default value that can be borrowed.
pub trait ConstDefault: Sized + PartialEq + 'static {
    /// The default value.
    const DEFAULT: &'static Self;
}

/// A value that is the default in most records and is allocated only when it differs.
///
/// The default takes the space of a pointer and reads as [`ConstDefault::DEFAULT`].
///
/// ```
/// # use offshoot_core::{BoxedDefault, Terms};
/// let mut terms = BoxedDefault::<Terms>::default();
/// assert_eq!(terms.key, None);
/// terms.key = Some("step 1".into());
/// assert_eq!(terms.key.as_deref(), Some("step 1"));
/// ```
#[derive(Clone)]
pub struct BoxedDefault<T>(Option<Box<T>>);

impl<T> Default for BoxedDefault<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> BoxedDefault<T> {
    /// Whether no value is allocated, so that this reads as the default.
    pub fn is_default(&self) -> bool {
        self.0.is_none()
    }
}

impl<T: ConstDefault> Deref for BoxedDefault<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::DEFAULT)
    }
}

impl<T: ConstDefault + Clone> DerefMut for BoxedDefault<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_with(|| Box::new(T::DEFAULT.clone()))
    }
}

impl<T: ConstDefault> From<T> for BoxedDefault<T> {
    fn from(value: T) -> Self {
        Self((value != *T::DEFAULT).then(|| Box::new(value)))
    }
}

impl<T: ConstDefault> PartialEq for BoxedDefault<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: ConstDefault + Eq> Eq for BoxedDefault<T> {}

impl<T: ConstDefault + fmt::Debug> fmt::Debug for BoxedDefault<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ConstDefault + Serialize> Serialize for BoxedDefault<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de, T: ConstDefault + Deserialize<'de>> Deserialize<'de> for BoxedDefault<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::from)
    }
}
