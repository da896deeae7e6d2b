//! The models, tools, profiles and grants of the daemon's agents.

use std::path::PathBuf;

use offshoot_agent::Agents;
use offshoot_backends::Commands;
use offshoot_client::DaemonDir;
use offshoot_sandbox::Helper;
use offshoot_tools::{Fetch, Files, Runs};

use crate::config::Config;
use crate::grants::Grants;
use crate::keyring::KeyRing;
use crate::limits::open_files_at_start;
use crate::passed_env::PassedEnv;
use crate::secrets;

/// What agents and their commands do not see: the data directory, the secrets of
/// the user who runs the daemon, and the user's profiles, trusted directories and
/// configuration. An agent that works in a directory above these could else change
/// them.
pub(crate) fn hidden(place: &DaemonDir) -> Vec<PathBuf> {
    let said = [
        offshoot_profiles::Profiles::own_folder(),
        offshoot_profiles::Trust::own_file(),
        Config::own_file(),
    ];
    secrets::in_home().chain([place.data().to_owned()]).chain(said.into_iter().flatten()).collect()
}

/// What confines commands here, if something does.
pub(crate) fn confiner() -> Option<Helper> {
    Helper::own().filter(|_| offshoot_sandbox::probe().confines())
}

/// The commands of agents.
pub(crate) fn runs(place: &DaemonDir, commands: &Commands, passed: &PassedEnv) -> Runs {
    let runs = Runs::new(commands.clone()).hiding(hidden(place));
    let runs = runs.hiding_named(secrets::moved(std::env::vars_os()));
    let runs = runs.scratch(place.data().join("scratch"));
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

/// The agents of a daemon of this place.
pub(crate) fn agents(place: &DaemonDir, keys: &KeyRing, grants: &Grants, runs: &Runs) -> Agents {
    let hidden = hidden(place);
    let survey = offshoot_agent::survey_hiding(hidden.iter().cloned());
    let agents = Agents::new(keys.clone()).tool(survey);
    let agents = Files::hiding(hidden.iter().cloned()).give(agents);
    let agents = agents.tool(runs.run_command()).tool(runs.command_output());
    let agents = agents.tool(Fetch::new().tool());
    let agents = agents.worktrees(place.worktrees()).grants(grants.clone());
    match confiner() {
        Some(helper) => agents.confined(helper, hidden),
        None => agents,
    }
}
