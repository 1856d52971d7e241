-- The searchable index of what was said. Texts stay with the items; here are their ranges and their terms.

-- Workspaces and threads as small integers: what the full-text index filters by.
CREATE TABLE chunk_scope (
    id   INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('workspace', 'thread')),
    key  TEXT NOT NULL,
    UNIQUE (kind, key)
) STRICT;

-- `digest` is the sum of the digests of its chunks: a start compares sums, and the doctor every row.
-- A partition chain per workspace. Lexical search needs only the sums; vectors are searched segment by segment. What it holds was
-- said between `first_at` and `last_at`: they only grow, and order what is compared first.
CREATE TABLE segment (
    id          INTEGER PRIMARY KEY,
    workspace   INTEGER NOT NULL REFERENCES chunk_scope (id) ON DELETE CASCADE,
    position    INTEGER NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('open', 'sealed')),
    chunk_count INTEGER NOT NULL DEFAULT 0 CHECK (chunk_count >= 0),
    term_count  INTEGER NOT NULL DEFAULT 0 CHECK (term_count >= 0),
    first_at    INTEGER,
    last_at     INTEGER,
    digest      INTEGER NOT NULL DEFAULT 0,
    UNIQUE (workspace, position)
) STRICT;
CREATE UNIQUE INDEX segment_open ON segment (workspace) WHERE state = 'open';

-- A message, or what a host says of its tool, that is, or will be, indexed. `source_hash` covers its text and its context header, `speaker` is the terms of who
-- said it. `digest` vouches for this row, `lexicon` for the lexicon that cut it, `chunk_count` for the number of its chunks.
CREATE TABLE chunk_source (
    id          INTEGER PRIMARY KEY,
    item_id     TEXT NOT NULL UNIQUE,
    turn_id     TEXT NOT NULL,
    workspace   INTEGER NOT NULL REFERENCES chunk_scope (id),
    thread      INTEGER NOT NULL REFERENCES chunk_scope (id),
    role        TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool')),
    at          INTEGER NOT NULL,
    turn_seq    INTEGER NOT NULL,
    item_seq    INTEGER NOT NULL,
    speaker     TEXT NOT NULL,
    source_hash BLOB NOT NULL CHECK (length(source_hash) = 32),
    state       TEXT NOT NULL CHECK (state IN ('pending', 'indexed')),
    left_from   INTEGER,
    left_to     INTEGER,
    queued_at   INTEGER NOT NULL,
    indexed_at  INTEGER,
    digest      INTEGER,
    lexicon     INTEGER,
    chunk_count INTEGER,
    CHECK ((left_from IS NULL) = (left_to IS NULL)),
    CHECK (left_from IS NULL OR left_from < left_to)
) STRICT;
CREATE INDEX chunk_source_turn ON chunk_source (turn_id);
CREATE INDEX chunk_source_place ON chunk_source (thread, turn_seq, item_seq);
CREATE INDEX chunk_source_time ON chunk_source (workspace, at);
CREATE INDEX chunk_source_pending ON chunk_source (workspace, thread) WHERE state = 'pending';
CREATE INDEX chunk_source_partial ON chunk_source (workspace, thread) WHERE left_from IS NOT NULL;

-- `terms` is the compressed body of its full-text row: deleting from a contentless index needs exactly what was put in,
-- whatever the text, the lexicon or the secret rules have become since. Null: nothing of it is in the index.
-- `asks`: it ends with a question. `dated`: it tells a time. `index_state`: whether its vector is made, still to be made, or
-- cannot be made. `digest` vouches for the range and the terms; null: they are to be made anew.
CREATE TABLE chunk (
    id         INTEGER PRIMARY KEY,
    source     INTEGER NOT NULL REFERENCES chunk_source (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    from_char  INTEGER NOT NULL,
    to_char    INTEGER NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('indexed', 'excluded', 'retired')),
    terms      BLOB,
    term_count INTEGER NOT NULL,
    asks       INTEGER NOT NULL CHECK (asks IN (0, 1)),
    dated      INTEGER NOT NULL CHECK (dated IN (0, 1)),
    index_state TEXT NOT NULL CHECK (index_state IN ('indexed', 'pending', 'repair_needed')),
    segment    INTEGER REFERENCES segment (id),
    digest     INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CHECK (from_char >= 0 AND from_char < to_char),
    CHECK ((segment IS NULL) = (status = 'retired')),
    CHECK (status <> 'retired' OR terms IS NULL)
) STRICT;
CREATE UNIQUE INDEX chunk_position ON chunk (source, position) WHERE status <> 'retired';
CREATE INDEX chunk_of_source ON chunk (source);
CREATE INDEX chunk_of_segment ON chunk (segment, term_count, digest) WHERE segment IS NOT NULL; -- all that its sums are made of
CREATE INDEX chunk_hidden_status ON chunk (status, source) WHERE status <> 'indexed';
CREATE INDEX chunk_awaiting_vector ON chunk (id) WHERE index_state = 'pending';

-- Never recalled again; a range, so that it holds when the message is cut anew. It ends with its thread, not with its message:
-- the same source may bring that one again. Once the message is another than the one that was meant, all of it is hidden.
CREATE TABLE chunk_exclusion (
    item_id     TEXT NOT NULL,
    thread_id   TEXT NOT NULL,
    source_hash BLOB NOT NULL,
    from_char   INTEGER NOT NULL,
    to_char     INTEGER NOT NULL,
    reason      TEXT,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (item_id, from_char, to_char)
) STRICT, WITHOUT ROWID;
CREATE INDEX chunk_exclusion_thread ON chunk_exclusion (thread_id);

-- Vectors by space and segment, int8. Rows are never changed, and their numbers only grow: sketches in memory
-- are brought up to date by what came after, and thinned out when the count of losses says that much went.
CREATE TABLE chunk_vec (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    space_id INTEGER NOT NULL REFERENCES space (id),
    segment  INTEGER NOT NULL REFERENCES segment (id),
    chunk    INTEGER NOT NULL REFERENCES chunk (id) ON DELETE CASCADE,
    vector   BLOB NOT NULL,
    digest   INTEGER -- vouches for the vector
) STRICT;
CREATE UNIQUE INDEX chunk_vec_chunk ON chunk_vec (chunk, space_id);
CREATE INDEX chunk_vec_segment ON chunk_vec (space_id, segment);

-- What is not found by its words is not found by its meaning, whichever path hid it.
CREATE TRIGGER chunk_hidden AFTER UPDATE OF status ON chunk WHEN new.status <> 'indexed' BEGIN
    DELETE FROM chunk_vec WHERE chunk = new.id;
END;

CREATE TABLE chunk_vec_loss (
    space_id INTEGER NOT NULL,
    segment  INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    PRIMARY KEY (space_id, segment)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER chunk_vec_lost AFTER DELETE ON chunk_vec BEGIN
    INSERT INTO chunk_vec_loss (space_id, segment, count) VALUES (old.space_id, old.segment, 1)
    ON CONFLICT (space_id, segment) DO UPDATE SET count = count + 1;
END;

-- Every search, without its words.
CREATE TABLE recall_event (
    event_id     TEXT PRIMARY KEY,
    at           INTEGER NOT NULL,
    workspace_id TEXT NOT NULL,
    thread_id    TEXT,
    turn_id      TEXT,
    query_hash   BLOB NOT NULL,
    mode         TEXT NOT NULL,
    candidates   INTEGER NOT NULL,
    returned     INTEGER NOT NULL,
    latency_us   INTEGER NOT NULL,
    cut_reason   TEXT NOT NULL
) STRICT;
CREATE INDEX recall_event_at ON recall_event (at);
CREATE INDEX recall_event_thread ON recall_event (thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX recall_event_workspace ON recall_event (workspace_id);

-- The words of each chunk, with its thread as one of them. Which chunks have a word is all that is kept: how often and where, the
-- chunk's own row tells when it is scored. That is a third of the room, and each search reads less.
CREATE VIRTUAL TABLE chunk_fts USING fts5(body, content='', detail=none, tokenize='ascii');
INSERT INTO chunk_fts (chunk_fts, rank) VALUES ('secure-delete', 1);
-- Every chunk of every term: what repair compares with the terms that chunks keep.
CREATE VIRTUAL TABLE chunk_terms USING fts5vocab(chunk_fts, instance);
