//! Running git: without hooks, without prompts, without the programs that a
//! repository brings, and without what in our environment would lead it elsewhere.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use offshoot_core::text;
use offshoot_sandbox::ConfinementError;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use super::blocking::blocking;
use super::confines::{Confined, Confines};
use super::filters;
use super::orphans;
use super::programs;
use crate::project::project_ancestors;

/// How much of what it says is kept.
const KEPT: usize = 64 << 10;

/// How much of an error is told.
const TOLD: usize = 1_000;

/// What holds whatever is configured. A repository's hooks are its own programs,
/// and so is a file system monitor: a worktree is made and removed without them.
const SETTINGS: [&str; 7] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "protocol.ext.allow=never",
];

/// Why git did not do what it should.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    #[error("git is not installed, or not in PATH: do without isolation, or install it")]
    Missing,
    #[error("git could not be run")]
    Start(#[source] io::Error),
    #[error(
        "git did not finish within {} s and was stopped: it may wait at a pipe, a device or a file \
         system that does not answer. For a large repository raise the limit: OFFSHOOT_GIT_LIMIT \
         for the daemon, Agents::git_limit for an embedded runtime",
        .0.as_secs()
    )]
    Late(Duration),
    #[error("git says: {0}")]
    Said(String),
    #[error("git cannot be confined, as it must be where others may have it run programs")]
    Confinement(#[from] ConfinementError),
}

/// A run of git that is prepared. It has no time limit of its own: dropping it while
/// it runs kills it, and each operation on a worktree has a limit
/// ([`Worktrees::limited`](super::Worktrees::limited)).
#[derive(Debug)]
pub(super) struct Git {
    about: About,
    arguments: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    /// The worktree that it writes.
    writes: Option<PathBuf>,
    confined: Option<Confined>,
}

/// What git is asked about.
#[derive(Clone, Debug)]
enum About {
    Within(PathBuf),
    Repository(PathBuf),
    Tree { repository: PathBuf, admin: PathBuf, tree: PathBuf },
}

/// What git said.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) success: bool,
    /// The beginning of what it said, as it was written.
    pub(super) out: Vec<u8>,
    /// How many parts that end in a zero byte.
    pub(super) records: u64,
    /// The beginning of what it complained about.
    pub(super) err: String,
}

impl Said {
    /// What it said, without the end of its line. Nothing if that is not UTF-8.
    pub(super) fn line(&self) -> Option<&str> {
        let said = std::str::from_utf8(&self.out).ok()?;
        Some(said.strip_suffix('\n').unwrap_or(said))
    }

    pub(super) fn error(&self) -> GitError {
        let said = self.err.trim();
        let said = said.strip_prefix("fatal: ").unwrap_or(said);
        GitError::Said(text::cut(if said.is_empty() { "nothing" } else { said }, TOLD).into_owned())
    }

    /// The same if it did what it should.
    pub(super) fn succeeded(self) -> Result<Self, GitError> {
        if self.success { Ok(self) } else { Err(self.error()) }
    }
}

impl About {
    /// Where git is run.
    fn folder(&self) -> &Path {
        match self {
            Self::Within(folder) | Self::Repository(folder) => folder,
            Self::Tree { tree, .. } => tree,
        }
    }

    /// Where whoever it is asked for may write.
    fn near(&self) -> Vec<&Path> {
        let around = self.repository().and_then(Path::parent);
        around.into_iter().chain([self.folder()]).collect()
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
    /// About whatever repository this folder is in.
    pub(super) fn within(folder: &Path) -> Self {
        Self::new(About::Within(folder.to_owned()))
    }

    /// About this repository, found at its own folder.
    pub(super) fn of(repository: &Path) -> Self {
        Self::new(About::Repository(repository.to_owned()))
    }

    /// About a tree of files of this repository, whose head and index are in
    /// `admin`. Nothing is looked for above it, should what leads there from the
    /// tree be gone, and nothing where `admin` says that the repository is: whoever
    /// works in the tree can write there.
    pub(super) fn of_tree(repository: &Path, admin: &Path, tree: &Path) -> Self {
        let (repository, admin) = (repository.to_owned(), admin.to_owned());
        Self::new(About::Tree { repository, admin, tree: tree.to_owned() })
    }

    fn new(about: About) -> Self {
        let (arguments, variables) = (Vec::new(), Vec::new());
        Self { about, arguments, variables, writes: None, confined: None }
    }

    /// It may have filters to run. Those that the repository's own configuration
    /// names do nothing: they are programs that whoever wrote it chose. Those of
    /// the person's own configuration run, as confined as git itself.
    pub(super) async fn filtering(mut self, confines: &Confines) -> Result<Self, GitError> {
        let asked = Self::new(self.about.clone()).args(filters::ASKED).run().await?;
        // It says nothing at all if there are none.
        if !asked.success && !asked.err.is_empty() {
            return Err(asked.error());
        }
        if asked.out.len() >= KEPT {
            return Err(GitError::Said("its configuration names too many filters".to_owned()));
        }
        let undone = filters::undone(&asked.out).into_iter();
        self.variables.extend(undone.map(|(name, value)| (name.into(), value.into())));
        // Somebody may write another configuration before git reads it, and what is
        // embedded in a tree has one of its own. So git writes no more than it must,
        // and nothing while it only looks.
        let writable = self.writes.iter().flat_map(|tree| {
            self.about.repository().into_iter().chain([tree.as_path()]).map(Path::to_owned)
        });
        self.confined = confines.of(writable)?;
        Ok(self)
    }

    /// It writes this worktree, and can be found by that should it outlive us.
    pub(super) fn writing(mut self, tree: &Path) -> Self {
        self.writes = Some(tree.to_owned());
        self.marked(tree)
    }

    /// It carries the mark of this worktree, by which the next daemon finds it.
    pub(super) fn marked(mut self, tree: &Path) -> Self {
        self.variables.push((orphans::MARK.into(), tree.into()));
        self
    }

    pub(super) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(super) fn arg(self, arg: &str) -> Self {
        self.args([arg])
    }

    fn command(&self) -> Result<Command, GitError> {
        let search = std::env::var_os("PATH").unwrap_or_default();
        let places = programs::places(search, &self.about.near());
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
            .current_dir(self.about.folder())
            .env("LC_ALL", "C")
            .env("PATH", std::env::join_paths(places).unwrap_or_default())
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            // What is missing in a partial clone is not fetched by programs that
            // its configuration names.
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_EDITOR", "false")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .arg("--no-pager")
            .arg("--literal-pathspecs")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // What is typed at our terminal is not for it.
            .process_group(0)
            .kill_on_drop(true);
        for setting in SETTINGS {
            command.arg("-c").arg(setting);
        }
        match &self.about {
            About::Within(folder) => {
                // Any user can make a repository in a directory that all share.
                let top = project_ancestors(folder).last().and_then(Path::parent);
                command.envs(top.map(|shared| ("GIT_CEILING_DIRECTORIES", shared)));
            }
            About::Repository(repository) => {
                command.arg("--git-dir").arg(repository);
            }
            About::Tree { repository, admin, tree } => {
                command.env("GIT_COMMON_DIR", repository);
                command.arg("--git-dir").arg(admin).arg("--work-tree").arg(tree);
            }
        }
        command.args(&self.arguments);
        Ok(command)
    }

    fn start(&self) -> Result<(Child, Group), GitError> {
        let child = self.command()?.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => GitError::Missing,
            _ => GitError::Start(error),
        })?;
        let group = Group(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
        Ok((child, group))
    }

    /// Runs it to its end, whatever that is.
    pub(super) async fn run(self) -> Result<Said, GitError> {
        // To find git and to enter the directory may block.
        let started = blocking(move || self.start()).await.map_err(GitError::Start)?;
        let (mut child, mut group) = started?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let read = futures_util::future::try_join(read(out), read(err)).await;
        let (out, err) = read.map_err(GitError::Start)?;
        let status = child.wait().await.map_err(GitError::Start)?;
        group.0 = None;
        Ok(Said {
            success: status.success(),
            out: out.kept,
            records: out.records,
            err: String::from_utf8_lossy(&err.kept).into_owned(),
        })
    }
}

/// The processes of a run, killed when this is dropped before its end: git has
/// others write the files of a tree.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may have ended a moment ago.
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}

/// What came out of a pipe.
#[derive(Default)]
struct Read {
    kept: Vec<u8>,
    records: u64,
}

/// Reads a pipe to its end and keeps the beginning.
async fn read(pipe: Option<impl AsyncRead + Unpin>) -> io::Result<Read> {
    let (mut read, mut buffer) = (Read::default(), vec![0; 16 << 10]);
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
