-- Conversation as it was said, the runs of hooks, and what was injected into prompts.

CREATE TABLE workspace (
    id           INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL UNIQUE,
    name         TEXT,
    root_path    TEXT,
    state        TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'deleting')),
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE thread (
    id               INTEGER PRIMARY KEY,
    thread_id        TEXT NOT NULL UNIQUE,
    workspace_id     TEXT NOT NULL REFERENCES workspace (workspace_id),
    agent_id         TEXT,
    parent_thread_id TEXT,
    name             TEXT,
    mode             TEXT NOT NULL CHECK (mode IN ('agent', 'chat')),
    memory_mode      TEXT NOT NULL CHECK (memory_mode IN ('normal', 'read_only', 'ignored')),
    origin           TEXT NOT NULL CHECK (origin IN ('user', 'task', 'system')),
    task_id          TEXT,
    archived         INTEGER NOT NULL DEFAULT 0 CHECK (archived IN (0, 1)),
    instructions     TEXT,
    model            TEXT,
    provider         TEXT,
    cwd                 TEXT, -- the folder that is worked in
    instruction_files   TEXT CHECK (instruction_files IN ('auto', 'off')), -- NULL: auto where a turn has a folder
    instruction_profile TEXT NOT NULL DEFAULT 'default',
    agent               TEXT, -- slug, layer and digest of the definition that acts here, as JSON
    forked_from         TEXT, -- the conversation and the turn that this one left, as JSON
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL
) STRICT;
CREATE INDEX thread_of_workspace ON thread (workspace_id, id);

CREATE TABLE turn (
    id              INTEGER PRIMARY KEY,
    turn_id         TEXT NOT NULL UNIQUE,
    thread_id       TEXT NOT NULL REFERENCES thread (thread_id) ON DELETE CASCADE,
    position        INTEGER NOT NULL,
    driver          TEXT NOT NULL CHECK (driver IN ('gateway', 'host', 'import')),
    mode            TEXT NOT NULL CHECK (mode IN ('agent', 'chat')),
    memory_mode     TEXT CHECK (memory_mode IN ('normal', 'read_only', 'ignored')), -- that of its agent's definition
    status          TEXT NOT NULL CHECK (status IN ('in_progress', 'awaiting_host', 'completed', 'failed', 'cancelled', 'interrupted')),
    options         TEXT NOT NULL DEFAULT '{}',
    input_hash      BLOB,
    origin          TEXT,
    generation      INTEGER NOT NULL, -- of the home's forgetting, when it began
    started_at      INTEGER NOT NULL,
    completed_at    INTEGER,
    error_reason    TEXT,
    error_retryable INTEGER,
    rounds          INTEGER NOT NULL DEFAULT 0,
    usage           TEXT,
    upstream        TEXT, -- that of a proxied turn, as JSON
    manifest        TEXT,
    tool_events     TEXT NOT NULL DEFAULT '[]',
    owner           TEXT,
    caller          TEXT, -- door and client that began it, as JSON
    last_seq        INTEGER NOT NULL DEFAULT 0,
    superseded_by   TEXT, -- the turn in which the same was asked again
    post_completed  INTEGER NOT NULL DEFAULT 0 CHECK (post_completed IN (0, 1)),
    CHECK ((completed_at IS NULL) = (status IN ('in_progress', 'awaiting_host'))),
    CHECK ((owner IS NOT NULL) = (status IN ('in_progress', 'awaiting_host')))
) STRICT;
CREATE UNIQUE INDEX turn_running ON turn (thread_id) WHERE status IN ('in_progress', 'awaiting_host');
CREATE INDEX turn_of_thread ON turn (thread_id, position);
CREATE INDEX turn_untold ON turn (id) WHERE status = 'interrupted' AND post_completed = 0;
CREATE INDEX turn_of_owner ON turn (owner) WHERE owner IS NOT NULL;

CREATE TABLE item (
    id         INTEGER PRIMARY KEY,
    item_id    TEXT NOT NULL UNIQUE,
    turn_id    TEXT NOT NULL REFERENCES turn (turn_id) ON DELETE CASCADE,
    thread_id  TEXT NOT NULL,
    position   INTEGER NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('user_message', 'agent_message', 'tool_call', 'tool_result', 'system_event')),
    role       TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool', 'system')),
    status     TEXT NOT NULL CHECK (status IN ('in_progress', 'completed', 'failed', 'interrupted')),
    text       TEXT NOT NULL,
    at         INTEGER NOT NULL,
    name       TEXT,
    tool       TEXT,
    digest     INTEGER -- vouches for the other columns
) STRICT;
CREATE INDEX item_of_turn ON item (turn_id, position);
CREATE INDEX item_of_thread ON item (thread_id);

-- A file that a message carried. Its bytes are kept only where they were received here: a digest that a client tells opens nothing.
CREATE TABLE artifact (
    id          INTEGER PRIMARY KEY,
    artifact_id TEXT NOT NULL,
    version_id  TEXT NOT NULL,
    item_id     TEXT NOT NULL REFERENCES item (item_id) ON DELETE CASCADE,
    thread_id   TEXT NOT NULL,
    name        TEXT NOT NULL,
    kind        TEXT NOT NULL,
    mime        TEXT NOT NULL,
    size_bytes  INTEGER NOT NULL,
    role        TEXT NOT NULL,
    sha256      TEXT,
    is_kept     INTEGER NOT NULL DEFAULT 0 CHECK (is_kept IN (0, 1)),
    created_at  INTEGER NOT NULL,
    CHECK (is_kept = 0 OR sha256 IS NOT NULL)
) STRICT;
CREATE INDEX artifact_content ON artifact (sha256) WHERE is_kept = 1;
CREATE INDEX artifact_of_item ON artifact (item_id);
CREATE INDEX artifact_of_thread ON artifact (thread_id);
CREATE INDEX artifact_by_id ON artifact (artifact_id, id);

CREATE TABLE hook_run (
    id                  INTEGER PRIMARY KEY,
    run_id              TEXT NOT NULL UNIQUE,
    hook_id             TEXT NOT NULL,
    phase               TEXT NOT NULL,
    thread_id           TEXT NOT NULL,
    turn_id             TEXT NOT NULL REFERENCES turn (turn_id) ON DELETE CASCADE,
    status              TEXT NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'timed_out', 'skipped')),
    attempt_count       INTEGER NOT NULL DEFAULT 0,
    queued_at           INTEGER NOT NULL,
    started_at          INTEGER,
    completed_at        INTEGER,
    duration_ms         INTEGER,
    contribution_hashes TEXT NOT NULL DEFAULT '[]',
    diagnostics         TEXT NOT NULL DEFAULT '[]',
    error_code          TEXT,
    error_retryable     INTEGER,
    contract_version    INTEGER NOT NULL,
    CHECK ((completed_at IS NOT NULL) = (status IN ('succeeded', 'failed', 'timed_out', 'skipped')))
) STRICT;
CREATE INDEX hook_run_of_turn ON hook_run (turn_id, id);
CREATE INDEX hook_run_of_thread ON hook_run (thread_id, id);
CREATE INDEX hook_run_open ON hook_run (hook_id, id) WHERE completed_at IS NULL;

-- What was put into a prompt, line by line, as keyed hashes: it never becomes evidence again.
CREATE TABLE injection (
    id           INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    thread_id    TEXT NOT NULL,
    turn_id      TEXT NOT NULL REFERENCES turn (turn_id) ON DELETE CASCADE,
    block_id     TEXT NOT NULL,
    line_hash    BLOB NOT NULL,
    source_kind  TEXT NOT NULL,
    source_id    TEXT NOT NULL
) STRICT;
CREATE INDEX injection_line ON injection (line_hash, thread_id);
CREATE INDEX injection_of_turn ON injection (turn_id);
CREATE INDEX injection_of_source ON injection (source_id, id);

-- Answers of tools in host-driven turns, so that a repeated call has one effect.
CREATE TABLE tool_reply (
    turn_id TEXT NOT NULL REFERENCES turn (turn_id) ON DELETE CASCADE,
    call_id TEXT NOT NULL,
    request BLOB NOT NULL,
    result  TEXT NOT NULL,
    PRIMARY KEY (turn_id, call_id)
) STRICT;

-- In which turns a tool's answer named a memory, or quoted a collection of files: forgetting it looks nowhere else.
CREATE TABLE mention (
    named   TEXT NOT NULL, -- the id
    turn_id TEXT NOT NULL REFERENCES turn (turn_id) ON DELETE CASCADE,
    PRIMARY KEY (named, turn_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX mention_of_turn ON mention (turn_id);

-- Whether a workspace's instruction files are used, and which bytes of them its last turns had, as JSON by folder and path.
CREATE TABLE instruction_state (
    workspace_id TEXT PRIMARY KEY,
    mode         TEXT NOT NULL DEFAULT 'on' CHECK (mode IN ('on', 'off')),
    used         TEXT NOT NULL DEFAULT '{}'
) STRICT, WITHOUT ROWID;

-- The texts that instruction files had in turns, without their secrets.
CREATE TABLE instruction_version (
    id           INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    path         TEXT NOT NULL,
    sha256       TEXT NOT NULL,
    at           INTEGER NOT NULL,
    text         TEXT NOT NULL
) STRICT;
CREATE INDEX instruction_version_of_path ON instruction_version (workspace_id, path, id);

-- A message of a user that a program without memory passed on: it is known again by keyed digests of the conversation up to it.
CREATE TABLE capture (
    id           INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    thread_id    TEXT NOT NULL,
    turn_id      TEXT, -- NULL where nothing of it is kept
    session      BLOB,
    root         BLOB NOT NULL,
    user_hash    BLOB NOT NULL,
    answer_hash  BLOB,
    answer_name  BLOB, -- the digest of the name by which a request goes on from the answer
    recall       TEXT, -- how its recall ended; NULL until then
    is_shown     INTEGER NOT NULL DEFAULT 1 CHECK (is_shown IN (0, 1)),
    is_of_subagent INTEGER NOT NULL DEFAULT 0 CHECK (is_of_subagent IN (0, 1)),
    seen_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX capture_by_user ON capture (user_hash);
CREATE INDEX capture_by_answer ON capture (answer_hash) WHERE answer_hash IS NOT NULL;
CREATE INDEX capture_by_name ON capture (answer_name) WHERE answer_name IS NOT NULL;
CREATE INDEX capture_of_session ON capture (session, id) WHERE session IS NOT NULL;
CREATE INDEX capture_of_thread ON capture (thread_id, id);
CREATE INDEX capture_of_turn ON capture (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX capture_by_time ON capture (workspace_id, seen_at);
CREATE INDEX capture_unkept ON capture (seen_at) WHERE turn_id IS NULL;

-- What such a message was given, piece by piece, so that it gets the same bytes again without what was forgotten since.
CREATE TABLE shown_line (
    id          INTEGER PRIMARY KEY,
    capture_id  INTEGER NOT NULL REFERENCES capture (id) ON DELETE CASCADE,
    block       TEXT NOT NULL CHECK (block IN ('brief', 'standing', 'memory', 'thread')),
    source_kind TEXT, -- NULL for what frames the lines
    source_id   TEXT,
    source_turn TEXT, -- the turn that a piece of conversation is of
    mark        BLOB,
    text        TEXT NOT NULL
) STRICT;
CREATE INDEX shown_line_of_capture ON shown_line (capture_id, id);
CREATE INDEX shown_line_of_source ON shown_line (source_id) WHERE source_id IS NOT NULL;
CREATE INDEX shown_line_of_turn ON shown_line (source_turn) WHERE source_turn IS NOT NULL;
