//! Shared code of the tests.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use offshoot_sandbox::{Confinement, Helper, Lack, Support, probe};
use tempfile::TempDir;

/// A user without files.
const NOBODY: u32 = 65534;

/// A tree with a working directory, a hidden directory and others.
pub(crate) struct TestWorkspace {
    folder: TempDir,
    user: Option<u32>,
    operations: PathBuf,
    confined: Confined,
}

/// The way programs are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confined {
    /// By Landlock and seccomp alone.
    Floor,
    /// In namespaces as well.
    Namespaces,
}

/// Returns workspaces for this user and, for root, also for another user, each with
/// namespaces and without, as far as the system supports them.
///
/// Returns none, with a message, on a system without Landlock.
pub(crate) fn workspaces() -> Vec<TestWorkspace> {
    let mut workspaces = workspaces_of(Confined::Namespaces);
    workspaces.extend(workspaces_of(Confined::Floor));
    workspaces
}

/// The same with namespaces or without.
pub(crate) fn workspaces_of(confined: Confined) -> Vec<TestWorkspace> {
    let helper = Helper::at(env!("CARGO_BIN_EXE_offshoot-operations"));
    if confined == Confined::Namespaces
        && let Err(why) = helper.namespaces()
    {
        eprintln!("SKIPPED: there are no namespaces here: {why}");
        return Vec::new();
    }
    match probe() {
        Support::No(lack @ (Lack::Landlock | Lack::OldLandlock)) => {
            eprintln!("SKIPPED: nothing can be confined here: {lack}");
            Vec::new()
        }
        Support::No(lack) => panic!("nothing can be confined here: {lack}"),
        Support::Whole | Support::ButSignals => {
            let mut workspaces = vec![TestWorkspace::of(None, confined)];
            if rustix::process::geteuid().is_root() {
                workspaces.push(TestWorkspace::of(Some(NOBODY), confined));
            }
            workspaces
        }
    }
}

impl TestWorkspace {
    fn of(user: Option<u32>, confined: Confined) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let operations = env!("CARGO_BIN_EXE_offshoot-operations").into();
        let mut workspace = Self { folder, user, operations, confined };
        if user.is_some() {
            // The program may be where only this user may look.
            workspace.operations = workspace.copied(&workspace.path("operations"));
        }
        for (name, file) in [
            ("work", "work/own"),
            ("data", "data/secret"),
            ("near", "near/plain"),
            ("free", "free/file"),
            ("held", "held/file"),
        ] {
            std::fs::create_dir(workspace.path(name)).unwrap();
            std::fs::write(workspace.path(file), format!("{name}\n")).unwrap();
        }
        for target in ["free", "held"] {
            std::fs::create_dir(workspace.path(target).join("empty")).unwrap();
            std::os::unix::fs::symlink("file", workspace.path(target).join("link")).unwrap();
        }
        workspace.own_all();
        workspace
    }

    /// Puts another copy of the program there. Another process writes it: while this one
    /// wrote it, a new child would hold it open, too, and it could not be executed.
    pub(crate) fn copied(&self, to: &Path) -> PathBuf {
        let copied = Command::new(found("cp")).arg(&self.operations).arg(to).status().unwrap();
        assert!(copied.success());
        to.to_owned()
    }

    /// Makes the user the owner of the whole tree.
    pub(crate) fn own_all(&self) {
        if let Some(user) = self.user {
            for (path, _) in tree(self.root()) {
                std::os::unix::fs::lchown(path, Some(user), Some(user)).unwrap();
            }
            std::os::unix::fs::chown(self.root(), Some(user), Some(user)).unwrap();
        }
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().canonicalize().unwrap().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn helper(&self) -> Helper {
        match self.confined {
            Confined::Floor => Helper::at(&self.operations).without_namespaces(),
            Confined::Namespaces => Helper::at(&self.operations),
        }
    }

    pub(crate) fn is_apart(&self) -> bool {
        self.confined == Confined::Namespaces
    }

    /// Whether this error is that of a hidden path. In namespaces the path does not exist.
    pub(crate) fn is_unseen(&self, errno: &str) -> bool {
        errno == libc_errno::EACCES || (self.is_apart() && errno == libc_errno::ENOENT)
    }

    pub(crate) fn operations(&self) -> String {
        self.operations.to_str().unwrap().to_owned()
    }

    pub(crate) fn is_root(&self) -> bool {
        self.user.is_none() && rustix::process::geteuid().is_root()
    }

    /// Returns a confinement with the working directory and the hidden one.
    pub(crate) fn usual(&self) -> Confinement {
        Confinement::new([self.path("work")], [self.path("data")]).unwrap()
    }

    /// Returns a command of the workspace's user, in the working directory.
    pub(crate) fn prepared(&self, mut command: Command) -> Command {
        command.current_dir(self.path("work")).env("HOME", self.path("work"));
        command.env("TMPDIR", self.path("work")).env("PATH", "/usr/bin:/bin");
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    pub(crate) fn free(&self, program: &str, args: &[&str]) -> Output {
        let mut command = self.prepared(Command::new(found(program)));
        command.args(args).output().unwrap()
    }

    pub(crate) fn confined(&self, program: &str, args: &[&str]) -> Output {
        self.confined_by(&self.usual(), program, args)
    }

    pub(crate) fn confined_by(&self, by: &Confinement, program: &str, args: &[&str]) -> Output {
        let command = by.command(&self.helper(), found(program));
        self.prepared(command).args(args).output().unwrap()
    }

    /// Checks that an operation works, and is refused to a confined program.
    pub(crate) fn refuses(&self, operation: &[&str]) {
        let free = self.free(&self.operations(), operation);
        assert!(free.status.success(), "{operation:?} works: {free:?}");
        self.refuses_only(operation);
    }

    /// Checks that an operation that works unconfined is refused.
    pub(crate) fn refuses_only(&self, operation: &[&str]) {
        let held = self.confined(&self.operations(), operation);
        assert_eq!(held.status.code(), Some(1), "{operation:?} is refused: {held:?}");
        let errno = said(&held);
        let apart = [libc_errno::ENOENT, libc_errno::ESRCH, libc_errno::EROFS];
        let refused = [libc_errno::EPERM, libc_errno::EACCES].contains(&errno.as_str())
            || (self.is_apart() && apart.contains(&errno.as_str()));
        assert!(refused, "{operation:?} is refused for this: {errno}");
    }

    /// Checks that a script changes a directory outside, but only while it is unconfined.
    pub(crate) fn keeps_outside(&self, script: &str) {
        let (free, held) = (self.path("free"), self.path("held"));
        let (before, kept) = (tree(&free), tree(&held));
        let done = self.free("sh", &["-c", script, "sh", free.to_str().unwrap()]);
        assert!(done.status.success(), "{script} works: {done:?}");
        assert_ne!(tree(&free), before, "{script} changes something");
        let tried = self.confined("sh", &["-c", script, "sh", held.to_str().unwrap()]);
        assert!(!tried.status.success(), "{script} is refused: {tried:?}");
        assert_ne!(tried.status.code(), Some(126), "{script} was executed: {tried:?}");
        assert_eq!(tree(&held), kept, "{script} changes nothing");
    }
}

/// The format in which the operations print them.
mod libc_errno {
    pub(super) const EPERM: &str = "1";
    pub(super) const EACCES: &str = "13";
    pub(super) const ENOENT: &str = "2";
    pub(super) const ESRCH: &str = "3";
    pub(super) const EROFS: &str = "30";
}

/// Returns the path of a program that every user may execute.
pub(crate) fn found(program: &str) -> PathBuf {
    if program.contains('/') {
        return program.into();
    }
    let mut places = ["/usr/bin", "/bin"].iter().map(|place| Path::new(place).join(program));
    places.find(|file| file.exists()).unwrap_or_else(|| panic!("the tests need {program}"))
}

/// Returns all properties of the files below a directory.
pub(crate) fn tree(folder: &Path) -> BTreeMap<PathBuf, (u32, u64, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let known = path.symlink_metadata().unwrap();
        if known.is_dir() {
            found.extend(tree(&path));
        }
        let content = if known.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        let links = if known.is_dir() { 0 } else { known.nlink() };
        found.insert(path, (known.permissions().mode(), links, content));
    }
    found
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub(crate) fn complained(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}
