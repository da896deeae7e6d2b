//! One look at all processes for everybody who asks at the time.
//!
//! A look costs what there are processes, and a thousand commands that end
//! together would each take one. Whoever asks joins the look that begins next,
//! never one under way: that may have passed its processes already.

use std::sync::Arc;

use hashbrown::HashSet;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::Census;

type Seen = Option<Arc<Census>>;

/// Takes the looks. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scanner(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    looking: bool,
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
        self.scanner.0.lock().quiet.remove(&self.pid);
    }
}

/// The look that begins when the one under way is over.
#[derive(Debug)]
struct Next {
    since: u64,
    tell: watch::Sender<Seen>,
}

impl Scanner {
    /// The processes as they are after this was called, with the marks of
    /// those that started no earlier than `since`.
    pub(crate) async fn look(&self, since: u64) -> Arc<Census> {
        let mut seen = self.join(since);
        match seen.wait_for(Option::is_some).await {
            Ok(census) => census.clone().unwrap_or_default(),
            // The looking thread is gone with its pool: this process ends.
            Err(_) => Arc::default(),
        }
    }

    /// Has looks pass over a process until this is dropped. It is held by
    /// whoever has started it, and not reaped meanwhile.
    pub(crate) fn quiet(&self, pid: i32) -> Quiet {
        self.0.lock().quiet.insert(pid);
        Quiet { scanner: self.clone(), pid }
    }

    fn join(&self, since: u64) -> watch::Receiver<Seen> {
        let mut state = self.0.lock();
        let next = state.next.get_or_insert_with(|| Next { since, tell: watch::Sender::default() });
        next.since = next.since.min(since);
        let seen = next.tell.subscribe();
        if !state.looking {
            state.looking = true;
            let scanner = self.clone();
            tokio::task::spawn_blocking(move || scanner.look_for_all());
        }
        seen
    }

    /// Looks as long as somebody asks.
    fn look_for_all(&self) {
        loop {
            let (next, quiet) = {
                let mut state = self.0.lock();
                let Some(next) = state.next.take() else {
                    state.looking = false;
                    return;
                };
                (next, state.quiet.clone())
            };
            next.tell.send_replace(Some(Arc::new(Census::take(next.since, &quiet))));
        }
    }
}
