//! The order in which calls of one answer send agents off: each after those
//! before it, and whoever names or lists tasks after all of them.

use std::sync::Arc;

use tokio::sync::watch;

/// The calls of one answer that send agents off.
#[derive(Clone, Debug)]
pub(crate) struct Sendings(Arc<watch::Sender<Vec<usize>>>);

/// Where a call stands among them.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    sendings: Sendings,
    number: usize,
}

impl Sendings {
    /// The calls of these numbers.
    pub(crate) fn new(calls: Vec<usize>) -> Self {
        Self(Arc::new(watch::Sender::new(calls)))
    }

    /// Where the call of this number stands.
    pub(crate) fn turn(&self, number: usize) -> Turn {
        Turn { sendings: self.clone(), number }
    }

    /// The call of this number has sent its agent off, or will not.
    pub(crate) fn sent(&self, number: usize) {
        self.0.send_modify(|open| open.retain(|call| *call != number));
    }
}

impl Turn {
    /// Resolves when the calls before this one have sent their agents off.
    pub(crate) async fn comes(&self) {
        let mut open = self.sendings.0.subscribe();
        // Whoever could drop it is waited for.
        let _ = open.wait_for(|open| open.iter().all(|call| *call >= self.number)).await;
    }

    /// Those after this one may send theirs.
    pub(crate) fn passes(&self) {
        self.sendings.sent(self.number);
    }
}
