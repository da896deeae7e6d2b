//! The new file, filled with the readable rows.

use std::collections::HashMap;
use std::path::Path;

use offshoot_core::{Stamp, TaskCounts, TaskId};
use offshoot_store::StoreError;
use rusqlite::{Connection, params_from_iter};

use super::damaged_file::DamagedFile;
use super::losses::Losses;
use super::scan::{RowValues, ScanResult, TableScan};
use super::{Loss, RepairReport, TableRepair};
use crate::codec::id;
use crate::error::SqliteError;
use crate::files::migrate::{migrate, migrate_to};
use crate::record::{decode_totals, encode_totals};
use crate::tables::{SESSIONS, TABLES, TASKS, TableIndex, TableInfo, TableShape};

/// The new file.
pub(super) struct NewFile {
    pub(super) connection: Connection,
}

impl NewFile {
    /// Creates an empty file with the format of the damaged one.
    pub(super) fn make(draft: &Path, format: u32) -> Result<Self, StoreError> {
        let made = || -> rusqlite::Result<Connection> {
            let mut connection = Connection::open(draft)?;
            connection.pragma_update(None, "page_size", 4_096)?;
            connection.pragma_update(None, "synchronous", "OFF")?;
            connection.pragma_update_and_check(None, "journal_mode", "MEMORY", |_| Ok(()))?;
            migrate_to(&mut connection, format)?;
            Ok(connection)
        };
        let connection = made().map_err(|error| SqliteError::from(error).not_written(draft))?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::Permissions::from_mode(0o600);
            let set = std::fs::set_permissions(draft, mode);
            set.map_err(|error| crate::error::open_error(draft, &error))?;
        }
        Ok(Self { connection })
    }

    /// Copies the readable rows, and returns the losses.
    pub(super) fn fill(
        &mut self,
        source: &DamagedFile,
        rebuilt: &mut RepairReport,
    ) -> Result<Losses, SqliteError> {
        let from = &source.connection;
        self.connection.execute_batch("BEGIN")?;
        let mut losses = Losses::default();
        let sessions = self.copy_numbered(from, SESSIONS, &mut losses)?;
        self.restore_sessions(from)?;
        let tasks = self.copy_numbered(from, TASKS, &mut losses)?;
        rebuilt.tables.extend([sessions, tasks]);
        for table in TABLES.iter().filter(|table| table.name != SESSIONS.name) {
            rebuilt.tables.push(match table.shape {
                TableShape::Numbered(_) => self.copy_numbered(from, *table, &mut losses)?,
                TableShape::Owned => self.copy_owned(from, *table, &mut losses)?,
            });
        }
        self.restore_tasks(from, &mut losses)?;
        self.recount()?;
        self.set_clock(from)?;
        self.drop_log(rebuilt)?;
        self.connection.execute_batch("COMMIT")?;
        Ok(losses)
    }

    /// Migrates the file to the current format and makes it durable.
    pub(super) fn finish(mut self) -> Result<(), SqliteError> {
        migrate(&mut self.connection)?;
        self.connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        crate::check::check_all(&self.connection)?;
        let path = self.connection.path().map(str::to_owned);
        self.connection.close().map_err(|(_, error)| error)?;
        let synced = path.map_or(Ok(()), |path| std::fs::File::open(path)?.sync_all());
        synced.map_err(|error| SqliteError::Broken(error.to_string()))
    }

    /// Deletes the log if parts of it are missing, because a reader that continues from a
    /// cursor must not skip events.
    fn drop_log(&self, rebuilt: &mut RepairReport) -> Result<(), SqliteError> {
        let whole = |table: &&mut TableRepair| table.lost == Loss::Rows(0);
        let log = rebuilt.tables.iter_mut().find(|table| table.name == "log");
        if let Some(log) = log.filter(|log| !whole(log)) {
            self.connection
                .execute("UPDATE sessions SET forgotten = (SELECT stands FROM clock)", [])?;
            self.connection.execute("DELETE FROM log", [])?;
            (log.saved, log.lost) = (0, Loss::Unknown);
        }
        Ok(())
    }

    fn insert(&self, table: TableInfo, values: RowValues) -> rusqlite::Result<()> {
        let places = vec!["?"; values.len()].join(", ");
        let sql = format!("INSERT OR IGNORE INTO {} VALUES ({places})", table.name);
        self.connection.prepare_cached(&sql)?.execute(params_from_iter(values))?;
        Ok(())
    }

    fn copy_numbered(
        &self,
        from: &Connection,
        table: TableInfo,
        losses: &mut Losses,
    ) -> Result<TableRepair, SqliteError> {
        let mut failed = Ok(());
        let reach = TableScan { connection: from, table }.numbered(&mut |values| {
            if let Err(error) = self.insert(table, values) {
                failed = Err(error);
            }
        });
        failed?;
        let saved = self.count(table)?;
        let lost = match (reach, table.shape) {
            (ScanResult::All, TableShape::Numbered(None)) | (_, TableShape::Owned) => {
                Loss::Rows(self.all(from, table)?.saturating_sub(saved))
            }
            (ScanResult::Some, TableShape::Numbered(None)) => Loss::Unknown,
            (reach, TableShape::Numbered(Some(index))) => match self.missing(from, table, index) {
                Ok(missing) => {
                    let count = missing.len() as u64;
                    losses.incomplete.extend(missing);
                    Loss::Rows(count)
                }
                Err(_) if reach == ScanResult::All => {
                    Loss::Rows(self.all(from, table)?.saturating_sub(saved))
                }
                Err(_) => {
                    losses.uncertain |= table.name != TASKS.name;
                    Loss::Unknown
                }
            },
        };
        Ok(TableRepair { name: table.name, saved, lost })
    }

    /// The number of rows in a table that can be read from end to end.
    fn all(&self, from: &Connection, table: TableInfo) -> Result<u64, SqliteError> {
        let sql = format!("SELECT count(*) FROM {} NOT INDEXED", table.name);
        Ok(from.query_row(&sql, [], |row| row.get::<_, i64>(0))? as u64)
    }

    /// The owners of rows that are in an index and were not saved.
    fn missing(
        &self,
        from: &Connection,
        table: TableInfo,
        index: TableIndex,
    ) -> Result<Vec<Vec<u8>>, SqliteError> {
        let TableIndex { name: index, whose } = index;
        let sql = format!(
            "SELECT {whose}, rowid FROM {} INDEXED BY {index} ORDER BY {whose}",
            table.name
        );
        let held = format!("SELECT 1 FROM {} WHERE rowid = ?1", table.name);
        let mut held = self.connection.prepare(&held)?;
        let mut select = from.prepare(&sql)?;
        let mut rows = select.query([])?;
        let mut missing = Vec::new();
        while let Some(row) = rows.next()? {
            if !held.exists([row.get::<_, i64>(1)?])? {
                missing.push(row.get(0)?);
            }
        }
        Ok(missing)
    }

    fn copy_owned(
        &self,
        from: &Connection,
        table: TableInfo,
        losses: &mut Losses,
    ) -> Result<TableRepair, SqliteError> {
        let scan = TableScan { connection: from, table };
        let mut failed = Ok(());
        let mut take = |values| {
            if let Err(error) = self.insert(table, values) {
                failed = Err(error);
            }
        };
        let reach = scan.each_end(&mut take);
        if reach == ScanResult::Some {
            for owner in self.owners(table)? {
                if scan.owned(&owner, &mut take) == ScanResult::Some {
                    if table.name == "inbox" {
                        self.find_without_row(from, &owner, losses)?;
                        if self.has_all_messages(from, &owner) {
                            continue;
                        }
                    }
                    losses.incomplete.push(owner);
                }
            }
        }
        failed?;
        let saved = self.count(table)?;
        let whole = format!("SELECT count(*) FROM {}", table.name);
        let all = from.query_row(&whole, [], |row| row.get::<_, i64>(0));
        let lost = match (all, reach) {
            (Ok(all), ScanResult::All) => Loss::Rows((all as u64).saturating_sub(saved)),
            _ => Loss::Unknown,
        };
        Ok(TableRepair { name: table.name, saved, lost })
    }

    /// Whether no message of an inbox is missing, according to its index.
    fn has_all_messages(&self, from: &Connection, owner: &[u8]) -> bool {
        let sql = "SELECT count(*) FROM inbox INDEXED BY inbox_messages \
                   WHERE owner = ?1 AND message = 1";
        let count = |connection: &Connection| {
            connection.query_row(sql, [owner], |row| row.get::<_, i64>(0)).ok()
        };
        count(from).is_some_and(|all| Some(all) == count(&self.connection))
    }

    /// Finds the tasks whose result rows were in the unreadable part of an inbox.
    fn find_without_row(
        &self,
        from: &Connection,
        owner: &[u8],
        losses: &mut Losses,
    ) -> Result<(), SqliteError> {
        let (mut low, mut high) = (-1, i64::MAX);
        let numbers = |order: &str, bound: &mut i64| {
            let sql = format!("SELECT number FROM inbox WHERE owner = ?1 ORDER BY number {order}");
            let mut read = || -> rusqlite::Result<()> {
                let mut select = from.prepare(&sql)?;
                let mut rows = select.query([owner])?;
                while let Some(row) = rows.next()? {
                    *bound = row.get(0)?;
                }
                Ok(())
            };
            // It stops at the damage.
            read().ok();
        };
        numbers("ASC", &mut low);
        numbers("DESC", &mut high);
        let mut select = self.connection.prepare_cached(
            "SELECT id FROM tasks WHERE phase >= 3 AND told > ?1 AND told < ?2 AND ?3 = coalesce( \
             (SELECT owner FROM moved WHERE number = told), \
             (SELECT x'00' || id FROM sessions WHERE number = -tasks.owner), \
             (SELECT x'01' || t.id FROM tasks t WHERE t.ordinal = tasks.owner))",
        )?;
        let ids = select.query_map((low, high, owner), |row| row.get::<_, [u8; 16]>(0))?;
        for bytes in ids {
            losses.without_row.push(id(bytes?, TaskId::from_bytes)?);
        }
        Ok(())
    }

    /// The owner keys of all sessions and tasks that can own rows of a table.
    fn owners(&self, table: TableInfo) -> Result<Vec<Vec<u8>>, SqliteError> {
        let mut owners: Vec<Vec<u8>> = Vec::new();
        let prefixed = table.name != "returned";
        for (sort, sql) in [(0u8, "SELECT id FROM sessions"), (1, "SELECT id FROM tasks")] {
            let mut select = self.connection.prepare(sql)?;
            let ids = select.query_map([], |row| row.get::<_, Vec<u8>>(0))?;
            for id in ids {
                let id = id?;
                owners.push(if prefixed { [&[sort][..], &id].concat() } else { id });
            }
        }
        Ok(owners)
    }

    fn count(&self, table: TableInfo) -> Result<u64, SqliteError> {
        let sql = format!("SELECT count(*) FROM {}", table.name);
        Ok(self.connection.query_row(&sql, [], |row| row.get::<_, i64>(0))? as u64)
    }

    /// Recounts the tasks of each session and owner.
    fn recount(&self) -> Result<(), SqliteError> {
        let mut sessions: HashMap<i64, [TaskCounts; 2]> = HashMap::new();
        let mut tasks: HashMap<i64, TaskCounts> = HashMap::new();
        collect(&self.connection, "SELECT session, owner, phase FROM tasks", |row| {
            let (session, owner): (i64, i64) = (row.get(0)?, row.get(1)?);
            let Ok(phase) = crate::codec::phase_of(row.get(2)?) else { return Ok(()) };
            let [within, own] = sessions.entry(session).or_default();
            within.add(phase);
            match owner > 0 {
                true => tasks.entry(owner).or_default().add(phase),
                false => own.add(phase),
            }
            Ok(())
        });
        let spawned = |sql: &str, number: i64| -> Option<u64> {
            let totals: Option<Vec<u8>> =
                self.connection.query_row(sql, [number], |row| row.get(0)).ok()?;
            let [counts] = decode_totals(&totals?).ok()?;
            Some(counts.spawned())
        };
        for (number, [within, own]) in sessions {
            let before = spawned("SELECT totals FROM sessions WHERE number = ?1", number);
            let totals = encode_totals(&[raised(within, before), own]);
            self.connection
                .execute("UPDATE sessions SET totals = ?2 WHERE number = ?1", (number, totals))?;
        }
        for (ordinal, counts) in tasks {
            let before = spawned("SELECT totals FROM tasks WHERE ordinal = ?1", ordinal);
            let totals = encode_totals(&[raised(counts, before)]);
            self.connection
                .execute("UPDATE tasks SET totals = ?2 WHERE ordinal = ?1", (ordinal, totals))?;
        }
        Ok(())
    }

    /// Sets the clock after every number in use.
    fn set_clock(&self, from: &Connection) -> Result<(), SqliteError> {
        let stood = from.query_row("SELECT stands FROM clock", [], |row| row.get::<_, i64>(0));
        let highest: Option<i64> = self.connection.query_row(
            "SELECT max(n) FROM (SELECT max(ordinal) n FROM tasks UNION ALL \
             SELECT max(number) FROM sessions UNION ALL SELECT max(ordinal) FROM sessions \
             UNION ALL SELECT max(number) FROM inbox UNION ALL SELECT max(told) FROM tasks \
             UNION ALL SELECT max(number) FROM moved UNION ALL SELECT max(last) FROM log)",
            [],
            |row| row.get(0),
        )?;
        // Lost rows may have had later numbers.
        let reserve = if stood.is_ok() { 0 } else { 1 << 20 };
        let clock = stood.unwrap_or(0).max(highest.unwrap_or(0)) + reserve;
        self.connection.execute("UPDATE clock SET stands = ?1", [clock])?;
        Ok(())
    }
}

/// The counts, with at least as many spawned tasks as before.
fn raised(counts: TaskCounts, before: Option<u64>) -> TaskCounts {
    let spawned = before.unwrap_or(0).max(counts.spawned());
    let mut value = serde_json::to_value(counts).unwrap_or_default();
    value["spawned"] = spawned.into();
    serde_json::from_value(value).unwrap_or(counts)
}

/// Passes rows up to the first unreadable one.
pub(super) fn collect(
    from: &Connection,
    sql: &str,
    mut take: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<()>,
) {
    let mut read = || -> rusqlite::Result<()> {
        let mut select = from.prepare(sql)?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            take(row)?;
        }
        Ok(())
    };
    if let Err(error) = read() {
        tracing::debug!(%error, sql, "a part of the damaged store cannot be read");
    }
}

pub(super) fn now() -> Stamp {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Stamp::from_micros(now.map_or(0, |now| i64::try_from(now.as_micros()).unwrap_or(i64::MAX)))
}
