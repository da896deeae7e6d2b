//! `cargo xtask test`: every check of the repository, stage by stage.

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::pipeline::{self, OnFailure};
use crate::repository::Repository;
use crate::stage::{self, Stage};

/// Arguments of `cargo xtask test`.
#[derive(Debug, Args)]
pub(crate) struct Test {
    /// Run this stage only; repeat for several
    #[arg(long, value_name = "STAGE", value_parser = stage_parser())]
    only: Vec<&'static Stage>,

    /// List the stages and run none
    #[arg(long)]
    list: bool,

    /// Run the remaining stages after one has failed
    #[arg(long)]
    keep_going: bool,
}

impl Test {
    /// Runs the chosen stages in their usual order; an error names those that failed.
    pub(crate) fn run(&self, repository: &Repository) -> Result<()> {
        let stages = self.chosen();
        if self.list {
            for stage in stages {
                println!("{:<12}{}", stage.name, stage.about);
            }
            return Ok(());
        }

        let on_failure = if self.keep_going { OnFailure::KeepGoing } else { OnFailure::Stop };
        let summary = pipeline::run(&stages, on_failure, repository);
        println!("\n{summary}");

        let failed = summary.failed();
        if let Some(first) = failed.first() {
            bail!(
                "failed: {}; run one alone with `cargo xtask test --only {first}`",
                failed.join(", ")
            );
        }
        Ok(())
    }

    fn chosen(&self) -> Vec<&'static Stage> {
        let asked = |stage: &&Stage| self.only.iter().any(|only| only.name == stage.name);
        stage::ALL.iter().filter(|stage| self.only.is_empty() || asked(stage)).collect()
    }
}

fn stage_parser() -> impl TypedValueParser<Value = &'static Stage> {
    PossibleValuesParser::new(stage::ALL.iter().map(|stage| stage.name))
        .try_map(|name| stage::find(&name).ok_or("no such stage"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(only: &[&str]) -> Vec<&'static str> {
        let test = Test {
            only: only.iter().filter_map(|name| stage::find(name)).collect(),
            list: false,
            keep_going: false,
        };
        test.chosen().iter().map(|stage| stage.name).collect()
    }

    #[test]
    fn without_only_every_stage_runs() {
        assert_eq!(names(&[]).len(), stage::ALL.len());
    }

    #[test]
    fn only_chooses_stages_once_each_and_keeps_their_order() {
        assert_eq!(names(&["doc", "fmt", "doc"]), ["fmt", "doc"]);
    }
}
