//! Programs that start processes outside their group and session while they are being ended, and
//! the processes that are left of them: none.
//!
//! `OFFSHOOT_TEST_RUNS=2000 cargo test -p offshoot-backends --test scenarios fugitives` runs more
//! of them than the default.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use offshoot_backends::{Attach, Command, Commands, LogLimits, Surroundings};
use offshoot_runtime::Runtime;
use offshoot_sqlite::Sqlite;
use rustix::fs::{Mode, OFlags};
use tempfile::TempDir;

use crate::support::{Records, Test, World};

/// The total number of runs.
const RUNS: &str = "OFFSHOOT_TEST_RUNS";

/// The variable with the directory of the second process, and its number of programs.
const HELD: &str = "OFFSHOOT_TEST_HELD";
const HELD_RUNS: &str = "OFFSHOOT_TEST_HELD_RUNS";

/// The number of concurrent programs.
const AT_ONCE: usize = 4;

/// The beginning of every program. Descriptor 9 is the write end of the run's pipe: each process that
/// descends from the program has it, and the pipe has an end once no process is left. The program
/// ends or stays, as its second argument says; a `hop` forks and exits, a bounded number of times.
pub(crate) const HEAD: &str = r#"exec 9>"$1"; echo begun >&9
go() { if test "$1" = stay; then echo on; read end; fi; }
hop() { test "$1" -gt 0 || exit 0; hop $(($1 - 1)) & exit 0; }
"#;

/// Each program and its name. All of them end by themselves within a minute.
const PROGRAMS: [(&str, &str); 6] = [
    ("double fork", "setsid sh -c 'setsid sleep 30 & exit 0' & go $2; exit 0"),
    ("late double fork", "go $2; (setsid sh -c 'sh -c \"exec setsid sleep 30\" &' &) ; exit 0"),
    (
        "daemon",
        "(setsid env -i PATH=\"$PATH\" sh -c '(cd /; exec sleep 30 <&- >&- 2>&-) &' &); go $2; exit 0",
    ),
    ("hop", "(hop 20000) & go $2; exit 0"),
    ("deaf hop", "trap '' TERM; (hop 20000) & go $2; exit 0"),
    (
        "hop across sessions",
        r#"cat >"$1.sh" <<'X'
test "$1" -gt 0 && setsid sh "$0" $(($1 - 1)) &
exit 0
X
setsid sh "$1.sh" 5000 & go $2; exit 0"#,
    ),
];

/// The way a run is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Exit,
    Cancel,
    Timeout,
    Kill,
}

/// The read end of a run's pipe.
pub(crate) struct Pipe(File);

impl Pipe {
    /// Makes the pipe of a run.
    pub(crate) fn make(path: &Path) -> Self {
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, Mode::RWXU, 0)
            .unwrap();
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        Self(std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path).unwrap())
    }

    /// Returns the kernel's data on the processes that have the write end.
    pub(crate) fn state(&mut self) -> Left {
        let (mut begun, mut piece) = (false, [0; 64]);
        loop {
            match self.0.read(&mut piece) {
                Ok(0) if begun => return Left::Gone,
                Ok(0) => return Left::NotBegun,
                Ok(_) => begun = true,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Left::Running,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// The leftovers of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// The program was ended before it began.
    NotBegun,
    Gone,
    Running,
}

/// A program to run and end.
#[derive(Clone, Copy, Debug)]
struct Run {
    number: usize,
    program: usize,
    ending: Ending,
}

impl Run {
    fn numbered(number: usize, endings: &[Ending]) -> Self {
        let program = number % PROGRAMS.len();
        Self { number, program, ending: endings[number / PROGRAMS.len() % endings.len()] }
    }

    fn pipe(self) -> String {
        format!("pipe-{}", self.number)
    }

    fn command(self, folder: &Path) -> Command {
        let script = format!("{HEAD}{}", PROGRAMS[self.program].1);
        let stays = if self.ending == Ending::Exit { "exit" } else { "stay" };
        let command = Command::new("sh", folder).unwrap();
        command.args(["-c", &script, "sh", &self.pipe(), stays]).unwrap()
    }
}

/// The results of all runs.
#[derive(Default)]
struct Tally {
    runs: usize,
    not_begun: usize,
    left: Vec<Run>,
}

impl Tally {
    fn note(&mut self, run: Run, state: Left) {
        self.runs += 1;
        match state {
            Left::Gone => {}
            Left::NotBegun => self.not_begun += 1,
            Left::Running => self.left.push(run),
        }
    }

    fn check(&self) {
        let mut text = String::new();
        for run in &self.left {
            let name = PROGRAMS[run.program].0;
            writeln!(text, "left: run {}, {name}, {:?}", run.number, run.ending).unwrap();
        }
        println!("{} runs, {} not begun, {} left", self.runs, self.not_begun, self.left.len());
        assert!(self.left.is_empty(), "{} of {}\n{text}", self.left.len(), self.runs);
        assert!(self.not_begun * 2 <= self.runs, "{} never began", self.not_begun);
    }
}

fn runs() -> usize {
    std::env::var(RUNS).ok().and_then(|runs| runs.parse().ok()).unwrap_or(72)
}

async fn execute(world: &World, run: Run) -> (Run, Left) {
    let mut pipe = Pipe::make(&world.folder.path().join(run.pipe()));
    let request = world.request(run.command(world.folder.path()));
    let spawn = world.session.spawn(request).grace(Duration::from_millis(50));
    let task = match run.ending {
        Ending::Timeout => spawn.timeout(Duration::from_millis(100)).await.unwrap(),
        _ => spawn.await.unwrap(),
    };
    if run.ending == Ending::Cancel {
        world.until_line(&task, "on").await;
        task.cancel("enough").await.unwrap();
    }
    task.wait().await.unwrap();
    (run, pipe.state())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s6_1_no_process_outlives_a_command_that_exits_is_cancelled_or_takes_too_long() -> Test {
    let world = World::open().await;
    let mut tally = Tally::default();
    let endings = [Ending::Exit, Ending::Cancel, Ending::Timeout];
    let all: Vec<Run> = (0..runs() * 3 / 4).map(|number| Run::numbered(number, &endings)).collect();
    for some in all.chunks(AT_ONCE) {
        for (run, state) in join_all(some.iter().map(|run| execute(&world, *run))).await {
            tally.note(run, state);
        }
    }
    tally.check();
    Ok(())
}

/// The second process: it runs programs and stays.
#[test]
#[ignore = "only meant to be killed"]
fn holds_programs_until_killed() {
    let Ok(folder) = std::env::var(HELD) else { return };
    let runs: usize = std::env::var(HELD_RUNS).unwrap().parse().unwrap();
    rustix::process::setsid().unwrap();
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio.block_on(async {
        let commands = Commands::at(&folder).unwrap();
        let builder = Runtime::builder(Sqlite::at(&folder));
        let runtime = builder.backend(Commands::KIND, commands.backend()).open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        for run in (0..runs).map(|number| Run::numbered(number, &[Ending::Kill])) {
            let command = run.command(Path::new(&folder));
            let request = commands.request(command, Some(Surroundings::own()), Attach::No).unwrap();
            let task = session.spawn(request).await.unwrap();
            let mut log = commands.log(task.id()).follow(0);
            let mut seen = Vec::new();
            while !seen.ends_with(b"on\n") {
                let piece = log.next().await.unwrap().unwrap();
                seen.extend(piece.chunks.into_iter().flat_map(|chunk| chunk.bytes));
            }
        }
        println!("\nready");
        std::future::pending::<()>().await;
    });
}

/// Runs programs in a process that is killed, and lets the next one end the leftovers.
async fn killed(runs: usize) -> Vec<(Run, Left)> {
    let folder = Arc::new(TempDir::new().unwrap());
    let all: Vec<Run> = (0..runs).map(|number| Run::numbered(number, &[Ending::Kill])).collect();
    let path = |run: &Run| -> PathBuf { folder.path().join(run.pipe()) };
    let mut pipes: Vec<Pipe> = all.iter().map(|run| Pipe::make(&path(run))).collect();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "fugitives::holds_programs_until_killed", "--ignored", "--nocapture"])
        .env(HELD, folder.path())
        .env(HELD_RUNS, runs.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "ready"), "it gets ready");
    child.kill().unwrap();
    child.wait().unwrap();
    let world = World::again(folder.clone(), Records::Sqlite, LogLimits::default()).await;
    world.runtime.recovered().await;
    all.into_iter().zip(&mut pipes).map(|(run, pipe)| (run, pipe.state())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s9_2_no_process_outlives_the_recovery_of_a_killed_holder() -> Test {
    let mut tally = Tally::default();
    let mut left = runs() / 4;
    while left > 0 {
        let some = left.min(PROGRAMS.len() * 2);
        for (run, state) in killed(some).await {
            tally.note(run, state);
        }
        left -= some;
    }
    tally.check();
    Ok(())
}
