//! One look at all processes for everybody who asks at the time.
//!
//! A look costs what there are processes, and a thousand commands that end
//! together would each take one. Whoever asks joins the look that begins next,
//! never one under way: that may have passed its processes already.
//!
//! The thread that looks, and the descriptors that it needs, are there before
//! the first command: at the limit of processes or open files, where there are
//! no others, commands can still be ended.

use std::io;
use std::sync::Arc;

use hashbrown::HashSet;
use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

use super::look::{self, Request};
use super::proc::Proc;
use super::{Census, Roots};

type Seen = Option<Arc<Census>>;

/// Takes the looks. Cheap to clone; its thread ends with the last clone.
#[derive(Clone, Debug)]
pub(crate) struct Scanner(Arc<Handle>);

#[derive(Debug)]
struct Handle(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    next: Option<Next>,
    quiet: HashSet<i32>,
}

/// The main process of a command that goes about its work: it is no other
/// command's, so a look passes over it. Dropped before anybody looks for the
/// command's own members.
#[derive(Debug)]
pub(crate) struct Quiet {
    scanner: Scanner,
    pid: i32,
}

impl Drop for Quiet {
    fn drop(&mut self) {
        self.scanner.0.0.state.lock().quiet.remove(&self.pid);
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.state.lock().closed = true;
        self.0.changed.notify_one();
    }
}

/// The look that begins when the one under way is over.
#[derive(Debug)]
struct Next {
    request: Request,
    tell: watch::Sender<Seen>,
}

/// What a look does to the members of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Measure<'a> {
    /// Finds them, also in the cgroups of this one.
    Find(Option<&'a Roots>),
    Kill(&'a Roots),
}

impl Scanner {
    /// Starts the thread that looks.
    pub(crate) fn start() -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let mut proc = Proc::default();
        proc.reserve()?;
        let looking = shared.clone();
        let thread = std::thread::Builder::new().name("offshoot-scan".into());
        thread.spawn(move || looking.look_for_all(proc))?;
        Ok(Self(Arc::new(Handle(shared))))
    }

    /// The processes as they are after this was called, with the marks of
    /// those that started no earlier than `since`.
    pub(crate) async fn look(&self, since: u64, measure: Measure<'_>) -> Arc<Census> {
        let mut seen = self.join(since, measure);
        match seen.wait_for(Option::is_some).await {
            Ok(census) => census.clone().unwrap_or_default(),
            // An empty census that is not complete.
            Err(_) => Arc::default(),
        }
    }

    /// Has looks pass over a process until this is dropped. It is held by
    /// whoever has started it, and not reaped meanwhile.
    pub(crate) fn quiet(&self, pid: i32) -> Quiet {
        self.0.0.state.lock().quiet.insert(pid);
        Quiet { scanner: self.clone(), pid }
    }

    fn join(&self, since: u64, measure: Measure<'_>) -> watch::Receiver<Seen> {
        let shared = &self.0.0;
        let mut state = shared.state.lock();
        let next = state.next.get_or_insert_with(|| Next {
            request: Request::since(since),
            tell: watch::Sender::default(),
        });
        next.request.since = next.request.since.min(since);
        match measure {
            Measure::Find(None) => {}
            Measure::Find(Some(roots)) => next.request.enter_cgroups(roots),
            Measure::Kill(roots) => next.request.kill(roots),
        }
        let seen = next.tell.subscribe();
        shared.changed.notify_one();
        seen
    }
}

impl Shared {
    /// Looks at each request.
    fn look_for_all(&self, mut proc: Proc) {
        while let Some(Next { request, tell }) = self.next() {
            tell.send_replace(Some(Arc::new(look::take(&request, &mut proc))));
            // Those that are missing now are taken after a later look.
            proc.reserve().ok();
        }
    }

    /// Waits for the next look to take; nothing once all scanners are dropped.
    fn next(&self) -> Option<Next> {
        let mut state = self.state.lock();
        loop {
            if let Some(mut next) = state.next.take() {
                next.request.passed_over.clone_from(&state.quiet);
                return Some(next);
            }
            if state.closed {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }
}
