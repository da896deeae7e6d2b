//! Feeds the standard input of this program to a command, byte for byte.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};

use offshoot_client::InputSender;
use tokio::sync::mpsc;

/// The number of chunks read ahead. A command that does not read slows down the
/// writer of the input.
const AHEAD: usize = 2;

/// The error that ended the input, set before the command sees the end.
#[derive(Clone, Debug, Default)]
pub(super) struct InputFailure(Arc<OnceLock<String>>);

impl InputFailure {
    /// The error, if there is one.
    pub(super) fn why(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    fn note(&self, error: &std::io::Error) {
        // The first error ends the input.
        self.0.set(error.to_string()).ok();
    }
}

/// Passes on the whole input and its end, and notes a read error.
///
/// A command that stops reading, or a daemon that is gone, is no error.
pub(super) async fn feed(mut to: InputSender, failure: &InputFailure) {
    match read() {
        Err(error) => failure.note(&error),
        Ok(mut pieces) => {
            while let Some(piece) = pieces.recv().await {
                match piece {
                    Ok(piece) => {
                        if to.pass(piece).await.is_err() {
                            return;
                        }
                    }
                    Err(error) => failure.note(&error),
                }
            }
        }
    }
    to.end().await.ok();
}

/// Reads the input in a separate thread, because a read cannot be cancelled.
fn read() -> std::io::Result<mpsc::Receiver<std::io::Result<Vec<u8>>>> {
    let own = std::io::stdin().as_fd().try_clone_to_owned()?;
    let (pieces, read) = mpsc::channel(AHEAD);
    tokio::task::spawn_blocking(move || {
        let own = File::from(own);
        loop {
            let piece = piece(&own).transpose();
            let Some(piece) = piece else { return };
            let over = piece.is_err();
            if pieces.blocking_send(piece).is_err() || over {
                return;
            }
        }
    });
    Ok(read)
}

/// Reads the next chunk, also from a non-blocking stream; `None` at the end.
fn piece(mut file: &File) -> std::io::Result<Option<Vec<u8>>> {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut piece = vec![0; InputSender::MOST];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(None),
            Ok(length) => {
                piece.truncate(length);
                return Ok(Some(piece));
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                poll(&mut [PollFd::new(&file, PollFlags::IN)], None)?;
            }
            Err(error) => return Err(error),
        }
    }
}
