//! The standard input of a command, passed on by whoever asked for it.

use hashbrown::HashSet;
use offshoot_core::{IdHash, TaskId};
use parking_lot::Mutex;
use tokio::sync::mpsc;

/// How many pieces may wait for a command that does not read. Whoever passes
/// more on is held up, as by a full pipe.
const PIECES: usize = 4;

/// The standard input of a command, as whoever asked for it passes it on: bytes
/// in order, in memory alone, for one attempt. See
/// [`Surroundings::with_input`](super::Surroundings::with_input).
#[derive(Debug)]
pub struct Input(mpsc::Receiver<Vec<u8>>);

/// Where the bytes of an [`Input`] come in. Once it is dropped the command
/// reads what is left, and then the end.
#[derive(Debug)]
pub struct Feed(mpsc::Sender<Vec<u8>>);

/// The command reads no more: it has ended, or closed its standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the command reads no more input")]
pub struct Unread;

impl Input {
    /// An input and where its bytes come in.
    pub fn new() -> (Feed, Self) {
        let (feed, input) = mpsc::channel(PIECES);
        (Feed(feed), Self(input))
    }

    /// The next piece; `None` once there is no more.
    pub(crate) async fn next(&mut self) -> Option<Vec<u8>> {
        self.0.recv().await
    }
}

impl Feed {
    /// Passes on a piece, as soon as there is room for it.
    pub async fn pass(&self, piece: Vec<u8>) -> Result<(), Unread> {
        self.0.send(piece).await.map_err(|_| Unread)
    }
}

/// The tasks whose last message was sent, until they have ended.
#[derive(Debug, Default)]
pub(crate) struct EndedInputs(Mutex<HashSet<TaskId, IdHash>>);

impl EndedInputs {
    pub(crate) fn note(&self, task: TaskId) {
        self.0.lock().insert(task);
    }

    pub(crate) fn has(&self, task: TaskId) -> bool {
        self.0.lock().contains(&task)
    }

    pub(crate) fn forget(&self, task: TaskId) {
        self.0.lock().remove(&task);
    }

    pub(crate) fn all(&self) -> Vec<TaskId> {
        self.0.lock().iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_nobody_reads_is_held_up_at_the_bound() {
        let (feed, mut input) = Input::new();
        for piece in (0..).take(PIECES) {
            feed.pass(vec![piece]).await.unwrap();
        }
        let mut more = Box::pin(feed.pass(vec![9]));
        let mut idle = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(more.as_mut().poll(&mut idle).is_pending(), "there is room for no more");
        assert_eq!(input.next().await, Some(vec![0]));
        more.await.unwrap();
        drop(feed);
        let mut rest = Vec::new();
        while let Some(piece) = input.next().await {
            rest.extend(piece);
        }
        assert_eq!(rest, [1, 2, 3, 9], "in order, to the end");
    }

    #[tokio::test]
    async fn whoever_is_held_up_is_let_go_when_nobody_will_read() {
        let (feed, input) = Input::new();
        for _ in 0..PIECES {
            feed.pass(vec![0]).await.unwrap();
        }
        let held = tokio::spawn(async move { feed.pass(vec![1]).await });
        drop(input);
        assert_eq!(held.await.unwrap(), Err(Unread));
    }
}
