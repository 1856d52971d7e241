-- Durable memory: records and candidates, their evidence, decisions and history, and the indexes by which they are found.

CREATE TABLE scope (
    id     INTEGER PRIMARY KEY,
    kind   TEXT NOT NULL CHECK (kind IN ('user', 'workspace', 'agent', 'thread', 'task')),
    key    TEXT NOT NULL,
    active INTEGER NOT NULL DEFAULT 0, -- how many of its records are: triggers keep it, because every search asks
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
    pinned           INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    reinforced_at    INTEGER NOT NULL DEFAULT 0,
    path             TEXT,
    path_key         TEXT, -- `path` without case: what makes it one
    tier             INTEGER, -- `tier_days` as the last consolidation saw it
    -- Whose word it is, by the name of a note's source: within a value a quotation mark is escaped.
    is_machine       INTEGER NOT NULL GENERATED ALWAYS AS (instr(provenance, '"source_kind":"agent_note"') > 0) STORED,
    -- The factors of memory/rules/strength.py, in its order: base, source, access, links. Free of time.
    standing         REAL NOT NULL GENERATED ALWAYS AS (
        min(1.0, importance / 0.5)
        * iif(instr(provenance, '"source_kind":"user_statement"') + instr(provenance, '"source_kind":"background_extractor"')
            + instr(provenance, '"source_kind":"assistant_inference"') > 0, 0.85, 1.0)
        * CASE WHEN NOT is_machine THEN 0.9 WHEN instr(provenance, '"kind":"user"') THEN 0.9 WHEN instr(provenance, '"kind":"system"') THEN 0.85
            WHEN instr(provenance, '"kind":"tool"') THEN 0.5 ELSE 0.7 END
        * (1.0 + ln(max(0, access_count) + 1.0))
        * (1.0 + 0.1 * min(5, iif(json_valid(tags), json_array_length(iif(json_valid(tags), tags, '[]')), 0) + (supersedes IS NOT NULL)))
    ) STORED,
    -- How many days it lasts from its last reinforcement; 0: for good. What a model obeys and regulated words never fade.
    tier_days        INTEGER NOT NULL GENERATED ALWAYS AS (
        CASE WHEN pinned OR access_count >= 5 OR round(standing, 6) > 0.8 OR sensitivity = 'regulated'
                OR instr(',identity,communication_style,recurring_instruction,constraint,', ',' || category || ',') > 0 THEN 0
            WHEN round(standing, 6) >= 0.5 THEN 90 WHEN round(standing, 6) >= 0.3 THEN 30 ELSE 7 END
    ) STORED,
    fades_at         INTEGER GENERATED ALWAYS AS (iif(tier_days = 0, NULL, reinforced_at + tier_days * 86400000)) STORED,
    CHECK ((deleted_at IS NOT NULL) = (status = 'deleted')),
    CHECK (status <> 'superseded' OR superseded_by IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX record_active_key ON record (scope_id, key) WHERE status = 'active';
CREATE UNIQUE INDEX record_active_alias ON record (scope_id, alias) WHERE status = 'active' AND alias IS NOT NULL;
CREATE UNIQUE INDEX record_active_path ON record (path_key) WHERE status = 'active' AND path_key IS NOT NULL;
CREATE INDEX record_fingerprint ON record (scope_id, fingerprint);
CREATE INDEX record_text ON record (scope_id, text_hash);
-- The orders of a list. They hold the columns of filters, so that no filtered row is read; tags alone are too long for that.
CREATE INDEX record_by_update ON record (scope_id, updated_at, id, status, expires_at, category, kind, sensitivity);
CREATE INDEX record_by_creation ON record (scope_id, created_at, id, status, expires_at, category, kind, sensitivity);
CREATE INDEX record_by_importance
    ON record (scope_id, CAST(importance * 1000000 AS INTEGER), id, status, expires_at, category, kind, sensitivity);
-- The standing records: a turn reads this index alone to find that none of them has changed.
CREATE INDEX record_standing ON record (scope_id, id, status, category, updated_at, checksum)
    WHERE status = 'active' AND category IN ('recurring_instruction', 'communication_style', 'identity');
CREATE INDEX record_turn ON record (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX record_thread ON record (thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX record_expiry ON record (expires_at) WHERE status = 'active' AND expires_at IS NOT NULL;
CREATE INDEX record_unindexed ON record (id) WHERE index_state <> 'indexed';
CREATE INDEX record_deleted ON record (deleted_at) WHERE status = 'deleted';
-- The rows that a consolidation reads: none, where nothing has changed.
CREATE INDEX record_unscored ON record (id) WHERE status = 'active' AND tier IS NOT tier_days;
CREATE INDEX record_fading ON record (is_machine, fades_at, scope_id) WHERE status = 'active' AND fades_at IS NOT NULL;
CREATE INDEX record_archived ON record (updated_at) WHERE status = 'archived';
CREATE INDEX record_of_machine ON record (scope_id, kind) WHERE status = 'active' AND is_machine AND NOT pinned;
CREATE INDEX record_supersedes ON record (supersedes) WHERE supersedes IS NOT NULL;
CREATE INDEX record_superseded_by ON record (superseded_by) WHERE superseded_by IS NOT NULL;

-- A model's enrichment of a record: a table of its own, so that none of it is ever taken for the user's words. Lists are JSON.
CREATE TABLE enrichment (
    row            INTEGER PRIMARY KEY REFERENCES record (id) ON DELETE CASCADE,
    entities       TEXT NOT NULL, -- [{name, type}]
    topics         TEXT NOT NULL, -- [text]
    summary        TEXT,
    model          TEXT NOT NULL,
    prompt_version INTEGER NOT NULL,
    at             INTEGER NOT NULL
) STRICT;

-- Enrichment, and the edges of the graph that the record states, are removed when its words change.
CREATE TRIGGER record_reworded AFTER UPDATE OF content ON record WHEN old.content IS NOT new.content BEGIN
    DELETE FROM enrichment WHERE row = new.id;
    DELETE FROM edge WHERE house = 'memory' AND subject = new.memory_id;
END;
-- The values of a record before it was changed in place: no answer shows them, but messages may hold them, and an erase searches them.
CREATE TABLE earlier_value (
    id        INTEGER PRIMARY KEY,
    record_id INTEGER NOT NULL REFERENCES record (id) ON DELETE CASCADE,
    value     TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX earlier_value_of_record ON earlier_value (record_id, value);
CREATE TRIGGER record_revalued AFTER UPDATE OF value ON record WHEN old.value IS NOT NULL AND old.value IS NOT new.value BEGIN
    INSERT OR IGNORE INTO earlier_value (record_id, value) VALUES (old.id, old.value);
END;

CREATE TRIGGER record_unlinked AFTER DELETE ON record BEGIN
    DELETE FROM edge WHERE house = 'memory' AND subject = old.memory_id;
    DELETE FROM entity WHERE house = 'memory' AND subject = old.memory_id;
END;

CREATE TRIGGER record_added AFTER INSERT ON record WHEN new.status = 'active' BEGIN
    UPDATE scope SET active = active + 1 WHERE id = new.scope_id;
END;
CREATE TRIGGER record_moved AFTER UPDATE OF status ON record WHEN (old.status = 'active') <> (new.status = 'active') BEGIN
    UPDATE scope SET active = active + iif(new.status = 'active', 1, -1) WHERE id = new.scope_id;
END;
CREATE TRIGGER record_erased AFTER DELETE ON record WHEN old.status = 'active' BEGIN
    UPDATE scope SET active = active - 1 WHERE id = old.scope_id;
END;

-- The bytes of a record: text as blobs, so that a damaged one can be read at all. Its columns have names of their own, so
-- that it can be joined to the record.
CREATE VIEW record_bytes (
    raw_id, raw_memory_id, raw_scope_id, raw_category, raw_kind, raw_key, raw_alias, raw_is_single, raw_content, raw_value, raw_status,
    raw_sensitivity, raw_confidence, raw_importance, raw_tags, raw_provenance, raw_thread_id, raw_turn_id, raw_evidence_count, raw_created_at,
    raw_updated_at, raw_valid_from, raw_expires_at, raw_last_accessed_at, raw_access_count, raw_supersedes, raw_superseded_by, raw_contested,
    raw_index_state, raw_metadata, raw_fingerprint, raw_text_hash, raw_checksum, raw_deleted_at, raw_pinned, raw_path, raw_path_key, raw_reinforced_at,
    raw_standing, raw_fades_at
) AS SELECT
    id, CAST(memory_id AS BLOB), scope_id, CAST(category AS BLOB), CAST(kind AS BLOB), CAST(key AS BLOB), CAST(alias AS BLOB), is_single,
    CAST(content AS BLOB), CAST(value AS BLOB), CAST(status AS BLOB), CAST(sensitivity AS BLOB), confidence, importance, CAST(tags AS BLOB),
    CAST(provenance AS BLOB), CAST(thread_id AS BLOB), CAST(turn_id AS BLOB), evidence_count, created_at, updated_at, valid_from, expires_at,
    last_accessed_at, access_count, CAST(supersedes AS BLOB), CAST(superseded_by AS BLOB), contested, CAST(index_state AS BLOB),
    CAST(metadata AS BLOB), fingerprint, text_hash, checksum, deleted_at, pinned, CAST(path AS BLOB), CAST(path_key AS BLOB), reinforced_at, standing, fades_at
FROM record;

-- The terms of a record's full-text row, and the version of the lexicon that made them: removing a row of a contentless index needs
-- exactly the terms that went in, whatever record, lexicon or disk are by then.
CREATE TABLE record_terms (
    row     INTEGER PRIMARY KEY REFERENCES record (id) ON DELETE CASCADE,
    scope   TEXT NOT NULL,
    terms   BLOB NOT NULL,
    lexicon TEXT NOT NULL,
    digest  INTEGER -- vouches for the scope and the terms
) STRICT;

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
    proposal            TEXT NOT NULL DEFAULT '{}', -- what a record needs beside the text, for the day it is approved
    touched_at          INTEGER NOT NULL,           -- when it was last proposed or decided: retention counts from here
    forgotten_with      TEXT,                       -- the record that it was forgotten with; empty: what it came from
    CHECK ((decided_at IS NULL) = (status = 'pending')),
    CHECK (forgotten_with IS NULL OR status <> 'pending')
) STRICT;
CREATE UNIQUE INDEX candidate_pending ON candidate (scope_id, fingerprint) WHERE status = 'pending';
CREATE INDEX candidate_waiting ON candidate (scope_id, created_at) WHERE status = 'pending';
CREATE INDEX candidate_fingerprint ON candidate (scope_id, fingerprint);
CREATE INDEX candidate_text ON candidate (scope_id, text_hash);
CREATE INDEX candidate_promoted ON candidate (promoted_memory_id) WHERE promoted_memory_id IS NOT NULL;
CREATE INDEX candidate_of_turn ON candidate (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX candidate_contested ON candidate (contested_memory_id) WHERE contested_memory_id IS NOT NULL;
CREATE INDEX candidate_merged ON candidate (merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX candidate_touched ON candidate (touched_at);
CREATE INDEX candidate_of_scope ON candidate (scope_id);
CREATE INDEX candidate_by_time ON candidate (created_at, id);
CREATE INDEX candidate_of_thread ON candidate (json_extract(proposal, '$.provenance.thread_id'));
CREATE INDEX candidate_forgotten ON candidate (forgotten_with) WHERE forgotten_with IS NOT NULL;

-- The candidates that an answer may show. A statement that returns their words reads this view; the table is for bookkeeping.
CREATE VIEW shown_candidate AS SELECT * FROM candidate WHERE forgotten_with IS NULL;

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
    digest       INTEGER, -- vouches for the other columns
    CHECK ((memory_id IS NULL) <> (candidate_id IS NULL))
) STRICT;
CREATE INDEX evidence_of_record ON evidence (memory_id) WHERE memory_id IS NOT NULL;
CREATE INDEX evidence_of_turn ON evidence (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX evidence_of_thread ON evidence (thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX evidence_of_candidate ON evidence (candidate_id) WHERE candidate_id IS NOT NULL;

-- The turns in which words were said that were not kept: keyed hashes only, so that repetition can count.
CREATE TABLE repetition (
    scope_id  INTEGER NOT NULL,
    text_hash BLOB NOT NULL,
    turn_id   TEXT NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (scope_id, text_hash, turn_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX repetition_of_turn ON repetition (turn_id);
CREATE INDEX repetition_at ON repetition (at);

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
CREATE INDEX decision_of_thread ON decision (thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX decision_of_turn ON decision (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX decision_of_scope ON decision (scope_id, reason_code);
CREATE INDEX decision_of_nothing ON decision (at) WHERE memory_id IS NULL AND candidate_id IS NULL;

-- Decisions as answers show them: factors hold a decider's words, which are hidden once the candidate is forgotten.
CREATE VIEW told_decision AS SELECT
    id, at, scope_id, memory_id, candidate_id, thread_id, turn_id, run_id, action, score, bucket, reason_code,
    CASE WHEN EXISTS (SELECT 1 FROM candidate WHERE candidate.candidate_id = decision.candidate_id AND forgotten_with IS NOT NULL)
        THEN '[]' ELSE factors END AS factors
FROM decision;

CREATE TABLE memory_event (
    id          INTEGER PRIMARY KEY,
    memory_id   TEXT NOT NULL,
    at          INTEGER NOT NULL,
    event       TEXT NOT NULL,
    actor       TEXT NOT NULL,
    reason_code TEXT,
    from_status TEXT,
    to_status   TEXT,
    caller      TEXT -- door and client of the request that caused it, as JSON; NULL: no request did
) STRICT;
CREATE INDEX memory_event_of_record ON memory_event (memory_id, id);
CREATE INDEX memory_event_by_time ON memory_event (at, id);

-- Erased records: keyed hashes without content, so that the same does not come back unasked.
CREATE TABLE tombstone (
    id          INTEGER PRIMARY KEY,
    memory_id   TEXT NOT NULL UNIQUE,
    scope_id    INTEGER NOT NULL,
    fingerprint BLOB NOT NULL,
    text_hash   BLOB NOT NULL,
    key_hash    BLOB NOT NULL,
    key_id      TEXT, -- the key of the hashes, of a tombstone that came in a bundle
    erased_at   INTEGER NOT NULL,
    is_pending  INTEGER NOT NULL DEFAULT 0 CHECK (is_pending IN (0, 1)) -- bytes may still lie in the files
) STRICT;
CREATE INDEX tombstone_pending ON tombstone (memory_id) WHERE is_pending;
CREATE INDEX tombstone_text ON tombstone (scope_id, text_hash);
CREATE INDEX tombstone_fingerprint ON tombstone (scope_id, fingerprint);

-- Marks of forgotten sources, scopes and words as keyed hashes, in the order of forgetting. The last number is the generation of the
-- home; work that began in an earlier generation than that of a mark writes nothing of the marked thing.
CREATE TABLE forgotten (
    generation INTEGER PRIMARY KEY AUTOINCREMENT,
    mark       BLOB NOT NULL UNIQUE
) STRICT;

CREATE TABLE idempotency (
    key     TEXT PRIMARY KEY,
    request BLOB NOT NULL,
    answer  TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
CREATE INDEX idempotency_at ON idempotency (at);
CREATE INDEX idempotency_memory ON idempotency (json_extract(answer, '$.memory_id'));

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

-- The log of changed scopes, for other processes of the home.
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

-- Vectors by space and scope, float16 of unit length. Rows are never changed, and their numbers only grow: sketches in memory
-- are updated by the rows after their last one, and lose the removed ones when the count of losses has grown by many.
CREATE TABLE memory_vec (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    space_id  INTEGER NOT NULL REFERENCES space (id),
    scope_id  INTEGER NOT NULL REFERENCES scope (id),
    record_id INTEGER NOT NULL REFERENCES record (id) ON DELETE CASCADE,
    vector    BLOB NOT NULL,
    digest    INTEGER -- vouches for the vector
) STRICT;
CREATE UNIQUE INDEX memory_vec_record ON memory_vec (record_id, space_id);
CREATE INDEX memory_vec_scope ON memory_vec (space_id, scope_id);

-- A forgotten record has no vector, whichever statement forgot it.
CREATE TRIGGER record_forgotten AFTER UPDATE OF status ON record WHEN new.status = 'deleted' BEGIN
    DELETE FROM memory_vec WHERE record_id = new.id;
END;

CREATE TABLE memory_vec_loss (
    space_id INTEGER NOT NULL,
    scope_id INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    PRIMARY KEY (space_id, scope_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER memory_vec_lost AFTER DELETE ON memory_vec BEGIN
    INSERT INTO memory_vec_loss (space_id, scope_id, count) VALUES (old.space_id, old.scope_id, 1)
    ON CONFLICT (space_id, scope_id) DO UPDATE SET count = count + 1;
END;

-- Each term with the scope in front: the entries of a word in one scope stand together, and a search never meets those of others.
-- Positions and counts are not indexed (`detail = none`): without them the index is a third of the size, and is read faster.
CREATE VIRTUAL TABLE memory_fts USING fts5(body, content = '', detail = none, tokenize = 'ascii');
INSERT INTO memory_fts(memory_fts, rank) VALUES ('secure-delete', 1);
-- The entries of the index by term, which repair compares with `record_terms`.
CREATE VIRTUAL TABLE memory_terms USING fts5vocab(memory_fts, instance);
