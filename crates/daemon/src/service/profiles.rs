//! Profiles of agents, and the folders that a person trusts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_agent::{
    Isolation, Profile, ProfileOrigin as From, ProfileSource, ProfileTrust, ProfileUnavailable,
};
use offshoot_client::wire::{self, Code, Reply, TrustChange, WireError};
use offshoot_core::permissions::{PermissionMode, PolicyLayer};
use offshoot_profiles::{Holds, Instructions, Trust, TrustError};

use super::origin::RequestOrigin;
use super::view::word;
use super::{Answer, ServiceError};
use crate::host::Daemon;

/// Does what reads or writes files where it holds up nobody.
pub(super) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ServiceError> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(|error| WireError::from_error(Code::Other, &error))?)
}

/// The profile of this name for agents that work in this folder, and what the
/// project says to all of them.
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

/// The profile of a lead for which nobody has chosen one, and what the project says
/// to it. What a folder brings that nobody trusts is not taken unasked.
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
        "the profile {name} of this folder is not used, because nobody trusts the folder: \
         `offshoot trust` does, and `--profile {name}` uses it as it is"
    ));
    let own = daemon.profiles.find(name, None).map_err(|error| no_profile(&error))?;
    Ok((own, project))
}

fn no_profile(error: &ProfileUnavailable) -> WireError {
    WireError::from_error(Code::BadRequest, error).hint("`offshoot agents ls` lists the profiles")
}

/// The profiles that can be chosen in a folder.
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

/// Whether a folder, or the project that it is a part of, is trusted with what it
/// brings now.
fn is_trusted(trust: Option<&Trust>, folder: &Path) -> bool {
    let Ok(project) = offshoot_profiles::Project::of(folder) else { return false };
    let listed = trust.and_then(|trust| trust.list().ok()).unwrap_or_default();
    listed.iter().any(|one| one.holds == Holds::Yes && project.folders().contains(&one.folder))
}

/// Trusts a folder with what it brings now, or does so no more.
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

/// The folders that were trusted. One that brings something else now is not.
pub(super) async fn trusted() -> Answer {
    let listed = apart(|| own()?.list().map_err(|error| refused(&error))).await??;
    let named = listed
        .into_iter()
        .map(|one| wire::DirTrust { folder: path(&one.folder), trusted: one.holds == Holds::Yes });
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

/// What there is to know of a profile: what was passed over, and what of it is about
/// tools that nobody has here. Who forbids such a one has forbidden nothing.
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
