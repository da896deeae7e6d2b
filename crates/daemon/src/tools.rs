//! What the agents of a daemon have: their models, tools, profiles and leave.

use std::path::PathBuf;

use offshoot_agent::Agents;
use offshoot_backends::Commands;
use offshoot_client::Place;
use offshoot_sandbox::Helper;
use offshoot_tools::{Fetch, Files, Runs};

use crate::config::Config;
use crate::grants::Grants;
use crate::keyring::KeyRing;
use crate::limits::open_files_at_start;
use crate::passed_env::PassedEnv;

/// What people keep in their home that is for no agent to read: keys, and what is
/// as good as one.
const SECRETS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".vault-token",
    ".password-store",
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings.xml",
    ".gem/credentials",
    ".terraform.d/credentials.tfrc.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini",
    ".config/gcloud",
    ".config/gh",
    ".config/github-copilot",
    ".config/glab-cli",
    ".config/hub",
    ".config/rclone",
    ".config/op",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".local/share/keyrings",
];

/// What agents and their commands do not see: the data directory, the secrets of
/// the user who runs the daemon, and the user's profiles, trusted directories and
/// configuration. An agent that works in a directory above these could else change
/// them.
pub(crate) fn hidden(place: &Place) -> Vec<PathBuf> {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let home = home.and_then(|home| std::fs::canonicalize(home).ok());
    let secrets = home.iter().flat_map(|home| SECRETS.iter().map(|secret| home.join(secret)));
    let said = [
        offshoot_profiles::Profiles::own_folder(),
        offshoot_profiles::Trust::own_file(),
        Config::own_file(),
    ];
    secrets.chain([place.data().to_owned()]).chain(said.into_iter().flatten()).collect()
}

/// What confines commands here, if something does.
pub(crate) fn confiner() -> Option<Helper> {
    Helper::own().filter(|_| offshoot_sandbox::probe().confines())
}

/// The commands of agents.
pub(crate) fn runs(place: &Place, commands: &Commands, passed: &PassedEnv) -> Runs {
    let runs = Runs::new(commands.clone()).hiding(hidden(place));
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
pub(crate) fn agents(place: &Place, keys: &KeyRing, grants: &Grants, runs: &Runs) -> Agents {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_page_on_tools_says_is_hidden_is() {
        let page = include_str!("../../../docs/tools.md");
        let hidden = page.split("### ").find(|part| part.starts_with("What is hidden")).unwrap();
        let named: Vec<_> = hidden.split('`').filter(|word| word.starts_with('.')).collect();
        assert!(named.len() > 20, "{named:?}");
        for word in named {
            assert!(SECRETS.iter().any(|secret| secret.starts_with(word)), "{word}");
        }
        for shell in [".bash_history", ".zsh_history", ".local/share/fish/fish_history"] {
            assert!(SECRETS.contains(&shell), "{shell}");
        }
        for browser in [".mozilla", ".config/google-chrome", ".config/BraveSoftware"] {
            assert!(SECRETS.contains(&browser), "{browser}");
        }
    }
}
