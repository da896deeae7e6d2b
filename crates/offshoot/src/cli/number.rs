//! Numbers as people type them.

/// Parses a number.
pub(crate) fn any(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(number) => Ok(number),
        Err(_) => Err("write a whole number, 0 or more".to_owned()),
    }
}

/// Parses a number of at least one.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..) => Ok(number),
        _ => Err("write a whole number, 1 or more".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_refused_with_what_is_one() {
        assert_eq!((any("0"), at_least_one("7")), (Ok(0), Ok(7)));
        for text in ["", "-1", "1.5", "99999999999999999999", "many"] {
            assert!(any(text).unwrap_err().contains("0 or more"), "{text}");
            assert!(at_least_one(text).unwrap_err().contains("1 or more"), "{text}");
        }
        assert!(at_least_one("0").is_err());
    }
}
