//! `cargo xtask crash`: real processes on a real disk, killed.

use anyhow::Result;
use clap::Args;

use super::run;
use crate::executable::Executable;
use crate::repository::Repository;

/// Arguments of `cargo xtask crash`.
#[derive(Debug, Args)]
pub(crate) struct Crash {
    /// How many processes to kill
    #[arg(long, default_value_t = 100)]
    pub(crate) kills: u64,

    /// What their loads are drawn from
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,

    /// Kill the daemon of the binary while scripts drive it, instead of the runtime alone
    #[arg(long)]
    pub(crate) cli: bool,

    /// Kill agents at every commit they make instead, however many that are
    #[arg(long, conflicts_with_all = ["cli", "kills"])]
    pub(crate) agents: bool,

    /// Of agents: how many data folders lose two processes, the second while it takes up the
    /// work of the first
    #[arg(long, default_value_t = 0, requires = "agents")]
    pub(crate) pairs: u64,

    /// Of agents: kill only here, as a report says it; say it again for the next process
    #[arg(long, requires = "agents")]
    pub(crate) at: Vec<String>,
}

impl Default for Crash {
    fn default() -> Self {
        Self { kills: 100, seed: 1, cli: false, agents: false, pairs: 0, at: Vec::new() }
    }
}

impl Crash {
    /// Builds the harness in release mode and kills. An error means a broken promise, which the
    /// output names.
    pub(crate) fn run(&self, repository: &Repository) -> Result<()> {
        let mut args = match self.cli {
            true => vec![
                "shell".to_owned(),
                Executable::Offshoot.build(repository)?.to_string_lossy().into_owned(),
            ],
            false if self.agents => vec!["agents".to_owned()],
            false => vec!["crash".to_owned()],
        };
        let many = if self.agents { ("--pairs", self.pairs) } else { ("--kills", self.kills) };
        let options = [many.0, &many.1.to_string(), "--seed", &self.seed.to_string()];
        args.extend(options.map(str::to_owned));
        for point in &self.at {
            args.extend(["--at".to_owned(), point.clone()]);
        }
        run(repository, &args)
    }
}
