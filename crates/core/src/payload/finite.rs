//! Whether a value holds a number that JSON cannot write.
//!
//! `serde_json` writes NaN and infinity as `null`, and it is the reader who
//! finds that a number is gone. The text does not tell such a `null` from one
//! that was meant, so the value itself is walked once more.

use std::fmt::Display;

use serde::Serialize;
use serde::ser::{self, Serializer};

/// The first number of `value` that is NaN or infinite.
#[inline]
pub(super) fn not_finite<T: Serialize + ?Sized>(value: &T) -> Option<f64> {
    match value.serialize(Walk) {
        Err(Stop::At(number)) => Some(number),
        // What cannot be written at all has been found out before.
        Ok(()) | Err(Stop::Other) => None,
    }
}

/// Walks a value and writes nothing.
#[derive(Clone, Copy)]
struct Walk;

#[derive(Debug, thiserror::Error)]
enum Stop {
    #[error("{0} is not finite")]
    At(f64),
    #[error("the value cannot be written")]
    Other,
}

impl ser::Error for Stop {
    fn custom<T: Display>(_: T) -> Self {
        Self::Other
    }
}

type Walked = Result<(), Stop>;

fn look(number: f64) -> Walked {
    if number.is_finite() { Ok(()) } else { Err(Stop::At(number)) }
}

macro_rules! pass {
    ($($method:ident($of:ty),)*) => {$(
        fn $method(self, _: $of) -> Walked { Ok(()) }
    )*};
}

macro_rules! enter {
    ($($method:ident($($of:ty),*),)*) => {$(
        fn $method(self, $(_: $of),*) -> Result<Self, Stop> { Ok(self) }
    )*};
}

impl Serializer for Walk {
    type Ok = ();
    type Error = Stop;
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

    fn serialize_f32(self, number: f32) -> Walked {
        look(f64::from(number))
    }

    fn serialize_f64(self, number: f64) -> Walked {
        look(number)
    }

    fn serialize_none(self) -> Walked {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Walked {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Walked {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Walked {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Walked {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Walked {
        value.serialize(self)
    }

    fn collect_str<T: Display + ?Sized>(self, _: &T) -> Walked {
        Ok(())
    }
}

macro_rules! elements {
    ($($of:ident::$method:ident($($key:ty)?),)*) => {$(
        impl ser::$of for Walk {
            type Ok = ();
            type Error = Stop;

            fn $method<T: Serialize + ?Sized>(&mut self, $(_: $key,)? value: &T) -> Walked {
                value.serialize(*self)
            }

            fn end(self) -> Walked {
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

impl ser::SerializeMap for Walk {
    type Ok = ();
    type Error = Stop;

    // Keys are texts, and a number that is not finite makes none.
    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Walked {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Walked {
        value.serialize(*self)
    }

    fn end(self) -> Walked {
        Ok(())
    }
}
