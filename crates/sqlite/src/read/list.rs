//! Lists of tasks.

use offshoot_core::{Owner, Task};
use offshoot_store::{Namesakes, Order, Page, PageCursor, TaskQuery, Within};
use rusqlite::types::ToSql;
use rusqlite::{Row, params_from_iter};

use crate::codec::phase_of;
use crate::error::Fault;
use crate::reader::Reading;
use crate::record::{self, TASK, column};

/// How many tasks a page looks at before it returns what it has.
const LOOKS_PER_PAGE: usize = 4_096;

/// Holds of a task if its owner called no later one alike.
const IS_LAST: &str = "NOT EXISTS (SELECT 1 FROM tasks AS later INDEXED BY tasks_name \
     WHERE later.name = tasks.name AND later.session = tasks.session \
     AND later.owner = tasks.owner AND later.ordinal > tasks.ordinal)";

impl Reading<'_> {
    pub(crate) fn tasks(&self, query: &TaskQuery) -> Result<Page<Task>, Fault> {
        // An owner is its number; what is not needed is bound all the same.
        let (table, whose, owner) = match query.within {
            _ if query.name.is_some() => return self.called(query),
            Within::Everything => ("tasks", "?2 IS NULL", None),
            Within::Session(id) => match self.session_number(id) {
                Some(number) => ("tasks", "session = ?2", Some(number)),
                None => return Ok(nothing()),
            },
            Within::Owner(Owner::Session(id)) => match self.session_number(id) {
                Some(number) => {
                    ("tasks INDEXED BY tasks_session", "session = ?2 AND owner = -?2", Some(number))
                }
                None => return Ok(nothing()),
            },
            Within::Owner(owner) => match self.owner_numbers(owner)? {
                Some((_, number)) => {
                    ("tasks INDEXED BY tasks_child", "owner = ?2 AND owner > 0", Some(number))
                }
                None => return Ok(nothing()),
            },
        };
        let is_meant = match query.namesakes {
            Namesakes::All => "TRUE",
            Namesakes::Last => IS_LAST,
        };
        let Bound { after, than, order } = bound(query);
        let sql = format!(
            "SELECT {TASK} FROM {table} WHERE ordinal {than} ?1 AND {whose} AND {is_meant} \
             ORDER BY ordinal {order}"
        );
        let mut select = self.connection.prepare_cached(&sql)?;
        let mut rows = select.query((after, owner))?;
        let mut found = Gathered::new(query);
        while let Some(row) = rows.next()? {
            if found.is_full() {
                return Ok(found.page(More::Follow));
            }
            found.look(row, self)?;
        }
        Ok(found.page(More::None))
    }

    /// The tasks of a name. One index serves all scopes and has each session's
    /// and each owner's together; so every page sorts the ordinals of those
    /// within reach, which are in the index, before it reads any of them.
    fn called(&self, query: &TaskQuery) -> Result<Page<Task>, Fault> {
        let Bound { after, than, order } = bound(query);
        let numbers = match query.within {
            Within::Everything => None,
            Within::Session(id) => match self.session_number(id) {
                Some(number) => Some((number, None)),
                None => return Ok(nothing()),
            },
            Within::Owner(owner) => match self.owner_numbers(owner)? {
                Some((session, number)) => Some((session, Some(number))),
                None => return Ok(nothing()),
            },
        };
        let mut values: Vec<&dyn ToSql> = vec![&after, &query.name];
        let mut whose = String::from("name = ?2");
        if let Some((session, owner)) = &numbers {
            values.push(session);
            whose.push_str(" AND session = ?3");
            if let Some(owner) = owner {
                values.push(owner);
                whose.push_str(" AND owner = ?4");
            }
        }
        let listed = match query.namesakes {
            Namesakes::All => format!("ordinal FROM tasks INDEXED BY tasks_name WHERE {whose}"),
            Namesakes::Last => format!(
                "max(ordinal) AS ordinal FROM tasks INDEXED BY tasks_name WHERE {whose} \
                 GROUP BY session, owner"
            ),
        };
        let sql = format!(
            "SELECT ordinal FROM (SELECT {listed}) WHERE ordinal {than} ?1 \
             ORDER BY ordinal {order} LIMIT {}",
            LOOKS_PER_PAGE + 1
        );
        let mut select = self.connection.prepare_cached(&sql)?;
        let mut ordinals = select.query(params_from_iter(values))?;
        let mut read = self
            .connection
            .prepare_cached(&format!("SELECT {TASK} FROM tasks WHERE ordinal = ?1"))?;
        let mut found = Gathered::new(query);
        while let Some(row) = ordinals.next()? {
            if found.is_full() {
                return Ok(found.page(More::Follow));
            }
            let ordinal: i64 = row.get(0)?;
            if let Some(row) = read.query([ordinal])?.next()? {
                found.look(row, self)?;
            }
        }
        Ok(found.page(More::None))
    }
}

/// Where a page begins and which way it goes.
struct Bound {
    after: i64,
    than: &'static str,
    order: &'static str,
}

fn bound(query: &TaskQuery) -> Bound {
    let (first, than, order) = match query.order {
        Order::OldestFirst => (0, ">", "ASC"),
        Order::NewestFirst => (i64::MAX, "<", "DESC"),
    };
    let after = query.after.map_or(first, |PageCursor(after)| column(after));
    Bound { after, than, order }
}

fn nothing() -> Page<Task> {
    Page { items: Vec::new(), next: None }
}

/// What a page has so far.
struct Gathered<'q> {
    query: &'q TaskQuery,
    items: Vec<Task>,
    last: Option<u64>,
    looked: usize,
}

/// Whether anything comes after a page.
enum More {
    None,
    Follow,
}

impl<'q> Gathered<'q> {
    fn new(query: &'q TaskQuery) -> Self {
        Self { query, items: Vec::new(), last: None, looked: 0 }
    }

    fn is_full(&self) -> bool {
        self.items.len() == self.query.limit.max(1) || self.looked == LOOKS_PER_PAGE
    }

    /// Takes the task of this row if the query asks for it.
    fn look(&mut self, row: &Row<'_>, reading: &Reading<'_>) -> Result<(), Fault> {
        self.looked += 1;
        let ordinal: i64 = row.get(0)?;
        self.last = Some(ordinal as u64);
        // What the columns rule out need not be decoded.
        let phase = phase_of(row.get(4)?)?;
        if !self.query.phases.is_empty() && !self.query.phases.contains(&phase) {
            return Ok(());
        }
        let (_, task) = record::task(row, reading)?;
        if self.query.admits(&task) {
            self.items.push(task);
        }
        Ok(())
    }

    fn page(self, more: More) -> Page<Task> {
        let next = match more {
            More::None => None,
            More::Follow => self.last.map(PageCursor),
        };
        Page { items: self.items, next }
    }
}
