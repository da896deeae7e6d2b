-- A key belongs to one sender, and the gist tells whether a repeated send has
-- the same text. Older keys are kept without either: they match every sender
-- and every text.
CREATE TABLE keys (
    owner BLOB NOT NULL,
    -- Empty if it is not known.
    sender BLOB NOT NULL,
    key TEXT NOT NULL,
    message BLOB NOT NULL,
    gist BLOB,
    PRIMARY KEY (owner, sender, key)
) WITHOUT ROWID;
INSERT INTO keys SELECT owner, x'', key, message, NULL FROM message_keys;
DROP TABLE message_keys;
ALTER TABLE keys RENAME TO message_keys;

-- Finds and counts the unread messages of an inbox without reading the rest.
CREATE INDEX inbox_messages ON inbox (owner, id) WHERE message = 1;
