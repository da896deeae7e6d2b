//! Finds numbers that JSON cannot write.
//!
//! `serde_json` writes NaN and infinity as `null`. The text does not show whether a `null`
//! was intended, so the value itself is checked in a second pass.

use std::fmt::Display;

use serde::Serialize;
use serde::ser::{self, Serializer};

/// The first number in `value` that is NaN or infinite.
#[inline]
pub(super) fn not_finite<T: Serialize + ?Sized>(value: &T) -> Option<f64> {
    match value.serialize(FiniteCheck) {
        Err(NotFinite::Number(number)) => Some(number),
        // A value that cannot be serialised was refused before.
        Ok(()) | Err(NotFinite::Other) => None,
    }
}

/// A serialiser that only looks for numbers and writes nothing.
#[derive(Clone, Copy)]
struct FiniteCheck;

#[derive(Debug, thiserror::Error)]
enum NotFinite {
    #[error("{0} is not finite")]
    Number(f64),
    #[error("the value cannot be written")]
    Other,
}

impl ser::Error for NotFinite {
    fn custom<T: Display>(_: T) -> Self {
        Self::Other
    }
}

type FiniteResult = Result<(), NotFinite>;

fn check(number: f64) -> FiniteResult {
    if number.is_finite() { Ok(()) } else { Err(NotFinite::Number(number)) }
}

macro_rules! pass {
    ($($method:ident($of:ty),)*) => {$(
        fn $method(self, _: $of) -> FiniteResult { Ok(()) }
    )*};
}

macro_rules! enter {
    ($($method:ident($($of:ty),*),)*) => {$(
        fn $method(self, $(_: $of),*) -> Result<Self, NotFinite> { Ok(self) }
    )*};
}

impl Serializer for FiniteCheck {
    type Ok = ();
    type Error = NotFinite;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    pass! {
        serialize_bool(bool),
        serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64),
        serialize_i128(i128),
        serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64),
        serialize_u128(u128),
        serialize_char(char), serialize_str(&str), serialize_bytes(&[u8]),
        serialize_unit_struct(&'static str),
    }

    enter! {
        serialize_seq(Option<usize>),
        serialize_tuple(usize),
        serialize_tuple_struct(&'static str, usize),
        serialize_tuple_variant(&'static str, u32, &'static str, usize),
        serialize_map(Option<usize>),
        serialize_struct(&'static str, usize),
        serialize_struct_variant(&'static str, u32, &'static str, usize),
    }

    fn serialize_f32(self, number: f32) -> FiniteResult {
        check(f64::from(number))
    }

    fn serialize_f64(self, number: f64) -> FiniteResult {
        check(number)
    }

    fn serialize_none(self) -> FiniteResult {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> FiniteResult {
        value.serialize(self)
    }

    fn serialize_unit(self) -> FiniteResult {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> FiniteResult {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> FiniteResult {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> FiniteResult {
        value.serialize(self)
    }

    fn collect_str<T: Display + ?Sized>(self, _: &T) -> FiniteResult {
        Ok(())
    }
}

macro_rules! elements {
    ($($of:ident::$method:ident($($key:ty)?),)*) => {$(
        impl ser::$of for FiniteCheck {
            type Ok = ();
            type Error = NotFinite;

            fn $method<T: Serialize + ?Sized>(&mut self, $(_: $key,)? value: &T) -> FiniteResult {
                value.serialize(*self)
            }

            fn end(self) -> FiniteResult {
                Ok(())
            }
        }
    )*};
}

elements! {
    SerializeSeq::serialize_element(),
    SerializeTuple::serialize_element(),
    SerializeTupleStruct::serialize_field(),
    SerializeTupleVariant::serialize_field(),
    SerializeStruct::serialize_field(&'static str),
    SerializeStructVariant::serialize_field(&'static str),
}

impl ser::SerializeMap for FiniteCheck {
    type Ok = ();
    type Error = NotFinite;

    // Keys are strings, so they contain no number that is not finite.
    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> FiniteResult {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> FiniteResult {
        value.serialize(*self)
    }

    fn end(self) -> FiniteResult {
        Ok(())
    }
}
