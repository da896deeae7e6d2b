//! The brief of a child: its owner's permissions, narrowed by the chosen profile and by
//! the call.

use std::sync::Arc;

use offshoot_core::permissions::PolicyLayer;
use offshoot_core::text;
use offshoot_runtime::{AgentKind, BodyError, StepError};

use super::Arguments;
use crate::brief::Brief;
use crate::control;
use crate::profile::{Profile, ProfileError, ProfileUnavailable, is_name};
use crate::tool::{ToolContext, ToolError};

/// The part of a child's brief that its owner, its profile and the call's limits decide.
///
/// The second value is the kind of its backend if it differs from the owner's.
pub(super) async fn brief(
    cx: &ToolContext,
    asked: &Arguments,
) -> Result<(Brief, Option<AgentKind>), ToolError> {
    let mut other = None;
    let nothing = |unfit: ProfileError| ToolError::new(format!("Nothing was started: {unfit}."));
    let own = &cx.brief;
    let mut brief = Brief::new(own.model.clone(), asked.task.clone());
    brief.folder.clone_from(&own.folder);
    brief.authority.clone_from(&own.authority);
    brief.agents.clone_from(&own.agents);
    brief.dialect.clone_from(&own.dialect);
    match &asked.profile {
        Some(name) => {
            let found = kept(cx, name).await?;
            // A profile hides an agent of another backend that has its name.
            if let Err(ProfileUnavailable::Unknown { .. }) = found {
                other = cx
                    .cx
                    .other_agent_kinds()
                    .into_iter()
                    .find(|other| is_name(&other.kind, name.trim()));
            }
            let profile = match &other {
                Some(other) => Profile { name: other.kind.to_string(), ..Profile::default() },
                None => found.map_err(|error| nothing(error.into()))?,
            };
            allowed(own, Some(&profile.name)).map_err(nothing)?;
            let config_text = profile.configured(asked.config.as_ref()).map_err(nothing)?;
            brief = profile.applied_to(brief).with_system_text(config_text);
        }
        None => {
            allowed(own, None).map_err(nothing)?;
            if asked.config.is_some() {
                return Err(nothing(ProfileError::NoProfileToConfigure));
            }
        }
    }
    Ok((narrow(cx, asked, brief)?, other))
}

/// The profile of this name when the call was first made.
///
/// The profile is journalled, so that a repeated call requests the same child even if
/// the profile's file has changed.
async fn kept(
    cx: &ToolContext,
    name: &str,
) -> Result<Result<Profile, ProfileUnavailable>, ToolError> {
    let (shared, folder, name) =
        (cx.shared.clone(), cx.brief.folder.clone(), name.trim().to_owned());
    let find = move || async move {
        let found = move || shared.profile(&name, folder.as_deref());
        let found = tokio::task::spawn_blocking(found).await;
        let found =
            found.unwrap_or_else(|error| Err(ProfileUnavailable::Broken(error.to_string())));
        Ok::<_, BodyError>(found.map(Arc::unwrap_or_clone))
    };
    let kept = cx.cx.step(&format!("profile {}", cx.key), find);
    kept.value().await.map_err(|error| match error {
        StepError::Journal(error) => error.into(),
        _ => ToolError::new("Nothing was started: its profile could not be kept."),
    })
}

/// Checks that an agent may spawn one of this profile, or one without a profile.
fn allowed(own: &Brief, profile: Option<&str>) -> Result<(), ProfileError> {
    let Some(agents) = &own.agents else { return Ok(()) };
    let allowed = || match agents.is_empty() {
        true => "no profile may".to_owned(),
        false => format!("these may: {}", text::cut(&agents.join(", "), 1_000)),
    };
    match profile {
        Some(name) if agents.iter().any(|agent| is_name(agent, name)) => Ok(()),
        Some(name) => Err(ProfileError::NotAllowed { name: name.to_owned(), allowed: allowed() }),
        None => Err(ProfileError::NoneChosen { allowed: allowed() }),
    }
}

/// Narrows the permissions by the `tools` and the `mode` of the call.
fn narrow(cx: &ToolContext, asked: &Arguments, mut brief: Brief) -> Result<Brief, ToolError> {
    let mut layer = PolicyLayer::default();
    if let Some(tools) = &asked.tools {
        let known: Vec<_> = control::known_in(&cx.shared, cx.cx.lineage().session).collect();
        if let Some(tool) = tools.iter().find(|tool| !known.iter().any(|known| **known == **tool)) {
            return Err(ToolError::new(format!(
                "Nothing was started: there is no tool {:?}; the tools are {}.",
                text::cut(tool, 80),
                known.join(", ")
            )));
        }
        layer = Profile::offering(tools.iter().map(String::as_str));
    }
    if let Some(mode) = asked.mode {
        layer.mode = mode.into();
    }
    if layer != PolicyLayer::default() {
        let owner = brief.authority.take().map(Arc::unwrap_or_clone);
        brief.authority = Some(Arc::new(owner.unwrap_or_default().under(layer)));
    }
    Ok(brief)
}
