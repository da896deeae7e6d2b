//! Where a worker dies.

use std::fmt;
use std::str::FromStr;

/// Where a worker dies. Numbers count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Before the commit of this number is handed to the store.
    Before(u64),
    /// After it is durable, before anybody is told.
    After(u64),
    /// While the end of this number is on its way: it reaches the store only
    /// when the next worker has taken the task up.
    Late(u64),
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Before(number) => write!(f, "before:{number}"),
            Self::After(number) => write!(f, "after:{number}"),
            Self::Late(number) => write!(f, "late:{number}"),
        }
    }
}

impl FromStr for Point {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let no = || format!("{word:?} is no point; say before:N, after:N or late:N");
        let (side, number) = word.split_once(':').ok_or_else(no)?;
        let number = number.parse().map_err(|_| no())?;
        match side {
            "before" => Ok(Self::Before(number)),
            "after" => Ok(Self::After(number)),
            "late" => Ok(Self::Late(number)),
            _ => Err(no()),
        }
    }
}
