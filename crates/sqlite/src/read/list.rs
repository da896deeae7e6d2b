//! Lists of tasks.

use offshoot_core::{Owner, Task};
use offshoot_store::{Order, Page, PageCursor, TaskQuery, Within};

use crate::codec::phase_of;
use crate::error::Fault;
use crate::reader::Reading;
use crate::record::{self, TASK, column, text};

/// How many tasks a page looks at before it returns what it has.
const LOOKS_PER_PAGE: usize = 4_096;

impl Reading<'_> {
    pub(crate) fn tasks(&self, query: &TaskQuery) -> Result<Page<Task>, Fault> {
        let nothing = Page { items: Vec::new(), next: None };
        // An owner is its number; what is not needed is bound all the same.
        let (table, whose, owner) = match query.within {
            Within::Everything => ("tasks", "?2 IS NULL", None),
            Within::Session(id) => match self.session_number(id) {
                Some(number) => ("tasks", "session = ?2", Some(number)),
                None => return Ok(nothing),
            },
            Within::Owner(Owner::Session(id)) => match self.session_number(id) {
                Some(number) => {
                    ("tasks INDEXED BY tasks_session", "session = ?2 AND owner = -?2", Some(number))
                }
                None => return Ok(nothing),
            },
            Within::Owner(owner) => match self.owner_number(owner)? {
                Some(number) => {
                    ("tasks INDEXED BY tasks_child", "owner = ?2 AND owner > 0", Some(number))
                }
                None => return Ok(nothing),
            },
        };
        let (after, bound, order) = match query.order {
            Order::OldestFirst => (0, "ordinal > ?1", "ASC"),
            Order::NewestFirst => (i64::MAX, "ordinal < ?1", "DESC"),
        };
        let after = query.after.map_or(after, |PageCursor(after)| column(after));
        let sql = format!(
            "SELECT {TASK} FROM {table} WHERE {bound} AND {whose} ORDER BY ordinal {order}"
        );
        let mut select = self.connection.prepare_cached(&sql)?;
        let mut rows = select.query((after, owner))?;
        let mut items = Vec::new();
        let mut last = None;
        let mut looked = 0;
        while let Some(row) = rows.next()? {
            if items.len() == query.limit.max(1) || looked == LOOKS_PER_PAGE {
                return Ok(Page { items, next: last.map(PageCursor) });
            }
            looked += 1;
            let ordinal: i64 = row.get(0)?;
            last = Some(ordinal as u64);
            // What the columns rule out need not be decoded.
            let phase = phase_of(row.get(4)?)?;
            let phase_fits = query.phases.is_empty() || query.phases.contains(&phase);
            let name = text(row, 3)?;
            if !phase_fits || query.name.as_ref().is_some_and(|wanted| **wanted != *name) {
                continue;
            }
            let (_, task) = record::task(row, self)?;
            if query.admits(&task) {
                items.push(task);
            }
        }
        Ok(Page { items, next: None })
    }
}
