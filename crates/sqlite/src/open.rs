//! How a folder is opened: look, lock, look closer, load, and only then write.

use std::path::Path;
use std::sync::Arc;

use offshoot_store::{Read, Store, StoreError};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::blobs::sweep_orphans;
use crate::check::{check_all, check_pages, forget_damage, is_noted};
use crate::connection::{self, FILE, LogAtClose, beside};
use crate::error::{Fault, refused};
use crate::folder::{Folder, Medium};
use crate::image::Image;
use crate::inspect::{Found, ended_uncleanly, inspect};
use crate::load::load;
use crate::lock::Lock;
use crate::marker::{self, State};
use crate::migrate::{FORMAT, migrate};
use crate::presence::Presence;
use crate::reader::start_readers;
use crate::shared::Shared;
use crate::store::Sqlite;
use crate::writer::{self, Merged};

/// Opens a folder on the thread that will write to it.
pub(crate) fn open(folder: Folder) -> Read<Arc<dyn Store>> {
    let (reply, answer) = oneshot::channel();
    let thread = std::thread::Builder::new().name("offshoot-writer".into());
    let started = thread.spawn(move || serve(folder, reply));
    match started {
        Ok(_) => Read::later(answer),
        Err(error) => Read::ready(Err(StoreError::NotRead(error.to_string().into()))),
    }
}

type Reply = oneshot::Sender<Result<Arc<dyn Store>, StoreError>>;

fn serve(folder: Folder, reply: Reply) {
    let ready = settled(folder).and_then(|folder| Ok((ready(&folder)?, folder)));
    let (Opened { lock, connection, image, check }, folder) = match ready {
        Ok(ready) => ready,
        Err(error) => {
            // Nobody is left to tell if the caller has gone.
            reply.send(Err(error)).ok();
            return;
        }
    };
    let presence = Presence::of(&folder.path, &lock);
    let shared = Arc::new(Shared::new(folder.path.clone(), image, presence));
    shared.enlist();
    let ending = Ending(shared.clone());
    let readers = match start_readers(&folder, &shared) {
        Ok(readers) => readers,
        Err(fault) => {
            reply.send(Err(fault.not_read(&folder.path))).ok();
            return;
        }
    };
    if let Err(error) = mark_open(&folder) {
        reply.send(Err(error)).ok();
        return;
    }
    match check {
        Check::Done => sweep_orphans(&shared),
        Check::Due => check_beside(&shared),
    }
    let store: Arc<dyn Store> = Arc::new(Sqlite::new(shared.clone()));
    // If the caller has gone, this drops the store, which closes the queue.
    drop(reply.send(Ok(store)));
    if let Err(fault) = writer::run(&connection, &shared, folder.group) {
        tracing::error!(path = %folder.path.display(), %fault, "the store's writer has stopped");
    }
    shared.close();
    shared.jobs.close();
    shared.applied.set(u64::MAX);
    for reader in readers {
        reader.join().ok();
    }
    match shared.presence.check() {
        Ok(()) => close(&connection, &folder),
        Err(error) => tracing::error!(%error, "the store's log is left as it is"),
    }
    drop(connection);
    drop(lock);
    drop(ending);
}

/// Merges the log, notes that all is in the file, and lets the log go.
fn close(connection: &Connection, folder: &Folder) {
    if writer::merge(connection) == Merged::Not {
        return;
    }
    if folder.medium == Medium::Disk
        && let Err(error) = marker::write(&folder.path, State::Closed)
    {
        return tracing::warn!(%error, "it could not be noted that the store is closed");
    }
    connection::at_close(connection, LogAtClose::Removed);
}

/// Notes that the database is open. Only from now on its log must be there.
fn mark_open(folder: &Folder) -> Result<(), StoreError> {
    let log = beside(&folder.path.join(FILE), "-wal");
    match folder.medium == Medium::Disk && log.exists() {
        true => marker::write(&folder.path, State::Open),
        false => Ok(()),
    }
}

/// Checks the file while the store is in use already, and only then removes
/// blobs that no record refers to.
fn check_beside(shared: &Arc<Shared>) {
    let other = shared.clone();
    let checked = shared.hand(move |connection| {
        match check_pages(connection) {
            Ok(()) => sweep_orphans(&other),
            Err(fault) if fault.is_damage() => other.fail_damaged(&fault.to_string()),
            Err(fault) => tracing::warn!(%fault, "the store could not be checked"),
        }
        Ok(())
    });
    drop(checked);
}

/// Says that the folder is free, however the thread ends.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.close();
        self.0.jobs.close();
        self.0.applied.set(u64::MAX);
        // Only after a failure is anything left.
        self.0.requests.clear();
        self.0.jobs.clear();
        self.0.gone.set();
    }
}

struct Opened {
    lock: Lock,
    connection: Connection,
    image: Image,
    check: Check,
}

/// Whether the file must still be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    Done,
    Due,
}

/// What was loaded without changing anything.
struct Loaded {
    /// `None` if the store must be made or migrated first.
    image: Option<Image>,
    check: Check,
}

/// The folder under the one name that all spellings of its path share, made if
/// it is not there.
fn settled(folder: Folder) -> Result<Folder, StoreError> {
    let path = &folder.path;
    if path.as_os_str().is_empty() {
        let detail = "its path is empty; name a folder, `.` for the present one".into();
        return Err(StoreError::Unusable { path: path.clone(), detail });
    }
    make_folder(path).map_err(|error| refused(path, &error))?;
    let path = std::fs::canonicalize(path).map_err(|error| refused(path, &error))?;
    Ok(Folder { path, ..folder })
}

fn ready(folder: &Folder) -> Result<Opened, StoreError> {
    let path = &folder.path;
    // Locked before it is looked at: to open and close a file that another
    // thread of this process uses would take that one's locks away.
    Shared::wait_for_closing(path);
    let mut lock = Lock::take(path)?;
    let looked = inspect(path).and_then(|found| Ok((found, look_closer(folder, found)?)));
    let (found, loaded) = match looked {
        Ok(looked) => looked,
        Err(error) => {
            lock.retract();
            return Err(error);
        }
    };
    lock.sign()?;
    forget_damage(path).map_err(|error| refused(path, &error))?;
    if found == Found::Nothing {
        make_file(folder)?;
    }
    let fault = |fault: Fault| fault.not_read(path);
    let mut connection = connection::writer(folder).map_err(|error| fault(error.into()))?;
    connection::at_close(&connection, LogAtClose::Kept);
    migrate(&mut connection).map_err(|error| fault(error.into()))?;
    let image = match loaded.image {
        Some(image) => image,
        None => {
            // A newer format must be in the file itself before it is used, so
            // that an older version can see it there.
            writer::merge(&connection);
            load(&connection).map_err(fault)?
        }
    };
    Ok(Opened { lock, connection, image, check: loaded.check })
}

/// Checks and loads a store of the present format without changing anything.
fn look_closer(folder: &Folder, found: Found) -> Result<Loaded, StoreError> {
    if found == Found::Nothing || folder.medium == Medium::Memory {
        return Ok(Loaded { image: None, check: Check::Done });
    }
    let noted = is_noted(&folder.path);
    let unclean = ended_uncleanly(&folder.path)?;
    let path = folder.path.join(FILE);
    let closer = || -> Result<Result<Loaded, u32>, Fault> {
        let observer = connection::observer(&path)?;
        let format: u32 = observer.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if format > FORMAT {
            return Ok(Err(format));
        }
        if format < FORMAT {
            // A migration writes, so it had better know what it writes to.
            check_pages(&observer)?;
            return Ok(Ok(Loaded { image: None, check: Check::Done }));
        }
        let short = std::fs::metadata(&path).is_ok_and(|file| file.len() <= folder.checked_first);
        let check = match (noted, unclean) {
            (true, _) => check_all(&observer).map(|()| Check::Done)?,
            (false, true) if short => check_pages(&observer).map(|()| Check::Done)?,
            (false, true) => Check::Due,
            (false, false) => Check::Done,
        };
        Ok(Ok(Loaded { image: Some(load(&observer)?), check }))
    };
    match closer() {
        Ok(Ok(loaded)) => Ok(loaded),
        Ok(Err(found)) => Err(StoreError::Newer { path, found, known: FORMAT }),
        Err(fault) => Err(match fault.not_read(&path) {
            // A table that is not there is damage, too.
            StoreError::NotRead(detail) => StoreError::Corrupt { path, detail },
            other => other,
        }),
    }
}

/// Makes the file under another name and gives it its own when it is whole.
fn make_file(folder: &Folder) -> Result<(), StoreError> {
    if folder.medium == Medium::Memory {
        return Ok(());
    }
    let file = folder.path.join(FILE);
    let draft = beside(&file, ".new");
    let io = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::StorageFull => StoreError::Full { path: folder.path.clone() },
        _ => refused(&folder.path, &error),
    };
    for suffix in ["", "-wal", "-shm", "-journal"] {
        match std::fs::remove_file(beside(&draft, suffix)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&draft).map_err(io)?;
    let made = || -> rusqlite::Result<()> {
        let mut connection = Connection::open(&draft)?;
        connection.pragma_update(None, "page_size", 4_096)?;
        migrate(&mut connection)?;
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        connection.close().map_err(|(_, error)| error)
    };
    made().map_err(|error| Fault::from(error).not_written(&folder.path))?;
    std::fs::File::open(&draft).and_then(|draft| draft.sync_all()).map_err(io)?;
    std::fs::rename(&draft, &file).map_err(io)?;
    std::fs::File::open(&folder.path).and_then(|folder| folder.sync_all()).map_err(io)
}

fn make_folder(path: &Path) -> std::io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
