//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::systems;
use crate::workload::{SIZES, Workload};

/// Measures background-task runtimes side by side and writes a report.
#[derive(Debug, Parser)]
#[command(name = "offshoot-bench", args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// The hidden side of the command line.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// What to measure.
    #[command(flatten)]
    pub matrix: Matrix,
}

/// What a child process is asked for.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one cell in this process and print its figures.
    #[command(hide = true)]
    Cell(MatrixCell),
}

/// One system under one workload at one size.
#[derive(Clone, Debug, Args)]
pub struct MatrixCell {
    /// The system's name.
    pub system: String,
    /// The workload's id.
    pub workload: Workload,
    /// N.
    #[arg(value_parser = size)]
    pub n: usize,
}

/// Which cells to run, how often, and where the report goes.
#[derive(Clone, Debug, Args)]
pub struct Matrix {
    /// Systems, separated by commas [default: all that are compiled in]
    #[arg(long, value_delimiter = ',', value_parser = system)]
    systems: Vec<String>,

    /// Workloads, separated by commas, such as `w1,w5` [default: all]
    #[arg(long, value_delimiter = ',', value_parser = work)]
    work: Vec<Work>,

    /// Sizes N, separated by commas, such as `100,10k` [default: 100,1k,10k,100k]
    #[arg(long, value_delimiter = ',', value_parser = size)]
    ns: Vec<usize>,

    /// How often each cell runs; the report shows the median run
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub runs: u32,

    /// Where the report goes
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/RESULTS.md"), hide_default_value = true)]
    pub out: PathBuf,

    /// An executable that runs the SQLite workloads; without it they are left out
    #[arg(long)]
    pub durable: Option<PathBuf>,
}

impl Matrix {
    /// The requested systems, or all, in the order of the report.
    pub fn systems(&self) -> Vec<String> {
        let asked = |name: &str| self.systems.is_empty() || self.systems.iter().any(|s| s == name);
        let names = systems::ALL.iter().map(|system| system.name).filter(|name| asked(name));
        names.map(str::to_owned).collect()
    }

    /// The requested workloads, or all, in the order of the report.
    pub fn workloads(&self) -> Vec<Workload> {
        let asked: Vec<Workload> = self.work.iter().flat_map(|work| work.0.clone()).collect();
        Workload::ALL.into_iter().filter(|w| asked.is_empty() || asked.contains(w)).collect()
    }

    /// The requested sizes, or the default ones, smallest first.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = if self.ns.is_empty() { SIZES.to_vec() } else { self.ns.clone() };
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// The arguments as the report repeats them: file names without their directories.
    pub fn shown(&self) -> String {
        let mut shown = format!("--systems {}", self.systems().join(","));
        let ids: Vec<&str> = self.workloads().into_iter().map(Workload::id).collect();
        let sizes: Vec<String> = self.sizes().iter().map(usize::to_string).collect();
        shown +=
            &format!(" --work {} --ns {} --runs {}", ids.join(","), sizes.join(","), self.runs);
        if let Some(name) = self.durable.as_deref().and_then(|path| path.file_name()) {
            shown += &format!(" --durable {}", name.display());
        }
        shown
    }
}

/// The workloads that one `--work` item selects.
#[derive(Clone, Debug)]
struct Work(Vec<Workload>);

fn work(name: &str) -> Result<Work, String> {
    let selected = Workload::selected_by(name);
    if selected.is_empty() {
        let known: Vec<&str> = Workload::ALL.into_iter().map(Workload::id).collect();
        return Err(format!("no workload `{name}`; there are: {}", known.join(", ")));
    }
    Ok(Work(selected))
}

fn system(name: &str) -> Result<String, String> {
    systems::find(name).map(|system| system.name.to_owned())
}

/// A size such as `100`, `100_000` or `100k`.
fn size(text: &str) -> Result<usize, String> {
    const LARGEST: usize = 10_000_000;
    let digits = text.replace('_', "");
    let (digits, thousands) = match digits.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => (digits.as_str(), 1),
    };
    let size = digits.parse::<usize>().ok().and_then(|size| size.checked_mul(thousands));
    match size {
        Some(size @ 1..=LARGEST) => Ok(size),
        _ => Err(format!("a size is a whole number from 1 to {LARGEST}, such as 100 or 10k")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(std::iter::once("offshoot-bench").chain(line.split_whitespace()))
    }

    #[test]
    fn a_sub_matrix_has_the_requested_cells() {
        let matrix = parse("--systems floor --work w5,w1 --ns 10k,100 --runs 5").unwrap().matrix;
        assert_eq!(matrix.systems(), ["floor"]);
        assert_eq!(matrix.workloads(), [Workload::W1, Workload::W5, Workload::W5Chain]);
        assert_eq!(matrix.sizes(), [100, 10_000]);
        assert_eq!(matrix.runs, 5);
    }

    #[test]
    fn nothing_asked_for_means_everything() {
        let matrix = parse("").unwrap().matrix;
        assert_eq!(matrix.systems().len(), systems::ALL.len());
        assert_eq!(matrix.workloads(), Workload::ALL);
        assert_eq!(matrix.sizes(), SIZES);
    }

    #[test]
    fn bad_input_is_an_error_that_names_it() {
        for (line, named) in [
            ("--fast", "--fast"),
            ("--systems flor", "flor"),
            ("--work w10", "w10"),
            ("--work ,", "no workload"),
            ("--ns 0", "whole number"),
            ("--ns -5", "-5"),
            ("--ns 1e9", "whole number"),
            ("--ns 99999999999999999999k", "whole number"),
            ("--runs 0", "0"),
            ("--runs", "--runs"),
            ("cell floor w1", "<N>"),
            ("cell floor w0 10", "w0"),
        ] {
            let error = parse(line).expect_err(line).to_string();
            assert!(error.contains(named), "{line}: {error}");
        }
    }

    #[test]
    fn the_report_repeats_the_command_without_folders() {
        let shown = parse("--work d1 --durable /a/b/durable").unwrap().matrix.shown();
        assert!(shown.contains("--durable durable"), "{shown}");
        assert!(!shown.contains('/'), "{shown}");
    }
}
