-- A task's children in order; top-level tasks are found by their session.
CREATE INDEX tasks_child ON tasks (owner) WHERE owner > 0;
