//! The post at which a daemon listens: its socket, and the note in the data
//! folder that says where it is. Both may be taken away while it lives: a
//! runtime folder is emptied when its user logs out. Then it takes a new one.

use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use offshoot_client::wire::{Code, WireError};
use offshoot_client::{DaemonAddress, DaemonDir, DaemonDirError};
use tokio::net::UnixListener;

/// How often it is looked whether the post is still there.
const LOOK: Duration = Duration::from_secs(2);

/// Which file something is, whatever its name leads to later.
type File = (u64, u64);

/// Where a daemon listens.
#[derive(Debug)]
pub(crate) struct Post {
    pub(crate) listener: UnixListener,
    socket: PathBuf,
    bound: Option<File>,
    data: Option<File>,
    /// What there was no room to say.
    untold: Option<DaemonAddress>,
}

impl Post {
    /// Listens for this user alone. The folder's lock is held, so a socket
    /// that is there is a dead daemon's.
    pub(crate) fn take(place: &DaemonDir) -> Result<Self, WireError> {
        let told = |error: DaemonDirError| WireError::from_error(Code::Store, &error);
        let socket = place.make_socket_dir().map_err(told)?;
        let listener = bind(&socket).map_err(|error| {
            let text = format!("the daemon cannot listen at {}", socket.display());
            WireError { causes: vec![error.to_string()], ..WireError::new(Code::Store, text) }
        })?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let here = DaemonAddress { pid: std::process::id(), version, socket: socket.clone() };
        let untold = match place.write_address(&here) {
            Ok(()) => None,
            // Who looks where it would be by default finds it all the same.
            Err(DaemonDirError::Unusable { error, .. })
                if error.kind() == ErrorKind::StorageFull =>
            {
                tracing::warn!(%error, "there is no room to say where the daemon listens");
                Some(here)
            }
            Err(error) => return Err(told(error)),
        };
        let (bound, data) = (file(&socket), file(place.data()));
        Ok(Self { listener, socket, bound, data, untold })
    }

    /// Resolves once nobody finds the way here any more.
    pub(crate) async fn lost(&self, place: &DaemonDir) {
        loop {
            tokio::time::sleep(LOOK).await;
            if !self.is_bound() || !is_told(place) && !self.tells_again(place) {
                return;
            }
        }
    }

    /// Tries to say where it is if there was no room for that; whether so.
    fn tells_again(&self, place: &DaemonDir) -> bool {
        match &self.untold {
            Some(here) if file(place.data()) == self.data => {
                // There may be none yet.
                place.write_address(here).ok();
                true
            }
            _ => false,
        }
    }

    /// A new post in place of a lost one; none if the data folder is not the
    /// one that this daemon holds.
    pub(crate) fn again(&self, place: &DaemonDir) -> Result<Option<Self>, WireError> {
        if file(place.data()) != self.data {
            return Ok(None);
        }
        tracing::warn!("the socket was taken away: listening anew");
        Self::take(place).map(Some)
    }

    /// Leaves nothing that would lead here, and touches nobody else's.
    pub(crate) fn give_up(self, place: &DaemonDir) {
        if is_told(place) {
            place.remove_address();
        }
        if self.is_bound() {
            std::fs::remove_file(&self.socket).ok();
        }
    }

    fn is_bound(&self) -> bool {
        self.bound.is_some() && file(&self.socket) == self.bound
    }
}

fn is_told(place: &DaemonDir) -> bool {
    place.daemon_address().is_some_and(|here| here.pid == std::process::id())
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

fn file(path: &Path) -> Option<File> {
    let found = std::fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}
