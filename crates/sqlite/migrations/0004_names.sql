-- A name is looked for within its owner, within a session, or everywhere. Of
-- several tasks of one name and owner the last spawned is the live one, or the
-- one that ended last: a name is free only once its task has ended.
DROP INDEX tasks_name;
CREATE INDEX tasks_name ON tasks (name, session, owner);
