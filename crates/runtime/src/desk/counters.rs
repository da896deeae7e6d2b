//! The names that a session counts.

use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::{Name, Series};

/// How many stems are counted side by side. A session that uses more begins
/// them all again, above every number it has used.
const STEMS: usize = 1_024;

/// The next number of every stem.
#[derive(Debug)]
pub(super) struct Counters {
    // Most sessions count one thing only, which is found without hashing it.
    first: Option<(Arc<str>, Series)>,
    others: HashMap<Arc<str>, Series>,
    // The highest number that a stem that is not here may have used.
    base: u64,
    // How many names were counted above it, which is as far as any stem got.
    counted: u64,
}

impl Counters {
    /// Counters of which no stem has used a number above `base`.
    pub(super) fn after(base: u64) -> Self {
        Self { first: None, others: HashMap::new(), base, counted: 0 }
    }

    /// The next name counted of this stem.
    pub(super) fn count(&mut self, stem: &Arc<str>) -> Name {
        if self.others.len() >= STEMS && !self.others.contains_key(stem) && !self.is_first(stem) {
            *self = Self::after(self.base.saturating_add(self.counted));
        }
        self.counted += 1;
        let begin = || Series::new(stem, self.base.saturating_add(1));
        let (first, series) = self.first.get_or_insert_with(|| (stem.clone(), begin()));
        if Arc::ptr_eq(first, stem) || first == stem {
            return series.advance();
        }
        self.others.entry(stem.clone()).or_insert_with(begin).advance()
    }

    fn is_first(&self, stem: &Arc<str>) -> bool {
        self.first.as_ref().is_some_and(|(first, _)| first == stem)
    }
}

#[cfg(test)]
mod tests {
    use hashbrown::HashSet;

    use super::*;

    fn stem(number: usize) -> Arc<str> {
        format!("stem {number}").into()
    }

    #[test]
    fn s1_2_every_stem_is_counted_by_itself() {
        let mut counters = Counters::after(4);
        let (one, other) = (stem(1), stem(2));
        let named = [&one, &other, &one, &other, &stem(1)].map(|stem| counters.count(stem));
        let named = named.each_ref().map(Name::as_str);
        assert_eq!(named, ["stem 1-5", "stem 2-5", "stem 1-6", "stem 2-6", "stem 1-7"]);
    }

    #[test]
    fn no_name_is_counted_twice_and_few_stems_are_kept_however_many_there_are() {
        let mut counters = Counters::after(0);
        let mut named = HashSet::new();
        for _ in 0..3 {
            for number in 0..2 * STEMS {
                let name = counters.count(&stem(number % (STEMS + 9)));
                assert!(named.insert(name.as_str().to_owned()), "{name} was counted before");
                assert!(counters.others.len() <= STEMS);
            }
        }
    }
}
