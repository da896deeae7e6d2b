//! The standard input of a command, sent by its caller.

use hashbrown::HashSet;
use offshoot_core::{IdHash, TaskId};
use parking_lot::Mutex;
use tokio::sync::mpsc;

/// The most pieces that wait for a command that does not read. A further piece is held
/// up, as by a full pipe.
const PIECES: usize = 4;

/// The standard input of a command from its caller: bytes in order, in memory alone, for
/// one attempt. See
/// [`Surroundings::with_input`](super::Surroundings::with_input).
#[derive(Debug)]
pub struct Input(mpsc::Receiver<Vec<u8>>);

/// The sending end of an [`Input`]. Once it is dropped, the command reads the rest and
/// then the end.
#[derive(Debug)]
pub struct InputFeed(mpsc::Sender<Vec<u8>>);

/// The command reads no more: it has ended, or closed its standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the command reads no more input")]
pub struct InputClosed;

impl Input {
    /// An input and its sending end.
    pub fn new() -> (InputFeed, Self) {
        let (feed, input) = mpsc::channel(PIECES);
        (InputFeed(feed), Self(input))
    }

    /// The next piece; `None` once there is no more.
    pub(crate) async fn next(&mut self) -> Option<Vec<u8>> {
        self.0.recv().await
    }
}

impl InputFeed {
    /// Sends a piece, as soon as there is room for it.
    pub async fn pass(&self, piece: Vec<u8>) -> Result<(), InputClosed> {
        self.0.send(piece).await.map_err(|_| InputClosed)
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
    async fn unread_input_is_held_up_at_the_bound() {
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
    async fn a_held_up_sender_goes_on_when_the_input_is_dropped() {
        let (feed, input) = Input::new();
        for _ in 0..PIECES {
            feed.pass(vec![0]).await.unwrap();
        }
        let held = tokio::spawn(async move { feed.pass(vec![1]).await });
        drop(input);
        assert_eq!(held.await.unwrap(), Err(InputClosed));
    }
}
