//! Repair: saves what can be read of a damaged store into a new one.
//!
//! The damaged files are never changed. They are linked into a separate directory, and the
//! new file replaces the database in one step. A task with missing parts ends as lost in
//! the new store, and its owner is notified.
//!
//! The replacement is the last step. Before it, the new store is completed in its own
//! directory, and a report of the losses is written beside the damaged files. An
//! interrupted repair starts over.

mod damaged_file;
mod losses;
mod new_file;
mod replacements;
mod scan;

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use offshoot_core::TaskId;
use offshoot_store::StoreError;
use serde::Serialize;

use self::damaged_file::DamagedFile;
use self::losses::Losses;
use self::new_file::NewFile;
use crate::check::{check_all, clear_damage_note};
use crate::error::{SqliteError, open_error};
use crate::files::connection::{self, FILE, beside};
use crate::files::inspect::{DirContents, OF_TASKS, inspect};
use crate::files::lock::Lock;
use crate::files::marker::{self, MARKER, MarkerState};
use crate::open::open;
use crate::options::StoreOptions;

/// The prefix of the directories with damaged files.
const DAMAGED_DIR: &str = "damaged-";

/// The name of the report in such a directory.
const REPORT: &str = "report.json";

/// The directory in which the new store is made.
const DRAFT_DIR: &str = "repair-draft";

/// The result of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RepairResult {
    /// The store is sound. Nothing was changed.
    Sound,
    /// A new store was created.
    Rebuilt(RepairReport),
}

/// The report about a new store and the damaged one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RepairReport {
    /// The kind of damage.
    pub damage: String,
    /// The directory that holds the damaged files.
    pub kept_in: PathBuf,
    /// The tables, with the number of saved rows.
    pub tables: Vec<TableRepair>,
    /// The tasks that ended as lost because of missing parts.
    pub lost_tasks: Vec<TaskId>,
    /// The number of missing blobs that records refer to.
    pub missing_values: u64,
    /// The number of blobs and logs without a task record, moved to the damaged files.
    pub stray: u64,
}

/// The report about a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableRepair {
    /// The table's name.
    pub name: &'static str,
    /// The number of rows in the new store.
    pub saved: u64,
    /// The missing rows.
    pub lost: Loss,
}

/// The number of missing rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// This number of rows.
    Rows(u64),
    /// An unknown number of rows.
    Unknown,
}

/// Reads all data of a store that no process holds, and reports damage. Returns the number
/// of missing blobs. Changes nothing.
pub(crate) fn check(path: &Path) -> Result<u64, StoreError> {
    if !path.is_dir() {
        return Ok(0);
    }
    let mut lock = Lock::take(path)?;
    // A daemon that starts in the meantime waits for a holder with a name.
    lock.sign()?;
    let checked = check_soundness(path);
    lock.retract();
    checked
}

/// Saves what can be read of a damaged store into a new one. Refused while a
/// process holds the data directory.
pub(crate) async fn repair(options: &StoreOptions) -> Result<RepairResult, StoreError> {
    let path = std::fs::canonicalize(&options.path);
    let path = path.map_err(|error| open_error(&options.path, &error))?;
    let mut lock = Lock::take(&path)?;
    let damage = match check_soundness(&path) {
        Ok(_) => {
            // A repair that was interrupted after its last step leaves its draft.
            remove_dir_if_present(&path.join(DRAFT_DIR))
                .map_err(|error| open_error(&path, &error))?;
            return Ok(RepairResult::Sound);
        }
        Err(error @ (StoreError::Corrupt { .. } | StoreError::Missing { .. })) => error,
        Err(error) => return Err(error),
    };
    lock.sign()?;
    let kept_in = make_damaged_dir(&path)?;
    let mut rebuilt =
        RepairReport { damage: damage.to_string(), kept_in, ..RepairReport::default() };
    match path.join(FILE).exists() {
        true => rebuild(options, &path, &mut rebuilt).await?,
        false => {
            rebuilt.stray = move_stray(&path, &rebuilt.kept_in, |_| false)?;
            write_report(&rebuilt).map_err(|error| open_error(&path, &error))?;
            remove_marker(&path)?;
        }
    }
    clear_damage_note(&path).map_err(|error| open_error(&path, &error))?;
    drop(lock);
    let store = open(options.clone()).await?;
    store.close(Duration::MAX).await?;
    Ok(RepairResult::Rebuilt(rebuilt))
}

/// The report of the latest repair that wrote one.
pub(crate) fn latest_report(path: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(path).ok()?.flatten();
    let is_damaged_dir =
        |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| name.starts_with(DAMAGED_DIR));
    let damaged_dirs = entries.filter(|entry| is_damaged_dir(&entry.file_name()));
    let reports = damaged_dirs.map(|entry| entry.path().join(REPORT));
    let dated = reports.filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)));
    dated.max().map(|(_, path)| path)
}

/// Checks all data, and returns the number of missing blobs.
fn check_soundness(dir: &Path) -> Result<u64, StoreError> {
    if inspect(dir)? == DirContents::Nothing {
        return Ok(0);
    }
    let file = dir.join(FILE);
    let checked = connection::observer(&file).map_err(SqliteError::from).and_then(|file| {
        check_all(&file)?;
        losses::missing_values(dir, &file)
    });
    checked.map_err(|fault| match fault.not_read(&file) {
        StoreError::NotRead(detail) => StoreError::Corrupt { path: file, detail },
        other => other,
    })
}

/// Creates a directory for the damaged files.
fn make_damaged_dir(dir: &Path) -> Result<PathBuf, StoreError> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let second = now.map_or(0, |now| now.as_secs());
    for number in 0u32.. {
        let path = dir.join(format!("{DAMAGED_DIR}{second}-{number}"));
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(open_error(dir, &error)),
            Ok(()) => return Ok(path),
        }
    }
    Err(StoreError::NotWritten("no directory for the damaged files can be made".into()))
}

/// Makes a new store from the readable data, and replaces the damaged one with it.
async fn rebuild(
    options: &StoreOptions,
    dir: &Path,
    rebuilt: &mut RepairReport,
) -> Result<(), StoreError> {
    let io = |error: std::io::Error| open_error(dir, &error);
    let draft_dir = dir.join(DRAFT_DIR);
    link_damaged_files(dir, &rebuilt.kept_in).map_err(io)?;
    remove_dir_if_present(&draft_dir).map_err(io)?;
    std::fs::create_dir(&draft_dir).map_err(io)?;
    let losses = fill(dir, &draft_dir.join(FILE), rebuilt)?;
    let store = open(StoreOptions { path: draft_dir.clone(), ..options.clone() }).await?;
    rebuilt.lost_tasks = losses.settle(&*store).await?;
    store.close(Duration::MAX).await?;
    drop(store);
    if beside(&draft_dir.join(FILE), "-wal").exists() {
        let text = "the log of the new store could not be merged";
        return Err(StoreError::NotWritten(text.into()));
    }
    write_report(rebuilt).map_err(io)?;
    replace_store(dir, &draft_dir)
}

/// Fills a new file with the readable data.
fn fill(dir: &Path, draft: &Path, rebuilt: &mut RepairReport) -> Result<Losses, StoreError> {
    let source = DamagedFile::open(dir)?;
    let mut target = NewFile::make(draft, source.format)?;
    let losses = target.fill(&source, rebuilt).map_err(|fault| fault.not_written(dir))?;
    target.finish().map_err(|fault| fault.not_written(dir))?;
    drop(source);
    rebuilt.missing_values = connection::observer(draft)
        .map_err(SqliteError::from)
        .and_then(|draft| losses::missing_values(dir, &draft))
        .map_err(|fault| fault.not_read(dir))?;
    let known = losses::known_tasks(draft).map_err(|fault| fault.not_read(dir))?;
    rebuilt.stray = move_stray(dir, &rebuilt.kept_in, |task| known.contains(&task))?;
    Ok(losses)
}

/// Writes the report beside the damaged files.
fn write_report(rebuilt: &RepairReport) -> std::io::Result<()> {
    let mut text = serde_json::to_vec_pretty(rebuilt)?;
    text.push(b'\n');
    let mut file_options = std::fs::OpenOptions::new();
    file_options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file_options, 0o600);
    let mut file = file_options.open(rebuilt.kept_in.join(REPORT))?;
    file.write_all(&text)?;
    file.sync_all()?;
    std::fs::File::open(&rebuilt.kept_in)?.sync_all()
}

/// Replaces the damaged file with the new one.
fn replace_store(dir: &Path, draft_dir: &Path) -> Result<(), StoreError> {
    let io = |error: std::io::Error| open_error(dir, &error);
    let file = dir.join(FILE);
    // The log goes first: a new file must never meet another file's log.
    for suffix in ["-wal", "-shm"] {
        remove_if_present(&beside(&file, suffix)).map_err(io)?;
    }
    marker::write(dir, MarkerState::Closed)?;
    std::fs::rename(draft_dir.join(FILE), &file).map_err(io)?;
    std::fs::File::open(dir).and_then(|dir| dir.sync_all()).map_err(io)?;
    remove_dir_if_present(draft_dir).map_err(io)
}

/// Links each damaged file into its directory, or copies it where links are not possible.
fn link_damaged_files(dir: &Path, damaged_dir: &Path) -> std::io::Result<()> {
    for name in ["offshoot.db", "offshoot.db-wal", "offshoot.db-shm"] {
        let (from, to) = (dir.join(name), damaged_dir.join(name));
        if from.exists() && std::fs::hard_link(&from, &to).is_err() {
            std::fs::copy(&from, &to)?;
        }
    }
    std::fs::File::open(damaged_dir)?.sync_all()
}

/// Moves the blobs and logs of tasks without a record. Returns their number.
fn move_stray(
    dir: &Path,
    damaged_dir: &Path,
    known: impl Fn(TaskId) -> bool,
) -> Result<u64, StoreError> {
    let mut moved = 0;
    for sort in OF_TASKS {
        let entries = std::fs::read_dir(dir.join(sort)).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let task = name.to_str().and_then(|name| name.parse::<TaskId>().ok());
            let Some(task) = task.filter(|task| !known(*task)) else { continue };
            let to = damaged_dir.join(sort);
            let placed = std::fs::create_dir_all(&to)
                .and_then(|()| std::fs::rename(entry.path(), to.join(task.to_string())));
            placed.map_err(|error| open_error(dir, &error))?;
            moved += 1;
        }
    }
    Ok(moved)
}

/// Removes the marker and the log, as in a directory that never had a database.
fn remove_marker(dir: &Path) -> Result<(), StoreError> {
    let files = [MARKER.to_owned(), format!("{FILE}-wal"), format!("{FILE}-shm")];
    let forgotten = files.iter().try_for_each(|name| remove_if_present(&dir.join(name)));
    forgotten.map_err(|error| open_error(dir, &error))
}

fn remove_dir_if_present(dir: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn remove_if_present(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
