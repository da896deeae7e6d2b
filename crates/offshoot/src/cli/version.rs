//! `offshoot version`

use clap::Args;
use offshoot_client::wire::WIRE;

use super::exit::Exit;
use super::show::{Form, Screen};
use super::trouble::Trouble;

/// Print the version
#[derive(Debug, Args)]
pub(crate) struct Version {}

impl Version {
    pub(crate) fn run(self, screen: Screen) -> Result<Exit, Trouble> {
        let version = env!("CARGO_PKG_VERSION");
        match screen.form {
            Form::People => screen.say(&format!("offshoot {version}\n"))?,
            Form::Json => screen.json(&serde_json::json!({ "version": version, "wire": WIRE }))?,
        }
        Ok(Exit::Done)
    }
}
