//! Reading the rows of a table around the pages that are broken.
//!
//! A scan stops at the first broken page. So a table is read from both ends, and
//! what lies between is divided again and again: every range of rows that can be
//! reached is found, however many pages are broken.

use std::collections::BinaryHeap;

use rusqlite::types::Value;
use rusqlite::{Connection, Params};

use crate::error::Fault;
use crate::tables::Table;

/// How often the gaps of one table are divided. Each time costs about as much
/// as reading one row.
const DIVISIONS: usize = 50_000;

/// A number past that of every row.
const HIGHEST: i64 = i64::MAX / 2;

/// One row, with all its columns.
pub(super) type Values = Vec<Value>;

/// Whether every row was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    All,
    Some,
}

/// A table of the damaged file.
pub(super) struct Scan<'c> {
    pub(super) connection: &'c Connection,
    pub(super) table: Table,
}

/// How far a scan of a range came.
enum Came {
    /// To its end.
    Through,
    /// To a page that cannot be read, behind the row of this number.
    Until(Option<i64>),
}

impl Scan<'_> {
    /// Hands out each row that can be reached of a table with numbered rows.
    pub(super) fn numbered(&self, take: &mut dyn FnMut(Values)) -> Reach {
        let up = match self.range("1 ORDER BY rowid", [], take) {
            Came::Through => return Reach::All,
            Came::Until(last) => last.unwrap_or(-1),
        };
        let down = match self.range("rowid > ?1 ORDER BY rowid DESC", [up], take) {
            Came::Through => return Reach::Some,
            Came::Until(last) => last.unwrap_or(HIGHEST),
        };
        let mut gaps = BinaryHeap::from([(down - up, up, down)]);
        for _ in 0..DIVISIONS {
            let Some((length, low, high)) = gaps.pop() else { break };
            if length <= 1 {
                break;
            }
            let middle = low + length / 2;
            let above = "rowid >= ?1 AND rowid < ?2 ORDER BY rowid";
            if let Came::Until(last) = self.range(above, [middle, high], take) {
                let last = last.unwrap_or(middle);
                gaps.push((high - last, last, high));
            }
            let below = "rowid > ?1 AND rowid < ?2 ORDER BY rowid DESC";
            if let Came::Until(last) = self.range(below, [low, middle], take) {
                let last = last.unwrap_or(middle);
                gaps.push((last - low, low, last));
            }
        }
        Reach::Some
    }

    /// Hands out each row that can be reached from either end of a table
    /// without numbers.
    pub(super) fn each_end(&self, take: &mut dyn FnMut(Values)) -> Reach {
        match self.range("1", [], take) {
            Came::Through => Reach::All,
            Came::Until(_) => {
                let columns = self.key_columns().unwrap_or_default();
                let down: Vec<String> =
                    columns.iter().map(|column| format!("{column} DESC")).collect();
                if !down.is_empty() {
                    self.range(&format!("1 ORDER BY {}", down.join(", ")), [], take);
                }
                Reach::Some
            }
        }
    }

    /// Hands out the rows of one owner, from both ends; whether these are all.
    pub(super) fn owned(&self, owner: &[u8], take: &mut dyn FnMut(Values)) -> Reach {
        let Ok(columns) = self.key_columns() else { return Reach::Some };
        let (Some(first), Some(last)) = (columns.first(), columns.last()) else {
            return Reach::Some;
        };
        for order in ["", "DESC"] {
            let rows = format!("{first} = ?1 ORDER BY {last} {order}");
            if let Came::Through = self.range(&rows, [owner], take) {
                return Reach::All;
            }
        }
        Reach::Some
    }

    /// The columns of the primary key, in order.
    fn key_columns(&self) -> Result<Vec<String>, Fault> {
        let mut select = self
            .connection
            .prepare("SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk")?;
        let names = select.query_map([self.table.name], |row| row.get(0))?;
        Ok(names.collect::<rusqlite::Result<_>>()?)
    }

    fn range(&self, rows: &str, given: impl Params, take: &mut dyn FnMut(Values)) -> Came {
        let mut last = None;
        let numbered = rows.contains("rowid");
        let columns = if numbered { "*, rowid" } else { "*" };
        let sql = format!("SELECT {columns} FROM {} WHERE {rows}", self.table.name);
        let read = || -> Result<(), Fault> {
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
            Ok(()) => Came::Through,
            Err(_) => Came::Until(last),
        }
    }
}
