//! The client: sends requests to the daemon of a data directory.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::connection::Connection;
use crate::connection::replies::ReplyStream;
use crate::daemon_dir::{DaemonAddress, DaemonDir};
use crate::error::Error;
use crate::frame::FrameError;
use crate::start::wait::{StartupWait, WaitMessage};
use crate::start::{Ready, Start};
use crate::wire::{Code, Hello, Reply, Request, Takeover, WaitTasks};

/// The most tries of a request whose daemon went away, and of starting a daemon that
/// ended before it was ready.
const TRIES: u32 = 5;

/// The most idle connections that are kept.
const KEPT: usize = 4;

/// Sends requests to the daemon of a data directory, and starts the daemon if needed.
#[derive(Debug)]
pub struct Client {
    dir: DaemonDir,
    start: Start,
    on_long_wait: Option<WaitMessage>,
    within: Option<String>,
    idle: Mutex<Vec<Connection>>,
}

impl Client {
    /// A client of this directory. It does not connect yet.
    pub fn new(dir: DaemonDir, start: Start) -> Self {
        Self { dir, start, on_long_wait: None, within: None, idle: Mutex::default() }
    }

    /// Passes a message for the user to `message` if the daemon takes long to start.
    pub fn on_long_wait(mut self, message: fn(&str)) -> Self {
        self.on_long_wait = Some(message);
        self
    }

    /// Names the task of whose command this process is one. While the client waits for
    /// tasks, that task waits, too, and gives its slot back.
    pub fn within(mut self, task: Option<String>) -> Self {
        self.within = task;
        self
    }

    /// The data directory.
    pub fn dir(&self) -> &DaemonDir {
        &self.dir
    }

    /// Sends a request and waits for its reply.
    ///
    /// If the daemon goes away meanwhile, the next daemon gets the request. A wait still
    /// times out at the same moment.
    pub async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        let began = Instant::now();
        for _ in 0..TRIES {
            let mut connection = self.connect().await?;
            let asked = async {
                connection.send(&rest_of(request, began.elapsed())).await?;
                connection.reply().await
            };
            match asked.await {
                Err(error) if error.is_gone() => self.idle.lock().clear(),
                Ok(reply) => {
                    self.keep(connection);
                    return Ok(reply);
                }
                Err(error) => return Err(error),
            }
        }
        Err(self.keeps_dying())
    }

    /// Sends a request whose reply is a stream.
    ///
    /// A stream that breaks off ends with an error. The caller repeats the request,
    /// because only the caller knows how far it has come.
    pub async fn follow(&self, request: &Request) -> Result<ReplyStream, Error> {
        for _ in 0..TRIES {
            let mut connection = self.connect().await?;
            match connection.send(request).await {
                Err(error) if error.is_gone() => self.idle.lock().clear(),
                sent => return sent.map(|()| ReplyStream::new(connection)),
            }
        }
        Err(self.keeps_dying())
    }

    fn keeps_dying(&self) -> Error {
        Error::KeepsDying { tries: TRIES, log: self.dir.data().join("daemon.log") }
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock();
        if idle.len() < KEPT {
            idle.push(connection);
        }
    }

    /// Connects to the daemon, which it starts if none runs.
    pub async fn connect(&self) -> Result<Connection, Error> {
        let kept = self.idle.lock().pop();
        if let Some(connection) = kept {
            return Ok(connection);
        }
        let mut wait = StartupWait::new(self.on_long_wait);
        let (mut deaths, mut drops) = (0, 0);
        loop {
            match self.connect_now().await {
                // A daemon that is short of files closes connections that wait.
                Err(error) if error.is_dropped() && drops < TRIES => {
                    drops += 1;
                    wait.pause(self.dir.data()).await;
                    continue;
                }
                Err(error) if error.is_gone() => {}
                connected => return connected,
            }
            if wait.is_due() {
                match self.start.start(&self.dir).await {
                    // The next daemon may survive what ended this one.
                    Err(Error::DiedAtStart { .. }) if deaths < TRIES => {
                        deaths += 1;
                        continue;
                    }
                    Err(error) => return Err(error),
                    Ok(Ready::Listening) => continue,
                    // Another daemon was first, or has not quite gone.
                    Ok(Ready::Failed(error)) if error.code == Code::Locked => {
                        let holder = error.causes.first().unwrap_or(&error.message);
                        wait.meet(holder, self.dir.data())?;
                    }
                    Ok(Ready::Failed(error)) => return Err(error.into()),
                }
            }
            wait.pause(self.dir.data()).await;
        }
    }

    /// Connects to the daemon that runs, if one does.
    async fn connect_now(&self) -> Result<Connection, Error> {
        let taking = match self.start {
            Start::OnDemand { .. } => Takeover::Over,
            Start::Never => Takeover::AsItIs,
        };
        let data = self.dir.data().to_string_lossy();
        let hello = Hello::new(&data, taking).within(self.within.clone());
        // A daemon that had no room for its address file listens at the default address.
        let noted = self.dir.daemon_address();
        let socket = match &noted {
            Some(address) => Some(address.socket.clone()),
            None if self.dir.has_lock() => self.dir.socket().ok(),
            None => None,
        };
        let socket = match socket {
            Some(socket) => socket,
            None => return Err(no_listener()),
        };
        match Connection::open(&socket, &hello).await {
            Err(Error::WrongDirectory { process, .. }) if self.is_misled(noted, process) => {
                Err(no_listener())
            }
            Err(Error::WrongDirectory { error, .. }) => Err(error.into()),
            opened => opened,
        }
    }

    /// Whether the client met the daemon of another directory by chance, or one that
    /// will soon give up this directory. Then the lock decides which daemon is next.
    ///
    /// The address file of a moved directory leads to the place where it was.
    fn is_misled(&self, noted: Option<DaemonAddress>, met: Option<u32>) -> bool {
        match (noted, met) {
            (Some(noted), Some(met)) if noted.pid != met => true,
            // It was moved: the daemon notices, and ends. The lock of a copy is free,
            // and its records have the tasks that the daemon executes.
            _ => self.start != Start::Never && self.dir.is_held(),
        }
    }
}

/// No daemon listens for this directory.
fn no_listener() -> Error {
    FrameError::Io(std::io::ErrorKind::NotFound.into()).into()
}

/// The request, with this time taken off the timeout of a wait.
fn rest_of(request: &Request, passed: Duration) -> Cow<'_, Request> {
    match request {
        Request::Wait(WaitTasks { timeout_ms: Some(timeout), .. }) => {
            let passed = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
            let mut rest = request.clone();
            if let Request::Wait(wait) = &mut rest {
                wait.timeout_ms = Some(timeout.saturating_sub(passed));
            }
            Cow::Owned(rest)
        }
        _ => Cow::Borrowed(request),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{OnApproval, OnMissing, Sealed, WaitMode};

    #[test]
    fn a_wait_that_is_sent_again_is_over_when_it_would_have_been() {
        let wait = |timeout_ms| {
            let (session, tasks) = ("main".to_owned(), vec!["a".to_owned()]);
            let (keys, on_missing) = (Sealed::default(), OnMissing::Wait);
            let (mode, on_approval) = (WaitMode::All, OnApproval::Return);
            Request::Wait(WaitTasks {
                session,
                tasks,
                mode,
                timeout_ms,
                keys,
                on_missing,
                on_approval,
            })
        };
        let passed = Duration::from_millis(1_500);
        assert_eq!(*rest_of(&wait(Some(2_000)), passed), wait(Some(500)));
        assert_eq!(*rest_of(&wait(Some(1_000)), passed), wait(Some(0)));
        assert_eq!(*rest_of(&wait(None), passed), wait(None));
        assert_eq!(*rest_of(&Request::Status, passed), Request::Status);
    }
}
