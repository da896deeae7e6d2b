-- Which blob files a record refers to: a file that is not here is an orphan.
CREATE TABLE blobs (
    task BLOB NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (task, number)
) WITHOUT ROWID;

-- A task's children in order; top-level tasks are found by their session.
CREATE INDEX tasks_child ON tasks (owner) WHERE owner > 0;
