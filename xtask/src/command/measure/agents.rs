//! The cost of agents and their tools: example programs measure it and print it row by row.

use anyhow::Result;

use super::world;
use crate::repository::Repository;

/// The file of the figures.
pub(super) const REPORT: &str = "bench/AGENTS.md";

/// The programs: examples of the crates of agents and their tools.
const PROGRAMS: [(&str, &str); 4] = [
    ("offshoot-agent", "steps"),
    ("offshoot-agent", "parked"),
    ("offshoot-tools", "overhead"),
    ("offshoot-tools", "search"),
];

/// The first lines of the table that each program prints.
const HEAD: &str = "| what | measured | must be | |\n|---|---|---|---|\n";

/// Joins the output of the programs in one table.
pub(super) fn report(repository: &Repository) -> Result<String> {
    let (cpu, kernel) = (world::processor()?, world::kernel()?);
    let mut report = format!(
        "# Agents in figures\n\n\
         Written by `cargo xtask measure` ({cpu}, {kernel}); every run replaces it. The model answers\n\
         at once: what is left is the loop.\n\n{HEAD}"
    );
    for (package, program) in PROGRAMS {
        let run = ["run", "--release", "-p", package, "--example", program];
        let printed = repository.cargo(run).read()?;
        print!("{printed}");
        report.push_str(printed.strip_prefix(HEAD).unwrap_or(&printed));
    }
    Ok(report)
}

/// The rows of a report whose limit is not met.
pub(super) fn missed(report: &str) -> impl Iterator<Item = &str> {
    let rows = report.lines().filter(|line| line.contains("**not met**"));
    rows.filter_map(|row| row.split('|').nth(1)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_does_not_hold_is_named() {
        let report = format!("{HEAD}| a step | 3 | 2 | **not met** |\n| a row | 1 | 1 | met |\n");
        assert_eq!(missed(&report).collect::<Vec<_>>(), ["a step"]);
    }
}
