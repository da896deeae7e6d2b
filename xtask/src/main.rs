//! The tasks of this repository, run as `cargo xtask <command>`.
//!
//! A command is one file under `command/`, a stage of `cargo xtask test` is one file under
//! `stage/`; each kind has one shape, and the list of its members is in the file named after it.

mod aimock;
mod architecture;
mod command;
mod component;
#[cfg(test)]
mod dependencies;
mod executable;
mod harness;
mod invocation;
mod licence;
mod metadata;
mod package;
mod pipeline;
mod repository;
mod stage;

use std::process::ExitCode;

use clap::Parser;

use crate::command::Command;
use crate::repository::Repository;

/// The command line as a whole.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match Repository::discover().and_then(|repository| cli.command.run(&repository)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_unknown_stage_is_refused_and_the_known_ones_are_named() {
        let error = Cli::try_parse_from(["cargo xtask", "test", "--only", "nope"]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("'nope'"), "{text}");
        assert!(text.contains("clippy"), "{text}");
    }

    #[test]
    fn bench_passes_every_argument_on_even_help() {
        let cli = Cli::try_parse_from(["cargo xtask", "bench", "--help", "w1", "-n", "5"]).unwrap();
        let Command::Bench(bench) = cli.command else {
            panic!("not a bench: {:?}", cli.command);
        };
        assert_eq!(bench.args, ["--help", "w1", "-n", "5"]);
    }
}
