//! The walk over the files of a directory, on several threads.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use rustix::fs::FileType;

use super::super::Work;
use super::super::entries::entries;
use super::super::ignored::Rules;
use super::super::root::{Opened, is_made_up};
use super::super::text::{Content, Encoding, HEAD};
use super::found::Found;
use super::matching::{Glob, Pattern};

/// The largest number of threads.
const THREADS: usize = 8;

/// The number of files of a directory that a thread takes at once.
const BATCH: usize = 64;

/// The largest file that is searched, in bytes.
const LARGEST: u64 = 32 << 20;

/// The largest number of entries that are read of one directory.
const MOST: usize = 1_000_000;

/// The longest path of a directory that is searched, in bytes.
///
/// No tool accepts a longer path, and rules keep the paths of all directories above.
const LONGEST: usize = 4096;

/// A walk over the files of a directory.
pub(super) struct Walk<'a> {
    pub(super) work: &'a Work,
    pub(super) pattern: &'a Pattern,
    pub(super) glob: Option<Glob>,
    pub(super) found: &'a Found,
    pub(super) until: Instant,
}

/// The unit of work of a thread.
enum Job {
    /// A directory in another one, with the rules above it.
    Folder(Arc<Opened>, OsString, Rules),
    /// Files of a directory.
    Files(Arc<Opened>, Vec<OsString>),
}

/// The remaining work.
#[derive(Default)]
struct Jobs {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The jobs. The last one is taken first, so that few directories are open at once.
    jobs: Vec<Job>,
    /// The number of working threads, which may add jobs.
    busy: usize,
}

impl Jobs {
    fn add(&self, jobs: impl Iterator<Item = Job>) {
        let mut state = self.state.lock();
        let before = state.jobs.len();
        state.jobs.extend(jobs);
        let more = state.jobs.len() - before;
        drop(state);
        if more > 0 {
            self.changed.notify_all();
        }
    }

    /// Takes the next job. Returns `None` when the work is done or the walk is stopped.
    fn take(&self, walk: &Walk<'_>) -> Option<(Job, Busy<'_>)> {
        let mut state = self.state.lock();
        loop {
            if walk.is_over() {
                state.jobs.clear();
            }
            if let Some(job) = state.jobs.pop() {
                state.busy += 1;
                return Some((job, Busy(self)));
            }
            if state.busy == 0 {
                return None;
            }
            self.changed.wait(&mut state);
        }
    }
}

/// A thread at work on a job. Once it is dropped, other threads stop waiting for its jobs.
struct Busy<'a>(&'a Jobs);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.busy -= 1;
        if state.busy == 0 {
            drop(state);
            self.0.changed.notify_all();
        }
    }
}

impl Walk<'_> {
    /// Searches all files of a directory.
    pub(super) fn folder(&self, folder: Opened) {
        let above = self.work.rules_above(&folder.path);
        let jobs = Jobs::default();
        self.enter(folder, &above, &jobs);
        let threads = std::thread::available_parallelism().map_or(1, Into::into).min(THREADS);
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| self.run(&jobs));
            }
            self.run(&jobs);
        });
    }

    /// Searches one file.
    pub(super) fn file(&self, opened: Opened) {
        self.search(opened, &mut Vec::new());
    }

    fn is_over(&self) -> bool {
        if self.work.stop.is_asked() {
            return true;
        }
        let late = Instant::now() >= self.until;
        if late {
            self.found.late.fetch_add(1, Ordering::Relaxed);
        }
        late
    }

    fn run(&self, jobs: &Jobs) {
        let mut buffer = Vec::new();
        while let Some((job, _busy)) = jobs.take(self) {
            match job {
                Job::Folder(parent, name, above) => match self.work.root.entry(&parent, &name) {
                    Ok(Some(folder)) if is_searched(&folder, &parent) => {
                        drop(parent);
                        self.enter(folder, &above, jobs);
                    }
                    // The entry is hidden, no longer a directory, or a file system of the kernel.
                    Ok(_) => {}
                    Err(_) => self.unread(),
                },
                Job::Files(folder, names) => {
                    for name in names {
                        if self.work.stop.is_asked() {
                            break;
                        }
                        match self.work.root.entry(&folder, &name) {
                            Ok(Some(file)) => self.search(file, &mut buffer),
                            Ok(None) => {}
                            Err(_) => self.unread(),
                        }
                    }
                }
            }
        }
    }

    /// Reads a directory and adds its jobs.
    fn enter(&self, folder: Opened, above: &Rules, jobs: &Jobs) {
        if folder.path.as_os_str().len() > LONGEST {
            self.unread();
            return;
        }
        let Ok(found) = entries(&folder, MOST, &self.work.stop) else {
            self.unread();
            return;
        };
        let names = found.iter().map(|entry| entry.name.as_os_str());
        let rules = above.within((&self.work.root, &folder), names);
        let folder = Arc::new(folder);
        let (mut folders, mut files) = (Vec::new(), Vec::new());
        for entry in found {
            let path = folder.path.join(&entry.name);
            let is_left_out = || rules.ignore(&path, entry.kind);
            match entry.kind {
                FileType::Directory if entry.name != ".git" && !is_left_out() => {
                    folders.push(Job::Folder(folder.clone(), entry.name, rules.clone()));
                }
                FileType::RegularFile if self.fits(&path) && !is_left_out() => {
                    files.push(entry.name);
                }
                // Links are not followed, and other types have no lines.
                _ => {}
            }
        }
        let mut batches = Vec::new();
        while !files.is_empty() {
            let rest = files.split_off(files.len().min(BATCH));
            batches.push(Job::Files(folder.clone(), std::mem::replace(&mut files, rest)));
        }
        jobs.add(folders.into_iter().chain(batches));
    }

    fn fits(&self, path: &Path) -> bool {
        self.glob.as_ref().is_none_or(|glob| glob.fits(path))
    }

    fn search(&self, opened: Opened, buffer: &mut Vec<u8>) {
        if opened.kind() != FileType::RegularFile {
            return;
        }
        if opened.size() > LARGEST {
            self.found.large.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let path = opened.path;
        let Ok(length) = read(opened.fd.into(), opened.stat.st_size, buffer) else {
            self.unread();
            return;
        };
        self.found.searched.fetch_add(1, Ordering::Relaxed);
        let bytes = &buffer[..length];
        if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = bytes {
            if let Content::Text(text) = Content::of(bytes)
                && text.encoding == Encoding::Utf16
            {
                self.found.search(self.pattern, text.text.as_bytes(), || path);
            }
            return;
        }
        if memchr::memchr(0, &bytes[..bytes.len().min(HEAD)]).is_none() {
            self.found.search(self.pattern, bytes, || path);
        }
    }

    fn unread(&self) {
        self.found.unread.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether an entry of a directory is a directory to search.
fn is_searched(folder: &Opened, parent: &Opened) -> bool {
    let elsewhere = folder.stat.st_dev != parent.stat.st_dev;
    folder.kind() == FileType::Directory && !(elsewhere && is_made_up(folder.fd.as_fd()))
}

/// Reads a file into a reused buffer, and returns its length.
fn read(mut file: File, size: i64, buffer: &mut Vec<u8>) -> std::io::Result<usize> {
    let wanted = usize::try_from(size).unwrap_or_default() + 1;
    if buffer.len() < wanted {
        buffer.resize(wanted.max(64 << 10), 0);
    }
    let mut length = 0;
    loop {
        // One spare byte lets a single read reach the end.
        match file.read(&mut buffer[length..]) {
            Ok(0) => return Ok(length),
            Ok(read) => {
                length += read;
                if length < buffer.len() && length + 1 >= wanted {
                    return Ok(length);
                }
                if length == buffer.len() {
                    if length as u64 > LARGEST {
                        return Ok(length);
                    }
                    buffer.resize(2 * length, 0);
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
