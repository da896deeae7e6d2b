//! One scan of all processes for all callers at the time.
//!
//! The cost of a scan grows with the number of processes, and a thousand commands that
//! end together would each take one. So a caller joins the scan that begins next, and
//! never a running one, which may have passed the caller's processes already.
//!
//! The scanning thread and its descriptors exist before the first command, so that
//! commands can be ended at the limit of processes or open files, too.

use std::io;
use std::sync::Arc;

use hashbrown::HashSet;
use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

use super::proc::Proc;
use super::scan::{self, ScanRequest};
use super::{Census, Roots};

type ScanResult = Option<Arc<Census>>;

/// Scans all processes. Cheap to clone; its thread ends with the last clone.
#[derive(Clone, Debug)]
pub(crate) struct Scanner(Arc<ScannerHandle>);

#[derive(Debug)]
struct ScannerHandle(Arc<ScannerShared>);

#[derive(Debug, Default)]
struct ScannerShared {
    state: Mutex<ScannerState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct ScannerState {
    closed: bool,
    next: Option<NextScan>,
    quiet: HashSet<i32>,
}

/// The main process of a running command. It belongs to no other command, so scans pass
/// over it. Dropped before a scan for the members of its own command.
#[derive(Debug)]
pub(crate) struct QuietProcess {
    scanner: Scanner,
    pid: i32,
}

impl Drop for QuietProcess {
    fn drop(&mut self) {
        self.scanner.0.0.state.lock().quiet.remove(&self.pid);
    }
}

impl Drop for ScannerHandle {
    fn drop(&mut self) {
        self.0.state.lock().closed = true;
        self.0.changed.notify_one();
    }
}

/// The scan that begins when the running one ends.
#[derive(Debug)]
struct NextScan {
    request: ScanRequest,
    tell: watch::Sender<ScanResult>,
}

/// The treatment of the members of a command by a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScanPurpose<'a> {
    /// Finds them, also in the cgroups of this one.
    Find(Option<&'a Roots>),
    Kill(&'a Roots),
}

impl Scanner {
    /// Starts the scanning thread.
    pub(crate) fn start() -> io::Result<Self> {
        let shared = Arc::<ScannerShared>::default();
        let mut proc = Proc::default();
        proc.reserve()?;
        let scanning = shared.clone();
        let thread = std::thread::Builder::new().name("offshoot-scan".into());
        thread.spawn(move || scanning.scan_for_all(proc))?;
        Ok(Self(Arc::new(ScannerHandle(shared))))
    }

    /// Scans the processes that exist after this call, with the marks of those that started
    /// no earlier than `since`.
    pub(crate) async fn scan(&self, since: u64, measure: ScanPurpose<'_>) -> Arc<Census> {
        let mut seen = self.join(since, measure);
        match seen.wait_for(Option::is_some).await {
            Ok(census) => census.clone().unwrap_or_default(),
            // An empty census that is not complete.
            Err(_) => Arc::default(),
        }
    }

    /// Makes scans pass over a process until this is dropped. The caller holds the process
    /// and does not reap it meanwhile.
    pub(crate) fn quiet(&self, pid: i32) -> QuietProcess {
        self.0.0.state.lock().quiet.insert(pid);
        QuietProcess { scanner: self.clone(), pid }
    }

    fn join(&self, since: u64, measure: ScanPurpose<'_>) -> watch::Receiver<ScanResult> {
        let shared = &self.0.0;
        let mut state = shared.state.lock();
        let next = state.next.get_or_insert_with(|| NextScan {
            request: ScanRequest::since(since),
            tell: watch::Sender::default(),
        });
        next.request.since = next.request.since.min(since);
        match measure {
            ScanPurpose::Find(None) => {}
            ScanPurpose::Find(Some(roots)) => next.request.enter_cgroups(roots),
            ScanPurpose::Kill(roots) => next.request.kill(roots),
        }
        let seen = next.tell.subscribe();
        shared.changed.notify_one();
        seen
    }
}

impl ScannerShared {
    /// Handles the requests.
    fn scan_for_all(&self, mut proc: Proc) {
        while let Some(NextScan { request, tell }) = self.next() {
            tell.send_replace(Some(Arc::new(scan::take(&request, &mut proc))));
            // Those that are missing now are taken after a later scan.
            proc.reserve().ok();
        }
    }

    /// Waits for the next scan. Returns `None` once all scanners are dropped.
    fn next(&self) -> Option<NextScan> {
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
