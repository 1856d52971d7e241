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
    created_at       INTEGER NOT NULL
) STRICT;
CREATE INDEX collection_owner ON collection (owner);

-- Workspaces and the user as integers: a part of each term, so that no search comes upon another's pieces.
CREATE TABLE knowledge_owner (
    id           INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL UNIQUE -- empty for the user
) STRICT;

-- What files say, once for each owner, however many files say it.
CREATE TABLE knowledge_content (
    id         INTEGER PRIMARY KEY,
    owner      INTEGER NOT NULL REFERENCES knowledge_owner (id) ON DELETE CASCADE,
    sha256     BLOB NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('markdown', 'text', 'code')),
    encoding   TEXT NOT NULL,
    bytes      INTEGER NOT NULL,
    lines      INTEGER NOT NULL,
    left_from  INTEGER, -- the first line that has no piece, of a file with too many
    importance REAL NOT NULL,
    topics     TEXT NOT NULL, -- of the front matter
    UNIQUE (owner, sha256, kind)
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
    kind        TEXT NOT NULL CHECK (kind IN ('markdown', 'text', 'code')),
    language    TEXT,
    state       TEXT NOT NULL CHECK (state IN ('pending', 'indexed', 'partial', 'failed', 'skipped', 'missing')),
    reason      TEXT,
    content     INTEGER REFERENCES knowledge_content (id),
    card        BLOB, -- the terms of its name and path, sorted
    attempts    INTEGER NOT NULL DEFAULT 0,
    deaths      INTEGER NOT NULL DEFAULT 0, -- how many readers ended while they read it
    next_run_at INTEGER NOT NULL DEFAULT 0,
    error       TEXT,
    pending_at  INTEGER,
    is_baseline INTEGER NOT NULL CHECK (is_baseline IN (0, 1)), -- it was there at the first scan
    indexed_at  INTEGER,
    UNIQUE (collection, folder, name)
) STRICT;
CREATE INDEX knowledge_file_content ON knowledge_file (content) WHERE content IS NOT NULL;
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
    headings   TEXT NOT NULL, -- byte ranges of the headings above it, the outermost first
    text_hash  BLOB NOT NULL,
    terms      BLOB, -- sorted, so that no sentence can be read of them
    term_count INTEGER NOT NULL,
    UNIQUE (content, position)
) STRICT;

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
