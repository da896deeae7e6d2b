//! A scan that reads the rows of a table around broken pages.
//!
//! A plain scan stops at the first broken page. Therefore a table is read from both ends,
//! and the gap in between is divided repeatedly. This finds every reachable range of rows.

use std::collections::BinaryHeap;

use rusqlite::types::Value;
use rusqlite::{Connection, Params};

use crate::error::SqliteError;
use crate::tables::TableInfo;

/// The maximum number of divisions per table. Each costs about as much as snapshot one row.
const DIVISIONS: usize = 50_000;

/// Greater than the number of every row.
const HIGHEST: i64 = i64::MAX / 2;

/// The values of all columns of a row.
pub(super) type RowValues = Vec<Value>;

/// Whether every row was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScanResult {
    All,
    Some,
}

/// A scan of a table in the damaged file.
pub(super) struct TableScan<'c> {
    pub(super) connection: &'c Connection,
    pub(super) table: TableInfo,
}

/// The progress of the scan of a range.
enum RangeEnd {
    /// To the end.
    Complete,
    /// To an unreadable page after the row with this number.
    Unreadable(Option<i64>),
}

impl TableScan<'_> {
    /// Passes each reachable row of a table with numbered rows.
    pub(super) fn numbered(&self, take: &mut dyn FnMut(RowValues)) -> ScanResult {
        let up = match self.range("1 ORDER BY rowid", [], take) {
            RangeEnd::Complete => return ScanResult::All,
            RangeEnd::Unreadable(last) => last.unwrap_or(-1),
        };
        let down = match self.range("rowid > ?1 ORDER BY rowid DESC", [up], take) {
            RangeEnd::Complete => return ScanResult::Some,
            RangeEnd::Unreadable(last) => last.unwrap_or(HIGHEST),
        };
        let mut gaps = BinaryHeap::from([(down - up, up, down)]);
        for _ in 0..DIVISIONS {
            let Some((length, low, high)) = gaps.pop() else { break };
            if length <= 1 {
                break;
            }
            let middle = low + length / 2;
            let above = "rowid >= ?1 AND rowid < ?2 ORDER BY rowid";
            if let RangeEnd::Unreadable(last) = self.range(above, [middle, high], take) {
                let last = last.unwrap_or(middle);
                gaps.push((high - last, last, high));
            }
            let below = "rowid > ?1 AND rowid < ?2 ORDER BY rowid DESC";
            if let RangeEnd::Unreadable(last) = self.range(below, [low, middle], take) {
                let last = last.unwrap_or(middle);
                gaps.push((last - low, low, last));
            }
        }
        ScanResult::Some
    }

    /// Passes each row that is reachable from either end of a table without numbers.
    pub(super) fn each_end(&self, take: &mut dyn FnMut(RowValues)) -> ScanResult {
        match self.range("1", [], take) {
            RangeEnd::Complete => ScanResult::All,
            RangeEnd::Unreadable(_) => {
                let columns = self.key_columns().unwrap_or_default();
                let down: Vec<String> =
                    columns.iter().map(|column| format!("{column} DESC")).collect();
                if !down.is_empty() {
                    self.range(&format!("1 ORDER BY {}", down.join(", ")), [], take);
                }
                ScanResult::Some
            }
        }
    }

    /// Passes the rows of one owner, from both ends. Returns whether these are all.
    pub(super) fn owned(&self, owner: &[u8], take: &mut dyn FnMut(RowValues)) -> ScanResult {
        let Ok(columns) = self.key_columns() else { return ScanResult::Some };
        let (Some(first), Some(last)) = (columns.first(), columns.last()) else {
            return ScanResult::Some;
        };
        for order in ["", "DESC"] {
            let rows = format!("{first} = ?1 ORDER BY {last} {order}");
            if let RangeEnd::Complete = self.range(&rows, [owner], take) {
                return ScanResult::All;
            }
        }
        ScanResult::Some
    }

    /// The columns of the primary key, in order.
    fn key_columns(&self) -> Result<Vec<String>, SqliteError> {
        let mut select = self
            .connection
            .prepare("SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk")?;
        let names = select.query_map([self.table.name], |row| row.get(0))?;
        Ok(names.collect::<rusqlite::Result<_>>()?)
    }

    fn range(&self, rows: &str, given: impl Params, take: &mut dyn FnMut(RowValues)) -> RangeEnd {
        let mut last = None;
        let numbered = rows.contains("rowid");
        let columns = if numbered { "*, rowid" } else { "*" };
        let sql = format!("SELECT {columns} FROM {} WHERE {rows}", self.table.name);
        let read = || -> Result<(), SqliteError> {
            let mut select = self.connection.prepare_cached(&sql)?;
            let count = select.column_count() - usize::from(numbered);
            let mut found = select.query(given)?;
            while let Some(row) = found.next()? {
                if numbered {
                    last = Some(row.get(count)?);
                }
                if (self.table.read)(row).is_ok() {
                    let values = (0..count).map(|at| row.get::<_, Value>(at));
                    take(values.collect::<rusqlite::Result<_>>()?);
                }
            }
            Ok(())
        };
        match read() {
            Ok(()) => RangeEnd::Complete,
            Err(_) => RangeEnd::Unreadable(last),
        }
    }
}
