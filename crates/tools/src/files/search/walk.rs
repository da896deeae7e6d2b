//! The walk over the files of a folder, on several threads.

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

/// How many threads search at the most.
const THREADS: usize = 8;

/// How many files of a folder one thread takes at once.
const BATCH: usize = 64;

/// How large a file may be to be searched.
const LARGEST: u64 = 32 << 20;

/// How many entries of one folder are looked at.
const MOST: usize = 1_000_000;

/// How many bytes the path of a folder may have that is searched. A longer one cannot be
/// named to any tool, and rules keep the paths of all folders above.
const LONGEST: usize = 4096;

/// A walk over the files of a folder.
pub(super) struct Walk<'a> {
    pub(super) work: &'a Work,
    pub(super) pattern: &'a Pattern,
    pub(super) glob: Option<Glob>,
    pub(super) found: &'a Found,
    pub(super) until: Instant,
}

/// What a thread takes.
enum Job {
    /// A folder in another, under these rules.
    Folder(Arc<Opened>, OsString, Rules),
    /// Files of a folder.
    Files(Arc<Opened>, Vec<OsString>),
}

/// What is still to be done.
#[derive(Default)]
struct Jobs {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The last one is taken first, so that few folders are open at once.
    jobs: Vec<Job>,
    /// How many threads are at work and may bring more.
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

    /// The next job. None when all is done, or it is over.
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

/// A thread at work on a job. When it is dropped, whyever, others do not wait for
/// what it might bring.
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
    /// Searches all files of a folder.
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
                    // It is hidden, or no folder any more, or a view of the system.
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

    /// Looks what is in a folder.
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
                // Links are not followed, and nothing else holds lines.
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

/// Whether what is in another folder is a folder that holds files.
fn is_searched(folder: &Opened, parent: &Opened) -> bool {
    let elsewhere = folder.stat.st_dev != parent.stat.st_dev;
    folder.kind() == FileType::Directory && !(elsewhere && is_made_up(folder.fd.as_fd()))
}

/// Reads a file into a buffer that is used again. How long it is.
fn read(mut file: File, size: i64, buffer: &mut Vec<u8>) -> std::io::Result<usize> {
    let wanted = usize::try_from(size).unwrap_or_default() + 1;
    if buffer.len() < wanted {
        buffer.resize(wanted.max(64 << 10), 0);
    }
    let mut length = 0;
    loop {
        // Room for one more byte than there is tells the end in one read.
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
