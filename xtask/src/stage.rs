//! The stages of `cargo xtask test`.
//!
//! A stage is one file that ends in a constant `STAGE`, and its line in [`ALL`]. A stage that is a
//! command too, with sizes to choose, calls that command with the sizes that suit every change.

mod advisories;
mod agents;
mod architecture;
mod bench;
mod clippy;
mod crash;
mod demo;
mod doc;
mod emulator;
mod fmt;
mod licences;
mod shell;
mod simulate;
mod test;
mod tour;

use anyhow::Result;

use crate::repository::Repository;

/// Every stage, in the order in which they run: the fastest to fail come first.
pub(crate) const ALL: &[Stage] = &[
    fmt::STAGE,
    architecture::STAGE,
    clippy::STAGE,
    bench::STAGE,
    test::STAGE,
    emulator::STAGE,
    doc::STAGE,
    licences::STAGE,
    advisories::STAGE,
    tour::STAGE,
    demo::STAGE,
    simulate::STAGE,
    crash::STAGE,
    agents::STAGE,
    shell::STAGE,
];

/// One check of the repository.
#[derive(Debug)]
pub(crate) struct Stage {
    /// Its name for `--only`: one lower-case word.
    pub(crate) name: &'static str,
    /// The condition that holds once it has passed.
    pub(crate) about: &'static str,
    /// Runs the check. An error is a failure, and names the place to look at.
    pub(crate) run: fn(&Repository) -> Result<Verdict>,
}

/// The end of a stage that did not fail.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It found nothing wrong.
    Passed,
    /// It could not run its check, for this reason. That is no failure.
    Skipped(&'static str),
}

/// The stage of this name.
pub(crate) fn find(name: &str) -> Option<&'static Stage> {
    ALL.iter().find(|stage| stage.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_stage_has_a_name_of_its_own() {
        let names: HashSet<_> = ALL.iter().map(|stage| stage.name).collect();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn every_name_is_one_lower_case_word() {
        for stage in ALL {
            assert!(stage.name.chars().all(|c| c.is_ascii_lowercase()), "{}", stage.name);
        }
    }
}
