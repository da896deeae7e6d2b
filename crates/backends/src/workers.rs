//! Threads for calls that block, the first of which exists before any command starts.
//!
//! Tokio starts its blocking threads on demand and ends idle ones. At the limit of processes it
//! has none, cannot start one, and panics. A command whose log cannot be closed then would never
//! end.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

/// The most threads: as many as Tokio would start.
const MOST: usize = 512;

/// The time that a thread beyond the first stays without work.
const IDLE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// A pool of threads of which one always exists. Cheap to clone; the threads end with the last
/// clone, once all work is done.
#[derive(Clone)]
pub(crate) struct Workers(Arc<Handle>);

struct Handle(Arc<Pool>);

struct Pool {
    name: &'static str,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    closed: bool,
}

/// The stay of a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stay {
    Always,
    WhileNeeded,
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Workers({})", self.0.0.name)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.state.lock().closed = true;
        self.0.changed.notify_all();
    }
}

impl Workers {
    /// Starts the first thread.
    pub(crate) fn start(name: &'static str) -> io::Result<Self> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let pool = Arc::new(Pool { name, state, changed });
        pool.add_thread(Stay::Always)?;
        Ok(Self(Arc::new(Handle(pool))))
    }

    /// Does `work` on one of the threads. The receiver fails if it panics.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let (tell, done) = oneshot::channel();
        let pool = &self.0.0;
        let busy = {
            let mut state = pool.state.lock();
            state.jobs.push_back(Box::new(move || drop(tell.send(work()))));
            state.jobs.len() > state.idle && state.threads < MOST
        };
        pool.changed.notify_one();
        if busy && let Err(error) = pool.add_thread(Stay::WhileNeeded) {
            // The work waits for a thread that exists.
            tracing::debug!(%error, "no more threads for blocking work");
        }
        done
    }
}

impl Pool {
    fn add_thread(self: &Arc<Self>, stay: Stay) -> io::Result<()> {
        let pool = self.clone();
        self.state.lock().threads += 1;
        let thread = std::thread::Builder::new().name(self.name.into());
        match thread.spawn(move || pool.work(stay)) {
            Ok(_) => Ok(()),
            Err(error) => {
                self.state.lock().threads -= 1;
                Err(error)
            }
        }
    }

    fn work(&self, stay: Stay) {
        while let Some(job) = self.next(stay) {
            // A panic fails the receiver, and the thread continues.
            drop(catch_unwind(AssertUnwindSafe(job)));
        }
        self.state.lock().threads -= 1;
    }

    /// Waits for the next job. Returns `None` once the thread is not needed.
    fn next(&self, stay: Stay) -> Option<Job> {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.closed {
                return None;
            }
            state.idle += 1;
            let late = match stay {
                Stay::Always => {
                    self.changed.wait(&mut state);
                    false
                }
                Stay::WhileNeeded => self.changed.wait_for(&mut state, IDLE).timed_out(),
            };
            state.idle -= 1;
            if late && state.jobs.is_empty() {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_blocks_holds_up_no_other() {
        let workers = Workers::start("test").unwrap();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let blocked = workers.run(move || wait.recv().is_ok());
        assert_eq!(workers.run(|| 7).await, Ok(7));
        go.send(()).unwrap();
        assert_eq!(blocked.await, Ok(true));
    }

    #[tokio::test]
    async fn a_panic_ends_no_thread() {
        let workers = Workers::start("test").unwrap();
        let until_idle = async || {
            while workers.0.0.state.lock().idle == 0 {
                tokio::task::yield_now().await;
            }
        };
        until_idle().await;
        assert!(workers.run(|| panic!("on purpose")).await.is_err());
        until_idle().await;
        assert_eq!(workers.run(|| 7).await, Ok(7));
        assert_eq!(workers.0.0.state.lock().threads, 1);
    }
}
