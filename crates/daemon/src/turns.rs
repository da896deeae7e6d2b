//! One at a time: who speaks to the agent of a session.
//!
//! Whether what is said begins a conversation, reaches its agent or makes a task
//! that goes on for it is looked up first and done then. Two who do that at once
//! would both find that the agent has ended, and the conversation would go on
//! twice.

use std::sync::Arc;

use hashbrown::HashMap;
use offshoot_core::Name;
use parking_lot::Mutex;
use tokio::sync::{Mutex as Lock, OwnedMutexGuard};

/// The sessions to which somebody speaks now. There are no more of them than
/// requests under way.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<HashMap<String, Arc<Lock<()>>>>);

/// The right to speak to the agent of a session, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    session: String,
    /// Taken when it is dropped.
    held: Option<OwnedMutexGuard<()>>,
}

impl Turns {
    /// Waits for the turn in the session of this name.
    pub(crate) async fn take(&self, session: &str) -> Turn<'_> {
        let session = Name::key_of(session);
        let lock = self.0.lock().entry(session.clone()).or_default().clone();
        // Whoever goes away while it waits leaves nothing behind, too.
        let mut turn = Turn { turns: self, session, held: None };
        turn.held = Some(lock.lock_owned().await);
        turn
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut turns = self.turns.0.lock();
        self.held = None;
        // Nobody else has it or waits for it: they would have to be in here.
        if turns.get(&self.session).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            turns.remove(&self.session);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use super::*;

    /// Whether somebody has to wait.
    async fn waits(taking: impl Future<Output = Turn<'_>> + Unpin) -> bool {
        tokio::select! {
            biased;
            _ = taking => false,
            () = std::future::ready(()) => true,
        }
    }

    #[tokio::test]
    async fn one_speaks_at_a_time_and_nothing_is_left() {
        let turns = Turns::default();
        let first = turns.take("Review").await;
        let mut second = Box::pin(turns.take("review"));
        assert!(waits(second.as_mut()).await);
        assert!(!waits(Box::pin(turns.take("other"))).await);
        drop(first);
        drop(second.await);
        assert!(turns.0.lock().is_empty());
    }

    #[tokio::test]
    async fn whoever_gives_up_leaves_nothing() {
        let turns = Turns::default();
        let first = turns.take("review").await;
        let mut second = Box::pin(turns.take("review"));
        assert!(waits(second.as_mut()).await);
        drop(first);
        drop(second);
        assert!(turns.0.lock().is_empty());
    }
}
