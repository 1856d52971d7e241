-- name: add_scope
-- A scope gets its row number when it is first written to.
INSERT INTO scope (kind, key) VALUES (:kind, :key) ON CONFLICT (kind, key) DO NOTHING

-- name: scope_id
-- The row number of a scope.
SELECT id FROM scope WHERE kind = :kind AND key = :key

-- name: add_record
-- A new record.
INSERT INTO record (memory_id, scope_id, category, kind, key, alias, is_single, content, value, status, sensitivity, confidence, importance, tags, provenance,
    thread_id, turn_id, evidence_count, created_at, updated_at, valid_from, expires_at, supersedes, metadata, fingerprint, text_hash, checksum)
VALUES (:memory_id, :scope_id, :category, :kind, :key, :alias, :is_single, :content, :value, 'active', :sensitivity, :confidence, :importance, :tags, :provenance,
    :thread_id, :turn_id, :evidence_count, :now, :now, :valid_from, :expires_at, :supersedes, :metadata, :fingerprint, :text_hash, :checksum)

-- name: get_record
-- A record by id.
SELECT record.*, scope.kind AS scope_kind, scope.key AS scope_key FROM record JOIN scope ON scope.id = record.scope_id WHERE memory_id = :memory_id

-- name: record_by_key
-- The newest record of a key, canonical or the caller's own; active ones first.
SELECT record.*, scope.kind AS scope_kind, scope.key AS scope_key FROM record JOIN scope ON scope.id = record.scope_id
WHERE scope_id = :scope_id AND (record.key = :key OR alias = :alias) ORDER BY status = 'active' DESC, updated_at DESC, record.id DESC LIMIT 1

-- name: active_by_key
-- The active record of a canonical key or alias.
SELECT record.*, scope.kind AS scope_kind, scope.key AS scope_key FROM record JOIN scope ON scope.id = record.scope_id
WHERE record.id IN (
    SELECT id FROM record WHERE scope_id = :scope_id AND status = 'active' AND record.key = :key
    UNION ALL SELECT id FROM record WHERE scope_id = :scope_id AND status = 'active' AND alias IS NOT NULL AND alias = :alias
) LIMIT 1

-- name: active_by_fingerprint
-- The active record that says the same, by fingerprint or by its words.
SELECT record.*, scope.kind AS scope_kind, scope.key AS scope_key FROM record JOIN scope ON scope.id = record.scope_id
WHERE record.id IN (
    SELECT id FROM record WHERE scope_id = :scope_id AND fingerprint = :fingerprint AND status = 'active'
    UNION ALL SELECT id FROM record
    WHERE :by_text AND scope_id = :scope_id AND text_hash = :text_hash AND status = 'active' AND (value IS NULL OR :value IS NULL OR value = :value)
)
ORDER BY fingerprint = :fingerprint DESC, record.id LIMIT 1

-- name: is_suppressed
-- Whether the same was forgotten, erased, or rejected by a person.
SELECT EXISTS (SELECT 1 FROM record WHERE scope_id = :scope_id AND fingerprint = :fingerprint AND status = 'deleted')
    OR EXISTS (SELECT 1 FROM record WHERE scope_id = :scope_id AND text_hash = :text_hash AND status = 'deleted')
    OR EXISTS (SELECT 1 FROM tombstone WHERE scope_id = :scope_id AND text_hash = :text_hash)
    OR EXISTS (SELECT 1 FROM tombstone WHERE scope_id = :scope_id AND fingerprint = :fingerprint)
    OR EXISTS (SELECT 1 FROM candidate WHERE scope_id = :scope_id AND fingerprint = :fingerprint AND status IN ('rejected', 'suppressed'))

-- name: list_records
-- Records of a scope set in an order, after a place.
SELECT record.*, scope.kind AS scope_kind, scope.key AS scope_key,
    CASE :order WHEN 'importance' THEN CAST(importance * 1000000 AS INTEGER) WHEN 'created_at' THEN created_at ELSE updated_at END AS place
FROM record JOIN scope ON scope.id = record.scope_id
WHERE instr(:scope_ids, ',' || scope_id || ',') > 0
  AND (CASE :order WHEN 'importance' THEN CAST(importance * 1000000 AS INTEGER) WHEN 'created_at' THEN created_at ELSE updated_at END, record.id) < (:place, :row)
ORDER BY place DESC, record.id DESC LIMIT :limit

-- name: search_records
-- Full-text matches within scopes, best first; the scope is part of the match, and what cannot be shown takes no place.
SELECT record.*, scope.kind AS scope_kind, scope.key AS scope_key
FROM memory_fts CROSS JOIN record ON record.id = memory_fts.rowid JOIN scope ON scope.id = record.scope_id
WHERE memory_fts MATCH :match AND instr(:statuses, record.status) > 0 AND (:categories IS NULL OR instr(:categories, ',' || category || ',') > 0)
  AND (:shows_regulated OR sensitivity <> 'regulated')
ORDER BY bm25(memory_fts, 0.0, 1.0), memory_fts.rowid LIMIT :limit

-- name: count_in_scope
-- How many active records a scope has.
SELECT count(*) FROM record WHERE scope_id = :scope_id AND status = 'active'

-- name: add_text
-- Make a record findable.
INSERT INTO memory_fts (rowid, scope, body) VALUES (:row, :scope, :body)

-- name: remove_text
-- Take a record out of the index; the terms are the ones that went in.
INSERT INTO memory_fts (memory_fts, rowid, scope, body) VALUES ('delete', :row, :scope, :body)

-- name: clear_text
-- Empty the index.
INSERT INTO memory_fts (memory_fts) VALUES ('delete-all')

-- name: records_to_index
-- Everything that belongs into the index.
SELECT record.*, scope.kind AS scope_kind, scope.key AS scope_key FROM record JOIN scope ON scope.id = record.scope_id WHERE status <> 'deleted'

-- name: change_status
-- A record's next status.
UPDATE record SET status = :status, updated_at = :now, superseded_by = :superseded_by, deleted_at = :deleted_at, contested = :contested WHERE memory_id = :memory_id

-- name: update_record
-- What may change in place.
UPDATE record SET value = :value, tags = :tags, category = :category, importance = :importance, expires_at = :expires_at, metadata = :metadata,
    updated_at = :now, checksum = :checksum WHERE memory_id = :memory_id

-- name: set_contested
-- Whether something speaks against a record.
UPDATE record SET contested = :contested, updated_at = :now WHERE memory_id = :memory_id

-- name: grow_evidence
-- More evidence for a record.
UPDATE record SET evidence_count = (SELECT count(*) FROM evidence WHERE evidence.memory_id = record.memory_id), updated_at = :now WHERE memory_id = :memory_id

-- name: note_access
-- A record was read.
UPDATE record SET access_count = access_count + 1, last_accessed_at = :now WHERE memory_id = :memory_id

-- name: records_of_turn
-- What was learnt from a turn.
SELECT memory_id FROM record WHERE turn_id = :turn_id ORDER BY id

-- name: records_of_thread
-- What was learnt from a thread.
SELECT memory_id FROM record WHERE thread_id = :thread_id ORDER BY id

-- name: records_of_scope
-- Everything in a scope.
SELECT memory_id FROM record WHERE scope_id = :scope_id ORDER BY id

-- name: due_expiries
-- Active records whose time has come.
SELECT memory_id FROM record WHERE status = 'active' AND expires_at <= :now ORDER BY expires_at LIMIT :limit

-- name: next_expiry
-- When the next active record expires.
SELECT min(expires_at) FROM record WHERE status = 'active' AND expires_at IS NOT NULL

-- name: due_erasures
-- Tombstones whose retention is over.
SELECT memory_id FROM record WHERE status = 'deleted' AND deleted_at <= :before ORDER BY deleted_at LIMIT :limit

-- name: next_erasure
-- When the oldest tombstone was made.
SELECT min(deleted_at) FROM record WHERE status = 'deleted'

-- name: erase_record
-- The record itself.
DELETE FROM record WHERE memory_id = :memory_id

-- name: erase_decisions
-- Decisions keep their reason and lose what names the record.
UPDATE decision SET memory_id = NULL, factors = '[]' WHERE memory_id = :memory_id

-- name: erase_events
-- The history of an erased record is one event.
DELETE FROM memory_event WHERE memory_id = :memory_id

-- name: erase_answers
-- Stored answers that name the record.
DELETE FROM idempotency WHERE instr(answer, :memory_id) > 0

-- name: unlink_superseded
-- A chain does not name what was erased.
UPDATE record SET superseded_by = CASE WHEN superseded_by = :memory_id THEN '' ELSE superseded_by END,
    supersedes = CASE WHEN supersedes = :memory_id THEN NULL ELSE supersedes END
WHERE superseded_by = :memory_id OR supersedes = :memory_id

-- name: count_evidence
-- How much evidence a record has.
SELECT count(*) FROM evidence WHERE memory_id = :memory_id

-- name: count_vectors
-- How many vectors a record has.
SELECT count(*) FROM memory_vec WHERE record_id = :row

-- name: add_tombstone
-- What was erased, without content.
INSERT INTO tombstone (memory_id, scope_id, fingerprint, text_hash, key_hash, erased_at)
VALUES (:memory_id, :scope_id, :fingerprint, :text_hash, :key_hash, :now) ON CONFLICT (memory_id) DO NOTHING

-- name: add_candidate
-- A proposal that waits.
INSERT INTO candidate (candidate_id, scope_id, category, key, content, value, status, score, bucket, reason_code, evidence_count, contested_memory_id, created_at,
    fingerprint, text_hash, turn_id)
VALUES (:candidate_id, :scope_id, :category, :key, :content, :value, 'pending', :score, :bucket, :reason_code, :evidence_count, :contested_memory_id, :now,
    :fingerprint, :text_hash, :turn_id)

-- name: get_candidate
-- A candidate by id.
SELECT candidate.*, scope.kind AS scope_kind, scope.key AS scope_key FROM candidate JOIN scope ON scope.id = candidate.scope_id WHERE candidate_id = :candidate_id

-- name: pending_candidate
-- The waiting candidate that says the same.
SELECT candidate.*, scope.kind AS scope_kind, scope.key AS scope_key FROM candidate JOIN scope ON scope.id = candidate.scope_id
WHERE scope_id = :scope_id AND status = 'pending' AND (fingerprint = :fingerprint OR text_hash = :text_hash) LIMIT 1

-- name: rescore_candidate
-- More evidence for a candidate.
UPDATE candidate SET score = :score, bucket = :bucket, reason_code = :reason_code,
    evidence_count = (SELECT count(*) FROM evidence WHERE evidence.candidate_id = candidate.candidate_id) WHERE candidate_id = :candidate_id

-- name: decide_candidate
-- A candidate waits no more.
UPDATE candidate SET status = :status, promoted_memory_id = :promoted_memory_id, decided_at = :now, decided_by = :decided_by
WHERE candidate_id = :candidate_id AND status = 'pending'

-- name: contesting_candidates
-- What speaks against a record.
SELECT candidate_id FROM candidate WHERE contested_memory_id = :memory_id AND status = 'pending'

-- name: erase_candidates
-- Candidates that say what was erased, or became it.
DELETE FROM candidate WHERE promoted_memory_id = :memory_id OR (scope_id = :scope_id AND (fingerprint = :fingerprint OR text_hash = :text_hash))

-- name: suppress_candidates
-- Candidates that say what was forgotten.
UPDATE candidate SET status = 'suppressed', decided_at = :now, decided_by = 'forget'
WHERE scope_id = :scope_id AND status = 'pending' AND (fingerprint = :fingerprint OR text_hash = :text_hash)

-- name: pending_candidates
-- Candidates that wait in a scope, newest first.
SELECT candidate.*, scope.kind AS scope_kind, scope.key AS scope_key FROM candidate JOIN scope ON scope.id = candidate.scope_id
WHERE scope_id = :scope_id AND status = 'pending' ORDER BY candidate.id DESC LIMIT :limit

-- name: add_evidence
-- Words that support a record or a candidate.
INSERT INTO evidence (memory_id, candidate_id, quote, source_kind, thread_id, turn_id, item_id, at)
VALUES (:memory_id, :candidate_id, :quote, :source_kind, :thread_id, :turn_id, :item_id, :at)

-- name: evidence_of_record
-- What supports a record.
SELECT thread_id, turn_id, item_id FROM evidence WHERE memory_id = :memory_id ORDER BY id

-- name: has_evidence
-- Whether the same words of the same message support a record already.
SELECT 1 FROM evidence WHERE (memory_id = :memory_id OR candidate_id = :candidate_id) AND quote = :quote AND item_id IS :item_id AND turn_id IS :turn_id LIMIT 1

-- name: adopt_evidence
-- A candidate that became a record brings its evidence.
UPDATE evidence SET memory_id = :memory_id, candidate_id = NULL WHERE candidate_id = :candidate_id

-- name: note_repetition
-- In which turn something was said.
INSERT INTO repetition (scope_id, text_hash, turn_id, at) VALUES (:scope_id, :text_hash, :turn_id, :now) ON CONFLICT DO NOTHING

-- name: turns_of_text
-- In which turns the same was said before.
SELECT turn_id FROM repetition WHERE scope_id = :scope_id AND text_hash = :text_hash

-- name: erase_repetition
-- What was erased is not counted.
DELETE FROM repetition WHERE scope_id = :scope_id AND text_hash = :text_hash

-- name: add_decision
-- What was decided, and why.
INSERT INTO decision (at, scope_id, memory_id, candidate_id, thread_id, turn_id, run_id, action, score, bucket, reason_code, factors)
VALUES (:at, :scope_id, :memory_id, :candidate_id, :thread_id, :turn_id, :run_id, :action, :score, :bucket, :reason_code, :factors)

-- name: decisions_of_record
-- Decisions on a record, newest first.
SELECT action, score, bucket, reason_code, factors, run_id, turn_id FROM decision WHERE memory_id = :memory_id ORDER BY id DESC LIMIT :limit

-- name: decisions_of_candidate
-- Decisions on a candidate, newest first.
SELECT action, score, bucket, reason_code, factors, run_id, turn_id FROM decision WHERE candidate_id = :candidate_id ORDER BY id DESC LIMIT :limit

-- name: decisions_of_turn
-- Decisions on what a turn proposed, oldest first.
SELECT action, score, bucket, reason_code, factors, memory_id FROM decision WHERE turn_id = :turn_id ORDER BY id LIMIT :limit

-- name: decisions_of_run
-- Decisions on what a run proposed, oldest first.
SELECT action, score, bucket, reason_code, factors, memory_id FROM decision WHERE run_id = :run_id ORDER BY id LIMIT :limit

-- name: count_decisions
-- Decisions of a scope by reason.
SELECT reason_code, count(*) FROM decision WHERE scope_id = :scope_id GROUP BY reason_code

-- name: count_records
-- Records of a scope by category, status and index state.
SELECT category, status, index_state, count(*) FROM record WHERE scope_id = :scope_id GROUP BY category, status, index_state

-- name: count_candidates
-- Candidates of a scope by status.
SELECT status, count(*) FROM candidate WHERE scope_id = :scope_id GROUP BY status

-- name: add_event
-- Something happened to a record.
INSERT INTO memory_event (memory_id, at, event, actor, reason_code, from_status, to_status) VALUES (:memory_id, :at, :event, :actor, :reason_code, :from_status, :to_status)

-- name: events_of
-- What happened to a record.
SELECT at, event, actor, reason_code, from_status, to_status, memory_id, id FROM memory_event WHERE memory_id = :memory_id ORDER BY id

-- name: get_answer
-- The stored answer of an idempotency key.
SELECT request, answer FROM idempotency WHERE key = :key AND at > :after

-- name: put_answer
-- Keep an answer.
INSERT INTO idempotency (key, request, answer, at) VALUES (:key, :request, :answer, :at)
ON CONFLICT (key) DO UPDATE SET request = excluded.request, answer = excluded.answer, at = excluded.at

-- name: forget_answers
-- Answers are kept for thirty days.
DELETE FROM idempotency WHERE at <= :before

-- name: note_change
-- A scope changed.
INSERT INTO memory_change (scope_id, owner, at) VALUES (:scope_id, :owner, :at)

-- name: changes_after
-- Scopes that other processes changed.
SELECT DISTINCT scope.kind, scope.key FROM memory_change JOIN scope ON scope.id = memory_change.scope_id WHERE seq > :seq AND owner <> :owner

-- name: last_change
-- The newest change.
SELECT coalesce(max(seq), 0) FROM memory_change

-- name: forget_changes
-- Changes that every process has seen by now.
DELETE FROM memory_change WHERE at < :before

-- name: add_recall_event
-- A recall and what came of it; the query as a keyed hash.
INSERT INTO memory_recall (at, turn_id, query_hash, mode, candidates, returned, latency_us, cut_reason, ranked)
VALUES (:at, :turn_id, :query_hash, :mode, :candidates, :returned, :latency_us, :cut_reason, :ranked)

-- name: forget_recalls
-- Recall events are kept for a week.
DELETE FROM memory_recall WHERE at < :before

-- name: get_fact
-- A fact of this house by name.
SELECT value FROM memory_fact WHERE name = :name

-- name: put_fact
-- Keep a fact of this house.
INSERT INTO memory_fact (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value
