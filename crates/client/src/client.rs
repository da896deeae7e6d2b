//! The client: asks the daemon of a place, whichever lives there now.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::connection::Connection;
use crate::error::Error;
use crate::frame::FrameError;
use crate::place::Place;
use crate::start::{Ready, Start};
use crate::stream::Following;
use crate::wire::{Code, Hello, Reply, Request, Taking};

/// How often a request is sent again because the daemon went away, and a daemon
/// started again because it ended before it was ready.
const TRIES: u32 = 5;

/// How long the holder of a folder may take to listen or to let go.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a program may take that is no daemon of ours by its name.
const STRANGERS_PATIENCE: Duration = Duration::from_secs(2);

/// How long to wait between two looks at a folder that changes hands.
const PAUSE: Duration = Duration::from_millis(20);

/// How many connections are kept for the next requests.
const KEPT: usize = 4;

/// Asks the daemon of a place, and starts it if it must.
#[derive(Debug)]
pub struct Client {
    place: Place,
    start: Start,
    within: Option<String>,
    idle: Mutex<Vec<Connection>>,
}

impl Client {
    /// A client of this place. Nothing is connected yet.
    pub fn new(place: Place, start: Start) -> Self {
        Self { place, start, within: None, idle: Mutex::default() }
    }

    /// Says of which task's command this process is one, if it is. While it
    /// waits for tasks, that task waits, too, and gives its slot back.
    pub fn within(mut self, task: Option<String>) -> Self {
        self.within = task;
        self
    }

    /// The place.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Asks and waits for the answer. If the daemon goes away meanwhile, the
    /// next one is asked.
    pub async fn ask(&self, request: &Request) -> Result<Reply, Error> {
        for _ in 0..TRIES {
            let mut connection = self.connect().await?;
            let asked = async {
                connection.send(request).await?;
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
    pub async fn follow(&self, request: &Request) -> Result<Following, Error> {
        for _ in 0..TRIES {
            let mut connection = self.connect().await?;
            match connection.send(request).await {
                Err(error) if error.is_gone() => self.idle.lock().clear(),
                sent => return sent.map(|()| Following::new(connection)),
            }
        }
        Err(self.keeps_dying())
    }

    fn keeps_dying(&self) -> Error {
        Error::KeepsDying { tries: TRIES, log: self.place.data().join("daemon.log") }
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
        let began = Instant::now();
        let mut stillborn = 0;
        let mut strange = None;
        loop {
            match self.connect_now().await {
                Err(error) if error.is_gone() => {}
                connected => return connected,
            }
            let ready = match self.start.start(&self.place).await {
                // Whatever ended it may spare the next one.
                Err(Error::Stillborn { .. }) if stillborn < TRIES => {
                    stillborn += 1;
                    continue;
                }
                ready => ready?,
            };
            match ready {
                Ready::Listening => {}
                Ready::Failed(fault) if fault.code == Code::Locked => {
                    // Somebody else was first, or has not quite gone.
                    let holder = fault.causes.first().unwrap_or(&fault.message).clone();
                    // A daemon is a stranger, too, until it has signed the lock.
                    let over = if holder.contains("(offshoot") {
                        strange = None;
                        began.elapsed() > PATIENCE
                    } else {
                        strange.get_or_insert_with(Instant::now).elapsed() > STRANGERS_PATIENCE
                    };
                    if over {
                        return Err(Error::Held { data: self.place.data().to_owned(), holder });
                    }
                    tokio::time::sleep(PAUSE).await;
                }
                Ready::Failed(fault) => return Err(fault.into()),
            }
        }
    }

    /// A connection to the daemon that runs, if one does.
    async fn connect_now(&self) -> Result<Connection, Error> {
        let taking = match self.start {
            Start::OnDemand { .. } => Taking::Over,
            Start::Never => Taking::AsItIs,
        };
        let data = self.place.data().to_string_lossy();
        let hello = Hello::new(&data, taking).within(self.within.clone());
        let socket = match self.place.whereabouts() {
            Some(whereabouts) => whereabouts.socket,
            None if self.start == Start::Never => {
                return Err(Error::NotRunning(self.place.data().to_owned()));
            }
            None => return Err(FrameError::Closed.into()),
        };
        match Connection::open(&socket, &hello).await {
            Err(error) if error.is_gone() && self.start == Start::Never => {
                Err(Error::NotRunning(self.place.data().to_owned()))
            }
            opened => opened,
        }
    }
}
