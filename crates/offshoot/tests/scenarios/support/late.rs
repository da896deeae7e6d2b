//! A store whose answers come when a test says so.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use offshoot::core::Task;
use offshoot::{Memory, Page, Store, StoreError};
use offshoot_store::{Around, Batch, Commit, CommitError, Read, TaskQuery};
use tokio::sync::oneshot;

use super::{Gate, Of};

/// Does at once what it is asked to, and keeps some answers back, or puts some
/// commits off until it answers. What a commit is refused for is told at once,
/// unless it is put off. Clones are the same store.
#[derive(Clone, Debug)]
pub(crate) struct Late {
    memory: Memory,
    plan: Arc<Mutex<Plan>>,
    kept: Gate,
}

/// What is kept back, and what was.
#[derive(Default)]
struct Plan {
    commits: Option<Of>,
    put_off: Option<Of>,
    lists: usize,
    /// What gives the answers that are kept back, oldest first.
    replies: VecDeque<Box<dyn FnOnce(Says) + Send>>,
}

/// What an answer says in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    /// What it had said at once.
    Truth,
    /// That nobody knows.
    Unknown,
}

impl Late {
    pub(crate) fn on(memory: &Memory) -> Self {
        Self { memory: memory.clone(), plan: Arc::default(), kept: Gate::new() }
    }

    /// This store, for a runtime to open.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    /// Keeps the answers to these commits back from now on, and to no others.
    pub(crate) fn keep_back(&self, of: Of) {
        self.plan().commits = Some(of);
    }

    /// Puts these commits off from now on, each until its answer is given.
    pub(crate) fn put_off(&self, of: Of) {
        self.plan().put_off = Some(of);
    }

    /// Keeps the next so many lists of tasks back.
    pub(crate) fn keep_lists_back(&self, many: usize) {
        self.plan().lists = many;
    }

    /// Waits until one more answer is kept back; what it answers is done,
    /// unless it was put off.
    pub(crate) async fn kept_back(&self) {
        self.kept.arrived().await;
    }

    /// Gives the oldest answer that is kept back.
    pub(crate) fn answer(&self, says: Says) {
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
                Says::Truth => Ok(answer),
                Says::Unknown => Err(StoreError::Unknown("kept back".into()).into()),
            }));
        };
        self.plan().replies.push_back(Box::new(reply));
        self.kept.arrive();
        told
    }
}

impl Around for Late {
    fn inner(&self) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(self.memory.clone()))
    }

    fn commit_around(&self, batch: Batch) -> Commit {
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
            return Commit::later(told);
        }
        let late = self.plan().commits.is_some_and(|of| of.holds(&batch));
        match self.memory.commit(batch).try_now() {
            Ok(Ok(cursor)) if late => Commit::later(self.keep::<_, CommitError>(cursor)),
            Ok(answer) => Commit::ready(answer),
            Err(later) => later,
        }
    }

    fn tasks_around(&self, query: TaskQuery) -> Read<Page<Task>> {
        let late = self.plan().takes_list();
        match self.memory.tasks(query).try_now() {
            Ok(Ok(page)) if late => Read::later(self.keep(page)),
            Ok(answer) => Read::ready(answer),
            Err(later) => later,
        }
    }
}

impl Plan {
    /// Whether the next list is kept back.
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
