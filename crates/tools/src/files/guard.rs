//! Files that run code or instruct agents: every write to one needs an approval.
//!
//! A name matches at any depth, because a directory further down can be the top of
//! another project. It matches in any case, because some file systems take `.GIT`
//! for `.git`.

use std::borrow::Cow;
use std::path::Path;

/// Directories whose whole content is guarded. `.git` may also be a file.
const FOLDERS: &[(&str, &str)] = &[
    (".git", "it is git's own"),
    (".githooks", "git runs it"),
    (".husky", "git runs it"),
    (".hg", "it is Mercurial's own"),
    (".svn", "it is Subversion's own"),
    (".jj", "it is Jujutsu's own"),
    (".lefthook", "git runs it"),
    (".github/workflows", "it is run by the project's host"),
    (".github/actions", "it is run by the project's host"),
    (".gitea/workflows", "it is run by the project's host"),
    (".forgejo/workflows", "it is run by the project's host"),
    (".circleci", "it is run by the project's host"),
    (".buildkite", "it is run by the project's host"),
    (".woodpecker", "it is run by the project's host"),
    (".gitlab", "it is run by the project's host"),
    (".semaphore", "it is run by the project's host"),
    (".builds", "it is run by the project's host"),
    (".github/copilot-instructions.md", "agents are told what it says"),
    (".github/instructions", "agents are told what it says"),
    (".github/prompts", "agents are told what it says"),
    (".github/agents", "it says what agents are and may do"),
    (".github/chatmodes", "it says what agents are and may do"),
    (".offshoot", "it says what agents are and may do"),
    (".config/offshoot", "it says what agents are and may do"),
    (".local/state/offshoot", "it says what agents may do and where they work"),
    (".local/share/offshoot", "it says what agents may do"),
    (".claude", "it says what agents are and may do"),
    (".codex", "it says what agents are and may do"),
    (".cursor", "it says what agents are and may do"),
    (".gemini", "it says what agents are and may do"),
    (".windsurf", "it says what agents are and may do"),
    (".clinerules", "agents are told what it says"),
    (".roo", "it says what agents are and may do"),
    (".continue", "it says what agents are and may do"),
    (".kiro", "it says what agents are and may do"),
    (".junie", "it says what agents are and may do"),
    (".amazonq", "it says what agents are and may do"),
    (".opencode", "it says what agents are and may do"),
    (".trae", "it says what agents are and may do"),
    (".augment", "it says what agents are and may do"),
    (".kilocode", "it says what agents are and may do"),
    (".factory", "it says what agents are and may do"),
    (".openhands", "it says what agents are and may do"),
    (".agents", "it says what agents are and may do"),
    (".qwen", "it says what agents are and may do"),
    (".config/opencode", "it says what agents are and may do"),
    (".config/git", "git goes by it"),
    (".config/fish", "the shell runs it"),
    (".config/direnv", "the shell runs it"),
    (".config/nushell", "the shell runs it"),
    (".config/powershell", "the shell runs it"),
    (".config/mise", "the shell runs it"),
    (".config/nvim", "the editor runs it"),
    (".config/emacs", "the editor runs it"),
    (".config/helix", "the editor runs it"),
    (".vim", "the editor runs it"),
    (".emacs.d", "the editor runs it"),
    (".config/systemd", "the system runs it"),
    (".config/autostart", "the system runs it"),
    (".config/environment.d", "the system goes by it"),
    (".local/share/systemd", "the system runs it"),
    (".local/share/applications", "the system runs it"),
    (".local/bin", "the shell finds programs there"),
    (".vscode", "the editor runs it"),
    (".idea", "the editor runs it"),
    (".run", "the editor runs it"),
    (".config/zed", "the editor runs it"),
    (".devcontainer", "the editor runs it"),
    (".zed", "the editor runs it"),
    (".helix", "the editor runs it"),
    (".fleet", "the editor runs it"),
    (".mvn", "the build tool goes by it"),
    (".gradle", "the build tool runs it"),
    (".m2", "the build tool goes by it"),
    (".config/pip", "the package manager goes by it"),
    (".yarn", "the package manager runs it"),
    (".cargo", "cargo runs it"),
    (".ssh", "it holds keys or says who may log in"),
    (".gnupg", "it holds keys"),
];

/// Files that are guarded in every directory.
const FILES: &[(&str, &str)] = &[
    ("AGENTS.md", "agents are told what it says"),
    ("AGENTS.override.md", "agents are told what it says"),
    ("CLAUDE.md", "agents are told what it says"),
    ("CLAUDE.local.md", "agents are told what it says"),
    ("GEMINI.md", "agents are told what it says"),
    ("AGENT.md", "agents are told what it says"),
    ("QWEN.md", "agents are told what it says"),
    ("CRUSH.md", "agents are told what it says"),
    ("WARP.md", "agents are told what it says"),
    (".rules", "agents are told what it says"),
    (".augment-guidelines", "agents are told what it says"),
    (".cursorrules", "agents are told what it says"),
    (".windsurfrules", "agents are told what it says"),
    (".roorules", "agents are told what it says"),
    (".roomodes", "it says what agents are and may do"),
    (".continuerules", "agents are told what it says"),
    (".goosehints", "agents are told what it says"),
    (".aider.conf.yml", "it says what agents run"),
    ("opencode.json", "it says what agents run"),
    ("opencode.jsonc", "it says what agents run"),
    (".opencode.json", "it says what agents run"),
    ("crush.json", "it says what agents run"),
    (".crush.json", "it says what agents run"),
    ("mcp.json", "it says what agents run"),
    (".claude.json", "it says what agents run"),
    (".kilocodemodes", "it says what agents are and may do"),
    (".mcp.json", "it says what agents run"),
    (".envrc", "the shell runs it"),
    (".direnvrc", "the shell runs it"),
    ("mise.toml", "the shell runs it"),
    (".mise.toml", "the shell runs it"),
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
    (".cshrc", "the shell runs it"),
    (".tcshrc", "the shell runs it"),
    (".kshrc", "the shell runs it"),
    (".mkshrc", "the shell runs it"),
    (".xprofile", "the system runs it"),
    (".xinitrc", "the system runs it"),
    (".pam_environment", "the system goes by it"),
    (".tmux.conf", "the terminal runs it"),
    ("mise.local.toml", "the shell runs it"),
    (".mise.local.toml", "the shell runs it"),
    ("config.fish", "the shell runs it"),
    (".gitattributes", "git goes by it"),
    (".gitconfig", "git goes by it"),
    (".gitmodules", "git goes by it"),
    (".pre-commit-config.yaml", "git runs it"),
    ("lefthook.yml", "git runs it"),
    (".lefthook.yml", "git runs it"),
    ("lefthook.yaml", "git runs it"),
    ("lefthook.toml", "git runs it"),
    ("lefthook-local.yml", "git runs it"),
    ("lefthook-local.yaml", "git runs it"),
    ("lefthook-local.toml", "git runs it"),
    (".lefthook.yaml", "git runs it"),
    (".lefthook.toml", "git runs it"),
    (".lefthook-local.yml", "git runs it"),
    (".hgrc", "Mercurial goes by it"),
    (".gitlab-ci.yml", "it is run by the project's host"),
    (".travis.yml", "it is run by the project's host"),
    (".drone.yml", "it is run by the project's host"),
    (".woodpecker.yml", "it is run by the project's host"),
    (".cirrus.yml", "it is run by the project's host"),
    (".appveyor.yml", "it is run by the project's host"),
    ("appveyor.yml", "it is run by the project's host"),
    ("azure-pipelines.yml", "it is run by the project's host"),
    ("bitbucket-pipelines.yml", "it is run by the project's host"),
    ("Jenkinsfile", "it is run by the project's host"),
    ("buildspec.yml", "it is run by the project's host"),
    ("buildspec.yaml", "it is run by the project's host"),
    ("cloudbuild.yaml", "it is run by the project's host"),
    ("cloudbuild.yml", "it is run by the project's host"),
    (".build.yml", "it is run by the project's host"),
    (".gitpod.yml", "the editor runs it"),
    (".devcontainer.json", "the editor runs it"),
    (".npmrc", "the package manager goes by it"),
    (".pnpmfile.cjs", "the package manager runs it"),
    (".pnpmfile.mjs", "the package manager runs it"),
    (".pnp.cjs", "the package manager runs it"),
    (".yarnrc", "the package manager goes by it"),
    (".yarnrc.yml", "the package manager goes by it"),
    (".pypirc", "the package manager goes by it"),
    ("pip.conf", "the package manager goes by it"),
    (".bazelrc", "the build tool goes by it"),
    ("rust-toolchain.toml", "cargo goes by it"),
    ("rust-toolchain", "cargo goes by it"),
    (".netrc", "it holds keys"),
    (".gdbinit", "the debugger runs it"),
    (".lldbinit", "the debugger runs it"),
    (".pdbrc", "the debugger runs it"),
    (".Rprofile", "the interpreter runs it"),
    (".irbrc", "the interpreter runs it"),
    (".pryrc", "the interpreter runs it"),
    (".ghci", "the interpreter runs it"),
    ("sitecustomize.py", "the interpreter runs it"),
    ("usercustomize.py", "the interpreter runs it"),
    (".exrc", "the editor runs it"),
    (".vimrc", "the editor runs it"),
    (".gvimrc", "the editor runs it"),
    (".nvimrc", "the editor runs it"),
    (".nvim.lua", "the editor runs it"),
    (".dir-locals.el", "the editor runs it"),
    (".dir-locals-2.el", "the editor runs it"),
    (".emacs", "the editor runs it"),
];

/// Endings of the names of guarded files.
const ENDINGS: &[(&str, &str)] =
    &[(".code-workspace", "the editor runs it"), (".pth", "the interpreter runs it")];

/// Returns the reason why a path is guarded, or `None` for an ordinary path.
pub(super) fn why(path: &Path) -> Option<String> {
    let parts: Vec<String> = path.components().map(|part| folded(part.as_os_str())).collect();
    let holds = |folder: &str| {
        let wanted: Vec<&str> = folder.split('/').collect();
        parts.windows(wanted.len()).any(|some| some == wanted)
    };
    if let Some((folder, why)) = FOLDERS.iter().find(|(folder, _)| holds(folder)) {
        let is_itself = parts.join("/").ends_with(folder);
        let place = if is_itself { "it is" } else { "it is in" };
        return Some(format!("{place} {folder}: {why}"));
    }
    let last = parts.last()?;
    // A directory on the way may be new and have any name.
    let Some((file, why)) = FILES.iter().find(|(file, _)| file.to_lowercase() == *last) else {
        let (end, why) = ENDINGS.iter().find(|(end, _)| last.ends_with(end))?;
        return Some(format!("it is a {end} file: {why}"));
    };
    // The text shows the written name, unless it hides invisible characters.
    let named = path.file_name().and_then(|name| name.to_str());
    let named = named.filter(|name| name.eq_ignore_ascii_case(file)).unwrap_or(file);
    Some(format!("it is {named}: {why}"))
}

/// Folds a name as a file system does that ignores case and invisible characters.
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
            ".devcontainer.json",
            "sub/.github/copilot-instructions.md",
            ".windsurfrules",
            ".clinerules",
            ".clinerules/rules.md",
            ".hg/hgrc",
            ".nvim.lua",
            ".dir-locals.el",
            ".circleci/config.yml",
            "jenkinsfile",
            "QWEN.md",
            "CRUSH.md",
            "WARP.md",
            ".rules",
            ".trae/rules/a.md",
            ".augment/rules/a.md",
            ".kilocode/rules/a.md",
            ".factory/x.md",
            ".openhands/microagents/repo.md",
            ".agents/x",
            ".github/chatmodes/x.md",
            "opencode.jsonc",
            ".opencode.json",
            "mcp.json",
            ".local/share/systemd/user/a.service",
            ".local/share/applications/a.desktop",
            ".config/environment.d/a.conf",
            ".pam_environment",
            ".xprofile",
            ".cshrc",
            ".kshrc",
            ".config/nushell/config.nu",
            ".config/powershell/profile.ps1",
            ".config/mise/config.toml",
            ".tmux.conf",
            "x.code-workspace",
            ".run/a.run.xml",
            "lefthook.yaml",
            "lefthook.toml",
            "lefthook-local.yml",
            ".svn/hooks/x",
            ".jj/repo/config.toml",
            ".gitlab/ci.yml",
            ".semaphore/semaphore.yml",
            "buildspec.yml",
            "cloudbuild.yaml",
            ".gradle/init.gradle",
            ".m2/settings.xml",
            "pip.conf",
            ".bazelrc",
            "rust-toolchain.toml",
            ".pnpmfile.mjs",
            "lib/evil.PTH",
        ] {
            assert!(why(Path::new(path)).is_some(), "{path}");
        }
        for named in ["AGENTS.md", "agents.md", "sub/Claude.md"] {
            let file = named.rsplit('/').next().unwrap();
            let told = format!("it is {file}: agents are told what it says");
            assert_eq!(why(Path::new(named)), Some(told));
        }
        let itself = "it is .github/copilot-instructions.md: agents are told what it says";
        assert_eq!(why(Path::new(".github/copilot-instructions.md")).as_deref(), Some(itself));
        for path in ["src/git/a.rs", ".gitignore", "agents.md.txt", ".github/CODEOWNERS", "", "x"] {
            assert_eq!(why(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn the_page_on_tools_names_what_is_guarded() {
        let page = include_str!("../../../../docs/tools.md");
        let part = page.split("### ").find(|part| part.starts_with("What is guarded")).unwrap();
        let table: Vec<_> = part.lines().filter(|line| line.starts_with('|')).collect();
        let named: Vec<_> =
            table.iter().flat_map(|line| line.split('`').skip(1).step_by(2)).collect();
        for name in &named {
            assert!(why(Path::new(name)).is_some(), "{name} is on the page and not guarded");
        }
        let unnamed: Vec<_> = FOLDERS
            .iter()
            .chain(FILES)
            .chain(ENDINGS)
            .map(|(name, _)| *name)
            .filter(|name| !named.contains(name))
            .collect();
        assert!(unnamed.is_empty(), "guarded and not on the page: {unnamed:?}");
    }
}
