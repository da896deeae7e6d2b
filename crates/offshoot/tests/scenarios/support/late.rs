//! A store whose answers come when a test says so.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use offshoot::core::Cursor;
use offshoot::{Memory, Store, StoreError};
use offshoot_store::{Around, Batch, Commit, CommitError};
use tokio::sync::oneshot;

use super::{Gate, Of};

type Reply = Box<dyn FnOnce(Known) + Send>;

/// Writes at once, and keeps the answers to some commits back. What a commit
/// is refused for is told at once. Clones are the same store.
#[derive(Clone, Debug)]
pub(crate) struct Late {
    memory: Memory,
    of: Arc<Mutex<Option<Of>>>,
    replies: Arc<Mutex<Replies>>,
    kept: Gate,
}

/// The answers that are kept back, oldest first.
#[derive(Default)]
struct Replies(VecDeque<Reply>);

/// What an answer says in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// That it was written.
    Written,
    /// That nobody knows.
    Unknown,
}

impl Late {
    pub(crate) fn on(memory: &Memory) -> Self {
        Self {
            memory: memory.clone(),
            of: Arc::default(),
            replies: Arc::default(),
            kept: Gate::new(),
        }
    }

    /// This store, for a runtime to open.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    /// Keeps the answers to these commits back from now on, and no others.
    pub(crate) fn keep_back(&self, of: Of) {
        *self.of.lock().unwrap() = Some(of);
    }

    /// Waits until one more answer is kept back; what it answers is written.
    pub(crate) async fn kept_back(&self) {
        self.kept.arrived().await;
    }

    /// Gives the oldest answer that is kept back.
    pub(crate) fn answer(&self, known: Known) {
        let reply = self.replies.lock().unwrap().0.pop_front();
        reply.expect("an answer is kept back")(known);
    }
}

impl Around for Late {
    fn inner(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(self.memory.clone()))
    }

    fn commit_around(&self, batch: Batch) -> Commit {
        let late = self.of.lock().unwrap().is_some_and(|of| of.holds(&batch));
        let cursor = match self.memory.commit(batch).try_now() {
            Ok(Ok(cursor)) if late => cursor,
            Ok(answer) => return Commit::ready(answer),
            Err(later) => return later,
        };
        let (tell, told) = oneshot::channel();
        let reply = move |known| drop(tell.send(answer(known, cursor)));
        self.replies.lock().unwrap().0.push_back(Box::new(reply));
        self.kept.arrive();
        Commit::later(told)
    }
}

fn answer(known: Known, cursor: Cursor) -> Result<Cursor, CommitError> {
    match known {
        Known::Written => Ok(cursor),
        Known::Unknown => Err(StoreError::Unknown("kept back".into()).into()),
    }
}

impl std::fmt::Debug for Replies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} answers", self.0.len())
    }
}
