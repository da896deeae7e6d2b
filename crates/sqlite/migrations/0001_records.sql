-- What Offshoot keeps. Ids are 16-byte blobs; owners in side tables are their
-- id behind a byte that says which sort they are; ordinals, row numbers and
-- cursors all come from the one clock.

CREATE TABLE clock (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    stands INTEGER NOT NULL
);
INSERT INTO clock VALUES (1, 0);

CREATE TABLE sessions (
    number INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    space TEXT NOT NULL,
    name TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    -- The cursor of the newest event that is not kept any more.
    forgotten INTEGER NOT NULL DEFAULT 0,
    record BLOB NOT NULL,
    -- How many tasks there are by phase, so that nobody has to count them.
    totals BLOB,
    UNIQUE (space, name)
);

CREATE TABLE tasks (
    ordinal INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    session INTEGER NOT NULL,
    -- The owning task's ordinal, or the owning session's number negated: one
    -- number that implies the space.
    owner INTEGER NOT NULL,
    name TEXT NOT NULL,
    phase INTEGER NOT NULL,
    since INTEGER NOT NULL,
    -- NULL if it is large and in `specs`, so that a change of the record does
    -- not write it again.
    spec BLOB,
    state BLOB NOT NULL,
    key TEXT,
    -- The number of the inbox row that told of its end.
    told INTEGER,
    -- How many tasks it owns by phase; NULL if it never owned any.
    totals BLOB
);
CREATE UNIQUE INDEX tasks_id ON tasks (id);
-- Of several tasks of one name the last spawned is the live one, or the one
-- that ended last: a name is free only once its task has ended.
CREATE INDEX tasks_name ON tasks (owner, name);
CREATE INDEX tasks_session ON tasks (session);
-- No two live tasks of one owner have the same name; also finds what is live.
CREATE UNIQUE INDEX tasks_live ON tasks (owner, name) WHERE phase < 3;
CREATE INDEX tasks_ended ON tasks (since) WHERE phase >= 3;
CREATE UNIQUE INDEX tasks_key ON tasks (owner, key) WHERE key IS NOT NULL;

CREATE TABLE specs (
    ordinal INTEGER PRIMARY KEY,
    spec BLOB NOT NULL
);

CREATE TABLE inbox (
    owner BLOB NOT NULL,
    number INTEGER NOT NULL,
    id BLOB NOT NULL,
    row BLOB NOT NULL,
    message INTEGER NOT NULL,
    PRIMARY KEY (owner, number)
) WITHOUT ROWID;

-- Rows whose owner ended before it read them, and whose inbox they are in now.
CREATE TABLE moved (
    number INTEGER PRIMARY KEY,
    owner BLOB NOT NULL
);

CREATE TABLE message_keys (
    owner BLOB NOT NULL,
    key TEXT NOT NULL,
    message BLOB NOT NULL,
    PRIMARY KEY (owner, key)
) WITHOUT ROWID;

CREATE TABLE returned (
    task BLOB NOT NULL,
    message BLOB NOT NULL,
    PRIMARY KEY (task, message)
) WITHOUT ROWID;

CREATE TABLE blocks (
    owner BLOB NOT NULL,
    position INTEGER NOT NULL,
    block BLOB NOT NULL
);
CREATE UNIQUE INDEX blocks_position ON blocks (owner, position);

CREATE TABLE steps (
    task BLOB NOT NULL,
    key TEXT NOT NULL,
    -- NULL if the step has only begun.
    value BLOB
);
CREATE UNIQUE INDEX steps_key ON steps (task, key);

CREATE TABLE questions (
    task BLOB NOT NULL,
    number INTEGER NOT NULL,
    question BLOB NOT NULL,
    -- NULL while it is open.
    closed BLOB
);
CREATE UNIQUE INDEX questions_number ON questions (task, number);

CREATE TABLE timers (
    task BLOB NOT NULL,
    key TEXT NOT NULL,
    due INTEGER NOT NULL
);
CREATE UNIQUE INDEX timers_key ON timers (task, key);

CREATE TABLE counters (
    owner BLOB NOT NULL,
    name TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (owner, name)
) WITHOUT ROWID;

CREATE TABLE log (
    -- The cursor of the chunk's last event.
    last INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    -- How far before `last` the transaction that wrote it began.
    span INTEGER NOT NULL,
    events INTEGER NOT NULL,
    chunk BLOB NOT NULL
);
CREATE INDEX log_session ON log (session);
