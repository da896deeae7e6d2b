//! The prepared statements of the writer.

use rusqlite::{Connection, Statement};

use crate::record::TASK;

macro_rules! statements {
    ($($name:ident: $sql:expr;)*) => {
        /// The writer's statements.
        pub(crate) struct Statements<'c> {
            $(pub(crate) $name: Statement<'c>,)*
        }

        impl<'c> Statements<'c> {
            pub(crate) fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
                Ok(Self { $($name: connection.prepare($sql)?,)* })
            }
        }
    };
}

statements! {
    begin: "BEGIN IMMEDIATE";
    commit: "COMMIT";
    rollback: "ROLLBACK";
    set_clock: "UPDATE clock SET stands = ?1 WHERE one = 1";

    open_session: "INSERT INTO sessions (number, id, space, name, ordinal, record) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    put_session: "UPDATE sessions SET record = ?2 WHERE number = ?1";
    session_totals: "UPDATE sessions SET totals = ?2 WHERE number = ?1";
    forget_events: "UPDATE sessions SET forgotten = ?2 WHERE number = ?1";

    spawn: "INSERT INTO tasks (ordinal, id, session, owner, name, phase, since, spec, state, key) \
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    put_spec: "INSERT INTO specs (ordinal, spec) VALUES (?1, ?2)";
    put: "UPDATE tasks SET phase = ?2, since = ?3, state = ?4, told = ?5 WHERE ordinal = ?1";
    put_quietly: "UPDATE tasks SET phase = ?2, since = ?3, state = ?4 WHERE ordinal = ?1";
    told: "UPDATE tasks SET told = ?2 WHERE id = ?1";
    task_totals: "UPDATE tasks SET totals = ?2 WHERE ordinal = ?1";
    task: &format!("SELECT {TASK} FROM tasks WHERE id = ?1");
    task_exists: "SELECT 1 FROM tasks WHERE id = ?1";
    owned: "SELECT totals FROM tasks WHERE id = ?1";
    keyed: "SELECT id FROM tasks WHERE owner = ?1 AND key = ?2";

    put_row: "INSERT INTO inbox (owner, number, id, row, message) VALUES (?1, ?2, ?3, ?4, ?5)";
    row: "SELECT id, message FROM inbox WHERE owner = ?1 AND number = ?2";
    ack: "DELETE FROM inbox WHERE owner = ?1 AND number = ?2 AND id = ?3";
    rows: "SELECT number, row FROM inbox WHERE owner = ?1 ORDER BY number";
    empty_inbox: "DELETE FROM inbox WHERE owner = ?1";
    put_moved: "INSERT OR REPLACE INTO moved (number, owner) VALUES (?1, ?2)";
    message_key: "SELECT message, gist FROM message_keys \
                  WHERE owner = ?1 AND sender IN (?2, x'') AND key = ?3 \
                  ORDER BY sender DESC LIMIT 1";
    put_message_key: "INSERT OR REPLACE INTO message_keys (owner, sender, key, message, gist) \
                      VALUES (?1, ?2, ?3, ?4, ?5)";
    put_returned: "INSERT OR IGNORE INTO returned (task, message) VALUES (?1, ?2)";

    history_length: "SELECT max(position) FROM blocks WHERE owner = ?1";
    append: "INSERT INTO blocks (owner, position, block) VALUES (?1, ?2, ?3)";
    drop_history: "DELETE FROM blocks WHERE owner = ?1";
    adopt: "INSERT INTO blocks (owner, position, block) \
            SELECT ?2, position, block FROM blocks WHERE owner = ?1 ORDER BY position";

    step: "SELECT value IS NOT NULL FROM steps WHERE task = ?1 AND key = ?2";
    put_step: "INSERT INTO steps (task, key, value) VALUES (?1, ?2, ?3) \
               ON CONFLICT (task, key) DO UPDATE SET value = excluded.value";

    last_question: "SELECT max(number) FROM questions WHERE task = ?1";
    question_open: "SELECT closed IS NULL FROM questions WHERE task = ?1 AND number = ?2";
    ask: "INSERT INTO questions (task, number, question, closed) VALUES (?1, ?2, ?3, ?4)";
    close_question: "UPDATE questions SET closed = ?3 WHERE task = ?1 AND number = ?2";

    arm: "INSERT OR REPLACE INTO timers (task, key, due) VALUES (?1, ?2, ?3)";
    disarm: "DELETE FROM timers WHERE task = ?1 AND key = ?2";

    counter: "SELECT value FROM counters WHERE owner = ?1 AND name = ?2";
    put_counter: "INSERT OR REPLACE INTO counters (owner, name, value) VALUES (?1, ?2, ?3)";

    put_chunk: "INSERT INTO log (last, session, span, events, chunk) VALUES (?1, ?2, ?3, ?4, ?5)";
}

impl std::fmt::Debug for Statements<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Statements")
    }
}
