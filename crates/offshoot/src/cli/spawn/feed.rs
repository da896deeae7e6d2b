//! Feeds our standard input to a command, byte for byte.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};

use offshoot_client::InputSender;
use tokio::sync::mpsc;

/// How many pieces are read ahead. A command that does not read holds up the
/// reading of our input, and so whoever writes that.
const AHEAD: usize = 2;

/// Why our input could not be read, known before the command knows that it has
/// ended.
#[derive(Clone, Debug, Default)]
pub(super) struct InputFailure(Arc<OnceLock<String>>);

impl InputFailure {
    /// Why, if it could not.
    pub(super) fn why(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    fn note(&self, error: &std::io::Error) {
        // The first one ends the reading.
        self.0.set(error.to_string()).ok();
    }
}

/// Passes on all of our input, then its end. What cannot be read is noted; a
/// command that wants no more, or a daemon that is gone, is no error.
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

/// Our input, read by a thread of its own: a read cannot be given up, and must
/// hold up nothing else.
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

/// The next piece, as soon as there is any, also where somebody made the stream
/// one that never blocks; `None` at the end.
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
