//! Places whose contents decide what runs or what agents are told: of a write
//! there somebody is always asked.
//!
//! A name counts at any depth and however its letters are written, because some
//! file systems take `.GIT` for `.git`, and because a folder further down is the
//! top of somebody else's project.

use std::borrow::Cow;
use std::path::Path;

/// Folders of which all that is in them is guarded; `.git` may be a file, too.
const FOLDERS: &[(&str, &str)] = &[
    (".git", "it is git's own"),
    (".githooks", "git runs it"),
    (".husky", "git runs it"),
    (".github/workflows", "it is run by the project's host"),
    (".offshoot", "it says what agents are and may do"),
    (".config/offshoot", "it says what agents are and may do"),
    (".local/state/offshoot", "it says what agents may do and where they work"),
    (".local/share/offshoot", "it says what agents may do"),
    (".claude", "it says what agents are and may do"),
    (".codex", "it says what agents are and may do"),
    (".cursor", "it says what agents are and may do"),
    (".gemini", "it says what agents are and may do"),
    (".config/git", "git goes by it"),
    (".config/fish", "the shell runs it"),
    (".config/systemd", "the system runs it"),
    (".config/autostart", "the system runs it"),
    (".local/bin", "the shell finds programs there"),
    (".vscode", "the editor runs it"),
    (".idea", "the editor runs it"),
    (".devcontainer", "the editor runs it"),
    (".cargo", "cargo runs it"),
    (".ssh", "it holds keys or says who may log in"),
    (".gnupg", "it holds keys"),
];

/// Files that are guarded wherever they are.
const FILES: &[(&str, &str)] = &[
    ("AGENTS.md", "agents are told what it says"),
    ("AGENTS.override.md", "agents are told what it says"),
    ("CLAUDE.md", "agents are told what it says"),
    ("CLAUDE.local.md", "agents are told what it says"),
    ("GEMINI.md", "agents are told what it says"),
    (".cursorrules", "agents are told what it says"),
    (".mcp.json", "it says what agents run"),
    (".envrc", "the shell runs it"),
    (".bashrc", "the shell runs it"),
    (".bash_aliases", "the shell runs it"),
    (".bash_login", "the shell runs it"),
    (".bash_logout", "the shell runs it"),
    (".bash_profile", "the shell runs it"),
    (".profile", "the shell runs it"),
    (".zlogin", "the shell runs it"),
    (".zlogout", "the shell runs it"),
    (".zprofile", "the shell runs it"),
    (".zshenv", "the shell runs it"),
    (".zshrc", "the shell runs it"),
    ("config.fish", "the shell runs it"),
    (".gitattributes", "git goes by it"),
    (".gitconfig", "git goes by it"),
    (".gitmodules", "git goes by it"),
    (".pre-commit-config.yaml", "git runs it"),
    (".gitlab-ci.yml", "it is run by the project's host"),
    (".npmrc", "the package manager goes by it"),
    (".yarnrc", "the package manager goes by it"),
    (".yarnrc.yml", "the package manager goes by it"),
    (".pypirc", "the package manager goes by it"),
    (".netrc", "it holds keys"),
    (".gdbinit", "the debugger runs it"),
    (".lldbinit", "the debugger runs it"),
    (".exrc", "the editor runs it"),
    (".vimrc", "the editor runs it"),
];

/// Why a path is guarded, if it is.
pub(super) fn why(path: &Path) -> Option<String> {
    let parts: Vec<String> = path.components().map(|part| folded(part.as_os_str())).collect();
    let holds = |folder: &str| {
        let wanted: Vec<&str> = folder.split('/').collect();
        parts.windows(wanted.len()).any(|some| some == wanted)
    };
    if let Some((folder, why)) = FOLDERS.iter().find(|(folder, _)| holds(folder)) {
        return Some(format!("it is in {folder}: {why}"));
    }
    let last = parts.last()?;
    // A folder on the way may be new, and have any name.
    let (file, why) = FILES.iter().find(|(file, _)| file.to_lowercase() == *last)?;
    // As it was named, unless that is not what it seems.
    let named = path.file_name().and_then(|name| name.to_str());
    let named = named.filter(|name| name.eq_ignore_ascii_case(file)).unwrap_or(file);
    Some(format!("it is {named}: {why}"))
}

/// A name as a file system may take it that minds neither case nor what cannot
/// be seen.
fn folded(name: &std::ffi::OsStr) -> String {
    let name: Cow<'_, str> = name.to_string_lossy();
    let seen = name.chars().filter(|letter| !is_unseen(*letter));
    seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

fn is_unseen(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(letter, '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guarded_places_are_found_at_any_depth_and_in_any_case() {
        for path in [
            ".git",
            ".git/hooks/pre-commit",
            "sub/.GIT/config",
            "a/../.Git/x",
            ".g\u{200c}it/config",
            ".off\u{17f}hoot/agents/a.md",
            ".claude/settings.json",
            "deep/down/AGENTS.md",
            "Claude.md",
            ".github/workflows/ci.yml",
            ".envrc",
            ".config/offshoot/agents/a.md",
            ".config/git/config",
            ".local/bin/git",
            ".local/state/offshoot/worktrees/a/b.json",
            ".vscode/tasks.json",
            ".husky/pre-push",
            ".bashrc",
        ] {
            assert!(why(Path::new(path)).is_some(), "{path}");
        }
        for named in ["AGENTS.md", "agents.md", "sub/Claude.md"] {
            let file = named.rsplit('/').next().unwrap();
            let told = format!("it is {file}: agents are told what it says");
            assert_eq!(why(Path::new(named)), Some(told));
        }
        for path in ["src/git/a.rs", ".gitignore", "agents.md.txt", ".github/CODEOWNERS", "", "x"] {
            assert_eq!(why(Path::new(path)), None, "{path}");
        }
    }
}
