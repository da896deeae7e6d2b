//! What the agents that count folders are called: as their folders, where that
//! is a name.

use std::collections::HashSet;
use std::iter;

use offshoot_core::Name;

/// How many characters of a folder's name an agent bears.
const LONGEST: usize = 40;

/// A name for the agent of each folder, no two of which read the same.
pub(super) fn names(folders: &[String]) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut free = |name: &str| {
        let name = Name::new(name).ok()?;
        taken.insert(name.key().to_owned()).then(|| name.as_str().to_owned())
    };
    // Whose name it is has it, before others whose name only reads like it.
    let mut names: Vec<_> =
        folders.iter().map(|folder| (derived(folder) == *folder).then(|| free(folder))?).collect();
    for (name, folder) in names.iter_mut().zip(folders).filter(|(name, _)| name.is_none()) {
        let base = match derived(folder) {
            blank if blank.is_empty() => "folder".to_owned(),
            // One that is reserved or reads as an id is none by itself.
            derived if Name::new(&derived).is_err() => format!("folder-{derived}"),
            derived => derived,
        };
        let numbered = || (2..=folders.len() + 1).map(|number| format!("{base}-{number}"));
        *name = iter::once(base.clone()).chain(numbered()).find_map(|name| free(&name));
    }
    let numbered = names.into_iter().enumerate();
    numbered.map(|(at, name)| name.unwrap_or_else(|| format!("folder no. {}", at + 1))).collect()
}

/// As much of a folder's name as can be typed and read back: letters, digits
/// and plain signs, in any language.
fn derived(folder: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || " -_.,+@=()".contains(c);
    let mut name = String::new();
    for c in folder.chars() {
        match plain(c) {
            true => name.push(c),
            false if name.ends_with('-') => {}
            false => name.push('-'),
        }
    }
    let name: String = name.trim_matches(['-', ' ']).chars().take(LONGEST).collect();
    name.trim_end_matches(['-', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_agent_bears_the_name_of_its_folder_where_that_is_one() {
        let cases = [
            ("docs", "docs"),
            ("Docs", "Docs-2"),
            (".git", ".git"),
            ("my notes", "my notes"),
            ("Übung", "Übung"),
            ("<notice>", "notice-2"),
            ("notice", "notice"),
            ("a\nb", "a-b"),
            ("-rf", "rf"),
            ("bad\\xff", "bad-xff"),
            ("all", "folder-all"),
            ("***", "folder"),
            ("🦀", "folder-2"),
            ("018f4d2e-7c3a-7b5e-9d10-2f6a8c4e1b3d", "folder-018f4d2e-7c3a-7b5e-9d10-2f6a8c4e1b3d"),
        ];
        let folders: Vec<_> = cases.iter().map(|(folder, _)| (*folder).to_owned()).collect();
        let wanted: Vec<_> = cases.iter().map(|(_, name)| *name).collect();
        assert_eq!(names(&folders), wanted);
    }

    proptest! {
        #[test]
        fn whatever_folders_are_called_their_agents_have_names_and_different_ones(
            folders in proptest::collection::hash_set("\\PC{0,80}|[aA \n-]{0,3}", 0..40)
        ) {
            let folders: Vec<_> = folders.into_iter().collect();
            let names = names(&folders);
            prop_assert_eq!(names.len(), folders.len());
            let keys: HashSet<_> =
                names.iter().map(|name| Name::new(name).unwrap().key().to_owned()).collect();
            prop_assert_eq!(keys.len(), folders.len());
        }
    }
}
