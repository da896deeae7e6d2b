//! A process that is killed with its commands running, and the one after it.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use offshoot_backends::{Attach, Commands, LogLimits, Origin, Restart, Surroundings};
use offshoot_core::TaskState;
use offshoot_runtime::Runtime;
use offshoot_sqlite::Sqlite;
use tempfile::TempDir;

use crate::support::{Records, Test, World, report, reported, runs};

/// The variable with the directory of the second process, and its options.
const FOLDER: &str = "OFFSHOOT_TEST_FOLDER";
const SCRIPT: &str = "OFFSHOOT_TEST_SCRIPT";
const MODE: &str = "OFFSHOOT_TEST_MODE";

/// The second process: it executes a script as a task, starts another process, reports their
/// numbers, and stays.
#[test]
#[ignore = "only meant to be killed"]
fn executes_until_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let mode = std::env::var(MODE).unwrap();
    rustix::process::setsid().unwrap();
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio.block_on(async {
        let holding = Commands::builder(&folder);
        let holding = if mode == "sole" { holding.sole_session() } else { holding };
        let commands = holding.open().unwrap();
        let builder = Runtime::builder(Sqlite::at(&folder));
        let runtime = builder.backend(Commands::KIND, commands.backend()).open().await.unwrap();
        let restart = if mode == "restart" { Restart::OnCrash } else { Restart::Never };
        let command = offshoot_backends::Command::new("sh", &folder).unwrap();
        let command = command.args(["-c".to_owned(), std::env::var(SCRIPT).unwrap()]).unwrap();
        let own = Some(Surroundings::own());
        let request = commands.request(command.restart(restart), own, Attach::No).unwrap();
        let session = runtime.session("main").await.unwrap();
        let task = session.spawn(request).name("script").await.unwrap();
        let mut log = commands.log(task.id()).follow(0);
        let mut seen = Vec::new();
        while !seen.ends_with(b"on\n") {
            let piece = log.next().await.unwrap().unwrap();
            seen.extend(piece.chunks.into_iter().flat_map(|chunk| chunk.bytes));
        }
        let mut stranger = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let pid = reported(&task).await.pid.unwrap();
        println!("\nready {pid} {}", stranger.id());
        std::future::pending::<()>().await;
        stranger.wait().unwrap();
    });
}

/// A process that holds a directory and executes a script there.
struct Holder {
    child: Child,
    /// The main process of its task.
    main: String,
    /// A process that it started outside all tasks.
    stranger: String,
}

impl Holder {
    fn start(folder: &Path, script: &str, mode: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::executes_until_killed", "--ignored", "--nocapture"])
            .env(FOLDER, folder)
            .env(SCRIPT, script)
            .env(MODE, mode)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut ready = lines.filter_map(|line| Some(line.strip_prefix("ready ")?.to_owned()));
        let ready = ready.next().expect("it gets ready");
        let (main, stranger) = ready.split_once(' ').unwrap();
        Self { child, main: main.to_owned(), stranger: stranger.to_owned() }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.kill();
        kill(&self.stranger);
    }
}

fn kill(pid: &str) {
    let pid = pid.parse().ok().and_then(rustix::process::Pid::from_raw).unwrap();
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

async fn recovered(folder: &Arc<TempDir>) -> World {
    let world = World::again(folder.clone(), Records::Sqlite, LogLimits::default()).await;
    world.runtime.recovered().await;
    world
}

fn pid_in(folder: &TempDir, file: &str) -> String {
    std::fs::read_to_string(folder.path().join(file)).unwrap().trim().to_owned()
}

#[tokio::test]
async fn s9_2_leftovers_of_a_killed_process_are_ended_and_its_task_is_lost() -> Test {
    let folder = Arc::new(tempfile::tempdir()?);
    // One member in the group, one in a session of its own, one that has
    // dropped its mark and hangs on its parent.
    let script = "sleep 1000 & echo $! > group
        setsid sh -c 'echo $$ > away; exec sleep 1000' &
        env -i sleep 1000 & echo $! > unmarked
        until test -s away; do sleep 0.01; done; trap '' TERM; echo on; while :; do sleep 0.01; done";
    let mut holder = Holder::start(folder.path(), script, "shared");
    holder.kill();
    let left = ["group", "away", "unmarked"].map(|file| pid_in(&folder, file));
    assert!(left.iter().chain([&holder.main]).all(|pid| runs(pid)), "they outlive it");
    let world = recovered(&folder).await;
    for pid in left.iter().chain([&holder.main]) {
        assert!(!runs(pid), "{pid} is gone before the task is");
    }
    assert!(runs(&holder.stranger), "what was started for no task is not touched");
    let task = world.runtime.task("script").await?.record().await?;
    assert_eq!(task.state, TaskState::Lost);
    Ok(())
}

#[tokio::test]
async fn unmarked_orphans_are_known_by_group_and_session() -> Test {
    let folder = Arc::new(tempfile::tempdir()?);
    let script = "env -i sleep 1000 & echo $! > unmarked; echo on; wait";
    let mut holder = Holder::start(folder.path(), script, "shared");
    holder.kill();
    kill(&holder.main);
    while runs(&holder.main) {
        tokio::task::yield_now().await;
    }
    // A stranger in a group and a session of its own.
    let mut other = Command::new("setsid").args(["sleep", "1000"]).spawn()?;
    assert!(runs(&pid_in(&folder, "unmarked")));
    let _world = recovered(&folder).await;
    assert!(!runs(&pid_in(&folder, "unmarked")));
    assert!(runs(&holder.stranger) && runs(&other.id().to_string()));
    other.kill()?;
    other.wait()?;
    Ok(())
}

#[tokio::test]
async fn a_session_that_was_all_its_own_is_cleared() -> Test {
    let folder = Arc::new(tempfile::tempdir()?);
    let mut holder = Holder::start(folder.path(), "echo on; read x", "sole");
    holder.kill();
    assert!(runs(&holder.stranger));
    let _world = recovered(&folder).await;
    assert!(!runs(&holder.stranger) && !runs(&holder.main));
    Ok(())
}

#[tokio::test]
async fn s9_2_a_command_that_may_be_restarted_outlives_its_process() -> Test {
    let folder = Arc::new(tempfile::tempdir()?);
    let script = "echo $$ >> pids; test -e again && exit 0; echo on; read x";
    let mut holder = Holder::start(folder.path(), script, "restart");
    holder.kill();
    std::fs::write(folder.path().join("again"), "")?;
    let world = recovered(&folder).await;
    let task = world.runtime.task("script").await?.wait().await?.task;
    assert_eq!((task.state, task.attempts), (TaskState::Completed, 2));
    assert_eq!(report(&task).environment, Origin::Daemon);
    assert_eq!(pid_in(&folder, "pids").lines().count(), 2);
    assert!(!runs(&holder.main));
    Ok(())
}
