//! The end of commands when the system has no resources left.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use offshoot_backends::{Attach, Command, Commands, Confinement, Helper, Surroundings};
use offshoot_core::TaskState;
use offshoot_runtime::Runtime;
use offshoot_sandbox::{Lack, Support};
use offshoot_sqlite::Sqlite;
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::fugitives::{Left, Pipe};
use crate::support::Test;

/// The variable with the directory of the second process.
const WORK: &str = "OFFSHOOT_TEST_EXHAUSTED";

/// The limit of open files of a process that reaches it.
const FILES: u64 = 256;

/// A user without other processes.
const USER: u32 = 61_357;

/// The limit of processes and threads of that user.
const MOST: u64 = 64;

/// The grace time of the bomb, which ignores the request to end and is then killed.
const GRACE: Duration = Duration::from_millis(200);

/// The number of consecutive refused threads that shows the limit.
const REFUSED: usize = 50;

/// The second process: its fork bomb reaches the limit of processes, and it cancels the bomb.
#[test]
#[ignore = "started as another user"]
fn cancels_a_fork_bomb() {
    let Ok(work) = std::env::var(WORK).map(PathBuf::from) else { return };
    let limit = Rlimit { current: Some(MOST), maximum: Some(MOST) };
    setrlimit(Resource::Nproc, limit).unwrap();
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(1)
        .enable_all()
        .build();
    tokio.unwrap().block_on(async {
        // The only thread that Tokio has for blocking calls is stuck.
        let (release, stuck) = mpsc::channel::<()>();
        let stuck = tokio::task::spawn_blocking(move || stuck.recv().is_ok());
        let data = work.join("data");
        let helper = Helper::at(work.join("confiner"));
        let commands = Commands::builder(&data).helper(helper).open().unwrap();
        let builder = Runtime::builder(Sqlite::at(&data));
        let runtime = builder.backend(Commands::KIND, commands.backend()).open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        let script = "trap '' TERM; exec 9>pipe; echo begun >&9; exec ../confiner bomb";
        std::fs::create_dir(work.join("bomb")).unwrap();
        let mut pipe = Pipe::make(&work.join("bomb/pipe"));
        let command = Command::new("sh", work.join("bomb")).unwrap().args(["-c", script]).unwrap();
        let command = match offshoot_sandbox::probe() {
            Support::No(Lack::Landlock | Lack::OldLandlock) => command,
            _ => command.confined(Confinement::new([work.join("bomb")], [data]).unwrap()),
        };
        let request = commands.request(command, Some(Surroundings::own()), Attach::No).unwrap();
        let task = session.spawn(request).grace(GRACE).await.unwrap();
        let full = work.join("bomb/full");
        let taken = tokio::select! {
            taken = until_full(&full) => taken,
            ended = task.wait() => panic!("ended by itself: {:?}", ended.unwrap().task.outcome),
        };
        let begun = Instant::now();
        task.cancel("enough").await.unwrap();
        let ended = task.wait().await.unwrap().task;
        println!("ended after {} ms", begun.elapsed().as_millis());
        assert_eq!(ended.state, TaskState::Cancelled);
        assert_eq!(pipe.state(), Left::Gone);
        drop(taken);
        release.send(()).unwrap();
        assert!(stuck.await.unwrap());
    });
}

/// Waits until the bomb has met its own limit, and takes what is left of the user's, so that this
/// process gets no more threads either. The threads last until what is returned is dropped.
async fn until_full(file: &Path) -> Vec<mpsc::Sender<()>> {
    while !file.exists() {
        tokio::task::yield_now().await;
    }
    let (mut refused, mut taken) = (0, Vec::new());
    while refused < REFUSED {
        let (release, released) = mpsc::channel();
        match std::thread::Builder::new().spawn(move || released.recv().is_ok()) {
            Ok(_) => {
                taken.push(release);
                refused = 0;
            }
            Err(_) => refused += 1,
        }
        tokio::task::yield_now().await;
    }
    taken
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

/// The second process: it opens as many files as it may, and cancels a command.
#[test]
#[ignore = "started as a process of its own"]
fn cancels_without_descriptors() {
    let Ok(work) = std::env::var(WORK).map(PathBuf::from) else { return };
    let limit = Rlimit { current: Some(FILES), maximum: Some(FILES) };
    setrlimit(Resource::Nofile, limit).unwrap();
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    tokio.unwrap().block_on(async {
        let commands = Commands::at(&work).unwrap();
        let builder = Runtime::builder(Sqlite::at(&work));
        let runtime = builder.backend(Commands::KIND, commands.backend()).open().await.unwrap();
        let session = runtime.session("main").await.unwrap();
        let mut pipe = Pipe::make(&work.join("pipe"));
        // One member that ignores the request to end, in a session of its own, and one that does
        // not ignore it.
        let script = "exec 9>pipe; echo begun >&9
            setsid sh -c 'trap \"\" TERM; touch deaf; while :; do sleep 0.01; done' &
            setsid sleep 60 & until test -e deaf; do :; done; touch on; read end";
        let command = Command::new("sh", &work).unwrap().args(["-c", script]).unwrap();
        let request = commands.request(command, Some(Surroundings::own()), Attach::No).unwrap();
        let task = session.spawn(request).grace(GRACE).await.unwrap();
        while !work.join("on").exists() {
            tokio::task::yield_now().await;
        }
        let mut open = Vec::new();
        while let Ok(file) = File::open("/dev/null") {
            open.push(file);
        }
        task.cancel("enough").await.unwrap();
        let ended = task.wait().await.unwrap().task;
        println!("{} files were open", open.len());
        assert_eq!(ended.state, TaskState::Cancelled);
        assert_eq!(pipe.state(), Left::Gone);
    });
}

#[tokio::test]
async fn a_command_is_cancelled_at_the_limit_of_open_files() -> Test {
    let work = tempfile::tempdir()?;
    let ended = std::process::Command::new(std::env::current_exe()?)
        .args(["--exact", "exhausted::cancels_without_descriptors", "--ignored", "--nocapture"])
        .env(WORK, work.path())
        .status()?;
    assert!(ended.success(), "{ended}");
    Ok(())
}
