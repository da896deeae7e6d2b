//! Locks on conversations: one request at a time speaks to the agent of a session.
//!
//! A request first looks up whether it begins a conversation, reaches the agent, or
//! spawns a task that continues an ended one. Two such requests at once would both
//! find that the agent has ended, and would continue the conversation twice.

use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::Name;
use parking_lot::Mutex;
use tokio::sync::{Mutex as Lock, OwnedMutexGuard};

/// The locked conversations, by session. There are no more of them than requests
/// under way.
#[derive(Debug, Default)]
pub(crate) struct ConversationLocks(Mutex<HashMap<String, Arc<Lock<()>>>>);

/// The lock on the conversation of a session, until it is dropped.
#[derive(Debug)]
pub(crate) struct ConversationLock<'a> {
    locks: &'a ConversationLocks,
    session: String,
    /// Taken when it is dropped.
    held: Option<OwnedMutexGuard<()>>,
}

impl ConversationLocks {
    /// Locks the conversation of the session of this name.
    pub(crate) async fn lock(&self, session: &str) -> ConversationLock<'_> {
        let session = Name::key_of(session);
        let lock = self.0.lock().entry(session.clone()).or_default().clone();
        // Made before the wait, so that a dropped wait leaves no entry behind.
        let mut locked = ConversationLock { locks: self, session, held: None };
        locked.held = Some(lock.lock_owned().await);
        locked
    }
}

impl Drop for ConversationLock<'_> {
    fn drop(&mut self) {
        let mut locks = self.locks.0.lock();
        self.held = None;
        // No other request has it or waits for it: that takes a clone from in here.
        if locks.get(&self.session).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            locks.remove(&self.session);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use super::*;

    /// Whether locking has to wait.
    async fn waits(locking: impl Future<Output = ConversationLock<'_>> + Unpin) -> bool {
        tokio::select! {
            biased;
            _ = locking => false,
            () = std::future::ready(()) => true,
        }
    }

    #[tokio::test]
    async fn one_request_has_the_lock_and_nothing_is_left() {
        let locks = ConversationLocks::default();
        let first = locks.lock("Review").await;
        let mut second = Box::pin(locks.lock("review"));
        assert!(waits(second.as_mut()).await);
        assert!(!waits(Box::pin(locks.lock("other"))).await);
        drop(first);
        drop(second.await);
        assert!(locks.0.lock().is_empty());
    }

    #[tokio::test]
    async fn a_dropped_wait_leaves_nothing() {
        let locks = ConversationLocks::default();
        let first = locks.lock("review").await;
        let mut second = Box::pin(locks.lock("review"));
        assert!(waits(second.as_mut()).await);
        drop(first);
        drop(second);
        assert!(locks.0.lock().is_empty());
    }
}
