//! Standing grants: list and revoke.

use std::path::Path;

use offshoot_client::wire::{self, Code, Reply, WireError};
use offshoot_core::permissions::{BadRule, Rule};

use super::Answer;
use super::origin::RequestOrigin;
use crate::host::Daemon;
use crate::host::Grant;

fn shown(grant: Grant) -> wire::Grant {
    wire::Grant {
        folder: grant.folder.to_string_lossy().into_owned(),
        rule: grant.rule.to_string(),
        since: grant.since.to_string(),
    }
}

/// Lists every grant.
pub(super) fn list(daemon: &Daemon) -> Answer {
    Ok(Reply::Grants { grants: daemon.grants.all().into_iter().map(shown).collect() })
}

/// Revokes one rule of a directory, or all of them.
pub(super) fn revoke(
    daemon: &Daemon,
    folder: &str,
    rule: Option<&str>,
    origin: RequestOrigin,
) -> Answer {
    origin.must_be_person("to revoke a grant")?;
    let rule: Option<Rule> = rule.map(str::parse).transpose().map_err(|error: BadRule| {
        WireError::from_error(Code::BadRequest, &error)
            .hint("`offshoot approvals grants` lists them")
    })?;
    let gone = daemon.grants.revoke(Path::new(folder), rule.as_ref()).map_err(|error| {
        let text = "the revocation could not be written";
        WireError { causes: vec![error.to_string()], ..WireError::new(Code::Store, text) }
    })?;
    if gone.is_empty() {
        let what = rule.map(|rule| format!(" for {rule}")).unwrap_or_default();
        let text = format!("there is no standing grant{what} in {folder}");
        let error = WireError::new(Code::NotFound, text);
        return Err(error.hint("`offshoot approvals grants` lists what was").into());
    }
    Ok(Reply::Grants { grants: gone.into_iter().map(shown).collect() })
}
