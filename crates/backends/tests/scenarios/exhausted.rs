//! Ending commands when the system has nothing more to give.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use offshoot_backends::{Attach, Command, Commands, Confinement, Helper, Surroundings};
use offshoot_core::State;
use offshoot_runtime::Runtime;
use offshoot_sandbox::{Lack, Support};
use offshoot_sqlite::Sqlite;
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::fugitives::{Left, Pipe};
use crate::support::Test;

/// Tells the second process where it works.
const WORK: &str = "OFFSHOOT_TEST_EXHAUSTED";

/// A user who has no other processes.
const USER: u32 = 61_357;

/// How many processes and threads that user may have.
const MOST: u64 = 64;

/// How many threads in a row must be refused for the limit to be reached.
const REFUSED: usize = 50;

/// What the second process does: has a fork bomb reach the limit of processes, and cancels it.
#[test]
#[ignore = "started as another user"]
fn cancels_a_fork_bomb() {
    let Ok(work) = std::env::var(WORK).map(PathBuf::from) else { return };
    let limit = Rlimit { current: Some(MOST), maximum: Some(MOST) };
    setrlimit(Resource::Nproc, limit).unwrap();
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        // Threads for blocking calls that existed earlier are gone when the cancel comes.
        .thread_keep_alive(Duration::from_millis(1))
        .enable_all()
        .build();
    tokio.unwrap().block_on(async {
        let data = work.join("data");
        let helper = Helper::at(work.join("confiner"));
        let commands = Commands::holding(&data).helper(helper).open().unwrap();
        let builder = Runtime::builder(Sqlite::at(&data));
        let runtime = builder.backend(Commands::KIND, commands.backend()).open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        let mut pipe = Pipe::make(&work.join("pipe"));
        let script = "exec 9>pipe; echo begun >&9; exec ../confiner bomb";
        std::fs::create_dir(work.join("bomb")).unwrap();
        std::fs::rename(work.join("pipe"), work.join("bomb/pipe")).unwrap();
        let command = Command::new("sh", work.join("bomb")).unwrap().args(["-c", script]).unwrap();
        let command = match offshoot_sandbox::probe() {
            Support::No(Lack::Landlock | Lack::OldLandlock) => command,
            _ => command.confined(Confinement::new([work.join("bomb")], [data]).unwrap()),
        };
        let request = commands.request(command, Some(Surroundings::own()), Attach::No).unwrap();
        let task = session.spawn(request).grace(Duration::from_secs(5)).await.unwrap();
        until_full(&work.join("bomb/full")).await;
        let begun = Instant::now();
        task.cancel("enough").await.unwrap();
        let ended = task.wait().await.unwrap().task;
        println!("ended after {} ms", begun.elapsed().as_millis());
        assert_eq!(ended.state, State::Cancelled);
        assert_eq!(pipe.state(), Left::Gone);
    });
}

/// Waits until the bomb has met the limit and this process gets no more threads either.
async fn until_full(file: &Path) {
    let mut refused = 0;
    while refused < REFUSED || !file.exists() {
        match std::thread::Builder::new().spawn(|| {}) {
            Ok(thread) => {
                thread.join().unwrap();
                refused = 0;
            }
            Err(_) => refused += 1,
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_fork_bomb_at_the_limit_of_processes_is_cancelled() -> Test {
    if !rustix::process::getuid().is_root() {
        eprintln!("SKIPPED: only root can run this as a user without other processes");
        return Ok(());
    }
    let folder = Arc::new(tempfile::tempdir()?);
    // Where the user may go, and the user's own.
    let work = folder.path().canonicalize()?;
    std::fs::set_permissions(&work, PermissionsExt::from_mode(0o755))?;
    std::os::unix::fs::chown(&work, Some(USER), Some(USER))?;
    let program = work.join("scenarios");
    std::fs::copy(std::env::current_exe()?, &program)?;
    std::fs::copy(env!("CARGO_BIN_EXE_offshoot-confiner"), work.join("confiner"))?;
    let ended = std::process::Command::new(&program)
        .args(["--exact", "exhausted::cancels_a_fork_bomb", "--ignored", "--nocapture"])
        .env(WORK, &work)
        .env("TMPDIR", &work)
        .current_dir(&work)
        .uid(USER)
        .gid(USER)
        .status()?;
    assert!(ended.success(), "{ended}");
    Ok(())
}
