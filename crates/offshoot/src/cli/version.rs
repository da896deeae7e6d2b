//! `offshoot version`

use clap::Args;
use offshoot_client::wire::WIRE;

use super::error::CliError;
use super::exit::Exit;
use super::show::{Format, Screen};

/// Print the version
#[derive(Debug, Args)]
pub(crate) struct Version {}

impl Version {
    pub(crate) fn run(self, screen: Screen) -> Result<Exit, CliError> {
        let version = env!("CARGO_PKG_VERSION");
        match screen.format {
            Format::Text => screen.say(&format!("offshoot {version}\n"))?,
            Format::Json => {
                screen.json(&serde_json::json!({ "version": version, "wire": WIRE }))?
            }
        }
        Ok(Exit::Done)
    }
}
