-- Durable memory: claims, what supports them, what was decided about them, and how they are found.

CREATE TABLE scope (
    id   INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('user', 'workspace', 'agent', 'thread', 'task')),
    key  TEXT NOT NULL,
    UNIQUE (kind, key)
) STRICT;

CREATE TABLE record (
    id               INTEGER PRIMARY KEY,
    memory_id        TEXT NOT NULL UNIQUE,
    scope_id         INTEGER NOT NULL REFERENCES scope (id),
    category         TEXT NOT NULL,
    kind             TEXT NOT NULL,
    key              TEXT NOT NULL,
    alias            TEXT,
    is_single        INTEGER NOT NULL CHECK (is_single IN (0, 1)),
    content          TEXT NOT NULL,
    value            TEXT,
    status           TEXT NOT NULL CHECK (status IN ('active', 'superseded', 'expired', 'archived', 'deleted')),
    sensitivity      TEXT NOT NULL CHECK (sensitivity IN ('normal', 'personal', 'regulated')),
    confidence       REAL NOT NULL,
    importance       REAL NOT NULL,
    tags             TEXT NOT NULL,
    provenance       TEXT NOT NULL,
    thread_id        TEXT,
    turn_id          TEXT,
    evidence_count   INTEGER NOT NULL,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    valid_from       INTEGER,
    expires_at       INTEGER,
    last_accessed_at INTEGER,
    access_count     INTEGER NOT NULL DEFAULT 0,
    supersedes       TEXT,
    superseded_by    TEXT,
    contested        INTEGER NOT NULL DEFAULT 0 CHECK (contested IN (0, 1)),
    index_state      TEXT NOT NULL DEFAULT 'indexed' CHECK (index_state IN ('pending', 'indexed', 'repair_needed')),
    metadata         TEXT NOT NULL,
    fingerprint      BLOB NOT NULL,
    text_hash        BLOB NOT NULL,
    checksum         BLOB NOT NULL,
    deleted_at       INTEGER,
    CHECK ((deleted_at IS NOT NULL) = (status = 'deleted')),
    CHECK (status <> 'superseded' OR superseded_by IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX record_active_key ON record (scope_id, key) WHERE status = 'active';
CREATE UNIQUE INDEX record_active_alias ON record (scope_id, alias) WHERE status = 'active' AND alias IS NOT NULL;
CREATE INDEX record_fingerprint ON record (scope_id, fingerprint);
CREATE INDEX record_text ON record (scope_id, text_hash);
CREATE INDEX record_updated ON record (scope_id, status, updated_at, id);
CREATE INDEX record_turn ON record (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX record_thread ON record (thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX record_expiry ON record (expires_at) WHERE status = 'active' AND expires_at IS NOT NULL;
CREATE INDEX record_deleted ON record (deleted_at) WHERE status = 'deleted';

CREATE TABLE candidate (
    id                  INTEGER PRIMARY KEY,
    candidate_id        TEXT NOT NULL UNIQUE,
    scope_id            INTEGER NOT NULL REFERENCES scope (id),
    category            TEXT NOT NULL,
    key                 TEXT NOT NULL,
    content             TEXT NOT NULL,
    value               TEXT,
    status              TEXT NOT NULL CHECK (status IN ('pending', 'approved', 'rejected', 'expired', 'merged', 'suppressed')),
    score               REAL NOT NULL,
    bucket              TEXT NOT NULL,
    reason_code         TEXT NOT NULL,
    evidence_count      INTEGER NOT NULL,
    contested_memory_id TEXT,
    promoted_memory_id  TEXT,
    merged_into         TEXT,
    created_at          INTEGER NOT NULL,
    decided_at          INTEGER,
    decided_by          TEXT,
    fingerprint         BLOB NOT NULL,
    text_hash           BLOB NOT NULL,
    turn_id             TEXT,
    CHECK ((decided_at IS NULL) = (status = 'pending'))
) STRICT;
CREATE UNIQUE INDEX candidate_pending ON candidate (scope_id, fingerprint) WHERE status = 'pending';
CREATE INDEX candidate_fingerprint ON candidate (scope_id, fingerprint);
CREATE INDEX candidate_contested ON candidate (contested_memory_id) WHERE contested_memory_id IS NOT NULL;

CREATE TABLE evidence (
    id           INTEGER PRIMARY KEY,
    memory_id    TEXT REFERENCES record (memory_id) ON DELETE CASCADE,
    candidate_id TEXT REFERENCES candidate (candidate_id) ON DELETE CASCADE,
    quote        TEXT NOT NULL,
    source_kind  TEXT NOT NULL,
    thread_id    TEXT,
    turn_id      TEXT,
    item_id      TEXT,
    at           INTEGER NOT NULL,
    CHECK ((memory_id IS NULL) <> (candidate_id IS NULL))
) STRICT;
CREATE INDEX evidence_of_record ON evidence (memory_id) WHERE memory_id IS NOT NULL;
CREATE INDEX evidence_of_candidate ON evidence (candidate_id) WHERE candidate_id IS NOT NULL;

-- In which turns something was said that was not kept: keyed hashes only, so that repetition can count.
CREATE TABLE repetition (
    scope_id  INTEGER NOT NULL,
    text_hash BLOB NOT NULL,
    turn_id   TEXT NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (scope_id, text_hash, turn_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE decision (
    id           INTEGER PRIMARY KEY,
    at           INTEGER NOT NULL,
    scope_id     INTEGER NOT NULL,
    memory_id    TEXT,
    candidate_id TEXT,
    thread_id    TEXT,
    turn_id      TEXT,
    run_id       TEXT,
    action       TEXT NOT NULL,
    score        REAL NOT NULL,
    bucket       TEXT NOT NULL,
    reason_code  TEXT NOT NULL,
    factors      TEXT NOT NULL
) STRICT;
CREATE INDEX decision_of_record ON decision (memory_id) WHERE memory_id IS NOT NULL;
CREATE INDEX decision_of_candidate ON decision (candidate_id) WHERE candidate_id IS NOT NULL;
CREATE INDEX decision_of_turn ON decision (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX decision_of_scope ON decision (scope_id, reason_code);

CREATE TABLE memory_event (
    id          INTEGER PRIMARY KEY,
    memory_id   TEXT NOT NULL,
    at          INTEGER NOT NULL,
    event       TEXT NOT NULL,
    actor       TEXT NOT NULL,
    reason_code TEXT,
    from_status TEXT,
    to_status   TEXT
) STRICT;
CREATE INDEX memory_event_of_record ON memory_event (memory_id, id);

-- What was erased: keyed hashes without content, so that it does not come back unasked.
CREATE TABLE tombstone (
    memory_id   TEXT PRIMARY KEY,
    scope_id    INTEGER NOT NULL,
    fingerprint BLOB NOT NULL,
    text_hash   BLOB NOT NULL,
    key_hash    BLOB NOT NULL,
    erased_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX tombstone_text ON tombstone (scope_id, text_hash);
CREATE INDEX tombstone_fingerprint ON tombstone (scope_id, fingerprint);

CREATE TABLE idempotency (
    key     TEXT PRIMARY KEY,
    request BLOB NOT NULL,
    answer  TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;

CREATE TABLE memory_recall (
    id          INTEGER PRIMARY KEY,
    at          INTEGER NOT NULL,
    turn_id     TEXT,
    query_hash  BLOB NOT NULL,
    mode        TEXT NOT NULL,
    candidates  INTEGER NOT NULL,
    returned    INTEGER NOT NULL,
    latency_us  INTEGER NOT NULL,
    cut_reason  TEXT,
    ranked      TEXT
) STRICT;
CREATE INDEX memory_recall_turn ON memory_recall (turn_id) WHERE turn_id IS NOT NULL;

-- Which scopes changed, for other processes of the home.
CREATE TABLE memory_change (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    scope_id INTEGER NOT NULL,
    owner    TEXT NOT NULL,
    at       INTEGER NOT NULL
) STRICT;

CREATE TABLE memory_fact (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- A set of vectors that are comparable: one model, one dimension.
CREATE TABLE space (
    id         INTEGER PRIMARY KEY,
    model      TEXT NOT NULL,
    dim        INTEGER NOT NULL,
    digest     TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('building', 'current', 'retired')),
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX space_current ON space (state) WHERE state = 'current';

CREATE TABLE memory_vec (
    space_id  INTEGER NOT NULL REFERENCES space (id),
    record_id INTEGER NOT NULL REFERENCES record (id) ON DELETE CASCADE,
    vector    BLOB NOT NULL,
    PRIMARY KEY (space_id, record_id)
) STRICT, WITHOUT ROWID;

CREATE VIRTUAL TABLE memory_fts USING fts5(scope, body, content = '', tokenize = 'ascii');
INSERT INTO memory_fts(memory_fts, rank) VALUES ('secure-delete', 1);
