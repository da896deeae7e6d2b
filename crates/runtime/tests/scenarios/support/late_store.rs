//! A store that answers when a test says so.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use offshoot_core::Task;
use offshoot_store::{
    Batch, CommitError, CommitFuture, Memory, Page, ReadFuture, Store, StoreError, StoreWrapper,
    TaskQuery,
};
use tokio::sync::oneshot;

use super::{CommitFilter, Gate};

/// Acts at once and holds some answers back, or defers some commits until it
/// answers. The refusal of a commit is answered at once, unless it is deferred.
/// Clones are the same store.
#[derive(Clone, Debug)]
pub(crate) struct LateStore {
    memory: Memory,
    plan: Arc<Mutex<Plan>>,
    kept: Gate,
}

/// The answers held back, now and before.
#[derive(Default)]
struct Plan {
    commits: Option<CommitFilter>,
    put_off: Option<CommitFilter>,
    lists: usize,
    /// The senders of the answers that are held back, oldest first.
    replies: VecDeque<Box<dyn FnOnce(LateAnswer) + Send>>,
}

/// The answer that is given in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LateAnswer {
    /// The true one.
    Truth,
    /// That the outcome is unknown.
    Unknown,
}

impl LateStore {
    pub(crate) fn on(memory: &Memory) -> Self {
        Self { memory: memory.clone(), plan: Arc::default(), kept: Gate::new() }
    }

    /// This store, for a runtime to open.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    /// Holds the answers to these commits back from now on, and to no others.
    pub(crate) fn keep_back(&self, of: CommitFilter) {
        self.plan().commits = Some(of);
    }

    /// Defers these commits from now on, each until its answer is given.
    pub(crate) fn put_off(&self, of: CommitFilter) {
        self.plan().put_off = Some(of);
    }

    /// Holds the next lists of tasks back, this many.
    pub(crate) fn keep_lists_back(&self, many: usize) {
        self.plan().lists = many;
    }

    /// Waits until one more answer is held back. Its commit is made, unless it was
    /// deferred.
    pub(crate) async fn kept_back(&self) {
        self.kept.arrived().await;
    }

    /// Gives the oldest answer that is held back.
    pub(crate) fn answer(&self, says: LateAnswer) {
        let reply = self.plan().replies.pop_front();
        reply.expect("an answer is kept back")(says);
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap()
    }

    fn keep<T, E>(&self, answer: T) -> oneshot::Receiver<Result<T, E>>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (tell, told) = oneshot::channel();
        let reply = move |says| {
            drop(tell.send(match says {
                LateAnswer::Truth => Ok(answer),
                LateAnswer::Unknown => Err(StoreError::Unknown("kept back".into()).into()),
            }));
        };
        self.plan().replies.push_back(Box::new(reply));
        self.kept.arrive();
        told
    }
}

impl StoreWrapper for LateStore {
    fn inner(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(self.memory.clone()))
    }

    fn wrap_commit(&self, batch: Batch) -> CommitFuture {
        if self.plan().put_off.is_some_and(|of| of.holds(&batch)) {
            let (tell, told) = oneshot::channel();
            let memory = self.memory.clone();
            let reply = move |_| {
                if let Ok(answer) = memory.commit(batch).try_now() {
                    drop(tell.send(answer));
                }
            };
            self.plan().replies.push_back(Box::new(reply));
            self.kept.arrive();
            return CommitFuture::later(told);
        }
        let late = self.plan().commits.is_some_and(|of| of.holds(&batch));
        match self.memory.commit(batch).try_now() {
            Ok(Ok(cursor)) if late => CommitFuture::later(self.keep::<_, CommitError>(cursor)),
            Ok(answer) => CommitFuture::ready(answer),
            Err(later) => later,
        }
    }

    fn wrap_tasks(&self, query: TaskQuery) -> ReadFuture<Page<Task>> {
        let late = self.plan().takes_list();
        match self.memory.tasks(query).try_now() {
            Ok(Ok(page)) if late => ReadFuture::later(self.keep(page)),
            Ok(answer) => ReadFuture::ready(answer),
            Err(later) => later,
        }
    }
}

impl Plan {
    /// Whether the next list is held back.
    fn takes_list(&mut self) -> bool {
        let takes = self.lists > 0;
        self.lists -= usize::from(takes);
        takes
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} answers are kept back", self.replies.len())
    }
}
