//! Letting visitors in: this user's, that speak a protocol we know.

use std::convert::Infallible;
use std::time::Duration;

use offshoot_client::wire::{Code, Hello, Takeover, WIRE, Welcome, WireError};
use offshoot_client::{Frame, FrameError, Greeting, read_short_frame, write_frame};
use offshoot_core::TaskId;
use tokio::io::BufReader;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};

use crate::house::closing;
use crate::idle::Visit;
use crate::origin::{Origin, Seen};
use crate::run::Shared;
use crate::serve::serve;
use crate::waiting::WaitingConnection;

/// How long a visitor may take to greet.
const PATIENCE: Duration = Duration::from_secs(10);

/// Longest wait for a connection to end before the next attempt to accept one.
const PAUSE: Duration = Duration::from_millis(50);

/// A visitor past its greeting.
pub(crate) struct Visitor {
    pub(crate) reader: BufReader<OwnedReadHalf>,
    pub(crate) writer: OwnedWriteHalf,
    /// The task of whose command it is a process, if it says so.
    pub(crate) within: Option<TaskId>,
    /// What was seen of it when it came.
    seen: Seen,
    _visit: Visit,
}

impl Visitor {
    /// Who it is.
    pub(crate) fn origin(&self) -> Origin {
        Origin::of(self.seen, self.within)
    }
}

/// Lets visitors in.
pub(crate) async fn accept(house: &Shared, listener: &UnixListener) -> Infallible {
    let mut failures = 0u32;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                failures = 0;
                // Counted before anything is awaited, so that the daemon does
                // not go while somebody stands in the door.
                if let Some(visit) = house.idle.enter() {
                    let departure = house.idle.departure();
                    let waiting = house.waiting.enter();
                    let replaces = waiting.replaces_another();
                    tokio::spawn(receive(house.clone(), stream, visit, waiting));
                    // Connections that are still being closed would take the files
                    // that commands need to start.
                    if replaces {
                        tokio::time::timeout(PAUSE, departure).await.ok();
                    }
                }
            }
            Err(error) => {
                // Mostly there are too many files open, and that passes.
                if failures.is_power_of_two() || failures == 0 {
                    tracing::warn!(%error, failures, "a connection could not be accepted");
                }
                failures = failures.saturating_add(1);
                // No second connection is closed before the first one has given its
                // file back: that one might suffice.
                let departure = house.idle.departure();
                house.waiting.close_one();
                tokio::time::timeout(PAUSE, departure).await.ok();
            }
        }
    }
}

async fn receive(house: Shared, stream: UnixStream, visit: Visit, waiting: WaitingConnection) {
    let ours = rustix::process::geteuid().as_raw();
    let seen = match stream.peer_cred() {
        Ok(peer) if peer.uid() == ours => Seen::of(peer.pid()),
        Ok(peer) => return tracing::warn!(uid = peer.uid(), "a stranger was turned away"),
        Err(error) => return tracing::warn!(%error, "a visitor of unknown user was turned away"),
    };
    let (reader, writer) = stream.into_split();
    let reader = BufReader::with_capacity(64 << 10, reader);
    let mut visitor = Visitor { reader, writer, within: None, seen, _visit: visit };
    let greeted = tokio::select! {
        greeted = tokio::time::timeout(PATIENCE, greet(&house, &mut visitor)) => greeted,
        () = waiting.closed() => return tracing::debug!("a visitor gave way before it greeted"),
    };
    drop(waiting);
    match greeted {
        Ok(Ok(true)) => {}
        Ok(Ok(false) | Err(FrameError::Closed)) => return,
        Ok(Err(error)) => return tracing::debug!(%error, "a visitor did not greet"),
        Err(_) => return tracing::debug!("a visitor did not greet in time"),
    }
    match serve(&house, &mut visitor).await {
        Ok(()) | Err(FrameError::Closed) => {}
        Err(error) => tracing::debug!(%error, "a connection broke off"),
    }
}

/// Greets; whether the visitor may stay.
async fn greet(house: &Shared, visitor: &mut Visitor) -> Result<bool, FrameError> {
    let hello: Hello = read_short_frame(&mut visitor.reader).await?.read()?;
    // Another daemon's task may be called anything, and is none here.
    visitor.within = hello.within.as_deref().and_then(|task| task.parse().ok());
    let refused = refusal(house, &hello).await;
    let greeting = match refused {
        Some(fault) => Greeting::Refused(fault),
        None => Greeting::Welcome(Welcome {
            wire: WIRE,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
        }),
    };
    write_frame(&mut visitor.writer, &Frame::json(&greeting)?).await?;
    Ok(matches!(greeting, Greeting::Welcome(_)))
}

/// Why the visitor is turned away, if it is.
async fn refusal(house: &Shared, hello: &Hello) -> Option<WireError> {
    let data = house.place.data().to_string_lossy();
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
    if hello.taking == Takeover::Over && house.may_leave(hello).await {
        tracing::info!(version = hello.version, "makes room for a newer version");
        house.leave.cancel();
        return Some(closing());
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
