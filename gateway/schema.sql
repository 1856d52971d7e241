-- The home itself: what it is, which processes live in it, and the background work that they share.

CREATE TABLE home (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- A living process. Its life is an operating-system lock on run/<owner>.lock, not a time.
CREATE TABLE owner (
    owner      TEXT PRIMARY KEY,
    started_at INTEGER NOT NULL
) STRICT;

-- `death_count`: how many processes ended while they worked on it.
CREATE TABLE job (
    id            INTEGER PRIMARY KEY,
    job_id        TEXT NOT NULL UNIQUE,
    kind          TEXT NOT NULL,
    subject       TEXT NOT NULL,
    thread_id     TEXT,
    turn_id       TEXT,
    maker         TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('queued', 'leased', 'retry_wait', 'dead', 'cancelled', 'done')),
    attempt_count INTEGER NOT NULL DEFAULT 0,
    death_count   INTEGER NOT NULL DEFAULT 0,
    next_run_at   INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    owner         TEXT,
    leased_at     INTEGER,
    last_error    TEXT,
    CHECK ((owner IS NOT NULL) = (state = 'leased')),
    CHECK ((leased_at IS NOT NULL) = (state = 'leased'))
) STRICT;

-- Enqueuing what is already waiting is a no-op.
CREATE UNIQUE INDEX job_unfinished ON job (kind, subject) WHERE state IN ('queued', 'retry_wait');
-- One small index for each question of the runner: a queue of a hundred thousand costs a claim no more than a queue of ten.
CREATE INDEX job_queued ON job (kind, id) WHERE state = 'queued';
CREATE INDEX job_waiting ON job (kind, next_run_at) WHERE state = 'retry_wait';
CREATE INDEX job_leased ON job (kind, subject) WHERE state = 'leased';
CREATE INDEX job_suspect ON job (kind, death_count, id) WHERE death_count > 0 AND state IN ('queued', 'retry_wait');
CREATE INDEX job_thread ON job (thread_id, kind, state) WHERE thread_id IS NOT NULL;
CREATE INDEX job_state ON job (state, kind);

-- A set of vectors that are comparable: one model, one dimension. What is searched is `current`; `building` is to replace it,
-- and the one that was replaced last is kept `retired`, so that going back costs no second embedding.
CREATE TABLE space (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    model      TEXT NOT NULL,
    dim        INTEGER NOT NULL CHECK (dim > 0),
    digest     TEXT NOT NULL UNIQUE,
    state      TEXT NOT NULL CHECK (state IN ('building', 'current', 'retired')),
    changed_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX space_state ON space (state) WHERE state IN ('current', 'building');

-- When each pass runs next.
CREATE TABLE pass_state (
    name        TEXT PRIMARY KEY,
    next_run_at INTEGER NOT NULL
) STRICT;

-- A run of a pass: which stage it is at, and the place in it. Counts and ids, never text.
CREATE TABLE pass_run (
    id               INTEGER PRIMARY KEY,
    run_id           TEXT NOT NULL UNIQUE,
    name             TEXT NOT NULL,
    trigger          TEXT NOT NULL,
    is_dry           INTEGER NOT NULL CHECK (is_dry IN (0, 1)),
    state            TEXT NOT NULL
        CHECK (state IN ('queued', 'running', 'completed', 'partial', 'skipped', 'failed', 'cancelled', 'undone')),
    reason           TEXT,
    workspace_id     TEXT,
    queued_at        INTEGER NOT NULL,
    started_at       INTEGER,
    ended_at         INTEGER,
    stages           TEXT NOT NULL,
    stage            INTEGER NOT NULL DEFAULT 0,
    place            TEXT,
    changes          INTEGER NOT NULL DEFAULT 0,
    reversible_until INTEGER
) STRICT;
CREATE INDEX pass_run_unfinished ON pass_run (id) WHERE state IN ('queued', 'running');
CREATE INDEX pass_run_of_pass ON pass_run (name, id);
CREATE INDEX pass_run_ended ON pass_run (ended_at) WHERE ended_at IS NOT NULL;

-- What a run changed, so that it can be shown and undone.
CREATE TABLE pass_change (
    id      INTEGER PRIMARY KEY,
    run_id  TEXT NOT NULL REFERENCES pass_run (run_id) ON DELETE CASCADE,
    subject TEXT NOT NULL,
    what    TEXT NOT NULL,
    before  TEXT NOT NULL,
    after   TEXT NOT NULL,
    is_seen INTEGER NOT NULL DEFAULT 0 CHECK (is_seen IN (0, 1)) -- an undoing has looked at it
) STRICT;
CREATE INDEX pass_change_of_run ON pass_change (run_id, id);
