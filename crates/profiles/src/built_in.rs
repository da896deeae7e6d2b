//! The built-in profiles.

use offshoot_agent::Profile;
use offshoot_agent::built_in_tools::listed_by;
use offshoot_core::permissions::PermissionMode;

use crate::fields::ProfileFields;

/// Returns all built-in profiles.
pub(crate) fn all() -> Vec<ProfileFields> {
    vec![lead(), explore(), work(), verify()]
}

fn profile(name: &str, description: &str, prompt: &str) -> ProfileFields {
    let (name, prompt) = (name.to_owned(), prompt.to_owned());
    ProfileFields {
        name,
        description: Some(description.to_owned()),
        prompt,
        ..ProfileFields::default()
    }
}

fn lead() -> ProfileFields {
    profile(
        "lead",
        "Leads the work: plans it, sends other agents off for its parts, and answers for the whole.",
        "You lead the work. Find out first what is asked and what is there. Do small things yourself. \
         Send agents off for parts that can be done side by side, and say to each everything it \
         needs: explore to find something out, work to change something, verify to check it. What \
         changes the same files is not done side by side in one folder. Check what comes back before \
         you rely on it, and say plainly in the end what was done and what was not.",
    )
}

fn explore() -> ProfileFields {
    let mut profile = profile(
        "explore",
        "Finds things out: reads, lists and searches files, and changes nothing.",
        "You find something out and change nothing. Search before you read, and read only what you \
         need. Answer what was asked, with the files and lines that show it, and say what you could \
         not find.",
    );
    profile.layer = Profile::offering(listed_by("explore"));
    profile.layer.mode = PermissionMode::Plan;
    profile
}

fn work() -> ProfileFields {
    profile(
        "work",
        "Does one piece of work: changes files, runs what is needed, and checks its own work.",
        "You do one piece of work from its beginning to its end. Look at what is there and follow how \
         it is done. Change what the task needs and nothing else. Check your work by running what \
         shows that it holds. In the end say what you changed, how you checked it, and what is left.",
    )
}

fn verify() -> ProfileFields {
    let mut profile = profile(
        "verify",
        "Checks work: reads, runs tests and commands, and edits nothing.",
        "You check what another agent has done, and repair nothing. Run what shows whether it holds, \
         and look for what they have missed. Say what you ran, what came of it, and what is wrong, \
         with the files and lines. Do not call anything right that you have not seen.",
    );
    profile.layer = Profile::offering(listed_by("verify"));
    profile
}
