//! The models, tools, profiles and grants of the daemon's agents.

use std::path::PathBuf;

use offshoot_agent::Agents;
use offshoot_backends::Commands;
use offshoot_client::DaemonDir;
use offshoot_dialects::Dialect;
use offshoot_sandbox::Helper;
use offshoot_tools::{Fetch, Files, Runs};

use super::grants::Grants;
use super::key_ring::KeyRing;
use super::passed_env::PassedEnv;
use super::secrets;
use crate::config::Config;
use crate::limits::open_files_at_start;

/// The paths that agents and their commands cannot see: the data directory, and the
/// user's secrets, profiles, trusted directories and configuration.
///
/// Otherwise an agent that works in a directory above these could change them.
fn hidden(dir: &DaemonDir) -> Vec<PathBuf> {
    let configuration = [
        offshoot_profiles::Profiles::own_folder(),
        offshoot_profiles::Trust::own_file(),
        Config::own_file(),
    ];
    secrets::in_home()
        .chain([dir.data().to_owned()])
        .chain(configuration.into_iter().flatten())
        .collect()
}

/// The helper that confines commands, where the system supports it.
fn confiner() -> Option<Helper> {
    Helper::own().filter(|_| offshoot_sandbox::probe().confines())
}

/// The commands of agents.
pub(super) fn runs(dir: &DaemonDir, commands: &Commands, passed: &PassedEnv) -> Runs {
    let runs = Runs::new(commands.clone()).hiding(hidden(dir));
    let runs = runs.hiding_named(secrets::moved(std::env::vars_os()));
    let runs = runs.scratch(dir.data().join("scratch"));
    let passed = passed.clone();
    let runs = runs.passing(move |session| passed.variables(session)).limits(|| {
        let config = Config::own().map_err(|error| error.to_string())?;
        Ok(config.commands.limits().initial_open_files(open_files_at_start()))
    });
    match confiner() {
        Some(_) => runs.confining(offshoot_sandbox::probe()),
        None => runs,
    }
}

/// The agents of a daemon of this dir.
pub(super) fn agents(dir: &DaemonDir, keys: &KeyRing, grants: &Grants, runs: &Runs) -> Agents {
    let hidden = hidden(dir);
    let survey = offshoot_agent::survey_hiding(hidden.iter().cloned());
    let agents = Agents::new(keys.clone()).dialects(Dialect::tool_maps()).tool(survey);
    let agents = Files::hiding(hidden.iter().cloned()).give(agents);
    let agents = agents.tool(runs.run_command()).tool(runs.command_output());
    let agents = agents.tool(Fetch::new().tool());
    let agents = agents.worktrees(dir.worktrees()).grants(grants.clone());
    match confiner() {
        Some(helper) => agents.confined(helper, hidden),
        None => agents,
    }
}
