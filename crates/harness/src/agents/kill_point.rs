//! The point at which a worker dies.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// The point at which a worker dies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KillPoint {
    /// Before this commit is handed to the store.
    Before(CommitRef),
    /// After it is durable and before it is acknowledged.
    After(CommitRef),
    /// While the end of this number, counted from 1, is on its way: it reaches the store only
    /// after the next worker has resumed the task.
    Late(u64),
}

/// A commit of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CommitRef {
    /// By its number, counted from 1.
    Number(u64),
    /// By its writes: agents work side by side, so the numbers of commits differ between runs.
    Named(String),
}

impl fmt::Display for CommitRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

impl FromStr for CommitRef {
    type Err = Infallible;

    fn from_str(word: &str) -> Result<Self, Infallible> {
        Ok(word.parse().map_or_else(|_| Self::Named(word.to_owned()), Self::Number))
    }
}

impl fmt::Display for KillPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Before(which) => write!(f, "before:{which}"),
            Self::After(which) => write!(f, "after:{which}"),
            Self::Late(number) => write!(f, "late:{number}"),
        }
    }
}

impl FromStr for KillPoint {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let no = || format!("{word:?} is no point; say before:, after: or late: and which");
        let which = |word: &str| word.parse().map_err(|never: Infallible| match never {});
        match word.split_once(':').ok_or_else(no)? {
            ("before", commit) => which(commit).map(Self::Before),
            ("after", commit) => which(commit).map(Self::After),
            ("late", number) => number.parse().map(Self::Late).map_err(|_| no()),
            _ => Err(no()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_read_as_it_is_written() {
        let named = || CommitRef::Named("lead gets: ToolUse note + acks 1 #2".to_owned());
        let points = [
            KillPoint::Before(named()),
            KillPoint::After(CommitRef::Number(7)),
            KillPoint::Late(3),
        ];
        for point in points {
            assert_eq!(point.to_string().parse(), Ok(point));
        }
    }
}
