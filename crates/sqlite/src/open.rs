//! The opening of a store: inspect, lock, check, load, and only then write.

use std::path::Path;
use std::sync::Arc;

use offshoot_store::{ReadFuture, Store, StoreError};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::check::{check_all, check_pages, clear_damage_note, is_damage_noted};
use crate::error::{SqliteError, open_error};
use crate::files::connection::{self, FILE, LogAtClose, beside};
use crate::files::inspect::{DirContents, ended_uncleanly, inspect};
use crate::files::lock::Lock;
use crate::files::marker::{self, MarkerState};
use crate::files::migrate::{FORMAT, migrate};
use crate::files::presence::Presence;
use crate::image::{StoreImage, load};
use crate::options::{Storage, StoreOptions};
use crate::read::start_readers;
use crate::shared::StoreShared;
use crate::store::Sqlite;
use crate::write::writer::{self, MergeResult};

/// Opens a store on its writer thread.
pub(crate) fn open(options: StoreOptions) -> ReadFuture<Arc<dyn Store>> {
    let (reply, answer) = oneshot::channel();
    let thread = std::thread::Builder::new().name("offshoot-writer".into());
    let started = thread.spawn(move || serve(options, reply));
    match started {
        Ok(_) => ReadFuture::later(answer),
        Err(error) => ReadFuture::ready(Err(StoreError::NotRead(error.to_string().into()))),
    }
}

type OpenReply = oneshot::Sender<Result<Arc<dyn Store>, StoreError>>;

fn serve(options: StoreOptions, reply: OpenReply) {
    let ready = canonical(options).and_then(|options| Ok((ready(&options)?, options)));
    let (OpenedFile { lock, connection, image, check, orphans }, options) = match ready {
        Ok(ready) => ready,
        Err(error) => {
            // The caller may be gone.
            reply.send(Err(error)).ok();
            return;
        }
    };
    let presence = Presence::of(&options.path, &lock);
    let shared = Arc::new(StoreShared::new(options.path.clone(), image, presence));
    shared.enlist();
    let guard = CloseGuard(shared.clone());
    let readers = match start_readers(&options, &shared) {
        Ok(readers) => readers,
        Err(fault) => {
            reply.send(Err(fault.not_read(&options.path))).ok();
            return;
        }
    };
    if let Err(error) = mark_open(&options) {
        reply.send(Err(error)).ok();
        return;
    }
    match check {
        PageCheck::Done if orphans == OrphanPolicy::Sweep => sweep_orphans(&shared),
        PageCheck::Done => {}
        PageCheck::Due => check_in_background(&shared),
    }
    let store: Arc<dyn Store> = Arc::new(Sqlite::new(shared.clone()));
    // If the caller is gone, this drops the store, which closes the queue.
    drop(reply.send(Ok(store)));
    if let Err(fault) = writer::run(&connection, &shared, options.group) {
        tracing::error!(path = %options.path.display(), %fault, "the store's writer has stopped");
    }
    shared.close();
    shared.jobs.close();
    shared.applied.set(u64::MAX);
    for reader in readers {
        reader.join().ok();
    }
    match shared.presence.check() {
        Ok(()) => close(&connection, &options),
        Err(error) => tracing::error!(%error, "the store's log is left as it is"),
    }
    drop(connection);
    drop(lock);
    drop(guard);
}

/// Merges the log, marks the database as closed, and removes the log.
fn close(connection: &Connection, options: &StoreOptions) {
    if writer::merge(connection) == MergeResult::Incomplete {
        return;
    }
    if options.storage == Storage::Disk
        && let Err(error) = marker::write(&options.path, MarkerState::Closed)
    {
        return tracing::warn!(%error, "it could not be noted that the store is closed");
    }
    connection::at_close(connection, LogAtClose::Removed);
}

/// Marks the database as open. From now on a missing log counts as damage.
fn mark_open(options: &StoreOptions) -> Result<(), StoreError> {
    let log = beside(&options.path.join(FILE), "-wal");
    match options.storage == Storage::Disk && log.exists() {
        true => marker::write(&options.path, MarkerState::Open),
        false => Ok(()),
    }
}

/// Checks the file while the store is in use.
fn check_in_background(shared: &Arc<StoreShared>) {
    let other = shared.clone();
    let checked = shared.run_job(move |connection| {
        match check_pages(connection) {
            Ok(()) => {}
            Err(fault) if fault.is_damage() => other.fail_damaged(&fault.to_string()),
            Err(fault) => tracing::warn!(%fault, "the store could not be checked"),
        }
        Ok(())
    });
    drop(checked);
}

/// Removes the blobs of earlier processes that no record refers to, in the background.
fn sweep_orphans(shared: &Arc<StoreShared>) {
    let other = shared.clone();
    let swept = shared.run_job(move |connection| {
        let swept = other.blobs.remove_orphans(connection);
        if let Err(fault) = &swept {
            tracing::warn!(%fault, "orphaned blobs could not be searched for");
        }
        swept.map_err(|fault| fault.not_read(&other.path))
    });
    drop(swept);
}

/// Releases the directory when the thread ends, even by a panic.
struct CloseGuard(Arc<StoreShared>);

impl Drop for CloseGuard {
    fn drop(&mut self) {
        self.0.close();
        self.0.jobs.close();
        self.0.applied.set(u64::MAX);
        // Requests are left only after a failure.
        self.0.requests.clear();
        self.0.jobs.clear();
        self.0.gone.set();
    }
}

struct OpenedFile {
    lock: Lock,
    connection: Connection,
    image: StoreImage,
    check: PageCheck,
    orphans: OrphanPolicy,
}

/// The policy for blobs that no record refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OrphanPolicy {
    /// Remove them.
    Sweep,
    /// Keep them. The last process did not close the store, so they may be all that is left
    /// of lost records.
    Keep,
}

/// Whether the file must still be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageCheck {
    Done,
    Due,
}

/// The data that was loaded without changing anything.
struct LoadedFile {
    /// `None` if the store must be created or migrated first.
    image: Option<StoreImage>,
    check: PageCheck,
}

/// Creates the directory if it is missing, and makes its path canonical.
fn canonical(options: StoreOptions) -> Result<StoreOptions, StoreError> {
    let path = &options.path;
    if path.as_os_str().is_empty() {
        let detail = "its path is empty; name a directory, `.` for the present one".into();
        return Err(StoreError::Unusable { path: path.clone(), detail });
    }
    make_dir(path).map_err(|error| open_error(path, &error))?;
    let path = std::fs::canonicalize(path).map_err(|error| open_error(path, &error))?;
    Ok(StoreOptions { path, ..options })
}

fn ready(options: &StoreOptions) -> Result<OpenedFile, StoreError> {
    let path = &options.path;
    // The lock comes first: opening and closing a file that another thread of this process
    // uses would release that thread's POSIX locks.
    StoreShared::wait_for_closing(path);
    let mut lock = Lock::take(path)?;
    let inspected = inspect(path).and_then(|found| {
        let loaded = check_and_load(options, found)?;
        Ok((found, loaded, ended_uncleanly(path)?))
    });
    let (found, loaded, unclean) = match inspected {
        Ok(inspected) => inspected,
        Err(error) => {
            lock.retract();
            return Err(error);
        }
    };
    let orphans = if unclean { OrphanPolicy::Keep } else { OrphanPolicy::Sweep };
    lock.sign()?;
    clear_damage_note(path).map_err(|error| open_error(path, &error))?;
    if found == DirContents::Nothing {
        make_file(options)?;
    }
    let fault = |fault: SqliteError| fault.not_read(path);
    let mut connection = connection::writer(options).map_err(|error| fault(error.into()))?;
    connection::at_close(&connection, LogAtClose::Kept);
    migrate(&mut connection).map_err(|error| fault(error.into()))?;
    let image = match loaded.image {
        Some(image) => image,
        None => {
            // A new format must be in the file itself before it is used, so that an older
            // version sees it there.
            writer::merge(&connection);
            load(&connection).map_err(fault)?
        }
    };
    Ok(OpenedFile { lock, connection, image, check: loaded.check, orphans })
}

/// Checks and loads a store of the current format without changing anything.
fn check_and_load(options: &StoreOptions, found: DirContents) -> Result<LoadedFile, StoreError> {
    if found == DirContents::Nothing || options.storage == Storage::Memory {
        return Ok(LoadedFile { image: None, check: PageCheck::Done });
    }
    let damage_noted = is_damage_noted(&options.path);
    let unclean = ended_uncleanly(&options.path)?;
    let path = options.path.join(FILE);
    let loaded = || -> Result<Result<LoadedFile, u32>, SqliteError> {
        let observer = connection::observer(&path)?;
        let format: u32 = observer.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if format > FORMAT {
            return Ok(Err(format));
        }
        if format < FORMAT {
            // A migration writes, so the file is checked first.
            check_pages(&observer)?;
            return Ok(Ok(LoadedFile { image: None, check: PageCheck::Done }));
        }
        let short = std::fs::metadata(&path).is_ok_and(|file| file.len() <= options.checked_first);
        let check = match (damage_noted, unclean) {
            (true, _) => check_all(&observer).map(|()| PageCheck::Done)?,
            (false, true) if short => check_pages(&observer).map(|()| PageCheck::Done)?,
            (false, true) => PageCheck::Due,
            (false, false) => PageCheck::Done,
        };
        Ok(Ok(LoadedFile { image: Some(load(&observer)?), check }))
    };
    match loaded() {
        Ok(Ok(loaded)) => Ok(loaded),
        Ok(Err(found)) => Err(StoreError::Newer { path, found, known: FORMAT }),
        Err(fault) => Err(match fault.not_read(&path) {
            // A missing table is damage, too.
            StoreError::NotRead(detail) => StoreError::Corrupt { path, detail },
            other => other,
        }),
    }
}

/// Creates the file under a temporary name and renames it when it is complete.
fn make_file(options: &StoreOptions) -> Result<(), StoreError> {
    if options.storage == Storage::Memory {
        return Ok(());
    }
    let file = options.path.join(FILE);
    let draft = beside(&file, ".new");
    let io = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::StorageFull => StoreError::Full { path: options.path.clone() },
        _ => open_error(&options.path, &error),
    };
    for suffix in ["", "-wal", "-shm", "-journal"] {
        match std::fs::remove_file(beside(&draft, suffix)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
    }
    let mut file_options = std::fs::OpenOptions::new();
    file_options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file_options, 0o600);
    file_options.open(&draft).map_err(io)?;
    let made = || -> rusqlite::Result<()> {
        let mut connection = Connection::open(&draft)?;
        connection.pragma_update(None, "page_size", 4_096)?;
        migrate(&mut connection)?;
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        connection.close().map_err(|(_, error)| error)
    };
    made().map_err(|error| SqliteError::from(error).not_written(&options.path))?;
    std::fs::File::open(&draft).and_then(|draft| draft.sync_all()).map_err(io)?;
    std::fs::rename(&draft, &file).map_err(io)?;
    std::fs::File::open(&options.path).and_then(|dir| dir.sync_all()).map_err(io)
}

fn make_dir(path: &Path) -> std::io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
