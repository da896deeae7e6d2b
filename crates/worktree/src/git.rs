//! Running git.
//!
//! Git runs without hooks, without prompts, without programs that a repository names, and without
//! the variables of this process that would lead it to another repository.

mod confinement;
mod filters;
pub(crate) mod orphans;
mod programs;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use offshoot_core::text;
use offshoot_sandbox::ConfinementError;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use crate::blocking::blocking;
use crate::project::project_ancestors;

use confinement::ConfinedGit;
pub(crate) use confinement::GitConfinement;

/// The most bytes of its output that are kept.
const KEPT: usize = 64 << 10;

/// The most characters of its error message that are shown.
const SHOWN_ERROR: usize = 1_000;

/// Settings that override the configuration. Hooks and a file system monitor are programs of the
/// repository, so a worktree is made and removed without them.
const SETTINGS: [&str; 7] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "protocol.ext.allow=never",
];

/// How often git is run while other git processes make worktrees of the same repository.
pub(crate) const ATTEMPTS: u32 = 16;

/// Why git failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Git was not found.
    #[error("git is not installed, or not in PATH: do without isolation, or install it")]
    Missing,
    /// Git could not be started or its output could not be read.
    #[error("git could not be run")]
    Start(#[source] io::Error),
    /// The time limit is over.
    #[error(
        "git did not finish within {} s and was stopped: it may wait at a pipe, a device or a file \
         system that does not answer. For a large repository raise the limit: OFFSHOOT_GIT_LIMIT \
         for the daemon, Agents::git_limit for an embedded runtime",
        .0.as_secs()
    )]
    Late(Duration),
    /// Git reported an error.
    #[error("git says: {0}")]
    Reported(String),
    /// The sandbox failed.
    #[error("git cannot be confined, as it must be where others may have it run programs")]
    Confinement(#[from] ConfinementError),
}

impl GitError {
    /// Whether git met a worktree whose files another git is writing. Git reads those of all
    /// worktrees, and each is empty for a moment.
    pub(crate) fn is_half_made_worktree(&self) -> bool {
        let Self::Reported(text) = self else { return false };
        text.starts_with("failed to read ") && text.contains("/worktrees/")
    }
}

/// One run of git. Dropping its future kills git. The operations on worktrees set the time limit.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    target: GitTarget,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    /// The worktree that it writes.
    writes: Option<PathBuf>,
    confined: Option<Arc<ConfinedGit>>,
}

/// The repository that git runs on.
#[derive(Clone, Debug)]
enum GitTarget {
    Within(PathBuf),
    Repository(PathBuf),
    Tree { repository: PathBuf, admin: PathBuf, tree: PathBuf },
}

/// The output of git.
#[derive(Debug)]
pub(crate) struct GitOutput {
    pub(crate) success: bool,
    /// The beginning of its standard output.
    pub(crate) out: Vec<u8>,
    /// The number of zero bytes in its standard output: records, with `-z`.
    pub(crate) records: u64,
    /// The beginning of its standard error.
    pub(crate) err: String,
}

impl GitOutput {
    /// The standard output without the end of its line. None if it is not UTF-8.
    pub(crate) fn line(&self) -> Option<&str> {
        let out = std::str::from_utf8(&self.out).ok()?;
        Some(out.strip_suffix('\n').unwrap_or(out))
    }

    pub(crate) fn error(&self) -> GitError {
        let error = self.err.trim();
        let error = error.strip_prefix("fatal: ").unwrap_or(error);
        GitError::Reported(
            text::cut(if error.is_empty() { "nothing" } else { error }, SHOWN_ERROR).into_owned(),
        )
    }

    /// The output, or an error if git failed.
    pub(crate) fn succeeded(self) -> Result<Self, GitError> {
        if self.success { Ok(self) } else { Err(self.error()) }
    }
}

impl GitTarget {
    /// The directory in which git runs.
    fn directory(&self) -> &Path {
        match self {
            Self::Within(folder) | Self::Repository(folder) => folder,
            Self::Tree { tree, .. } => tree,
        }
    }

    /// The directories that an agent may write to.
    fn near(&self) -> Vec<&Path> {
        let around = self.repository().and_then(Path::parent);
        around.into_iter().chain([self.directory()]).collect()
    }

    /// The repository, if it is known.
    fn repository(&self) -> Option<&Path> {
        match self {
            Self::Within(_) => None,
            Self::Repository(repository) | Self::Tree { repository, .. } => Some(repository),
        }
    }
}

impl Git {
    /// Runs on the repository that this directory is in.
    pub(crate) fn within(folder: &Path) -> Self {
        Self::new(GitTarget::Within(folder.to_owned()))
    }

    /// Runs on this repository, given by its git directory.
    pub(crate) fn of(repository: &Path) -> Self {
        Self::new(GitTarget::Repository(repository.to_owned()))
    }

    /// Runs on a worktree of this repository, whose head and index are in `admin`. Git follows
    /// neither the `.git` of the worktree nor the files of `admin` to a repository, because the
    /// agent in the worktree can write them.
    pub(crate) fn of_tree(repository: &Path, admin: &Path, tree: &Path) -> Self {
        let (repository, admin) = (repository.to_owned(), admin.to_owned());
        Self::new(GitTarget::Tree { repository, admin, tree: tree.to_owned() })
    }

    fn new(target: GitTarget) -> Self {
        let (arguments, variables) = (Vec::new(), Vec::new());
        Self { target, arguments, variables, writes: None, confined: None }
    }

    /// Prepares a run that may run filters. The filters of the repository's own configuration are
    /// disabled. Those of the user's configuration run, confined as git itself.
    pub(crate) async fn filtering(
        mut self,
        confinement: &GitConfinement,
    ) -> Result<Self, GitError> {
        let listed = Self::new(self.target.clone()).args(filters::LIST).run().await?;
        // Without filters git fails and reports no error.
        if !listed.success && !listed.err.is_empty() {
            return Err(listed.error());
        }
        if listed.out.len() >= KEPT {
            return Err(GitError::Reported("its configuration names too many filters".to_owned()));
        }
        let variables = filters::disable(&listed.out).into_iter();
        self.variables.extend(variables.map(|(name, value)| (name.into(), value.into())));
        // An agent may change the configuration before git reads it, and an embedded repository has
        // its own. So git is confined to what it must write, and to nothing if it only reads.
        let writable = self.writes.iter().flat_map(|tree| {
            self.target.repository().into_iter().chain([tree.as_path()]).map(Path::to_owned)
        });
        self.confined = confinement.of(writable)?.map(Arc::new);
        Ok(self)
    }

    /// Prepares a run that writes this worktree. It can be found if it outlives this process.
    pub(crate) fn writing(mut self, tree: &Path) -> Self {
        self.writes = Some(tree.to_owned());
        self.marked(tree)
    }

    /// Adds the variable by which the next process finds the run.
    pub(crate) fn marked(mut self, tree: &Path) -> Self {
        self.variables.push((orphans::MARK.into(), tree.into()));
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(crate) fn arg(self, arg: &str) -> Self {
        self.args([arg])
    }

    fn command(&self) -> Result<Command, GitError> {
        let search = std::env::var_os("PATH").unwrap_or_default();
        let places = programs::search_directories(search, &self.target.near());
        let git = programs::find(&places, "git").ok_or(GitError::Missing)?;
        let mut command = match &self.confined {
            None => Command::new(git),
            Some(confined) => confined.command(&git).into(),
        };
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"GIT_") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(self.target.directory())
            .env("LC_ALL", "C")
            .env("PATH", std::env::join_paths(places).unwrap_or_default())
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            // A partial clone would fetch with programs that its configuration names.
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_EDITOR", "false")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .arg("--no-pager")
            .arg("--literal-pathspecs")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Keys that are typed at the terminal do not reach it.
            .process_group(0)
            .kill_on_drop(true);
        for setting in SETTINGS {
            command.arg("-c").arg(setting);
        }
        match &self.target {
            GitTarget::Within(folder) => {
                // Any user can make a repository in a directory that all share.
                let top = project_ancestors(folder).last().and_then(Path::parent);
                command.envs(top.map(|shared| ("GIT_CEILING_DIRECTORIES", shared)));
            }
            GitTarget::Repository(repository) => {
                command.arg("--git-dir").arg(repository);
            }
            GitTarget::Tree { repository, admin, tree } => {
                command.env("GIT_COMMON_DIR", repository);
                command.arg("--git-dir").arg(admin).arg("--work-tree").arg(tree);
            }
        }
        command.args(&self.arguments);
        Ok(command)
    }

    fn start(&self) -> Result<(Child, ProcessGroup), GitError> {
        let child = self.command()?.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => GitError::Missing,
            _ => GitError::Start(error),
        })?;
        let group = ProcessGroup(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
        Ok((child, group))
    }

    /// Runs git to its end, again if it met a worktree that another git was making. The run
    /// must change nothing before it fails.
    pub(crate) async fn run(self) -> Result<GitOutput, GitError> {
        for _ in 1..ATTEMPTS {
            let output = self.clone().run_once().await?;
            if output.success || !output.error().is_half_made_worktree() {
                return Ok(output);
            }
        }
        self.run_once().await
    }

    /// Runs git to its end.
    pub(crate) async fn run_once(self) -> Result<GitOutput, GitError> {
        // Finding git and entering the directory may block.
        let started = blocking(move || self.start()).await.map_err(GitError::Start)?;
        let (mut child, mut group) = started?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let read = futures_util::future::try_join(read(out), read(err)).await;
        let (out, err) = read.map_err(GitError::Start)?;
        let status = child.wait().await.map_err(GitError::Start)?;
        group.0 = None;
        Ok(GitOutput {
            success: status.success(),
            out: out.kept,
            records: out.records,
            err: String::from_utf8_lossy(&err.kept).into_owned(),
        })
    }
}

/// The process group of a run, killed when this is dropped before the end of the run. Git starts
/// other processes to write files.
struct ProcessGroup(Option<Pid>);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may have ended a moment ago.
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}

/// The content of a pipe.
#[derive(Default)]
struct PipeContent {
    kept: Vec<u8>,
    records: u64,
}

/// Reads a pipe to its end and keeps the beginning.
async fn read(pipe: Option<impl AsyncRead + Unpin>) -> io::Result<PipeContent> {
    let (mut read, mut buffer) = (PipeContent::default(), vec![0; 16 << 10]);
    let Some(mut pipe) = pipe else { return Ok(read) };
    loop {
        let some = match pipe.read(&mut buffer).await? {
            0 => return Ok(read),
            count => &buffer[..count],
        };
        read.records += some.iter().filter(|byte| **byte == 0).count() as u64;
        let room = KEPT.saturating_sub(read.kept.len());
        read.kept.extend_from_slice(&some[..some.len().min(room)]);
    }
}
