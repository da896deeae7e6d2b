//! Accepting connections.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use offshoot_client::FrameMemory;
use tokio::net::UnixStream;

use super::Listener;
use super::connection::Connection;
use super::peer::PeerProcess;
use super::waiting_connections::{WaitingConnection, WaitingConnections};
use crate::host::{ConnectionGuard, Daemon};
use crate::service::Service;

/// Longest wait for a connection to end before the next attempt to accept one.
const PAUSE: Duration = Duration::from_millis(50);

/// The bytes that long requests take in memory at once: four of the longest.
const REQUEST_MEMORY: usize = 64 << 20;

/// Accepts the connections of a daemon.
#[derive(Debug)]
pub(crate) struct Acceptor {
    pub(super) daemon: Arc<Daemon>,
    pub(super) service: Service,
    pub(super) waiting: WaitingConnections,
    /// The memory for requests that arrive.
    pub(super) memory: FrameMemory,
}

impl Acceptor {
    pub(crate) fn new(daemon: Arc<Daemon>) -> Arc<Self> {
        Arc::new(Self {
            service: Service::new(daemon.clone()),
            waiting: WaitingConnections::new(daemon.limits.connections as usize),
            memory: FrameMemory::new(REQUEST_MEMORY),
            daemon,
        })
    }

    /// Accepts connections until it is dropped. It serves each in a task of its own.
    pub(crate) async fn accept(self: &Arc<Self>, listener: &Listener) -> Infallible {
        let connections = &self.daemon.connections;
        let mut failures = 0u32;
        loop {
            match listener.listener.accept().await {
                Ok((stream, _)) => {
                    failures = 0;
                    // Counted before any await, so that the daemon does not end
                    // between accepting a connection and serving it.
                    if let Some(guard) = connections.enter() {
                        let departure = connections.departure();
                        let waiting = self.waiting.enter();
                        let replaces = waiting.replaces_another();
                        tokio::spawn(self.clone().receive(stream, guard, waiting));
                        // Connections that are still being closed would take the
                        // files that commands need to start.
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
                    // No second connection is closed before the first one has given
                    // its file back: that one might suffice.
                    let departure = connections.departure();
                    self.waiting.close_one();
                    tokio::time::timeout(PAUSE, departure).await.ok();
                }
            }
        }
    }

    /// Serves a connection of this user, and refuses any other.
    async fn receive(
        self: Arc<Self>,
        stream: UnixStream,
        guard: ConnectionGuard,
        waiting: WaitingConnection,
    ) {
        let own = rustix::process::geteuid().as_raw();
        let peer = match stream.peer_cred() {
            Ok(peer) if peer.uid() == own => PeerProcess::of(peer.pid()),
            Ok(peer) => {
                return tracing::warn!(
                    uid = peer.uid(),
                    "a connection of another user was refused"
                );
            }
            Err(error) => {
                return tracing::warn!(%error, "a connection of an unknown user was refused");
            }
        };
        Connection::new(stream, peer, guard).run(&self, waiting).await;
    }
}
