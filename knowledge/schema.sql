-- Files as evidence: which folders are indexed, which files they hold, and how pieces of them are found. No text of a file is kept.

CREATE TABLE collection (
    id               INTEGER PRIMARY KEY,
    collection_id    TEXT NOT NULL UNIQUE,
    owner            INTEGER NOT NULL, -- whose it is: the number of a workspace or of the user in `knowledge_owner`
    name             TEXT NOT NULL,
    path             TEXT NOT NULL,
    include          TEXT NOT NULL,
    exclude          TEXT NOT NULL,
    follow_gitignore INTEGER NOT NULL CHECK (follow_gitignore IN (0, 1)),
    watch            INTEGER NOT NULL CHECK (watch IN (0, 1)),
    recall           INTEGER NOT NULL CHECK (recall IN (0, 1)),
    meaning          TEXT NOT NULL CHECK (meaning IN ('documents', 'all', 'off')),
    enrich           INTEGER NOT NULL CHECK (enrich IN (0, 1)),
    state            TEXT NOT NULL CHECK (state IN ('new', 'scanning', 'live', 'polling', 'unavailable', 'over_limit')),
    reason           TEXT,
    skipped          TEXT NOT NULL DEFAULT '{}', -- counts by reason, of the last scan
    bad_patterns     TEXT NOT NULL DEFAULT '[]', -- places of lines that are no patterns, of the last scan
    withheld_at      INTEGER, -- when many files were first found gone at once
    deep_wanted      INTEGER NOT NULL DEFAULT 0 CHECK (deep_wanted IN (0, 1)),
    scanned_at       INTEGER,
    deep_scanned_at  INTEGER,
    deep_part        INTEGER NOT NULL DEFAULT 0, -- the sixth of the files that is read again next
    deep_part_at     INTEGER, -- when the sixth before it was
    created_at       INTEGER NOT NULL
) STRICT;
CREATE INDEX collection_owner ON collection (owner);

-- Workspaces and the user as integers: a part of each term, so that no search comes upon another's pieces.
CREATE TABLE knowledge_owner (
    id           INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL UNIQUE, -- empty for the user
    pieces       INTEGER NOT NULL DEFAULT 0 -- how many there are of its contents: a search does not count them
) STRICT;

-- What files say, once for each owner, however many files say it.
CREATE TABLE knowledge_content (
    id         INTEGER PRIMARY KEY,
    owner      INTEGER NOT NULL REFERENCES knowledge_owner (id) ON DELETE CASCADE,
    sha256     BLOB NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('markdown', 'text', 'code', 'pdf')),
    encoding   TEXT NOT NULL,
    bytes      INTEGER NOT NULL,
    lines      INTEGER NOT NULL,
    pieces     INTEGER NOT NULL, -- how many it has: a collection's are not counted one by one
    left_from  INTEGER, -- the first line that has no piece, of a file with too many
    left_pages TEXT NOT NULL, -- the first and last page of each run of pages of a PDF that were not read
    importance REAL NOT NULL,
    topics     TEXT NOT NULL, -- of the front matter
    hidden     TEXT NOT NULL, -- byte ranges of credentials and of our own context blocks, with the mark that is shown instead
    is_meant   INTEGER NOT NULL DEFAULT 0 CHECK (is_meant IN (0, 1)), -- a collection wants vectors of it
    UNIQUE (owner, sha256, kind)
) STRICT;

-- The text of PDF files, without credentials and compressed: the only text that is kept, as reading it takes seconds.
CREATE TABLE pdf_text (
    content INTEGER PRIMARY KEY REFERENCES knowledge_content (id) ON DELETE CASCADE,
    text    BLOB NOT NULL
) STRICT;

CREATE TABLE knowledge_file (
    id          INTEGER PRIMARY KEY,
    file_id     TEXT NOT NULL UNIQUE,
    collection  INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
    folder      TEXT NOT NULL, -- below the collection, without a slash at its end; empty for the collection itself
    name        TEXT NOT NULL,
    device      INTEGER NOT NULL,
    inode       INTEGER NOT NULL,
    size        INTEGER NOT NULL,
    mtime_ns    INTEGER NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('markdown', 'text', 'code', 'pdf')),
    language    TEXT,
    state       TEXT NOT NULL CHECK (state IN ('pending', 'indexed', 'partial', 'failed', 'skipped', 'missing')),
    reason      TEXT,
    content     INTEGER REFERENCES knowledge_content (id),
    card        BLOB, -- the terms of its name and path, sorted
    attempts    INTEGER NOT NULL DEFAULT 0,
    deaths      INTEGER NOT NULL DEFAULT 0, -- how many readers ended while they read it
    next_run_at INTEGER NOT NULL DEFAULT 0,
    rests_until INTEGER NOT NULL DEFAULT 0, -- before this a change of it is not read: what was costly to read rests for long
    error       TEXT,
    pending_at  INTEGER,
    is_baseline INTEGER NOT NULL CHECK (is_baseline IN (0, 1)), -- it was there at the first scan
    indexed_at  INTEGER,
    UNIQUE (collection, folder, name)
) STRICT;
CREATE INDEX knowledge_file_content ON knowledge_file (content, collection) WHERE content IS NOT NULL;
CREATE INDEX knowledge_file_pending ON knowledge_file (collection, next_run_at) WHERE state = 'pending';
CREATE INDEX knowledge_file_state ON knowledge_file (collection, state, reason);
CREATE INDEX knowledge_file_inode ON knowledge_file (collection, inode);

CREATE TABLE knowledge_chunk (
    id         INTEGER PRIMARY KEY,
    content    INTEGER NOT NULL REFERENCES knowledge_content (id),
    position   INTEGER NOT NULL,
    from_byte  INTEGER NOT NULL,
    to_byte    INTEGER NOT NULL,
    from_line  INTEGER NOT NULL,
    to_line    INTEGER NOT NULL,
    page       INTEGER, -- of a PDF, from 1
    headings   TEXT NOT NULL, -- byte ranges of the headings above it, the outermost first
    text_hash  BLOB NOT NULL,
    terms      BLOB, -- sorted, so that no sentence can be read of them
    term_count INTEGER NOT NULL,
    index_state TEXT NOT NULL DEFAULT 'indexed' CHECK (index_state IN ('indexed', 'pending', 'repair_needed')), -- of its vector
    UNIQUE (content, position)
) STRICT;
CREATE INDEX knowledge_chunk_awaiting_vector ON knowledge_chunk (id) WHERE index_state = 'pending';

-- Vectors by space and owner, int8. Rows are never changed, and their numbers only grow: sketches in memory
-- are brought up to date by what came after, and thinned out when the count of losses says that much went.
CREATE TABLE knowledge_vec (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    space_id  INTEGER NOT NULL REFERENCES space (id),
    owner     INTEGER NOT NULL REFERENCES knowledge_owner (id) ON DELETE CASCADE,
    chunk     INTEGER NOT NULL REFERENCES knowledge_chunk (id) ON DELETE CASCADE,
    text_hash BLOB NOT NULL, -- keyed, of the text that the model was given
    vector    BLOB NOT NULL,
    digest    INTEGER -- vouches for the vector
) STRICT;
CREATE UNIQUE INDEX knowledge_vec_chunk ON knowledge_vec (chunk, space_id);
CREATE INDEX knowledge_vec_owner ON knowledge_vec (space_id, owner);
CREATE INDEX knowledge_vec_text ON knowledge_vec (text_hash, space_id);

CREATE TABLE knowledge_vec_loss (
    space_id INTEGER NOT NULL,
    owner    INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    PRIMARY KEY (space_id, owner)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER knowledge_vec_lost AFTER DELETE ON knowledge_vec BEGIN
    INSERT INTO knowledge_vec_loss (space_id, owner, count) VALUES (old.space_id, old.owner, 1)
    ON CONFLICT (space_id, owner) DO UPDATE SET count = count + 1;
END;

-- What a text says of itself and of others, where it does: other names, tags, and its links as they were written.
CREATE TABLE knowledge_reference (
    content INTEGER PRIMARY KEY REFERENCES knowledge_content (id) ON DELETE CASCADE,
    title   TEXT NOT NULL, -- of the front matter
    aliases TEXT NOT NULL,
    tags    TEXT NOT NULL,
    links   BLOB -- packed as terms are
) STRICT;

-- Which texts import something of a name (`key`: its number). Most imports lead out of the collection and have no edge;
-- by this one gets its edge when a file of that name appears.
CREATE TABLE knowledge_import (
    key     INTEGER NOT NULL,
    content INTEGER NOT NULL,
    PRIMARY KEY (key, content)
) STRICT, WITHOUT ROWID;

-- The words of pieces, and of the names of files. Only which row has a word is kept.
CREATE VIRTUAL TABLE knowledge_fts USING fts5(body, content='', detail=none, tokenize='ascii');
INSERT INTO knowledge_fts (knowledge_fts, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE knowledge_card_fts USING fts5(body, content='', detail=none, tokenize='ascii');
INSERT INTO knowledge_card_fts (knowledge_card_fts, rank) VALUES ('secure-delete', 1);

-- What happened to the files of a collection, as long as there is one.
CREATE TABLE knowledge_change (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    collection INTEGER REFERENCES collection (id) ON DELETE CASCADE,
    name       TEXT NOT NULL, -- the collection's id
    event      TEXT NOT NULL,
    path       TEXT,
    from_path  TEXT,
    sha256     BLOB,
    count      INTEGER
) STRICT;
CREATE INDEX knowledge_change_collection ON knowledge_change (collection, seq);
-- The lines by the path that a file had before: an old address is followed by it.
CREATE INDEX knowledge_change_path ON knowledge_change (collection, coalesce(from_path, path));
CREATE TRIGGER knowledge_change_is_kept BEFORE UPDATE ON knowledge_change BEGIN
    SELECT raise(ABORT, 'the log of changes is only added to');
END;
CREATE TRIGGER knowledge_change_stays BEFORE DELETE ON knowledge_change
WHEN EXISTS (SELECT 1 FROM collection WHERE id = old.collection) BEGIN
    SELECT raise(ABORT, 'the log of changes is only added to');
END;

CREATE TABLE file_version (
    id            INTEGER PRIMARY KEY,
    collection    INTEGER NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
    path          TEXT NOT NULL,
    sha256        BLOB NOT NULL,
    bytes         INTEGER NOT NULL,
    first_seen_at INTEGER NOT NULL,
    last_seen_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX file_version_path ON file_version (collection, path, id);
