//! The client: asks the daemon of a place, whichever lives there now.

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

/// How often a request is sent again because the daemon went away, and a daemon
/// started again because it ended before it was ready.
const TRIES: u32 = 5;

/// How many connections are kept for the next requests.
const KEPT: usize = 4;

/// Asks the daemon of a place, and starts it if it must.
#[derive(Debug)]
pub struct Client {
    dir: DaemonDir,
    start: Start,
    on_long_wait: Option<WaitMessage>,
    within: Option<String>,
    idle: Mutex<Vec<Connection>>,
}

impl Client {
    /// A client of this place. Nothing is connected yet.
    pub fn new(dir: DaemonDir, start: Start) -> Self {
        Self { dir, start, on_long_wait: None, within: None, idle: Mutex::default() }
    }

    /// This client, telling a person whom it waits for, should it take long.
    pub fn on_long_wait(mut self, message: fn(&str)) -> Self {
        self.on_long_wait = Some(message);
        self
    }

    /// Says of which task's command this process is one, if it is. While it
    /// waits for tasks, that task waits, too, and gives its slot back.
    pub fn within(mut self, task: Option<String>) -> Self {
        self.within = task;
        self
    }

    /// The place.
    pub fn dir(&self) -> &DaemonDir {
        &self.dir
    }

    /// Asks and waits for the answer. If the daemon goes away meanwhile, the
    /// next one is asked, and a wait is over when it would have been.
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

    /// Asks for a stream. Each break in it is told, and the request sent again
    /// is the caller's: only it knows how far it has come.
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

    /// A connection to the daemon, which is started if none runs.
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
                    // Whatever ended it may spare the next one.
                    Err(Error::DiedAtStart { .. }) if deaths < TRIES => {
                        deaths += 1;
                        continue;
                    }
                    Err(error) => return Err(error),
                    Ok(Ready::Listening) => continue,
                    // Somebody else was first, or has not quite gone.
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

    /// A connection to the daemon that runs, if one does.
    async fn connect_now(&self) -> Result<Connection, Error> {
        let taking = match self.start {
            Start::OnDemand { .. } => Takeover::Over,
            Start::Never => Takeover::AsItIs,
        };
        let data = self.dir.data().to_string_lossy();
        let hello = Hello::new(&data, taking).within(self.within.clone());
        // One that found no room for its note is where it would be by default.
        let told = self.dir.daemon_address();
        let socket = match &told {
            Some(whereabouts) => Some(whereabouts.socket.clone()),
            None if self.dir.has_lock() => self.dir.socket().ok(),
            None => None,
        };
        let socket = match socket {
            Some(socket) => socket,
            None => return Err(no_listener()),
        };
        match Connection::open(&socket, &hello).await {
            Err(Error::WrongDirectory { process, .. }) if self.is_led_astray(told, process) => {
                Err(no_listener())
            }
            Err(Error::WrongDirectory { error, .. }) => Err(error.into()),
            opened => opened,
        }
    }

    /// Whether a daemon of another folder was met by chance, or will have let
    /// go of this one soon, so that its lock decides who is next. The note of
    /// a folder that was moved leads to where the folder was.
    fn is_led_astray(&self, told: Option<DaemonAddress>, met: Option<u32>) -> bool {
        match (told, met) {
            (Some(told), Some(met)) if told.pid != met => true,
            // It was moved: the daemon notices, and ends. In a copy nobody
            // holds the lock, and what the daemon executes is in its records.
            _ => self.start != Start::Never && self.dir.is_held(),
        }
    }
}

/// No daemon listens for this directory.
fn no_listener() -> Error {
    FrameError::Io(std::io::ErrorKind::NotFound.into()).into()
}

/// A request, of which so much time has passed already.
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
