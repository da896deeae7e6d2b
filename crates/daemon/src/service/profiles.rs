//! Profiles of agents, and the directories that the user trusts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_agent::{
    Isolation, Profile, ProfileOrigin as From, ProfileSource, ProfileTrust, ProfileUnavailable,
};
use offshoot_client::wire::{self, Code, Reply, TrustChange, WireError};
use offshoot_core::permissions::{PermissionMode, PolicyLayer};
use offshoot_profiles::{Instructions, Trust, TrustError, TrustState};

use super::origin::RequestOrigin;
use super::view::word;
use super::{Answer, ServiceError};
use crate::host::Daemon;

/// Reads or writes files on a thread where blocking is allowed.
pub(super) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(|error| WireError::from_error(Code::Other, &error))?)
}

/// Finds a profile for agents in this directory, and the instructions of its project.
pub(super) async fn found(
    daemon: &Daemon,
    name: &str,
    folder: &str,
) -> Result<(Arc<Profile>, Instructions), ServiceError> {
    let (profiles, name) = (daemon.profiles.clone(), name.to_owned());
    let folder = PathBuf::from(folder);
    let (found, project) =
        apart(move || (profiles.find(&name, Some(&folder)), Instructions::of(&folder))).await?;
    Ok((found.map_err(|error| no_profile(&error))?, project))
}

/// Finds the default profile of a lead, and the instructions of its project. A profile
/// of an untrusted directory needs to be chosen by name.
pub(super) async fn usual(
    daemon: &Daemon,
    name: &str,
    folder: &str,
) -> Result<(Arc<Profile>, Instructions), ServiceError> {
    let (found, mut project) = found(daemon, name, folder).await?;
    if found.trust == ProfileTrust::Trusted {
        return Ok((found, project));
    }
    project.notes.push(format!(
        "the profile {name} of this directory is not used, because the directory is not trusted: \
         trust it with `offshoot trust`, or use the profile as it is with `--profile {name}`"
    ));
    let own = daemon.profiles.find(name, None).map_err(|error| no_profile(&error))?;
    Ok((own, project))
}

fn no_profile(error: &ProfileUnavailable) -> WireError {
    WireError::from_error(Code::BadRequest, error).hint("`offshoot agents ls` lists the profiles")
}

/// Lists the profiles that a directory offers.
pub(super) async fn list(daemon: &Daemon, folder: String) -> Answer {
    let (profiles, trust) = (daemon.profiles.clone(), Trust::own());
    let tools: Vec<_> = daemon.agents.tools().collect();
    apart(move || {
        let (found, broken) = profiles.all(Some(Path::new(&folder)));
        let trusted = is_trusted(trust.as_ref(), Path::new(&folder));
        Reply::Profiles(wire::ProfileList {
            profiles: found.iter().map(|profile| shown(profile, &tools)).collect(),
            broken: broken.iter().map(ToString::to_string).collect(),
            trust: wire::DirTrust { folder, trusted },
        })
    })
    .await
}

/// Whether a directory, or the project around it, is trusted with its current contents.
fn is_trusted(trust: Option<&Trust>, folder: &Path) -> bool {
    let Ok(project) = offshoot_profiles::Project::of(folder) else { return false };
    let listed = trust.and_then(|trust| trust.list().ok()).unwrap_or_default();
    listed
        .iter()
        .any(|one| one.state == TrustState::Current && project.folders().contains(&one.folder))
}

/// Adds a directory with its current contents to the trusted ones, or removes it.
pub(super) async fn trust(folder: String, trusting: TrustChange, origin: RequestOrigin) -> Answer {
    origin.must_be_person("to say which folders are trusted")?;
    let changed = apart(move || {
        let trust = own()?;
        let folder = Path::new(&folder);
        let folders = match trusting {
            TrustChange::Trust => trust.add(folder),
            TrustChange::Remove => trust.remove(folder),
        };
        folders.map_err(|error| refused(&error))
    })
    .await??;
    let trusted = trusting == TrustChange::Trust;
    let named = |folder: PathBuf| wire::DirTrust { folder: path(&folder), trusted };
    Ok(Reply::Trust { folders: changed.into_iter().map(named).collect() })
}

/// Lists the directories that were trusted. One whose contents changed is not trusted.
pub(super) async fn trusted() -> Answer {
    let listed = apart(|| own()?.list().map_err(|error| refused(&error))).await??;
    let named = listed.into_iter().map(|one| wire::DirTrust {
        folder: path(&one.folder),
        trusted: one.state == TrustState::Current,
    });
    Ok(Reply::Trust { folders: named.collect() })
}

fn own() -> Result<Trust, WireError> {
    Trust::own().ok_or_else(|| {
        let text = "there is no place for the list of trusted folders";
        WireError::new(Code::Store, text).hint("set XDG_STATE_HOME or HOME where the daemon starts")
    })
}

fn refused(error: &TrustError) -> WireError {
    let code = match error {
        TrustError::NoFolder { .. } => Code::NotFound,
        TrustError::NotTrustworthy { .. } => Code::BadRequest,
        _ => Code::Store,
    };
    WireError::from_error(code, error)
}

fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The notes on a profile: what was ignored, and which tools it names that do not exist
/// here. A rule that denies a missing tool has no effect.
pub(super) fn notes(profile: &Profile, tools: &[Arc<str>]) -> Vec<String> {
    let is_here = |tool: &Arc<str>| &**tool == "*" || tools.contains(tool);
    let mut notes = profile.notes.clone();
    for layer in profile.under.iter().chain([&profile.layer]) {
        let missing = layer.tools.iter().flatten().filter(|tool| !is_here(tool));
        notes.extend(missing.map(|tool| format!("there is no tool {tool:?} here")));
        let idle = layer.rules.iter().filter(|(rule, _)| !is_here(&rule.tool));
        notes.extend(idle.map(|(rule, verdict)| {
            let (verdict, tool) = (word(verdict), &rule.tool);
            format!(
                "the rule \"{verdict} {rule}\" is about nothing: there is no tool {tool:?} here"
            )
        }));
    }
    notes
}

fn shown(profile: &Profile, tools: &[Arc<str>]) -> wire::Profile {
    let layers = || profile.under.iter().chain([&profile.layer]);
    let (origin, file) = match &profile.origin {
        From::BuiltIn => ("built in", None),
        From::User(file) => ("user", Some(path(file))),
        From::Project(file) => ("project", Some(path(file))),
    };
    let offers = |tool: &&Arc<str>| layers().all(|layer| layer.offers(tool));
    let listed = layers().find_map(|layer| layer.tools.as_ref());
    wire::Profile {
        name: profile.name.clone(),
        description: profile.description.clone(),
        origin: origin.to_owned(),
        path: file,
        trusted: profile.trust == ProfileTrust::Trusted,
        model: profile.model.as_ref().map(ToString::to_string),
        mode: word(layers().map(|layer| layer.mode).min().unwrap_or(PermissionMode::Auto)),
        tools: listed
            .map(|tools| tools.iter().filter(offers).map(|tool| tool.to_string()).collect()),
        rules: layers().flat_map(rules).collect(),
        asks: profile.asks.map(word),
        budget: Some(profile.budget.to_string()).filter(|_| !profile.budget.is_unlimited()),
        worktree: profile.isolation == Isolation::Worktree,
        config: profile.config.clone(),
        agents: profile.agents.clone(),
        dialect: profile.dialect.to_string(),
        prompt: profile.prompt.clone(),
        notes: notes(profile, tools),
    }
}

fn rules(layer: &PolicyLayer) -> Vec<String> {
    layer.rules.iter().map(|(rule, verdict)| format!("{} {rule}", word(verdict))).collect()
}
