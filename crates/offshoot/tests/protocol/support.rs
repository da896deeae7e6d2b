//! A temporary data directory, and clients of its daemon.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use offshoot_client::wire::{
    Attachment, Hello, Reply, Request, Restart, Sealed, Spawn, Status, Stdin, Tail, TailMode,
    TailStart, Task, TaskName,
};
use offshoot_client::{Client, Connection, DaemonDir, Start};
use tempfile::TempDir;

/// A temporary data directory. Its daemon ends with it.
pub(crate) struct World {
    folder: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        // Short, since the path of a socket must be.
        let folder = tempfile::Builder::new().prefix("os").tempdir_in("/tmp").unwrap();
        Self { folder }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn place(&self) -> DaemonDir {
        DaemonDir::at(&self.data()).unwrap()
    }

    /// Returns the launcher of a daemon for this directory.
    fn start(&self) -> Start {
        let args = ["daemon", "run", "--apart", "--data"].map(OsString::from).into_iter();
        let args = args.chain([self.data().into_os_string()]).collect();
        Start::OnDemand { program: env!("CARGO_BIN_EXE_offshoot").into(), args }
    }

    /// A client that starts the daemon if it must.
    pub(crate) fn client(&self) -> Client {
        Client::new(self.place(), self.start())
    }

    /// A client of the daemon that runs.
    pub(crate) fn client_of_running(&self) -> Client {
        Client::new(self.place(), Start::Never)
    }

    /// Returns the address of the running daemon.
    pub(crate) fn socket(&self) -> PathBuf {
        self.place().daemon_address().expect("a daemon runs").socket
    }

    /// A daemon that is this process's child, and listens.
    pub(crate) fn daemon(&self, args: &[&str]) -> Child {
        self.listening(Command::new(env!("CARGO_BIN_EXE_offshoot")), args)
    }

    /// The same with so few open files.
    pub(crate) fn daemon_with_files(&self, files: usize) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n {files} && exec \"$0\" \"$@\"")]);
        command.arg(env!("CARGO_BIN_EXE_offshoot"));
        self.listening(command, &[])
    }

    fn listening(&self, mut command: Command, args: &[&str]) -> Child {
        command.args(["daemon", "run", "--data"]).arg(self.data()).args(args);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let out = child.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
        assert_eq!(line.trim(), "\"listening\"");
        child
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let stop = ["daemon", "stop", "--data"];
        Command::new(env!("CARGO_BIN_EXE_offshoot"))
            .args(stop)
            .arg(self.data())
            .output()
            .expect("the program runs");
    }
}

/// The greeting of a client of this version.
pub(crate) fn hello(data: &Path) -> Hello {
    let place = DaemonDir::at(data).unwrap();
    Hello::new(&place.data().to_string_lossy(), offshoot_client::wire::Takeover::Over)
}

/// Returns the status of the daemon of a client.
pub(crate) async fn status(client: &Client) -> Status {
    match client.ask(&Request::Status).await.unwrap() {
        Reply::Status(status) => *status,
        other => panic!("{other:?}"),
    }
}

/// Spawns a shell script.
pub(crate) async fn send_off(client: &Client, text: &str, restart: Restart) -> Task {
    let spawn = Request::Spawn(Box::new(Spawn { restart, ..script(text) }));
    match client.ask(&spawn).await.unwrap() {
        Reply::Task(task) => *task,
        other => panic!("{other:?}"),
    }
}

/// Returns a request to follow the output of a task.
pub(crate) fn tail(task: &str) -> Request {
    Request::Tail(Tail {
        task: TaskName { session: "main".into(), task: task.into() },
        reading: TailStart::Start,
        following: TailMode::Follow,
    })
}

/// A shell script to spawn.
pub(crate) fn script(script: &str) -> Spawn {
    Spawn {
        session: "main".into(),
        name: None,
        parent: None,
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        cwd: "/".into(),
        env: Sealed::default(),
        surroundings: Sealed(std::env::vars().collect()),
        umask: None,
        timeout_ms: None,
        grace_ms: None,
        restart: Restart::Never,
        key: uuid(),
        attachment: Attachment::Detached,
        stdin: Stdin::Messages,
    }
}

fn uuid() -> String {
    format!("{:?}-{:?}", std::thread::current().id(), std::time::Instant::now())
}

/// Resolves once the other side of the connection has gone.
pub(crate) async fn gone(mut connection: Connection) {
    while connection.next().await.is_ok() {}
}
