//! Shared code of the scenarios.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_backends::{
    Attach, Command, Commands, CommandsBuilder, Helper, LogLimits, OutputLog, Report, Stream,
    Surroundings,
};
use offshoot_core::{Outcome, Task, TaskState};
use offshoot_runtime::{Runtime, Session, TaskRef, TaskRequest};
use offshoot_sqlite::Sqlite;
use offshoot_store::Memory;
use tempfile::TempDir;

pub(crate) type Test = Result<(), Box<dyn std::error::Error>>;

/// A variable that holds a key.
pub(crate) const KEY: &str = "HOME";

/// The store of a test.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Records {
    Memory,
    Sqlite,
}

/// A data directory, a runtime on it, and its session.
pub(crate) struct World {
    pub(crate) folder: Arc<TempDir>,
    pub(crate) commands: Commands,
    pub(crate) runtime: Runtime,
    pub(crate) session: Session,
}

impl World {
    pub(crate) async fn open() -> Self {
        Self::on(Records::Memory, LogLimits::default()).await
    }

    pub(crate) async fn on(records: Records, limits: LogLimits) -> Self {
        Self::again(Arc::new(tempfile::tempdir().unwrap()), records, limits).await
    }

    /// Opens a world whose commands are known by their marks alone.
    pub(crate) async fn without_cgroups() -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let holding = Commands::builder(folder.path()).without_cgroups();
        Self::of(folder, Records::Memory, holding).await
    }

    /// Opens a data directory that may have been used before.
    pub(crate) async fn again(folder: Arc<TempDir>, records: Records, limits: LogLimits) -> Self {
        let holding = Commands::builder(folder.path()).limits(limits);
        Self::of(folder, records, holding).await
    }

    async fn of(folder: Arc<TempDir>, records: Records, holding: CommandsBuilder) -> Self {
        let helper = Helper::at(env!("CARGO_BIN_EXE_offshoot-confiner"));
        let commands = holding.helper(helper).secrets([KEY]).open().unwrap();
        let backend = commands.backend();
        let runtime = match records {
            Records::Memory => {
                Runtime::builder(Memory::new()).backend(Commands::KIND, backend).open().await
            }
            Records::Sqlite => {
                let store = Sqlite::at(folder.path());
                Runtime::builder(store).backend(Commands::KIND, backend).open().await
            }
        };
        let runtime = runtime.unwrap();
        let session = runtime.session("main").await.unwrap();
        Self { folder, commands, runtime, session }
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        Command::new(program, self.folder.path()).unwrap()
    }

    /// Spawns a shell script.
    pub(crate) fn script(&self, script: &str) -> Command {
        self.command("sh").args(["-c", script]).unwrap()
    }

    pub(crate) fn request(&self, command: Command) -> TaskRequest {
        self.commands.request(command, Some(Surroundings::own()), Attach::No).unwrap()
    }

    pub(crate) async fn spawn(&self, script: &str) -> TaskRef {
        self.session.spawn(self.request(self.script(script))).await.unwrap()
    }

    /// Runs a script to its end.
    pub(crate) async fn run(&self, script: &str) -> Task {
        let task = self.spawn(script).await;
        task.wait().await.unwrap().task
    }

    pub(crate) fn log(&self, task: &Task) -> OutputLog {
        self.commands.log(task.id())
    }

    pub(crate) fn log_folder(&self, task: &Task) -> PathBuf {
        self.folder.path().join("logs").join(task.id().to_string())
    }

    /// Waits until the command has written this line.
    pub(crate) async fn until_line(&self, task: &TaskRef, line: &str) {
        let mut follower = self.commands.log(task.id()).follow(0);
        let mut seen = Vec::new();
        while let Some(piece) = follower.next().await.unwrap() {
            seen.extend(piece.chunks.into_iter().flat_map(|chunk| chunk.bytes));
            if String::from_utf8_lossy(&seen).lines().any(|one| one == line) {
                return;
            }
        }
        panic!("{line:?} never came: {:?}", String::from_utf8_lossy(&seen));
    }
}

/// Returns the kept output of a log, and the number of dropped bytes.
pub(crate) async fn all(log: &OutputLog) -> (Vec<(Stream, Vec<u8>)>, u64) {
    let (mut chunks, mut gap, mut from) = (Vec::<(Stream, Vec<u8>)>::new(), 0, 0);
    loop {
        let piece = log.read(from, 100_000).await.unwrap();
        if piece.is_empty() {
            return (chunks, gap);
        }
        gap += piece.gap;
        from = piece.next;
        for chunk in piece.chunks {
            match chunks.last_mut() {
                Some((stream, bytes)) if *stream == chunk.stream => bytes.extend(chunk.bytes),
                _ => chunks.push((chunk.stream, chunk.bytes)),
            }
        }
    }
}

/// Returns the kept output of a log, both streams together.
pub(crate) async fn bytes(log: &OutputLog) -> Vec<u8> {
    all(log).await.0.into_iter().flat_map(|(_, bytes)| bytes).collect()
}

/// Returns the report in the record.
pub(crate) fn report(task: &Task) -> Report {
    task.progress.as_ref().expect("it reported").value.decode().unwrap()
}

/// Waits for the report in the record of a running task.
pub(crate) async fn reported(task: &TaskRef) -> Report {
    let mut watch = task.watch();
    loop {
        let record = watch.next().await.expect("it runs").unwrap();
        if record.progress.is_some() {
            return report(&record);
        }
    }
}

pub(crate) fn failure(task: &Task) -> &offshoot_core::Failure {
    match task.ended() {
        Some(Outcome::Failed(failure)) => failure,
        other => panic!("not failed: {other:?}"),
    }
}

pub(crate) fn forced(task: &Task) -> bool {
    assert_eq!(task.state, TaskState::Cancelled, "{:?}", task.outcome);
    matches!(task.ended(), Some(Outcome::Cancelled { forced: true, .. }))
}

/// Whether the process with this number runs.
pub(crate) fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat"));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim().starts_with('Z'))
}
