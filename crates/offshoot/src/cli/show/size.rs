//! Formats sizes and counts.

/// A number of bytes, such as `4.2 MB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    let bytes = u128::from(bytes);
    let mut scale: u128 = 1_000;
    for unit in UNITS {
        let tenths = (bytes * 10 + scale / 2) / scale;
        let whole = (bytes + scale / 2) / scale;
        match (tenths, whole) {
            _ if bytes < 1_000 => break,
            (0..100, _) if !tenths.is_multiple_of(10) => {
                return format!("{}.{} {unit}", tenths / 10, tenths % 10);
            }
            (_, 0..1_000) => return format!("{whole} {unit}"),
            _ => scale *= 1_000,
        }
    }
    format!("{bytes} B")
}

/// A number and its noun, such as `1 task` or `3 tasks`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    many(number, noun, &format!("{noun}s"))
}

/// A number and its noun, of which several have another form.
pub(crate) fn many(number: u64, one: &str, several: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {several}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        for (number, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1 kB"),
            (1_234, "1.2 kB"),
            (9_990, "10 kB"),
            (45_678, "46 kB"),
            (999_499, "999 kB"),
            (999_500, "1 MB"),
            (4_200_000, "4.2 MB"),
            (20_971_520, "21 MB"),
        ] {
            assert_eq!(bytes(number), text, "{number}");
        }
        assert_eq!(bytes(u64::MAX), "18 EB");
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!(count(1, "task"), "1 task");
        assert_eq!(count(0, "task"), "0 tasks");
        assert_eq!(many(2, "process", "processes"), "2 processes");
    }
}
