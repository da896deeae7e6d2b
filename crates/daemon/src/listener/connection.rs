//! One connection: its greeting, then its requests, one at a time.

use std::time::Duration;

use offshoot_client::wire::{Code, Hello, Reply, Takeover, WIRE, Welcome, WireError};
use offshoot_client::{Frame, FrameError, Greeting, read_short_frame, write_frame};
use offshoot_core::TaskId;
use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::Acceptor;
use super::frame_replies::FrameReplies;
use super::input::RequestInput;
use super::peer::PeerProcess;
use super::request::{parse_request, read_request};
use super::waiting_connections::WaitingConnection;
use crate::errors::closing_error;
use crate::host::ConnectionGuard;
use crate::service::{Call, Caller, ServiceError};

/// Timeout for the greeting of a client.
const GREETING_TIME: Duration = Duration::from_secs(10);

/// A connection of a client.
pub(super) struct Connection {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    /// The task of whose command the client is a process, if it says so.
    within: Option<TaskId>,
    /// The process of the client, as it was when it connected.
    peer: PeerProcess,
    _guard: ConnectionGuard,
}

impl Connection {
    pub(super) fn new(stream: UnixStream, peer: PeerProcess, guard: ConnectionGuard) -> Self {
        let (reader, writer) = stream.into_split();
        let reader = BufReader::with_capacity(64 << 10, reader);
        Self { reader, writer, within: None, peer, _guard: guard }
    }

    /// Greets the client and serves its requests until the connection closes.
    pub(super) async fn run(mut self, acceptor: &Acceptor, waiting: WaitingConnection) {
        let greeted = tokio::select! {
            greeted = tokio::time::timeout(GREETING_TIME, self.greet(acceptor)) => greeted,
            () = waiting.closed() => {
                return tracing::debug!("a connection was closed for another before its greeting");
            }
        };
        drop(waiting);
        match greeted {
            Ok(Ok(Greeting::Welcome(_))) => {}
            Ok(Ok(Greeting::Refused(_)) | Err(FrameError::Closed)) => return,
            Ok(Err(error)) => return tracing::debug!(%error, "a client did not greet"),
            Err(_) => return tracing::debug!("a client did not greet in time"),
        }
        match self.serve(acceptor).await {
            Ok(()) | Err(FrameError::Closed) => {}
            Err(error) => tracing::debug!(%error, "a connection broke off"),
        }
    }

    /// Answers the greeting of the client, and returns the answer.
    async fn greet(&mut self, acceptor: &Acceptor) -> Result<Greeting, FrameError> {
        let hello: Hello = read_short_frame(&mut self.reader).await?.read()?;
        // An id that does not parse is that of another daemon's task.
        self.within = hello.within.as_deref().and_then(|task| task.parse().ok());
        let greeting = match refusal(acceptor, &hello).await {
            Some(error) => Greeting::Refused(error),
            None => Greeting::Welcome(Welcome {
                wire: WIRE,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                pid: std::process::id(),
            }),
        };
        write_frame(&mut self.writer, &Frame::json(&greeting)?).await?;
        Ok(greeting)
    }

    /// Serves requests until the connection closes.
    async fn serve(&mut self, acceptor: &Acceptor) -> Result<(), FrameError> {
        loop {
            let waiting = acceptor.waiting.enter();
            let (frame, permit) = tokio::select! {
                read = read_request(&mut self.reader, &acceptor.memory) => read?,
                () = waiting.closed() => return Err(FrameError::Closed),
            };
            drop(waiting);
            let request = parse_request(&frame);
            drop((frame, permit));
            let request = match request {
                Ok(request) => request,
                Err(error) => {
                    write_frame(&mut self.writer, &Frame::json(&Reply::Error(error))?).await?;
                    continue;
                }
            };
            let caller = Caller { task: self.within, origin: self.peer.origin(self.within) };
            let (mut sender, input) = RequestInput::of(&request);
            let mut replies = FrameReplies::new(&mut self.writer);
            let answer = tokio::select! {
                answer = acceptor.service.call(Call { request, caller, input }, &mut replies) => {
                    answer
                }
                error = sender.receive(&mut self.reader) => return Err(error),
            };
            match answer {
                Ok(reply) => replies.last(&reply).await?,
                Err(ServiceError::Refused(error)) => replies.last(&Reply::Error(error)).await?,
                Err(ServiceError::Disconnected) => return Err(replies.into_failure()),
            }
            if sender.is_open() {
                return Ok(());
            }
        }
    }
}

/// The reason to refuse a client, if there is one.
async fn refusal(acceptor: &Acceptor, hello: &Hello) -> Option<WireError> {
    let daemon = &acceptor.daemon;
    let data = daemon.dir.data().to_string_lossy();
    if hello.data != data {
        let process = std::process::id();
        let text = format!(
            "{} was moved or copied from {data}, whose daemon (process {process}) still runs",
            hello.data
        );
        let hint = "if it was moved, that daemon soon notices and ends: try again in a few \
                    seconds; if it was copied, end that daemon with `offshoot daemon stop` and \
                    copy it again: the copy has records of commands that it executes";
        return Some(WireError::new(Code::Locked, text).hint(hint));
    }
    if hello.taking == Takeover::Over && daemon.may_yield_to(hello).await {
        tracing::info!(version = hello.version, "makes room for a newer version");
        daemon.shutdown.cancel();
        return Some(closing_error());
    }
    let speaks = hello.speaks();
    if !speaks.contains(&WIRE) {
        let text = format!(
            "the daemon is of version {} and speaks protocol {WIRE}; you are of version {} and \
             speak {} to {}",
            env!("CARGO_PKG_VERSION"),
            hello.version,
            speaks.start(),
            speaks.end()
        );
        let hint = "wait until its tasks have ended, or end it with the version that started it: \
                    `offshoot daemon stop`";
        return Some(WireError::new(Code::Wire, text).hint(hint));
    }
    None
}
