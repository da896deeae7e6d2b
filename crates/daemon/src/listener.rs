//! The Unix socket on which a daemon listens, the first transport of its service.
//!
//! [`Listener`] is the socket and the note in the data directory that says where
//! it is. [`Acceptor`] accepts connections, greets each of them, and passes their
//! requests to the [`Service`](crate::service::Service).

mod acceptor;
mod connection;
mod frame_replies;
mod input;
mod peer;
mod request;
mod waiting_connections;

use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use offshoot_client::wire::{Code, WireError};
use offshoot_client::{DaemonAddress, DaemonDir, DaemonDirError};
use tokio::net::UnixListener;

pub(crate) use self::acceptor::Acceptor;

/// How often the daemon checks that its socket and its note are still there.
const CHECK: Duration = Duration::from_secs(2);

/// The device and inode of a file, which its name may lose later.
type FileId = (u64, u64);

/// The socket on which a daemon listens.
///
/// The socket and the note may be taken away while the daemon lives: a runtime
/// directory is emptied when its user logs out. The daemon then listens anew.
#[derive(Debug)]
pub(crate) struct Listener {
    listener: UnixListener,
    socket: PathBuf,
    socket_file: Option<FileId>,
    data: Option<FileId>,
    /// The note that there was no room to write.
    unwritten: Option<DaemonAddress>,
}

impl Listener {
    /// Listens for this user alone. The daemon holds the lock of the directory, so
    /// a socket that is there belongs to a dead daemon.
    pub(crate) fn bind(dir: &DaemonDir) -> Result<Self, WireError> {
        let store_error = |error: DaemonDirError| WireError::from_error(Code::Store, &error);
        let socket = dir.make_socket_dir().map_err(store_error)?;
        let listener = bind(&socket).map_err(|error| {
            let text = format!("the daemon cannot listen at {}", socket.display());
            WireError { causes: vec![error.to_string()], ..WireError::new(Code::Store, text) }
        })?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let address = DaemonAddress { pid: std::process::id(), version, socket: socket.clone() };
        let unwritten = match dir.write_address(&address) {
            Ok(()) => None,
            // Clients find it all the same if they look at the default address.
            Err(DaemonDirError::Unusable { error, .. })
                if error.kind() == ErrorKind::StorageFull =>
            {
                tracing::warn!(%error, "there is no room to say where the daemon listens");
                Some(address)
            }
            Err(error) => return Err(store_error(error)),
        };
        let (socket_file, data) = (file_id(&socket), file_id(dir.data()));
        Ok(Self { listener, socket, socket_file, data, unwritten })
    }

    /// Resolves once clients cannot find the socket any more.
    pub(crate) async fn lost(&self, dir: &DaemonDir) {
        loop {
            tokio::time::sleep(CHECK).await;
            if !self.is_bound() || !has_our_address(dir) && !self.write_address_again(dir) {
                return;
            }
        }
    }

    /// Tries to write the note if there was no room for it; whether that is the case.
    fn write_address_again(&self, dir: &DaemonDir) -> bool {
        match &self.unwritten {
            Some(address) if file_id(dir.data()) == self.data => {
                // The disk may still be full.
                dir.write_address(address).ok();
                true
            }
            _ => false,
        }
    }

    /// Listens anew after the socket was lost. `None` if the data directory is not
    /// the one that this daemon holds.
    pub(crate) fn bind_again(&self, dir: &DaemonDir) -> Result<Option<Self>, WireError> {
        if file_id(dir.data()) != self.data {
            return Ok(None);
        }
        tracing::warn!("the socket was taken away: listening anew");
        Self::bind(dir).map(Some)
    }

    /// Removes the note and the socket, unless they belong to another daemon by now.
    pub(crate) fn close(self, dir: &DaemonDir) {
        if has_our_address(dir) {
            dir.remove_address();
        }
        if self.is_bound() {
            std::fs::remove_file(&self.socket).ok();
        }
    }

    fn is_bound(&self) -> bool {
        self.socket_file.is_some() && file_id(&self.socket) == self.socket_file
    }
}

fn has_our_address(dir: &DaemonDir) -> bool {
    dir.daemon_address().is_some_and(|address| address.pid == std::process::id())
}

fn bind(socket: &Path) -> std::io::Result<UnixListener> {
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(socket)?;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o700))?;
    Ok(listener)
}

fn file_id(path: &Path) -> Option<FileId> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}
