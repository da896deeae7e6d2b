//! The filters of a repository: programs that git runs on what it writes and
//! reads. Those that a repository's own configuration names are undone, since a
//! child that can write there would have us run what it likes.

use std::collections::BTreeSet;

/// What git is asked for: the names of all settings of filters, each after the
/// scope that it is from.
pub(super) const ASKED: [&str; 6] =
    ["config", "--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\."];

/// What a filter does that does nothing.
const NOTHING: [(&str, &str); 4] =
    [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")];

/// The environment that undoes those filters of which git has said that they are
/// the repository's own. Their names may hold anything, so they cannot be said as
/// arguments.
pub(super) fn undone(said: &[u8]) -> Vec<(String, String)> {
    let mut names = BTreeSet::new();
    let mut parts = said.split(|byte| *byte == 0);
    while let (Some(scope), Some(key)) = (parts.next(), parts.next()) {
        if !matches!(scope, b"system" | b"global" | b"command") {
            names.extend(name_in(&String::from_utf8_lossy(key)));
        }
    }
    let settings = names.iter().flat_map(|name| {
        NOTHING.map(|(setting, value)| (format!("filter.{name}.{setting}"), value.to_owned()))
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

/// The filter that a setting is about.
fn name_in(key: &str) -> Option<String> {
    let (name, _) = key.strip_prefix("filter.")?.rsplit_once('.')?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_repository_names_is_undone_and_what_a_person_names_stays() {
        let said = b"global\0filter.lfs.clean\0local\0filter.a.b=c \"d\".smudge\0worktree\0filter.x.process\0";
        let undone = undone(said);
        let keys: Vec<_> = undone.iter().filter(|(name, _)| name.contains("_KEY_")).collect();
        assert_eq!(keys.len(), 8, "{undone:?}");
        assert!(keys.iter().all(|(_, key)| !key.contains("lfs")), "{undone:?}");
        assert!(undone.contains(&("GIT_CONFIG_KEY_1".into(), "filter.a.b=c \"d\".smudge".into())));
        assert!(undone.contains(&("GIT_CONFIG_COUNT".into(), "8".into())));
        assert!(super::undone(b"").is_empty());
    }
}
