//! One connection to a daemon.

pub(crate) mod input;
pub(crate) mod replies;

use std::path::Path;
use std::time::Duration;

use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::error::Error;
use crate::frame::{Frame, FrameError, read_frame, write_frame};
use crate::wire::{Code, Hello, Reply, Request, Welcome, WireError};

/// Timeout for the greeting of a daemon. It greets at once unless it is stopped, or
/// the machine is very busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// One connection to a daemon, after the greetings. It carries one request at a time.
#[derive(Debug)]
pub struct Connection {
    pub(crate) reader: BufReader<OwnedReadHalf>,
    pub(crate) writer: OwnedWriteHalf,
    welcome: Welcome,
}

/// The greeting of a daemon.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Greeting {
    /// The daemon serves the client.
    Welcome(Welcome),
    /// The daemon refuses the client.
    Refused(WireError),
}

impl Connection {
    /// Connects and greets. An error of the connection itself means that no daemon is
    /// there.
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

    /// The greeting of the daemon.
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Sends a request.
    pub async fn send(&mut self, request: &Request) -> Result<(), Error> {
        Ok(write_frame(&mut self.writer, &Frame::json(request)?).await?)
    }

    /// Reads the next frame.
    pub async fn next(&mut self) -> Result<Frame, Error> {
        Ok(read_frame(&mut self.reader).await?)
    }

    /// Reads the next reply. A refusal is an error.
    pub async fn reply(&mut self) -> Result<Reply, Error> {
        match self.next().await?.read()? {
            Reply::Error(error) => Err(error.into()),
            reply => Ok(reply),
        }
    }
}
