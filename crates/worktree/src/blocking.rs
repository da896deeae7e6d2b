//! Calls to the file system that may block for ever.
//!
//! A stuck network or FUSE mount answers no call, and a thread that waits for it cannot be stopped.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use tokio::sync::Semaphore;

/// The most threads that wait for the file system at once. Stuck calls block at most these of the
/// threads that the process shares.
const MOST: usize = 16;

static PERMITS: Semaphore = Semaphore::const_new(MOST);

/// Runs work that blocks a thread. The caller sets the time limit: when it drops the future, the
/// thread goes on until the file system answers.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let permit = PERMITS.acquire().await.map_err(io::Error::other)?;
    let done = tokio::task::spawn_blocking(move || {
        let done = work();
        drop(permit);
        done
    });
    done.await.map_err(io::Error::other)
}

/// Reads the beginning of a regular file. Opening or reading a pipe or a device may block for ever,
/// so any other file is an error.
pub(crate) fn read_file(path: &Path, most: u64) -> io::Result<String> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut text = String::new();
    file.take(most).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc;

    use parking_lot::Mutex;

    use super::*;

    #[tokio::test]
    async fn stuck_calls_take_a_bounded_number_of_threads() {
        let (stop, stopped) = mpsc::channel::<()>();
        let (stopped, begun) = (Arc::new(Mutex::new(stopped)), Arc::new(Mutex::new(0)));
        let stuck = || {
            let (stopped, begun) = (stopped.clone(), begun.clone());
            tokio::spawn(blocking(move || {
                *begun.lock() += 1;
                // Until the other end is dropped.
                stopped.lock().recv().ok();
            }))
        };
        let calls: Vec<_> = (0..4 * MOST).map(|_| stuck()).collect();
        while *begun.lock() < MOST {
            tokio::task::yield_now().await;
        }
        // Their callers give up.
        for call in calls {
            call.abort();
            assert!(call.await.is_err());
        }
        // The shared threads still take other work.
        assert_eq!(tokio::task::spawn_blocking(|| 7).await.unwrap(), 7);
        drop(stop);
        blocking(|| ()).await.unwrap();
        assert_eq!(*begun.lock(), MOST);
    }

    #[test]
    fn a_pipe_and_a_device_are_not_read() {
        let home = tempfile::tempdir().unwrap();
        let (file, pipe) = (home.path().join("file"), home.path().join("pipe"));
        std::fs::write(&file, "abc").unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(read_file(&file, 2).unwrap(), "ab");
        for other in [&*pipe, Path::new("/dev/zero"), home.path()] {
            assert!(read_file(other, 2).is_err(), "{}", other.display());
        }
    }
}
