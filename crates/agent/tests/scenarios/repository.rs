//! A real repository, and the tools with which agents work on it.

use std::path::{Path, PathBuf};
use std::process::Command;

use offshoot_agent::{Agents, Function, Tool, ToolContext, ToolError};

/// A repository with one commit, and a directory for worktrees beside it.
pub(crate) struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    pub(crate) fn new() -> Self {
        let repository = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(repository.path().join("src")).unwrap();
        git(&repository.path(), "init --quiet --initial-branch=main");
        std::fs::write(repository.path().join(".gitignore"), "built/\n").unwrap();
        std::fs::write(repository.path().join("src/a.txt"), "a\n").unwrap();
        git(&repository.path(), "add .");
        git(&repository.path(), "commit --quiet --message=first");
        repository
    }

    pub(crate) fn path(&self) -> PathBuf {
        std::fs::canonicalize(self.folder.path()).unwrap().join("the repository")
    }

    pub(crate) fn trees(&self) -> PathBuf {
        std::fs::canonicalize(self.folder.path()).unwrap().join("trees")
    }

    pub(crate) fn branches(&self) -> String {
        git(&self.path(), "for-each-ref --format=%(refname:short) refs/heads")
    }

    /// Whether no remains of a worktree are left.
    pub(crate) fn is_tidy(&self) -> bool {
        let registered =
            git(&self.path(), "worktree list --porcelain").matches("worktree ").count();
        let folders = std::fs::read_dir(self.trees())
            .map_or(0, |entries| entries.flatten().filter(|entry| entry.path().is_dir()).count());
        (registered, folders, self.branches().trim()) == (1, 0, "main")
    }
}

/// The output of a git command in a directory.
pub(crate) fn git(folder: &Path, args: &str) -> String {
    let args: Vec<_> = args.split(' ').collect();
    reach(folder, &args)
}

/// The same with arguments that may contain spaces.
pub(crate) fn reach(folder: &Path, args: &[&str]) -> String {
    std::fs::create_dir_all(folder).unwrap();
    let mut git = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") {
            git.env_remove(name);
        }
    }
    let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    let said = git.current_dir(folder).args(who).args(args).output().unwrap();
    assert!(said.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Write {
    /// The path, relative to the agent's directory.
    path: String,
}

/// Writes a file into the agent's directory.
fn write() -> impl Tool {
    Function::new("write", "Writes a file.", async |cx: ToolContext, asked: Write| {
        let path = cx.folder().ok_or_else(|| ToolError::new("no folder"))?.join(&asked.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "written\n").map_err(|error| ToolError::of(&error))?;
        Ok(path.display().to_string())
    })
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Run {
    /// The arguments of git.
    args: String,
}

/// Runs git in the agent's directory.
fn run_git() -> impl Tool {
    Function::new("git", "Runs git.", async |cx: ToolContext, asked: Run| {
        Ok::<_, ToolError>(git(cx.folder().unwrap(), &asked.args))
    })
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// A tool that does this in the agent's directory.
pub(crate) fn does(name: &str, deed: impl Fn(&Path) + Send + Sync + 'static) -> impl Tool {
    let deed = std::sync::Arc::new(deed);
    Function::new(name, "Does it.", move |cx: ToolContext, _: Nothing| {
        let deed = deed.clone();
        async move {
            deed(cx.folder().unwrap());
            Ok::<_, ToolError>("done")
        }
    })
}

pub(crate) fn equipped(agents: Agents, repository: &Repository) -> Agents {
    agents.tool(write()).tool(run_git()).worktrees(repository.trees())
}
