//! Lists of tasks.

use offshoot_core::{Owner, Task};
use offshoot_store::{Namesakes, Order, Page, PageCursor, TaskQuery, TaskScope};
use rusqlite::types::ToSql;
use rusqlite::{Row, params_from_iter};

use crate::codec::phase_of;
use crate::error::SqliteError;
use crate::read::FileSnapshot;
use crate::record::{self, TASK, column};

/// The maximum number of tasks that a page examines.
const TASKS_PER_PAGE: usize = 4_096;

/// Selects tasks whose owner has no later task with the same name.
const IS_LAST: &str = "NOT EXISTS (SELECT 1 FROM tasks AS later INDEXED BY tasks_name \
     WHERE later.name = tasks.name AND later.session = tasks.session \
     AND later.owner = tasks.owner AND later.ordinal > tasks.ordinal)";

impl FileSnapshot<'_> {
    pub(crate) fn tasks(&self, query: &TaskQuery) -> Result<Page<Task>, SqliteError> {
        // An unused parameter is bound as well.
        let (table, whose, owner) = match query.within {
            _ if query.name.is_some() => return self.tasks_named(query),
            TaskScope::Everything => ("tasks", "?2 IS NULL", None),
            TaskScope::Session(id) => match self.session_number(id) {
                Some(number) => ("tasks", "session = ?2", Some(number)),
                None => return Ok(nothing()),
            },
            TaskScope::Owner(Owner::Session(id)) => match self.session_number(id) {
                Some(number) => {
                    ("tasks INDEXED BY tasks_session", "session = ?2 AND owner = -?2", Some(number))
                }
                None => return Ok(nothing()),
            },
            TaskScope::Owner(owner) => match self.owner_numbers(owner)? {
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
        let PageBound { after, than, order } = bound(query);
        let sql = format!(
            "SELECT {TASK} FROM {table} WHERE ordinal {than} ?1 AND {whose} AND {is_meant} \
             ORDER BY ordinal {order}"
        );
        let mut select = self.connection.prepare_cached(&sql)?;
        let mut rows = select.query((after, owner))?;
        let mut found = PageBuilder::new(query);
        while let Some(row) = rows.next()? {
            if found.is_full() {
                return Ok(found.page(NextPage::Follows));
            }
            found.add(row, self)?;
        }
        Ok(found.page(NextPage::None))
    }

    /// A page of the tasks with a name.
    ///
    /// One index serves all scopes and is ordered by session and owner. Each page therefore
    /// sorts the ordinals of the matching tasks, which are in the index, before it reads
    /// any task.
    fn tasks_named(&self, query: &TaskQuery) -> Result<Page<Task>, SqliteError> {
        let PageBound { after, than, order } = bound(query);
        let numbers = match query.within {
            TaskScope::Everything => None,
            TaskScope::Session(id) => match self.session_number(id) {
                Some(number) => Some((number, None)),
                None => return Ok(nothing()),
            },
            TaskScope::Owner(owner) => match self.owner_numbers(owner)? {
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
            TASKS_PER_PAGE + 1
        );
        let mut select = self.connection.prepare_cached(&sql)?;
        let mut ordinals = select.query(params_from_iter(values))?;
        let mut read = self
            .connection
            .prepare_cached(&format!("SELECT {TASK} FROM tasks WHERE ordinal = ?1"))?;
        let mut found = PageBuilder::new(query);
        while let Some(row) = ordinals.next()? {
            if found.is_full() {
                return Ok(found.page(NextPage::Follows));
            }
            let ordinal: i64 = row.get(0)?;
            if let Some(row) = read.query([ordinal])?.next()? {
                found.add(row, self)?;
            }
        }
        Ok(found.page(NextPage::None))
    }
}

/// The start of a page, and its direction.
struct PageBound {
    after: i64,
    than: &'static str,
    order: &'static str,
}

fn bound(query: &TaskQuery) -> PageBound {
    let (first, than, order) = match query.order {
        Order::OldestFirst => (0, ">", "ASC"),
        Order::NewestFirst => (i64::MAX, "<", "DESC"),
    };
    let after = query.after.map_or(first, |PageCursor(after)| column(after));
    PageBound { after, than, order }
}

fn nothing() -> Page<Task> {
    Page { items: Vec::new(), next: None }
}

/// A page that is being collected.
struct PageBuilder<'q> {
    query: &'q TaskQuery,
    items: Vec<Task>,
    last: Option<u64>,
    examined: usize,
}

/// Whether the list continues after a page.
enum NextPage {
    None,
    Follows,
}

impl<'q> PageBuilder<'q> {
    fn new(query: &'q TaskQuery) -> Self {
        Self { query, items: Vec::new(), last: None, examined: 0 }
    }

    fn is_full(&self) -> bool {
        self.items.len() == self.query.limit.max(1) || self.examined == TASKS_PER_PAGE
    }

    /// Adds the task of this row if it matches the query.
    fn add(&mut self, row: &Row<'_>, snapshot: &FileSnapshot<'_>) -> Result<(), SqliteError> {
        self.examined += 1;
        let ordinal: i64 = row.get(0)?;
        self.last = Some(ordinal as u64);
        // Tasks that the columns exclude are not decoded.
        let phase = phase_of(row.get(4)?)?;
        if !self.query.phases.is_empty() && !self.query.phases.contains(&phase) {
            return Ok(());
        }
        let (_, task) = record::task(row, snapshot)?;
        if self.query.admits(&task) {
            self.items.push(task);
        }
        Ok(())
    }

    fn page(self, more: NextPage) -> Page<Task> {
        let next = match more {
            NextPage::None => None,
            NextPage::Follows => self.last.map(PageCursor),
        };
        Page { items: self.items, next }
    }
}
