//! The filters of a repository: programs that git runs on the files it reads and writes.
//!
//! Filters of the repository's own configuration are disabled, because an agent that can write the
//! configuration could have git run any program.

use std::collections::BTreeSet;

/// The git arguments that list the settings of all filters, each after its scope.
pub(super) const LIST: [&str; 6] =
    ["config", "--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\."];

/// The settings of a filter that does nothing.
const DISABLED: [(&str, &str); 4] =
    [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")];

/// The environment that disables the repository's own filters in git's list. Their names may have
/// any characters, so they cannot be passed as arguments.
pub(super) fn disable(listed: &[u8]) -> Vec<(String, String)> {
    let mut names = BTreeSet::new();
    let mut parts = listed.split(|byte| *byte == 0);
    while let (Some(scope), Some(key)) = (parts.next(), parts.next()) {
        if !matches!(scope, b"system" | b"global" | b"command") {
            names.extend(name_in(&String::from_utf8_lossy(key)));
        }
    }
    let settings = names.iter().flat_map(|name| {
        DISABLED.map(|(setting, value)| (format!("filter.{name}.{setting}"), value.to_owned()))
    });
    let mut variables = Vec::new();
    for (number, (key, value)) in settings.enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{number}"), key));
        variables.push((format!("GIT_CONFIG_VALUE_{number}"), value));
    }
    if !variables.is_empty() {
        variables.push(("GIT_CONFIG_COUNT".to_owned(), (variables.len() / 2).to_string()));
    }
    variables
}

/// The name of the filter that a setting belongs to.
fn name_in(key: &str) -> Option<String> {
    let (name, _) = key.strip_prefix("filter.")?.rsplit_once('.')?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_of_a_repository_are_disabled_and_those_of_the_user_stay() {
        let listed = b"global\0filter.lfs.clean\0local\0filter.a.b=c \"d\".smudge\0worktree\0filter.x.process\0";
        let variables = disable(listed);
        let keys: Vec<_> = variables.iter().filter(|(name, _)| name.contains("_KEY_")).collect();
        assert_eq!(keys.len(), 8, "{variables:?}");
        assert!(keys.iter().all(|(_, key)| !key.contains("lfs")), "{variables:?}");
        assert!(
            variables.contains(&("GIT_CONFIG_KEY_1".into(), "filter.a.b=c \"d\".smudge".into()))
        );
        assert!(variables.contains(&("GIT_CONFIG_COUNT".into(), "8".into())));
        assert!(disable(b"").is_empty());
    }
}
