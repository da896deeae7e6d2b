//! A program whose process removes everything by which it is known for a command's: its resource
//! limit, its environment, its group and its parent.
//!
//! `OFFSHOOT_TEST_RUNS=400 cargo test -p offshoot-backends --test scenarios escaped` runs more of
//! them than the default.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use offshoot_backends::{Attach, Command, Commands, Helper, LogLimits, Surroundings};
use offshoot_core::TaskState;
use offshoot_runtime::{Runtime, TaskRef};
use offshoot_sqlite::Sqlite;
use tempfile::TempDir;

use crate::fugitives::{HEAD, Left, Pipe};
use crate::support::{Records, Test, World, reported, runs};

/// The number of concurrent programs.
const AT_ONCE: usize = 4;

/// The number of other commands that run meanwhile.
const OTHERS: usize = 3;

/// Each has a process without marks run in a session of its own, without a parent. All end by
/// themselves within a minute.
const ESCAPES: [&str; 3] = [
    "(cd /; exec sleep 60) & exit 0",
    "hop() { test $1 -gt 0 || exit 0; hop $(($1 - 1)) & exit 0; }; (hop 20000) & exit 0",
    "trap \"\" TERM; (end=6000; while test $end -gt 0; do sleep 0.01; end=$((end - 1)); done) & exit 0",
];

fn escape(number: usize) -> String {
    let escape = ESCAPES[number / ENDINGS.len() % ESCAPES.len()];
    format!(
        "{HEAD}prlimit --rttime=unlimited:unlimited setsid -w env -i PATH=\"$PATH\" \
        sh -c '{escape}' </dev/null >/dev/null 2>&1; go $2; exit 0"
    )
}

/// The way a run is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Exit,
    Cancel,
    Timeout,
    Kill,
}

const ENDINGS: [Ending; 3] = [Ending::Exit, Ending::Cancel, Ending::Timeout];

fn command(folder: &Path, number: usize, ending: Ending) -> Command {
    let script = escape(number);
    let stays = if ending == Ending::Exit { "exit" } else { "stay" };
    let command = Command::new("sh", folder).unwrap();
    command.args(["-c", &script, "sh", &pipe(number), stays]).unwrap()
}

fn pipe(number: usize) -> String {
    format!("pipe-{number}")
}

/// The largest number of programs of a test.
fn many(usual: usize) -> usize {
    let many = std::env::var("OFFSHOOT_TEST_RUNS").ok().and_then(|many| many.parse().ok());
    many.unwrap_or(usual)
}

/// Whether this system lets the tests make cgroups.
pub(crate) fn has_cgroups(commands: &Commands) -> bool {
    match commands.cgroups() {
        Ok(_) => true,
        Err(lack) => {
            eprintln!("SKIPPED: {lack}");
            false
        }
    }
}

async fn execute(world: &World, number: usize) -> Left {
    let ending = ENDINGS[number % ENDINGS.len()];
    let folder = world.folder.path();
    let mut pipe = Pipe::make(&folder.join(pipe(number)));
    let request = world.request(command(folder, number, ending));
    let spawn = world.session.spawn(request).grace(Duration::from_millis(50));
    let task = match ending {
        Ending::Timeout => spawn.timeout(Duration::from_millis(500)).await.unwrap(),
        _ => spawn.await.unwrap(),
    };
    if ending == Ending::Cancel {
        world.until_line(&task, "on").await;
        task.cancel("enough").await.unwrap();
    }
    task.wait().await.unwrap();
    pipe.state()
}

/// Commands that must not be harmed.
async fn others(world: &World) -> Vec<TaskRef> {
    let all = (0..OTHERS).map(|_| world.spawn("sleep 1000 & wait"));
    join_all(all).await
}

/// Counts the programs that left a process behind.
async fn left(world: &World) -> usize {
    let others = others(world).await;
    let mut states = Vec::new();
    for some in (0..many(24)).collect::<Vec<_>>().chunks(AT_ONCE) {
        states.extend(join_all(some.iter().map(|number| execute(world, *number))).await);
    }
    for other in others {
        let pid = reported(&other).await.pid.unwrap();
        assert_eq!(other.record().await.unwrap().state, TaskState::Running);
        assert!(runs(&pid.to_string()), "another command was harmed");
        other.cancel("enough").await.unwrap();
        other.wait().await.unwrap();
    }
    let count = |state| states.iter().filter(|one| **one == state).count();
    let left = count(Left::Running);
    println!("{} runs, {} not begun, {left} left", states.len(), count(Left::NotBegun));
    assert!(count(Left::Gone) + left > states.len() / 2);
    left
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_process_without_marks_outlives_a_command_in_a_cgroup() -> Test {
    let world = World::on(Records::Memory, LogLimits::default()).await;
    if has_cgroups(&world.commands) {
        assert_eq!(left(&world).await, 0);
    }
    Ok(())
}

/// The variable with the directory of the second process, and its number of programs.
const HELD: &str = "OFFSHOOT_TEST_ESCAPED";
const HELD_RUNS: &str = "OFFSHOOT_TEST_ESCAPED_RUNS";

/// The number of programs of the second process.
const HELD_MANY: usize = 8;

/// The second process: it starts programs at the same time, reports when each runs, and stays.
#[test]
#[ignore = "only meant to be killed"]
fn holds_escapes_until_killed() {
    let Ok(folder) = std::env::var(HELD) else { return };
    let runs: usize = std::env::var(HELD_RUNS).unwrap().parse().unwrap();
    rustix::process::setsid().unwrap();
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio.block_on(async {
        let helper = Helper::at(env!("CARGO_BIN_EXE_offshoot-confiner"));
        let commands = Commands::builder(&folder).helper(helper).open().unwrap();
        let builder = Runtime::builder(Sqlite::at(&folder));
        let runtime = builder.backend(Commands::KIND, commands.backend()).open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        println!();
        let all = (0..runs).map(async |number| {
            let command = command(Path::new(&folder), number, Ending::Kill);
            let request = commands.request(command, Some(Surroundings::own()), Attach::No).unwrap();
            let task = session.spawn(request).await.unwrap();
            let mut log = commands.log(task.id()).follow(0);
            let mut seen = Vec::new();
            while !seen.ends_with(b"on\n") {
                let piece = log.next().await.unwrap().unwrap();
                seen.extend(piece.chunks.into_iter().flat_map(|chunk| chunk.bytes));
            }
            println!("on");
        });
        join_all(all).await;
        std::future::pending::<()>().await;
    });
}

/// Waits until the directory's lock is free: a process that was being started has it, too, until
/// its program is loaded.
fn until_free(lock: &Path) {
    let lock = File::open(lock).unwrap();
    while lock.try_lock().is_err() {
        std::thread::yield_now();
    }
}

/// Runs programs in a process that is killed once so many of them run, and has the next one end
/// what is left of them.
async fn killed(begun: usize) -> Vec<Left> {
    let folder = Arc::new(TempDir::new().unwrap());
    let make = |number| Pipe::make(&folder.path().join(pipe(number)));
    let mut pipes: Vec<Pipe> = (0..HELD_MANY).map(make).collect();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "escaped::holds_escapes_until_killed", "--ignored", "--nocapture"])
        .env(HELD, folder.path())
        .env(HELD_RUNS, HELD_MANY.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert_eq!(lines.filter(|line| line == "on").take(begun).count(), begun);
    child.kill().unwrap();
    child.wait().unwrap();
    until_free(&folder.path().join("lock"));
    let world = World::again(folder.clone(), Records::Sqlite, LogLimits::default()).await;
    world.runtime.recovered().await;
    world.commands.recovered().unwrap();
    pipes.iter_mut().map(Pipe::state).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_process_without_marks_outlives_the_recovery_of_a_killed_holder() -> Test {
    if !has_cgroups(&World::open().await.commands) {
        return Ok(());
    }
    let mut states = Vec::new();
    while states.len() < many(24) {
        // In the middle of the starts of the others, but for the last.
        states.extend(killed(states.len() / HELD_MANY % HELD_MANY + 1).await);
    }
    let count = |state| states.iter().filter(|one| **one == state).count();
    let (left, not_begun) = (count(Left::Running), count(Left::NotBegun));
    println!("{} runs, {not_begun} not begun, {left} left", states.len());
    assert_eq!(left, 0);
    Ok(())
}
