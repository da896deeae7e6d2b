//! One connection to a daemon.

pub(crate) mod input;
pub(crate) mod replies;

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::error::Error;
use crate::frame::{Frame, FrameError, read_frame, write_frame};
use crate::wire::{Code, Hello, Reply, Request, Welcome, WireError};

/// How long a daemon may take to greet back. It does so at once unless it is
/// stopped, or the machine is very busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// One connection to a daemon, past its greeting. It carries one request at a
/// time.
#[derive(Debug)]
pub struct Connection {
    pub(crate) reader: BufReader<OwnedReadHalf>,
    pub(crate) writer: OwnedWriteHalf,
    welcome: Welcome,
}

/// What a daemon answers to a greeting.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Greeting {
    /// Go on.
    Welcome(Welcome),
    /// Go away.
    Refused(WireError),
}

impl Connection {
    /// Connects and greets. An error of the connection itself means that nobody
    /// is there.
    pub async fn open(socket: &Path, hello: &Hello) -> Result<Self, Error> {
        let opened = tokio::time::timeout(PATIENCE, Self::greet(socket, hello)).await;
        opened.unwrap_or_else(|_| Err(Error::Unresponsive { socket: socket.to_owned() }))
    }

    async fn greet(socket: &Path, hello: &Hello) -> Result<Self, Error> {
        let stream = UnixStream::connect(socket).await.map_err(FrameError::from)?;
        let peer = stream.peer_cred().map_err(FrameError::from)?;
        let owner = peer.uid();
        if owner != rustix::process::geteuid().as_raw() {
            return Err(Error::ForeignSocket { socket: socket.to_owned(), owner });
        }
        let (reader, mut writer) = stream.into_split();
        let mut reader = BufReader::with_capacity(64 << 10, reader);
        write_frame(&mut writer, &Frame::json(hello)?).await?;
        match read_frame(&mut reader).await?.read()? {
            Greeting::Welcome(welcome) => Ok(Self { reader, writer, welcome }),
            Greeting::Refused(error) if error.code == Code::Locked => {
                let process = peer.pid().and_then(|pid| u32::try_from(pid).ok());
                Err(Error::WrongDirectory { error, process })
            }
            Greeting::Refused(error) => Err(error.into()),
        }
    }

    /// What the daemon said of itself.
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Asks.
    pub async fn send(&mut self, request: &Request) -> Result<(), Error> {
        self.say(request).await
    }

    async fn say<T: Serialize>(&mut self, said: &T) -> Result<(), Error> {
        Ok(write_frame(&mut self.writer, &Frame::json(said)?).await?)
    }

    /// The next frame.
    pub async fn next(&mut self) -> Result<Frame, Error> {
        Ok(read_frame(&mut self.reader).await?)
    }

    /// The next answer; a refusal is an error.
    pub async fn reply(&mut self) -> Result<Reply, Error> {
        match self.next().await?.read()? {
            Reply::Error(error) => Err(error.into()),
            reply => Ok(reply),
        }
    }
}
