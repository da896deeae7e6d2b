//! Saving what can be read of a damaged store into a new one.
//!
//! The damaged files are never changed: they are linked into a directory of
//! their own, and the new file takes their place in one step. A task of which
//! something is missing ends as lost in the new store, and its owner is told.

mod losses;
mod scan;
mod source;
mod stand_ins;
mod target;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use offshoot_core::TaskId;
use offshoot_store::{OpenStore, StoreError};

use self::losses::Losses;
use self::source::Source;
use self::target::Target;
use crate::check::{check_all, forget_damage};
use crate::connection::{self, FILE, beside};
use crate::error::{Fault, refused};
use crate::folder::Folder;
use crate::inspect::{Found, inspect};
use crate::lock::Lock;
use crate::marker::{self, MARKER, State};

/// What a repair came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repaired {
    /// The store is sound, and nothing was changed.
    Sound,
    /// A new store is in place.
    Rebuilt(Rebuilt),
}

/// A new store, and what became of the damaged one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// What was wrong.
    pub damage: String,
    /// The directory that holds the damaged files.
    pub kept_in: PathBuf,
    /// Each table, and how many of its rows were saved.
    pub tables: Vec<TableRepair>,
    /// The tasks that ended as lost because parts of them are missing.
    pub lost_tasks: Vec<TaskId>,
    /// Values in files that records refer to and that are missing.
    pub missing_values: u64,
    /// Values and output of tasks without a record, moved beside the damaged
    /// files.
    pub stray: u64,
}

/// What became of the rows of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableRepair {
    /// Its name.
    pub name: &'static str,
    /// How many rows the new store has.
    pub saved: u64,
    /// What is missing.
    pub lost: Loss,
}

/// How much is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// So many rows.
    Rows(u64),
    /// Some rows; how many is not known.
    Unknown,
}

impl Folder {
    /// Reads everything in a store that no process holds, and says what is
    /// damaged; else how many values in files are missing that records refer
    /// to. Nothing is changed.
    pub fn check(&self) -> Result<u64, StoreError> {
        if !self.path.is_dir() {
            return Ok(0);
        }
        let mut lock = Lock::take(&self.path)?;
        // A daemon that starts meanwhile waits for a holder that it knows.
        lock.sign()?;
        let checked = soundness(&self.path);
        lock.retract();
        checked
    }

    /// Saves what can be read of a damaged store into a new one. Refused while
    /// a process holds the data directory.
    pub async fn repair(&self) -> Result<Repaired, StoreError> {
        let path =
            std::fs::canonicalize(&self.path).map_err(|error| refused(&self.path, &error))?;
        let mut lock = Lock::take(&path)?;
        let damage = match soundness(&path) {
            Ok(_) => return Ok(Repaired::Sound),
            Err(error @ (StoreError::Corrupt { .. } | StoreError::Missing { .. })) => error,
            Err(error) => return Err(error),
        };
        lock.sign()?;
        let kept_in = made_aside(&path)?;
        let mut rebuilt = Rebuilt { damage: damage.to_string(), kept_in, ..Rebuilt::default() };
        let losses = match path.join(FILE).exists() {
            true => rebuild(&path, &mut rebuilt)?,
            false => {
                rebuilt.stray = move_stray(&path, &rebuilt.kept_in, |_| false)?;
                forget_marker(&path)?;
                Losses::default()
            }
        };
        forget_damage(&path).map_err(|error| refused(&path, &error))?;
        drop(lock);
        let store = self.clone().open_store().await?;
        rebuilt.lost_tasks = losses.settle(&*store).await?;
        store.close(std::time::Duration::MAX).await?;
        Ok(Repaired::Rebuilt(rebuilt))
    }
}

/// Whether the store is sound, from a look at all of it; how many values that
/// its records refer to are missing.
fn soundness(folder: &Path) -> Result<u64, StoreError> {
    if inspect(folder)? == Found::Nothing {
        return Ok(0);
    }
    let file = folder.join(FILE);
    let checked = connection::observer(&file).map_err(Fault::from).and_then(|file| {
        check_all(&file)?;
        losses::missing_values(folder, &file)
    });
    checked.map_err(|fault| match fault.not_read(&file) {
        StoreError::NotRead(detail) => StoreError::Corrupt { path: file, detail },
        other => other,
    })
}

/// A new directory for the damaged files.
fn made_aside(folder: &Path) -> Result<PathBuf, StoreError> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let second = now.map_or(0, |now| now.as_secs());
    for number in 0u32.. {
        let path = folder.join(format!("damaged-{second}-{number}"));
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(refused(folder, &error)),
            Ok(()) => return Ok(path),
        }
    }
    Err(StoreError::NotWritten("no directory for the damaged files can be made".into()))
}

fn rebuild(folder: &Path, rebuilt: &mut Rebuilt) -> Result<Losses, StoreError> {
    let file = folder.join(FILE);
    let draft = beside(&file, ".repaired");
    let io = |error: std::io::Error| refused(folder, &error);
    keep_aside(folder, &rebuilt.kept_in).map_err(io)?;
    for suffix in ["", "-wal", "-shm", "-journal"] {
        forget(&beside(&draft, suffix)).map_err(io)?;
    }
    let source = Source::open(folder)?;
    let mut target = Target::make(&draft, source.format)?;
    let losses = target.fill(&source, rebuilt).map_err(|fault| fault.not_written(folder))?;
    target.finish().map_err(|fault| fault.not_written(folder))?;
    drop(source);
    rebuilt.missing_values = connection::observer(&draft)
        .map_err(Fault::from)
        .and_then(|draft| losses::missing_values(folder, &draft))
        .map_err(|fault| fault.not_read(folder))?;
    let known = losses::known_tasks(&draft).map_err(|fault| fault.not_read(folder))?;
    rebuilt.stray = move_stray(folder, &rebuilt.kept_in, |task| known.contains(&task))?;
    // The log goes first: a new file must never meet the log of another.
    for suffix in ["-wal", "-shm"] {
        forget(&beside(&file, suffix)).map_err(io)?;
    }
    marker::write(folder, State::Closed)?;
    std::fs::rename(&draft, &file).map_err(io)?;
    std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(io)?;
    Ok(losses)
}

/// Puts a second name for each damaged file into its directory, or a copy where
/// files cannot have two names.
fn keep_aside(folder: &Path, aside: &Path) -> std::io::Result<()> {
    for name in ["offshoot.db", "offshoot.db-wal", "offshoot.db-shm"] {
        let (from, to) = (folder.join(name), aside.join(name));
        if from.exists() && std::fs::hard_link(&from, &to).is_err() {
            std::fs::copy(&from, &to)?;
        }
    }
    std::fs::File::open(aside)?.sync_all()
}

/// Moves the values and the output of tasks that have no record; how many.
fn move_stray(
    folder: &Path,
    aside: &Path,
    known: impl Fn(TaskId) -> bool,
) -> Result<u64, StoreError> {
    let mut moved = 0;
    for sort in ["blobs", "logs"] {
        let entries = std::fs::read_dir(folder.join(sort)).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let task = name.to_str().and_then(|name| name.parse::<TaskId>().ok());
            let Some(task) = task.filter(|task| !known(*task)) else { continue };
            let to = aside.join(sort);
            let placed = std::fs::create_dir_all(&to)
                .and_then(|()| std::fs::rename(entry.path(), to.join(task.to_string())));
            placed.map_err(|error| refused(folder, &error))?;
            moved += 1;
        }
    }
    Ok(moved)
}

/// Makes the directory look as if it never had a database.
fn forget_marker(folder: &Path) -> Result<(), StoreError> {
    let files = [MARKER.to_owned(), format!("{FILE}-wal"), format!("{FILE}-shm")];
    let forgotten = files.iter().try_for_each(|name| forget(&folder.join(name)));
    forgotten.map_err(|error| refused(folder, &error))
}

fn forget(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
