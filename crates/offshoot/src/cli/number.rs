//! Numbers as people type them.

/// Reads a number.
pub(crate) fn any(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(number) => Ok(number),
        Err(_) => Err(format!("write a whole number from 0 to {}", u64::MAX)),
    }
}

/// Reads a number of things of which there must be one.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..) => Ok(number),
        _ => Err(format!("write a whole number from 1 to {}", usize::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_refused_with_what_is_one() {
        assert_eq!((any("0"), at_least_one("7")), (Ok(0), Ok(7)));
        for text in ["", "-1", "1.5", "99999999999999999999", "many"] {
            assert!(any(text).unwrap_err().contains("from 0 to"), "{text}");
            assert!(at_least_one(text).unwrap_err().contains("from 1 to"), "{text}");
        }
        assert!(at_least_one("0").is_err());
    }
}
