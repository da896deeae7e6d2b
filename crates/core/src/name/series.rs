//! Generated names with consecutive numbers.

use super::{CompactString, Key, Name, fold, is_folded};

/// Generates the names `<stem>-<n>` for consecutive numbers. It keeps the text of the last
/// name, because nearly every spawn needs the next one.
///
/// ```
/// # use offshoot_core::Series;
/// let mut series = Series::new("reviewer", 9);
/// assert_eq!(series.advance().as_str(), "reviewer-9");
/// assert_eq!(series.advance().as_str(), "reviewer-10");
/// ```
#[derive(Clone, Debug)]
pub struct Series {
    text: String,
    // The length of the text without its number.
    stem: usize,
    next: u64,
    casing: Casing,
}

/// Whether the stem equals its normalised form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Casing {
    Folded,
    Unfolded,
}

impl Series {
    /// The names of `stem`, starting with the number `first`.
    pub fn new(stem: &str, first: u64) -> Self {
        let casing = if is_folded(stem) { Casing::Folded } else { Casing::Unfolded };
        Self { text: format!("{stem}-"), stem: stem.len() + 1, next: first, casing }
    }

    /// Returns the next name.
    pub fn advance(&mut self) -> Name {
        match self.text.as_bytes().last() {
            // Most numbers differ from the previous one in the last digit only.
            Some(digit @ b'0'..=b'8') if self.text.len() > self.stem => {
                let digit = char::from(digit + 1);
                self.text.pop();
                self.text.push(digit);
            }
            _ => {
                self.text.truncate(self.stem);
                self.text.push_str(&self.next.to_string());
            }
        }
        let number = self.next;
        self.next = number.saturating_add(1);
        let shown = CompactString::new(&self.text);
        let key = match self.casing {
            Casing::Folded => Key::Shown { number },
            Casing::Unfolded => Key::Folded(fold(&shown).into()),
        };
        Name { shown, key }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s1_2_generated_numbers_have_no_gaps() {
        let mut series = Series::new("Lead", 8);
        let names: Vec<_> = (0..104).map(|_| series.advance()).collect();
        for (name, n) in names.iter().zip(8..) {
            assert_eq!(name.as_str(), format!("Lead-{n}"));
            assert_eq!(name.key(), format!("lead-{n}"));
        }
        let names =
            [Name::numbered("lead", 7), Name::numbered("lead", 0), Name::new("lead-7").unwrap()];
        assert_eq!(names.each_ref().map(Name::number), [Some(7), None, None]);
    }
}
