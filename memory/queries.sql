-- name: add_scope
-- A scope gets its row number when it is first written to.
INSERT INTO scope (kind, key) VALUES (:kind, :key) ON CONFLICT (kind, key) DO NOTHING

-- name: keep_lost_scopes
-- Scopes whose rows were lost keep their numbers under a name that nobody has: their records are never another's.
INSERT INTO scope (id, kind, key)
SELECT DISTINCT scope_id, 'task', 'lost_' || lower(hex(randomblob(16))) FROM
    (SELECT scope_id FROM record UNION SELECT scope_id FROM candidate UNION SELECT scope_id FROM tombstone UNION SELECT scope_id FROM decision)
WHERE scope_id NOT IN (SELECT id FROM scope)

-- name: scope_id
-- The row number of a scope.
SELECT id FROM scope WHERE kind = :kind AND key = :key

-- name: add_record
-- A new record.
INSERT INTO record ({columns}) VALUES ({values}) RETURNING id, {generated}

-- name: generation_of_recall
-- The last numbers of changes of scopes and of vectors: a cached recall holds while both are the same.
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'memory_change'), 0), coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'memory_vec'), 0)

-- name: get_record
-- A record by id.
SELECT {record} FROM record JOIN record_bytes AS whole ON whole.raw_id = record.id JOIN scope ON scope.id = record.scope_id WHERE memory_id = :memory_id

-- name: standing_state
-- The marks of the standing records of some scopes between commas (row, time of change, checksum), read from their index alone.
SELECT coalesce(group_concat(id || ':' || updated_at || ':' || hex(checksum)), '') FROM record WHERE scope_id IN (SELECT value FROM json_each(:scope_ids))
  AND status = 'active' AND category IN ('recurring_instruction', 'communication_style', 'identity')

-- name: active_text_hashes
-- The hashes of the words of some records, of which only active ones are returned.
SELECT memory_id, text_hash FROM record WHERE memory_id IN (SELECT value FROM json_each(:memory_ids)) AND status = 'active'

-- name: record_by_key
-- The newest record of a key, canonical or the caller's own; active ones first.
SELECT {record} FROM record JOIN record_bytes AS whole ON whole.raw_id = record.id JOIN scope ON scope.id = record.scope_id
WHERE scope_id = :scope_id AND (record.key = :key OR alias = :alias) ORDER BY status = 'active' DESC, updated_at DESC, record.id DESC LIMIT 1

-- name: active_by_key
-- The active record of a canonical key or alias.
SELECT {record} FROM record JOIN record_bytes AS whole ON whole.raw_id = record.id JOIN scope ON scope.id = record.scope_id
WHERE record.id IN (
    SELECT id FROM record WHERE scope_id = :scope_id AND status = 'active' AND record.key = :key
    UNION ALL SELECT id FROM record WHERE scope_id = :scope_id AND status = 'active' AND alias IS NOT NULL AND alias = :alias
) LIMIT 1

-- name: active_by_path
-- The active record that is filed under a path, of whichever scope.
SELECT {record} FROM record JOIN record_bytes AS whole ON whole.raw_id = record.id JOIN scope ON scope.id = record.scope_id
WHERE record.status = 'active' AND record.path_key = :path_key

-- name: file_record
-- File a record under a path.
UPDATE record SET path = :path, path_key = :path_key, updated_at = :now WHERE memory_id = :memory_id

-- name: active_by_fingerprint
-- The active record that says the same, by fingerprint or by its words; `+` keeps the planner from the index of the scope's statuses.
SELECT {record} FROM record JOIN record_bytes AS whole ON whole.raw_id = record.id JOIN scope ON scope.id = record.scope_id
WHERE record.id IN (
    SELECT id FROM record WHERE scope_id = :scope_id AND fingerprint = :fingerprint AND +status = 'active'
    UNION ALL SELECT id FROM record
    WHERE :by_text AND scope_id = :scope_id AND text_hash = :text_hash AND +status = 'active' AND (value IS NULL OR :value IS NULL OR value = :value)
)
ORDER BY fingerprint = :fingerprint DESC, record.id LIMIT 1

-- name: met_by_identity
-- Return 1 for each kind of row that shares a key, fingerprint or words: active record, record, candidate, tombstone, repetition.
SELECT EXISTS (SELECT 1 FROM record WHERE scope_id = :scope_id AND status = 'active' AND key = :key)
        OR EXISTS (SELECT 1 FROM record WHERE scope_id = :scope_id AND status = 'active' AND alias IS NOT NULL AND alias = :alias),
    EXISTS (SELECT 1 FROM record WHERE scope_id = :scope_id AND fingerprint = :fingerprint)
        OR EXISTS (SELECT 1 FROM record WHERE scope_id = :scope_id AND text_hash = :text_hash),
    EXISTS (SELECT 1 FROM candidate WHERE scope_id = :scope_id AND fingerprint = :fingerprint)
        OR EXISTS (SELECT 1 FROM candidate WHERE scope_id = :scope_id AND text_hash = :text_hash),
    EXISTS (SELECT 1 FROM tombstone WHERE scope_id = :scope_id AND text_hash = :text_hash)
        OR EXISTS (SELECT 1 FROM tombstone WHERE scope_id = :scope_id AND fingerprint = :fingerprint),
    EXISTS (SELECT 1 FROM repetition WHERE scope_id = :scope_id AND text_hash IN (:text_hash, :fingerprint))

-- name: is_suppressed
-- Return 1 if the same was forgotten, erased, or rejected by a person, at a time or since.
SELECT EXISTS (SELECT 1 FROM record WHERE scope_id = :scope_id AND fingerprint = :fingerprint AND +status = 'deleted' AND deleted_at >= :since)
    OR EXISTS (SELECT 1 FROM record WHERE scope_id = :scope_id AND text_hash = :text_hash AND +status = 'deleted' AND deleted_at >= :since)
    OR EXISTS (SELECT 1 FROM tombstone WHERE scope_id = :scope_id AND text_hash = :text_hash AND erased_at >= :since)
    OR EXISTS (SELECT 1 FROM tombstone WHERE scope_id = :scope_id AND fingerprint = :fingerprint AND erased_at >= :since)
    OR EXISTS (SELECT 1 FROM candidate WHERE scope_id = :scope_id AND fingerprint = :fingerprint
        AND status IN ('rejected', 'suppressed') AND decided_at >= :since)
    OR EXISTS (SELECT 1 FROM candidate WHERE scope_id = :scope_id AND text_hash = :text_hash
        AND status IN ('rejected', 'suppressed') AND decided_at >= :since)

-- name: list_by_update
-- Records of a scope that pass a filter, the last changed first, after a place.
SELECT updated_at AS place, id FROM record WHERE scope_id = :scope_id AND (updated_at, id) < (:place, :row)
  AND instr(:statuses, CASE WHEN status = 'active' AND expires_at <= :now THEN ',expired,' ELSE ',' || status || ',' END) > 0
  AND (:shows_regulated OR sensitivity <> 'regulated')
  AND (:categories IS NULL OR instr(:categories, ',' || category || ',') > 0) AND (:kinds IS NULL OR instr(:kinds, ',' || kind || ',') > 0)
  AND (:voices IS NULL OR instr(:voices, iif(is_machine, ',machine,', ',user,')) > 0)
  AND (:source_agents IS NULL OR {source_agent} IN (SELECT value FROM json_each(:source_agents)) OR scope_id IN (SELECT value FROM json_each(:agent_scopes)))
  AND (:tags IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(:tags) AS wanted
    WHERE wanted.value NOT IN (SELECT own.value FROM json_each(CASE WHEN json_valid(tags) THEN tags ELSE '[]' END) AS own)))
ORDER BY place DESC, id DESC LIMIT :limit

-- name: list_by_creation
-- Records of a scope that pass a filter, the newest first, after a place.
SELECT created_at AS place, id FROM record WHERE scope_id = :scope_id AND (created_at, id) < (:place, :row)
  AND instr(:statuses, CASE WHEN status = 'active' AND expires_at <= :now THEN ',expired,' ELSE ',' || status || ',' END) > 0
  AND (:shows_regulated OR sensitivity <> 'regulated')
  AND (:categories IS NULL OR instr(:categories, ',' || category || ',') > 0) AND (:kinds IS NULL OR instr(:kinds, ',' || kind || ',') > 0)
  AND (:voices IS NULL OR instr(:voices, iif(is_machine, ',machine,', ',user,')) > 0)
  AND (:source_agents IS NULL OR {source_agent} IN (SELECT value FROM json_each(:source_agents)) OR scope_id IN (SELECT value FROM json_each(:agent_scopes)))
  AND (:tags IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(:tags) AS wanted
    WHERE wanted.value NOT IN (SELECT own.value FROM json_each(CASE WHEN json_valid(tags) THEN tags ELSE '[]' END) AS own)))
ORDER BY place DESC, id DESC LIMIT :limit

-- name: list_by_importance
-- Records of a scope that pass a filter, the most important first, after a place.
SELECT CAST(importance * 1000000 AS INTEGER) AS place, id FROM record WHERE scope_id = :scope_id
  AND CAST(importance * 1000000 AS INTEGER) <= :place AND (CAST(importance * 1000000 AS INTEGER) < :place OR id < :row)
  AND instr(:statuses, CASE WHEN status = 'active' AND expires_at <= :now THEN ',expired,' ELSE ',' || status || ',' END) > 0
  AND (:shows_regulated OR sensitivity <> 'regulated')
  AND (:categories IS NULL OR instr(:categories, ',' || category || ',') > 0) AND (:kinds IS NULL OR instr(:kinds, ',' || kind || ',') > 0)
  AND (:voices IS NULL OR instr(:voices, iif(is_machine, ',machine,', ',user,')) > 0)
  AND (:source_agents IS NULL OR {source_agent} IN (SELECT value FROM json_each(:source_agents)) OR scope_id IN (SELECT value FROM json_each(:agent_scopes)))
  AND (:tags IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(:tags) AS wanted
    WHERE wanted.value NOT IN (SELECT own.value FROM json_each(CASE WHEN json_valid(tags) THEN tags ELSE '[]' END) AS own)))
ORDER BY place DESC, id DESC LIMIT :limit

-- name: list_by_strength
-- Records of a scope that pass a filter, the strongest first, after a place.
SELECT {strength_place} AS place, id FROM record WHERE scope_id = :scope_id
  AND {strength_place} <= :place AND ({strength_place} < :place OR id < :row)
  AND instr(:statuses, CASE WHEN status = 'active' AND expires_at <= :now THEN ',expired,' ELSE ',' || status || ',' END) > 0
  AND (:shows_regulated OR sensitivity <> 'regulated')
  AND (:categories IS NULL OR instr(:categories, ',' || category || ',') > 0) AND (:kinds IS NULL OR instr(:kinds, ',' || kind || ',') > 0)
  AND (:voices IS NULL OR instr(:voices, iif(is_machine, ',machine,', ',user,')) > 0)
  AND (:source_agents IS NULL OR {source_agent} IN (SELECT value FROM json_each(:source_agents)) OR scope_id IN (SELECT value FROM json_each(:agent_scopes)))
  AND (:tags IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(:tags) AS wanted
    WHERE wanted.value NOT IN (SELECT own.value FROM json_each(CASE WHEN json_valid(tags) THEN tags ELSE '[]' END) AS own)))
ORDER BY place DESC, id DESC LIMIT :limit

-- name: matches
-- The newest full-text matches as one array: reading them row by row would cost more than finding them.
SELECT json_group_array(row) FROM (SELECT rowid AS row FROM memory_fts WHERE memory_fts MATCH :match ORDER BY rowid DESC LIMIT :limit)

-- name: newest_with_term
-- The newest active records of a scope and category that a term is in, without agents' notes and records with a caller's name.
SELECT record.id FROM (SELECT rowid AS row FROM memory_fts WHERE memory_fts MATCH :match ORDER BY rowid DESC LIMIT :budget) CROSS JOIN record ON record.id = row
WHERE scope_id = :scope_id AND category = :category AND status = 'active' AND alias IS NULL
  AND NOT is_machine LIMIT :limit

-- name: active_rows_before
-- Active records of some scopes, the newest first.
SELECT id FROM record WHERE scope_id IN (SELECT value FROM json_each(:scope_ids)) AND status = 'active' AND id < :row
ORDER BY id DESC LIMIT :limit

-- name: comparable_records
-- Columns to compare of active records among some, of a scope and category, without agents' notes and records with a caller's name.
SELECT record.id, CAST(record.key AS BLOB), is_single, CAST(content AS BLOB), CAST(record.value AS BLOB)
FROM json_each(:rows) AS wanted CROSS JOIN record ON record.id = wanted.value
WHERE scope_id = :scope_id AND category = :category AND status = 'active' AND alias IS NULL
  AND NOT is_machine

-- name: terms_of_scopes
-- The newest records in some scopes with their kept terms.
SELECT record.id, terms FROM record LEFT JOIN record_terms ON record_terms.row = record.id
WHERE scope_id IN (SELECT value FROM json_each(:scopes)) AND status <> 'deleted' ORDER BY record.id DESC LIMIT :limit

-- name: count_matches
-- The number of full-text matches, up to a limit.
SELECT count(*) FROM (SELECT rowid FROM memory_fts WHERE memory_fts MATCH :match LIMIT :limit)

-- name: candidates_by_row
-- Columns for ranking and the gate of those of some records that pass a filter; text as bytes, as in `record_bytes`.
SELECT record.id, scope_id, CAST(memory_id AS BLOB), CAST(status AS BLOB), CAST(sensitivity AS BLOB), CAST(tags AS BLOB), CAST(kind AS BLOB),
    expires_at, standing, reinforced_at, fades_at, confidence, evidence_count, updated_at, created_at, valid_from, terms, CASE WHEN is_machine THEN CAST(provenance AS BLOB) END,
    CAST(substr(content, 1, 240) AS BLOB)
FROM json_each(:rows) AS wanted CROSS JOIN record ON record.id = wanted.value LEFT JOIN record_terms ON record_terms.row = record.id
WHERE instr(:statuses, record.status) > 0 AND (:shows_regulated OR sensitivity <> 'regulated')
  AND (:voices IS NULL OR instr(:voices, iif(is_machine, ',machine,', ',user,')) > 0)
  AND (:source_agents IS NULL OR {source_agent} IN (SELECT value FROM json_each(:source_agents)) OR scope_id IN (SELECT value FROM json_each(:agent_scopes)))
  AND (:categories IS NULL OR instr(:categories, ',' || category || ',') > 0) AND (:kinds IS NULL OR instr(:kinds, ',' || kind || ',') > 0)

-- name: workspace_scopes
-- The workspaces that have records, the newest first.
SELECT key FROM scope WHERE kind = 'workspace' AND active > 0 ORDER BY id DESC LIMIT :limit

-- name: count_in_scope
-- The number of active records of a scope.
SELECT active FROM scope WHERE id = :scope_id

-- name: holds_active
-- Return 1 if a scope has an active record, by the records themselves: a damaged count hides nothing.
SELECT EXISTS (SELECT 1 FROM record WHERE scope_id = :scope_id AND status = 'active')

-- name: seal_record
-- Store a record's checksum.
UPDATE record SET checksum = :checksum WHERE memory_id = :memory_id

-- name: keep_terms
-- Keep the terms that the index has of a record.
INSERT INTO record_terms (row, scope, terms, lexicon, digest) VALUES (:row, :scope, :terms, :lexicon, :digest)
ON CONFLICT (row) DO UPDATE SET scope = excluded.scope, terms = excluded.terms, lexicon = excluded.lexicon, digest = excluded.digest

-- name: kept_terms
-- The terms that the index has of a record.
SELECT scope, terms FROM record_terms WHERE row = :row

-- name: drop_terms
-- Remove the kept terms of a record that is not in the index any more.
DELETE FROM record_terms WHERE row = :row

-- name: add_text
-- Index a record.
INSERT INTO memory_fts (rowid, body) VALUES (:row, :body)

-- name: remove_text
-- Remove a record from the index, which needs the terms that went in.
INSERT INTO memory_fts (memory_fts, rowid, body)
SELECT 'delete', :row, :body WHERE EXISTS (SELECT 1 FROM memory_fts_docsize WHERE id = :row)

-- name: clear_text
-- Empty the index.
INSERT INTO memory_fts (memory_fts) VALUES ('delete-all')

-- name: change_status
-- Write a record's next status.
UPDATE record SET status = :status, updated_at = :now, superseded_by = :superseded_by, deleted_at = :deleted_at, contested = :contested WHERE memory_id = :memory_id

-- name: update_record
-- Write the columns that change in place.
UPDATE record SET {updated}, sensitivity = :sensitivity, updated_at = :now, key = :key, fingerprint = :fingerprint WHERE memory_id = :memory_id

-- name: adopt_record
-- Write the columns by which an agent's note becomes the user's.
UPDATE record SET {adopted}, updated_at = :now WHERE memory_id = :memory_id

-- name: notes_saying
-- Active notes of agents in a scope with these words; `+` keeps the planner from the index of the scope's statuses.
SELECT memory_id FROM record WHERE scope_id = :scope_id AND text_hash = :text_hash AND +status = 'active'
  AND is_machine

-- name: take_evidence
-- Move the evidence of a record to another one.
UPDATE evidence SET memory_id = :memory_id, digest = iif(digest IS {vouched_evidence}, {vouched_taken_evidence}, digest) WHERE memory_id = :taken_from

-- name: withhold_record
-- Mark a record that holds a number which is never kept, so that no answer shows it.
UPDATE record SET metadata = :metadata, sensitivity = 'regulated' WHERE memory_id = :memory_id

-- name: withheld_records
-- Records that are marked, so that no answer shows them.
SELECT memory_id FROM record WHERE sensitivity = 'regulated' AND instr(metadata, :name) > 0 ORDER BY id

-- name: records_sharing
-- Other active records with a key or a fingerprint.
SELECT memory_id FROM record WHERE scope_id = :scope_id AND fingerprint = :fingerprint AND +status = 'active' AND id <> :row
UNION SELECT memory_id FROM record WHERE scope_id = :scope_id AND key = :key AND status = 'active' AND id <> :row

-- name: set_contested
-- Mark whether a waiting candidate contradicts a record.
UPDATE record SET contested = :contested, updated_at = :now WHERE memory_id = :memory_id

-- name: recount_evidence
-- Count a record's evidence anew, which is a change of the record.
UPDATE record SET evidence_count = (SELECT count(*) FROM evidence WHERE evidence.memory_id = record.memory_id), updated_at = :now WHERE memory_id = :memory_id

-- name: note_access
-- Count a read of a record, which reinforces it.
UPDATE record SET access_count = access_count + 1, last_accessed_at = :now, reinforced_at = max(reinforced_at, :now) WHERE memory_id = :memory_id

-- name: active_of_turn
-- Active records of the user that were learnt from a turn, oldest first.
SELECT memory_id FROM record WHERE turn_id = :turn_id AND status = 'active' AND NOT is_machine ORDER BY id

-- name: records_of_source
-- Records that were learnt from a turn or thread.
SELECT memory_id FROM record WHERE turn_id = :turn_id
UNION SELECT memory_id FROM record WHERE thread_id = :thread_id ORDER BY memory_id

-- name: holders_of_quotes
-- Records and candidates that quote a turn or thread.
SELECT memory_id, candidate_id FROM evidence WHERE turn_id = :turn_id
UNION SELECT memory_id, candidate_id FROM evidence WHERE thread_id = :thread_id ORDER BY memory_id, candidate_id

-- name: drop_quotes
-- Remove the quotes of a turn or thread from a record or candidate.
DELETE FROM evidence WHERE (memory_id = :memory_id OR candidate_id = :candidate_id) AND (turn_id = :turn_id OR thread_id = :thread_id)

-- name: count_quotes_of_candidate
-- Count the evidence of a waiting candidate anew.
UPDATE candidate SET evidence_count = (SELECT count(*) FROM evidence WHERE evidence.candidate_id = candidate.candidate_id)
WHERE candidate_id = :candidate_id AND status = 'pending'

-- name: candidates_of_source
-- Candidates that were proposed in a turn or thread.
SELECT candidate_id FROM candidate WHERE turn_id = :turn_id
UNION SELECT candidate_id FROM candidate WHERE turn_id IN (SELECT turn_id FROM decision WHERE thread_id = :thread_id)
UNION SELECT candidate_id FROM candidate WHERE json_extract(proposal, '$.provenance.thread_id') = :thread_id ORDER BY candidate_id

-- name: forget_candidate
-- Mark a candidate that waits no more as forgotten.
UPDATE candidate SET forgotten_with = :forgotten_with, decided_by = coalesce(decided_by, :decided_by)
WHERE candidate_id = :candidate_id AND forgotten_with IS NULL

-- name: show_candidates_again
-- Show the candidates that were forgotten with a record, unless another forgotten record says the same.
UPDATE candidate SET forgotten_with = coalesce(
    (SELECT memory_id FROM record WHERE memory_id IN (promoted_memory_id, merged_into) AND status = 'deleted'),
    (SELECT memory_id FROM record WHERE scope_id = candidate.scope_id AND fingerprint = candidate.fingerprint AND +status = 'deleted'),
    (SELECT memory_id FROM record WHERE scope_id = candidate.scope_id AND text_hash = candidate.text_hash AND +status = 'deleted'))
WHERE forgotten_with = :memory_id

-- name: forget_repetition
-- Remove the repetitions of a forgotten turn or thread.
DELETE FROM repetition WHERE instr(:scope_ids, ',' || scope_id || ',') > 0
  AND (turn_id = :turn_id OR turn_id IN (SELECT turn_id FROM decision WHERE thread_id = :thread_id))

-- name: status_before_deletion
-- The status of a forgotten record before it was forgotten.
SELECT from_status FROM memory_event WHERE memory_id = :memory_id AND event = 'deleted' AND from_status IS NOT NULL ORDER BY id DESC LIMIT 1

-- name: merged_before
-- The active record that a person merged a record of these words into.
SELECT stays.memory_id FROM record AS merged JOIN record AS stays ON stays.memory_id = merged.superseded_by
WHERE merged.scope_id = :scope_id AND merged.text_hash = :text_hash AND merged.status = 'superseded' AND stays.status = 'active'
  AND (SELECT reason_code FROM memory_event WHERE memory_event.memory_id = merged.memory_id AND event = 'superseded' ORDER BY memory_event.id DESC LIMIT 1) = 'near_duplicate'
LIMIT 1

-- name: was_merged
-- Return 1 if a record was last superseded because a person merged it.
SELECT reason_code = 'near_duplicate' FROM memory_event WHERE memory_id = :memory_id AND event = 'superseded' ORDER BY id DESC LIMIT 1

-- name: quotes_of_record
-- The quotes that support a record.
SELECT thread_id, turn_id, item_id, quote FROM evidence WHERE memory_id = :memory_id ORDER BY id

-- name: quotes_of_same_turns
-- Records with quotes of a turn that a record has quotes of, one row for each pair: the record's quote, the other one's.
SELECT other.memory_id, CAST(own.quote AS BLOB), CAST(other.quote AS BLOB)
FROM evidence AS own CROSS JOIN evidence AS other ON other.turn_id = own.turn_id
WHERE own.memory_id = :memory_id AND own.turn_id IS NOT NULL AND other.memory_id <> :memory_id ORDER BY other.id

-- name: blank_decisions_of_candidate
-- Decisions keep their reason and lose the id and the factors of an erased candidate.
UPDATE decision SET candidate_id = NULL, factors = '[]' WHERE candidate_id = :candidate_id

-- name: erase_recalls
-- Remove the ranked lists that name an erased record.
UPDATE memory_recall SET ranked = NULL WHERE ranked IS NOT NULL AND instr(ranked, :memory_id) > 0

-- name: unlink_doubts
-- Remove an erased record from the candidates that contradict it.
UPDATE candidate SET contested_memory_id = NULL WHERE contested_memory_id = :memory_id

-- name: candidates_saying
-- Candidates that say the same as a record, or became it.
SELECT candidate_id FROM candidate WHERE promoted_memory_id = :memory_id
UNION SELECT candidate_id FROM candidate WHERE merged_into = :memory_id
UNION SELECT candidate_id FROM candidate WHERE scope_id = :scope_id AND fingerprint = :fingerprint
UNION SELECT candidate_id FROM candidate WHERE scope_id = :scope_id AND text_hash = :text_hash

-- name: pending_tombstones
-- Erased records whose bytes may still lie in the files.
SELECT memory_id FROM tombstone WHERE is_pending ORDER BY erased_at, memory_id

-- name: settle_tombstones
-- Mark that no file holds the bytes of these any more.
UPDATE tombstone SET is_pending = 0 WHERE is_pending AND memory_id IN (SELECT value FROM json_each(:memory_ids))

-- name: generation
-- The generation of forgetting of this home, which every forgetting raises.
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'forgotten'), 0)

-- name: note_forgotten
-- Store a mark in a new generation, in place of an earlier one.
INSERT OR REPLACE INTO forgotten (mark) VALUES (:mark)

-- name: marks_since
-- Marks of generations after one.
SELECT mark FROM forgotten WHERE generation > :since

-- name: forgotten_at
-- The generation of a mark.
SELECT generation FROM forgotten WHERE mark = :mark

-- name: records_of_scope
-- Every record of a scope.
SELECT memory_id FROM record WHERE scope_id = :scope_id ORDER BY id

-- name: due_expiries
-- Active records whose time is over.
SELECT memory_id FROM record WHERE status = 'active' AND expires_at <= :now ORDER BY expires_at LIMIT :limit

-- name: next_expiry
-- The time at which the next active record expires.
SELECT min(expires_at) FROM record WHERE status = 'active' AND expires_at IS NOT NULL

-- name: due_erasures
-- Forgotten records whose retention is over.
SELECT memory_id FROM record WHERE status = 'deleted' AND deleted_at <= :before ORDER BY deleted_at LIMIT :limit

-- name: next_erasure
-- The oldest time at which a record was forgotten.
SELECT min(deleted_at) FROM record WHERE status = 'deleted'

-- name: erase_record
-- Remove the record itself.
DELETE FROM record WHERE memory_id = :memory_id

-- name: erase_decisions
-- Decisions keep their reason and lose the id and the factors of an erased record.
UPDATE decision SET memory_id = NULL, factors = '[]' WHERE memory_id = :memory_id

-- name: erase_events
-- Remove the history of a record that is erased; one event about that follows.
DELETE FROM memory_event WHERE memory_id = :memory_id

-- name: erase_answers
-- Stored answers that name an erased record lose key, fingerprint and factors; they stay, so that a late repeat does not write it again.
UPDATE idempotency SET answer = json_set(answer, '$.canonical_key', '', '$.semantic_fingerprint', '', '$.decision.factors', json('[]'))
WHERE json_extract(answer, '$.memory_id') = :memory_id

-- name: earlier_versions
-- The records that a record superseded, directly or in turn.
WITH RECURSIVE earlier (memory_id) AS (
    SELECT memory_id FROM record WHERE superseded_by = :memory_id
    UNION SELECT record.memory_id FROM record JOIN earlier ON record.superseded_by = earlier.memory_id
) SELECT memory_id FROM earlier WHERE memory_id <> :memory_id

-- name: unlink_superseded
-- Remove an erased record from supersession chains.
UPDATE record SET superseded_by = CASE WHEN superseded_by = :memory_id THEN '' ELSE superseded_by END,
    supersedes = CASE WHEN supersedes = :memory_id THEN NULL ELSE supersedes END
WHERE superseded_by = :memory_id OR supersedes = :memory_id

-- name: count_evidence
-- The number of pieces of evidence of a record.
SELECT count(*) FROM evidence WHERE memory_id = :memory_id

-- name: count_vectors
-- The number of vectors of a record.
SELECT count(*) FROM memory_vec WHERE record_id = :row

-- name: add_tombstone
-- The tombstone of an erased record: hashes without content.
INSERT INTO tombstone (memory_id, scope_id, fingerprint, text_hash, key_hash, erased_at, is_pending)
VALUES (:memory_id, :scope_id, :fingerprint, :text_hash, :key_hash, :now, 1) ON CONFLICT (memory_id) DO NOTHING

-- name: add_candidate
-- A new candidate.
INSERT INTO candidate (candidate_id, scope_id, category, key, content, value, status, score, bucket, reason_code, evidence_count, contested_memory_id, created_at,
    fingerprint, text_hash, turn_id, proposal, touched_at)
VALUES (:candidate_id, :scope_id, :category, :key, :content, :value, 'pending', :score, :bucket, :reason_code, :evidence_count, :contested_memory_id, :now,
    :fingerprint, :text_hash, :turn_id, :proposal, :now)

-- name: get_candidate
-- A candidate that may be shown, by id.
SELECT candidate.*, scope.kind AS scope_kind, scope.key AS scope_key FROM shown_candidate AS candidate JOIN scope ON scope.id = candidate.scope_id WHERE candidate_id = :candidate_id

-- name: get_any_candidate
-- A candidate by id, a forgotten one as well.
SELECT candidate.*, scope.kind AS scope_kind, scope.key AS scope_key FROM candidate JOIN scope ON scope.id = candidate.scope_id WHERE candidate_id = :candidate_id

-- name: pending_candidate
-- The waiting candidate that says the same, or into which one that said the same was merged.
SELECT candidate.*, scope.kind AS scope_kind, scope.key AS scope_key FROM shown_candidate AS candidate JOIN scope ON scope.id = candidate.scope_id
WHERE candidate.status = 'pending' AND candidate.id IN (
    SELECT id FROM candidate WHERE scope_id = :scope_id AND fingerprint = :fingerprint
    UNION ALL SELECT id FROM candidate
    WHERE scope_id = :scope_id AND text_hash = :text_hash AND (value IS NULL OR :value IS NULL OR value = :value)
    UNION ALL SELECT target.id FROM candidate AS merged JOIN candidate AS target ON target.candidate_id = merged.merged_into
    WHERE merged.scope_id = :scope_id AND merged.fingerprint = :fingerprint
)
ORDER BY candidate.fingerprint = :fingerprint DESC, candidate.id LIMIT 1

-- name: rescore_candidate
-- Write a candidate's new score, and count its evidence anew.
UPDATE candidate SET score = :score, bucket = :bucket, reason_code = :reason_code, touched_at = :now,
    evidence_count = (SELECT count(*) FROM evidence WHERE evidence.candidate_id = candidate.candidate_id) WHERE candidate_id = :candidate_id

-- name: change_candidate_status
-- Write a candidate's next status.
UPDATE candidate SET status = :status, promoted_memory_id = :promoted_memory_id, merged_into = :merged_into, touched_at = :now,
    decided_at = iif(:status = 'pending', NULL, :now), decided_by = iif(:status = 'pending', NULL, :decided_by)
WHERE candidate_id = :candidate_id AND status = :before

-- name: contesting_candidates
-- Waiting candidates that contradict a record.
SELECT candidate_id FROM candidate WHERE contested_memory_id = :memory_id AND status = 'pending'

-- name: list_candidates
-- Candidates of a scope that may be shown, newest first, after a place.
SELECT candidate.*, scope.kind AS scope_kind, scope.key AS scope_key FROM shown_candidate AS candidate JOIN scope ON scope.id = candidate.scope_id
WHERE candidate.scope_id = :scope_id AND candidate.id < :row AND instr(:statuses, ',' || status || ',') > 0
  AND (:categories IS NULL OR instr(:categories, ',' || category || ',') > 0)
ORDER BY candidate.id DESC LIMIT :limit

-- name: equal_candidates
-- Waiting candidates of a scope with the same words, under whatever key.
SELECT candidate_id FROM candidate WHERE scope_id = :scope_id AND text_hash = :text_hash AND status = 'pending' AND candidate_id <> :candidate_id ORDER BY id

-- name: evidence_of_candidate
-- The unaltered evidence of a candidate.
SELECT quote, thread_id, turn_id, item_id, source_kind, at FROM evidence WHERE candidate_id = :candidate_id AND digest IS {vouched_evidence} ORDER BY id

-- name: move_evidence
-- Move the evidence of a candidate to another candidate or a record, but for pieces that this has already.
UPDATE evidence SET memory_id = :memory_id, candidate_id = :candidate_id, digest = iif(digest IS {vouched_evidence}, {vouched_moved_evidence}, digest)
WHERE candidate_id = :moved_from AND NOT EXISTS (
    SELECT 1 FROM evidence AS other WHERE (other.memory_id = :memory_id OR other.candidate_id = :candidate_id)
      AND other.quote = evidence.quote AND other.item_id IS evidence.item_id AND other.turn_id IS evidence.turn_id
)

-- name: follow_merge
-- Candidates that were merged into a candidate follow it.
UPDATE candidate SET merged_into = :merged_into WHERE merged_into = :candidate_id

-- name: drop_evidence
-- Remove the evidence of a decided candidate.
DELETE FROM evidence WHERE candidate_id = :candidate_id

-- name: due_candidates
-- Candidates that were last proposed or decided before a time, forgotten ones as well.
SELECT candidate.*, scope.kind AS scope_kind, scope.key AS scope_key FROM candidate JOIN scope ON scope.id = candidate.scope_id
WHERE touched_at <= :before ORDER BY touched_at LIMIT :limit

-- name: next_candidate
-- The oldest time at which a candidate was last proposed or decided.
SELECT min(touched_at) FROM candidate

-- name: erase_candidate
-- Remove the candidate itself.
DELETE FROM candidate WHERE candidate_id = :candidate_id

-- name: candidates_of_scope
-- Every candidate of a scope.
SELECT candidate_id FROM candidate WHERE scope_id = :scope_id

-- name: pending_candidates
-- Candidates that wait in a scope, newest first.
SELECT candidate.*, scope.kind AS scope_kind, scope.key AS scope_key FROM shown_candidate AS candidate JOIN scope ON scope.id = candidate.scope_id
WHERE scope_id = :scope_id AND status = 'pending' ORDER BY candidate.id DESC LIMIT :limit

-- name: add_evidence
-- Words that support a record or a candidate.
INSERT INTO evidence (memory_id, candidate_id, quote, source_kind, thread_id, turn_id, item_id, at, digest)
VALUES (:memory_id, :candidate_id, :quote, :source_kind, :thread_id, :turn_id, :item_id, :at, {vouched_new_evidence})

-- name: has_evidence
-- Return 1 if the same words of the same message support a record or candidate already.
SELECT 1 FROM evidence WHERE (memory_id = :memory_id OR candidate_id = :candidate_id) AND quote = :quote AND item_id IS :item_id AND turn_id IS :turn_id LIMIT 1

-- name: note_repetition
-- Store that words were said in a turn.
INSERT INTO repetition (scope_id, text_hash, turn_id, at) VALUES (:scope_id, :text_hash, :turn_id, :now) ON CONFLICT DO NOTHING

-- name: turns_of_text
-- The turns in which words were said before.
SELECT turn_id FROM repetition WHERE scope_id = :scope_id AND text_hash = :text_hash

-- name: erase_repetition
-- Remove the repetitions of erased words.
DELETE FROM repetition WHERE scope_id = :scope_id AND text_hash = :text_hash

-- name: add_decision
-- A decision with its factors.
INSERT INTO decision (at, scope_id, memory_id, candidate_id, thread_id, turn_id, run_id, action, score, bucket, reason_code, factors)
VALUES (:at, :scope_id, :memory_id, :candidate_id, :thread_id, :turn_id, :run_id, :action, :score, :bucket, :reason_code, :factors)

-- name: decisions_of_record
-- Decisions on a record, newest first.
SELECT action, score, bucket, reason_code, factors, run_id, turn_id FROM told_decision AS decision WHERE memory_id = :memory_id ORDER BY id DESC LIMIT :limit

-- name: first_decision_of_record
-- The first decision on a record, which made it.
SELECT action, score, bucket, reason_code, factors FROM told_decision AS decision WHERE memory_id = :memory_id ORDER BY id LIMIT 1

-- name: decisions_of_candidate
-- Decisions on a candidate, newest first.
SELECT action, score, bucket, reason_code, factors, run_id, turn_id FROM told_decision AS decision WHERE candidate_id = :candidate_id ORDER BY id DESC LIMIT :limit

-- name: decisions_of_turn
-- Decisions on the proposals of a turn, oldest first; of each candidate the last one of the turn.
SELECT action, score, bucket, reason_code, factors, memory_id FROM told_decision AS decision
WHERE turn_id = :turn_id AND (candidate_id IS NULL OR NOT EXISTS (
    SELECT 1 FROM decision AS later WHERE later.candidate_id = decision.candidate_id AND later.turn_id = :turn_id AND later.id > decision.id
))
ORDER BY id LIMIT :limit

-- name: decisions_of_call
-- Decisions on the proposals of a call outside of any turn, in some scopes, oldest first.
SELECT action, score, bucket, reason_code, factors, memory_id FROM told_decision
WHERE turn_id = :turn_id AND scope_id IN (SELECT value FROM json_each(:scope_ids)) ORDER BY id LIMIT :limit

-- name: decisions_of_run
-- Decisions on the proposals of a run, oldest first.
SELECT action, score, bucket, reason_code, factors, memory_id FROM told_decision AS decision WHERE run_id = :run_id ORDER BY id LIMIT :limit

-- name: count_decisions
-- The number of decisions of a scope by reason.
SELECT reason_code, count(*) FROM decision WHERE scope_id = :scope_id GROUP BY reason_code

-- name: count_records
-- The number of records of a scope by category, status at a moment and index state.
SELECT category, CASE WHEN status = 'active' AND expires_at <= :now THEN 'expired' ELSE status END AS status_now, index_state, count(*)
FROM record WHERE scope_id = :scope_id GROUP BY category, status_now, index_state

-- name: count_candidates
-- The number of candidates of a scope by status.
SELECT status, count(*) FROM candidate WHERE scope_id = :scope_id GROUP BY status

-- name: add_event
-- A step of a record's history.
INSERT INTO memory_event (memory_id, at, event, actor, reason_code, from_status, to_status, caller) VALUES (:memory_id, :at, :event, :actor, :reason_code, :from_status, :to_status, :caller)

-- name: events_between
-- History of records in some scopes before a place, newest first; a record whose successor names it is not shown as superseded.
SELECT event.at, event.id, event.memory_id, event.event, event.reason_code, event.caller, scope.id, scope.kind, scope.key
FROM memory_event AS event LEFT JOIN record ON record.memory_id = event.memory_id
  LEFT JOIN tombstone ON tombstone.memory_id = event.memory_id
  JOIN scope ON scope.id = coalesce(record.scope_id, tombstone.scope_id)
WHERE event.at >= :since AND (event.at, event.id) < (:at, :row) AND instr(:names, ',' || event.event || ',') > 0
  AND NOT (event.event = 'superseded' AND EXISTS (SELECT 1 FROM record AS later WHERE later.supersedes = event.memory_id))
  AND scope.id IN (SELECT value FROM json_each(:scope_ids))
ORDER BY event.at DESC, event.id DESC LIMIT :limit

-- name: candidates_between
-- Candidates of some scopes that may be shown, made before a place, newest first.
SELECT candidate.*, scope.kind AS scope_kind, scope.key AS scope_key FROM shown_candidate AS candidate JOIN scope ON scope.id = candidate.scope_id
WHERE candidate.created_at >= :since AND (candidate.created_at, candidate.id) < (:at, :row)
  AND candidate.scope_id IN (SELECT value FROM json_each(:scope_ids))
ORDER BY candidate.created_at DESC, candidate.id DESC LIMIT :limit

-- name: evidence_of_record
-- The unaltered evidence of a record, newest first.
SELECT quote, thread_id, turn_id, item_id, source_kind, at FROM evidence WHERE memory_id = :memory_id AND digest IS {vouched_evidence} ORDER BY id DESC LIMIT :limit

-- name: events_of
-- The history of a record.
SELECT at, event, actor, reason_code, from_status, to_status, memory_id, id FROM memory_event WHERE memory_id = :memory_id ORDER BY id

-- name: get_answer
-- The stored answer of an idempotency key.
SELECT request, answer FROM idempotency WHERE key = :key AND at > :after

-- name: put_answer
-- Keep an answer.
INSERT INTO idempotency (key, request, answer, at) VALUES (:key, :request, :answer, :at)
ON CONFLICT (key) DO UPDATE SET request = excluded.request, answer = excluded.answer, at = excluded.at

-- name: forget_answers
-- Remove some answers from before a time.
DELETE FROM idempotency WHERE rowid IN (SELECT rowid FROM idempotency WHERE at <= :before LIMIT :limit)

-- name: note_change
-- Log that a scope changed.
INSERT INTO memory_change (scope_id, owner, at) VALUES (:scope_id, :owner, :at)

-- name: changes_after
-- Scopes that other processes changed.
SELECT DISTINCT scope.kind, scope.key FROM memory_change JOIN scope ON scope.id = memory_change.scope_id WHERE seq > :seq AND owner <> :owner

-- name: last_change
-- The last number of the log of changes.
SELECT coalesce(max(seq), 0) FROM memory_change

-- name: forget_changes
-- Remove some entries of the log from before a time, which every process has read by now.
DELETE FROM memory_change WHERE seq IN (SELECT seq FROM memory_change WHERE at < :before LIMIT :limit)

-- name: add_recall_event
-- A recall with its counts; the query is a keyed hash.
INSERT INTO memory_recall (at, turn_id, query_hash, mode, candidates, returned, latency_us, cut_reason, ranked)
VALUES (:at, :turn_id, :query_hash, :mode, :candidates, :returned, :latency_us, :cut_reason, :ranked)

-- name: recalls_of_turn
-- The ranked lists of the recalls of a turn, NULL where they were not kept.
SELECT ranked FROM memory_recall WHERE turn_id = :turn_id ORDER BY id

-- name: forget_recalls
-- Remove some recalls from before a time.
DELETE FROM memory_recall WHERE id IN (SELECT id FROM memory_recall WHERE at < :before LIMIT :limit)

-- name: forget_decisions
-- Remove some decisions from before a time that left neither record nor candidate; the others are kept as long as these.
DELETE FROM decision WHERE id IN (SELECT id FROM decision WHERE memory_id IS NULL AND candidate_id IS NULL AND at < :before LIMIT :limit)

-- name: forget_repetitions
-- Remove some repetitions from before a time.
DELETE FROM repetition WHERE (scope_id, text_hash, turn_id) IN (SELECT scope_id, text_hash, turn_id FROM repetition WHERE at < :before LIMIT :limit)

-- name: get_fact
-- A fact of this house by name.
SELECT value FROM memory_fact WHERE name = :name

-- name: drop_fact
-- Remove a fact of this house.
DELETE FROM memory_fact WHERE name = :name

-- name: put_fact
-- Keep a fact of this house.
INSERT INTO memory_fact (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: add_vector
-- A record's vector.
INSERT INTO memory_vec (space_id, scope_id, record_id, vector, digest) VALUES (:space, :scope_id, :row, :numbers, :digest) ON CONFLICT (record_id, space_id) DO NOTHING

-- name: vectors_added
-- Vectors of a scope that came after a place.
SELECT id, record_id, vector FROM memory_vec WHERE space_id = :space AND scope_id = :partition AND id > :after ORDER BY id
LIMIT :limit

-- name: vectors_of_records
-- The vectors of records that are in some scopes. The join keeps the planner at the records' own index, in their order.
SELECT record_id, vector FROM json_each(:subjects) AS wanted CROSS JOIN memory_vec ON record_id = wanted.value AND space_id = :space
WHERE scope_id IN (SELECT value FROM json_each(:partitions))

-- name: vectors_present
-- Every vector of a scope.
SELECT id FROM memory_vec WHERE space_id = :space AND scope_id = :partition

-- name: vector_losses
-- The number of vectors of a scope that were ever removed.
SELECT count FROM memory_vec_loss WHERE space_id = :space AND scope_id = :partition

-- name: remove_vectors
-- Remove every vector of a record that is forgotten.
DELETE FROM memory_vec WHERE record_id = :row

-- name: drop_vectors
-- Remove some vectors of a space that is not searched any more.
DELETE FROM memory_vec WHERE id IN (SELECT id FROM memory_vec WHERE space_id = :space LIMIT :limit)

-- name: await_vectors
-- Mark the records without a vector of the space as waiting for one.
UPDATE record SET index_state = 'pending' WHERE status <> 'deleted' AND index_state = 'indexed'
  AND NOT EXISTS (SELECT 1 FROM memory_vec WHERE record_id = record.id AND space_id = :space)

-- name: settle_vectors
-- Mark records that have a vector of the space, or will get none, as waiting no more.
UPDATE record SET index_state = 'indexed' WHERE index_state = 'pending'
  AND (:space IS NULL OR EXISTS (SELECT 1 FROM memory_vec WHERE record_id = record.id AND space_id = :space))

-- name: set_index_state
-- Mark the state of the rows derived of a record.
UPDATE record SET index_state = :state WHERE id = :row

-- name: look_for_lack
-- The last row of a look at the next records, and whether any of them that can have a vector lacks one of the space.
SELECT max(id), max(lacks) FROM (SELECT id, status <> 'deleted' AND index_state <> 'repair_needed'
    AND NOT EXISTS (SELECT 1 FROM memory_vec WHERE record_id = record.id AND space_id = :space) AS lacks
  FROM record WHERE id > :after ORDER BY id LIMIT :limit)

-- name: count_vectors_of_space
-- The number of records that can have a vector, and of those that have one of the space; each count is of an index.
SELECT (SELECT count(*) FROM record) - (SELECT count(*) FROM record WHERE status = 'deleted')
    - (SELECT count(*) FROM record WHERE index_state <> 'indexed' AND index_state = 'repair_needed' AND status <> 'deleted'),
  (SELECT count(*) FROM memory_vec WHERE space_id = :space)

-- name: has_pending
-- Return 1 if any record waits for its vector.
SELECT EXISTS (SELECT 1 FROM record WHERE index_state <> 'indexed' AND index_state = 'pending')

-- name: without_vector
-- The next records that lack a vector of the space.
SELECT id, scope_id, content FROM record WHERE status <> 'deleted' AND index_state <> 'repair_needed' AND id > :after AND id <= :until
  AND NOT EXISTS (SELECT 1 FROM memory_vec WHERE record_id = record.id AND space_id = :space) ORDER BY id LIMIT :limit

-- name: pending_without_vector
-- The next records that wait for a vector of the space that is searched.
SELECT id, scope_id, content FROM record WHERE index_state = 'pending' AND status <> 'deleted' AND id > :after
  AND NOT EXISTS (SELECT 1 FROM memory_vec WHERE record_id = record.id AND space_id = :space) ORDER BY id LIMIT :limit

-- name: records_by_row
-- Records by their row numbers.
SELECT {record} FROM record JOIN record_bytes AS whole ON whole.raw_id = record.id JOIN scope ON scope.id = record.scope_id
WHERE record.id IN (SELECT value FROM json_each(:rows))

-- name: export_records
-- Records of a scope set, forgotten ones left out, from a place on.
SELECT {record} FROM record JOIN record_bytes AS whole ON whole.raw_id = record.id JOIN scope ON scope.id = record.scope_id
WHERE record.id >= :row AND status <> 'deleted' AND instr(:scope_ids, ',' || scope_id || ',') > 0 ORDER BY record.id LIMIT :limit

-- name: export_candidates
-- Candidates of a scope set that may be shown, from a place on.
SELECT candidate.*, scope.kind AS scope_kind, scope.key AS scope_key FROM shown_candidate AS candidate JOIN scope ON scope.id = candidate.scope_id
WHERE candidate.id >= :row AND instr(:scope_ids, ',' || scope_id || ',') > 0 ORDER BY candidate.id LIMIT :limit

-- name: export_forgotten
-- Forgotten records that can still be restored, from a place on.
SELECT {record} FROM record JOIN record_bytes AS whole ON whole.raw_id = record.id JOIN scope ON scope.id = record.scope_id
WHERE record.id >= :row AND status = 'deleted' AND instr(:scope_ids, ',' || scope_id || ',') > 0 ORDER BY record.id LIMIT :limit

-- name: export_tombstones
-- Tombstones of erased records, from a place on.
SELECT tombstone.id, memory_id, scope.kind, scope.key, erased_at, key_id, fingerprint, text_hash, key_hash
FROM tombstone JOIN scope ON scope.id = tombstone.scope_id
WHERE tombstone.id >= :row AND instr(:scope_ids, ',' || scope_id || ',') > 0 ORDER BY tombstone.id LIMIT :limit

-- name: export_evidence
-- The unaltered evidence of a record, oldest first.
SELECT quote, thread_id, turn_id, item_id, source_kind, at FROM evidence WHERE memory_id = :memory_id AND digest IS {vouched_evidence} ORDER BY at, id

-- name: export_candidate_evidence
-- The unaltered evidence of a candidate, oldest first.
SELECT quote, thread_id, turn_id, item_id, source_kind, at FROM evidence WHERE candidate_id = :candidate_id AND digest IS {vouched_evidence} ORDER BY at, id

-- name: export_events
-- A record's history, oldest first.
SELECT at, event, actor, reason_code, from_status, to_status FROM memory_event WHERE memory_id = :memory_id ORDER BY at, id

-- name: export_decisions
-- Decisions about a record, oldest first.
SELECT at, action, score, bucket, reason_code, factors, candidate_id, thread_id, turn_id, run_id FROM told_decision AS decision
WHERE memory_id = :memory_id ORDER BY at, id

-- name: export_candidate_decisions
-- Decisions about a candidate alone, oldest first.
SELECT at, action, score, bucket, reason_code, factors, candidate_id, thread_id, turn_id, run_id FROM told_decision AS decision
WHERE candidate_id = :candidate_id AND memory_id IS NULL ORDER BY at, id

-- name: touched_at
-- The time at which a candidate was last proposed or decided.
SELECT touched_at FROM candidate WHERE candidate_id = :candidate_id

-- name: import_candidate
-- A candidate as another home knew it.
INSERT INTO candidate (candidate_id, scope_id, category, key, content, value, status, score, bucket, reason_code, evidence_count, contested_memory_id,
    promoted_memory_id, merged_into, created_at, decided_at, decided_by, fingerprint, text_hash, turn_id, proposal, touched_at)
VALUES (:candidate_id, :scope_id, :category, :key, :content, :value, :status, :score, :bucket, :reason_code, :evidence_count, :contested_memory_id,
    :promoted_memory_id, :merged_into, :created_at, :decided_at, :decided_by, :fingerprint, :text_hash, :turn_id, :proposal, :touched_at)

-- name: import_tombstone
-- The tombstone of a record that another home has forgotten.
INSERT INTO tombstone (memory_id, scope_id, fingerprint, text_hash, key_hash, erased_at, key_id)
VALUES (:memory_id, :scope_id, :fingerprint, :text_hash, :key_hash, :erased_at, :key_id)

-- name: get_tombstone
-- A row if a record was erased.
SELECT 1 FROM tombstone WHERE memory_id = :memory_id

-- name: is_forgotten
-- Return 1 if words were forgotten here, or, of a record, rejected since its creation; an imported tombstone counts for older entries.
SELECT EXISTS (SELECT 1 FROM record WHERE scope_id = :scope_id AND fingerprint = :fingerprint AND +status = 'deleted')
    OR EXISTS (SELECT 1 FROM record WHERE scope_id = :scope_id AND text_hash = :text_hash AND +status = 'deleted')
    OR EXISTS (SELECT 1 FROM tombstone WHERE scope_id = :scope_id AND fingerprint = :fingerprint AND (key_id IS NULL OR erased_at >= :created_at))
    OR EXISTS (SELECT 1 FROM tombstone WHERE scope_id = :scope_id AND text_hash = :text_hash AND (key_id IS NULL OR erased_at >= :created_at))
    OR EXISTS (SELECT 1 FROM candidate WHERE :is_record AND scope_id = :scope_id AND fingerprint = :fingerprint
        AND status IN ('rejected', 'suppressed') AND decided_at >= :created_at)
    OR EXISTS (SELECT 1 FROM candidate WHERE :is_record AND scope_id = :scope_id AND text_hash = :text_hash
        AND status IN ('rejected', 'suppressed') AND decided_at >= :created_at)

-- name: has_event
-- A row if a record's history has a step already.
SELECT 1 FROM memory_event WHERE memory_id = :memory_id AND at = :at AND event = :event AND actor = :actor
  AND reason_code IS :reason_code AND from_status IS :from_status AND to_status IS :to_status LIMIT 1

-- name: has_decision
-- A row if a decision about a record is stored already.
SELECT 1 FROM decision WHERE memory_id = :memory_id AND at = :at AND action = :action AND reason_code = :reason_code AND score = :score
  AND factors = :factors AND turn_id IS :turn_id AND run_id IS :run_id LIMIT 1

-- name: has_candidate_decision
-- A row if a decision about a candidate alone is stored already.
SELECT 1 FROM decision WHERE candidate_id = :candidate_id AND memory_id IS NULL AND at = :at AND action = :action AND reason_code = :reason_code
  AND score = :score AND factors = :factors AND turn_id IS :turn_id AND run_id IS :run_id LIMIT 1

-- name: recount_imported_evidence
-- Count a record's evidence anew; its time of change stays.
UPDATE record SET evidence_count = (SELECT count(*) FROM evidence WHERE evidence.memory_id = record.memory_id) WHERE memory_id = :memory_id

-- name: any_record
-- A row if there is any record.
SELECT 1 FROM record LIMIT 1

-- name: records_after
-- Records in the order of their rows.
SELECT {record} FROM record JOIN record_bytes AS whole ON whole.raw_id = record.id JOIN scope ON scope.id = record.scope_id
WHERE record.id > :after ORDER BY record.id LIMIT :limit

-- name: terms_after
-- Kept terms, which the full-text index should hold, from a place on.
SELECT row, scope, terms FROM record_terms WHERE row > :after ORDER BY row LIMIT :limit

-- name: terms_of_row
-- Kept terms of a record, which the full-text index should hold.
SELECT row, scope, terms FROM record_terms WHERE row = :row

-- name: vouched_texts_after
-- Kept terms with their digest, from a place on.
SELECT row, scope, terms, digest FROM record_terms WHERE row > :after ORDER BY row LIMIT :limit

-- name: vouched_vectors_after
-- Vectors with their digest and the number of numbers that they should have, from a place on.
SELECT v.id, v.record_id, v.vector, v.digest, s.dim, v.scope_id IS r.scope_id AND r.status IS NOT 'deleted'
FROM memory_vec AS v LEFT JOIN space AS s ON s.id = v.space_id LEFT JOIN record AS r ON r.id = v.record_id
WHERE v.id > :after ORDER BY v.id LIMIT :limit

-- name: find_lacking_vectors
-- Records that wait for no vector and have none of the space that is searched.
SELECT id FROM record WHERE id > :after AND id <= :until AND status <> 'deleted' AND index_state = 'indexed'
  AND NOT EXISTS (SELECT 1 FROM memory_vec WHERE record_id = record.id AND space_id = :space) ORDER BY id

-- name: drop_wrong_vectors
-- Remove some vectors, by their row numbers.
DELETE FROM memory_vec WHERE id IN (SELECT value FROM json_each(:rows))

-- name: has_term
-- A row if a search finds a term at all.
SELECT rowid FROM memory_fts WHERE memory_fts MATCH :match LIMIT 1

-- name: listed_after
-- Rows that the full-text index counts as its own, from a place on.
SELECT id FROM memory_fts_docsize WHERE id > :after ORDER BY id LIMIT :limit

-- name: index_totals
-- The totals that the full-text index keeps: rows, and terms by column.
SELECT block FROM memory_fts_data WHERE id = 1

-- name: rows_of_term_after
-- The entries of the full-text index for a term, from a row on, in its own order.
SELECT term, doc FROM memory_terms WHERE term = :term AND doc > :row LIMIT :limit

-- name: rows_of_terms_after
-- The entries of the full-text index for the terms that follow one, in its own order.
SELECT term, doc FROM memory_terms WHERE term > :term LIMIT :limit

-- name: end_of_records
-- The last row of a look at the next records.
SELECT max(id) FROM (SELECT id FROM record WHERE id > :after ORDER BY id LIMIT :limit)

-- name: end_of_scopes
-- The last row of a look at the next scopes.
SELECT max(id) FROM (SELECT id FROM scope WHERE id > :after ORDER BY id LIMIT :limit)

-- name: end_of_texts
-- The last row of a look at the next kept terms.
SELECT max(row) FROM (SELECT row FROM record_terms WHERE row > :after ORDER BY row LIMIT :limit)

-- name: end_of_evidence
-- The last row of a look at the next pieces of evidence.
SELECT max(id) FROM (SELECT id FROM evidence WHERE id > :after ORDER BY id LIMIT :limit)

-- name: end_of_candidates
-- The last row of a look at the next candidates.
SELECT max(id) FROM (SELECT id FROM candidate WHERE id > :after ORDER BY id LIMIT :limit)

-- name: text_gaps
-- The differences in number between records and kept terms, and between kept terms and rows of the index.
SELECT abs((SELECT count(*) FROM record WHERE status <> 'deleted') - (SELECT count(*) FROM record_terms)),
    abs((SELECT count(*) FROM record_terms) - (SELECT count(*) FROM memory_fts_docsize))

-- name: count_marked
-- The number of records that are marked as in need of repair.
SELECT count(*) FROM record WHERE index_state <> 'indexed' AND index_state = 'repair_needed'

-- name: doubt_tombstone
-- Mark that bytes of an erased record may still lie in the files.
UPDATE tombstone SET is_pending = 1 WHERE memory_id = :memory_id

-- name: find_unfinished_erases
-- Records that were erased and are still there.
SELECT record.id FROM record JOIN tombstone ON tombstone.memory_id = record.memory_id AND tombstone.fingerprint = record.fingerprint
WHERE record.id > :after AND record.id <= :until ORDER BY record.id

-- name: count_unfinished_erases
-- The number of records that were erased and are still there.
SELECT count(*) FROM tombstone CROSS JOIN record ON record.memory_id = tombstone.memory_id AND record.fingerprint = tombstone.fingerprint

-- name: vouched_evidence_after
-- The next pieces of evidence, each with 1 if it is unaltered.
SELECT id, CAST(coalesce(memory_id, candidate_id) AS BLOB), digest IS {vouched_evidence} FROM evidence WHERE id > :after ORDER BY id LIMIT :limit

-- name: find_orphan_evidence
-- Evidence of no record or candidate.
SELECT id FROM evidence
WHERE id > :after AND id <= :until AND (memory_id IS NULL OR NOT EXISTS (SELECT 1 FROM record WHERE record.memory_id = evidence.memory_id))
  AND (candidate_id IS NULL OR NOT EXISTS (SELECT 1 FROM candidate WHERE candidate.candidate_id = evidence.candidate_id)) ORDER BY id

-- name: mend_orphan_evidence
-- Remove evidence of no record or candidate.
DELETE FROM evidence WHERE id IN (SELECT value FROM json_each(:rows))
  AND (memory_id IS NULL OR NOT EXISTS (SELECT 1 FROM record WHERE record.memory_id = evidence.memory_id))
  AND (candidate_id IS NULL OR NOT EXISTS (SELECT 1 FROM candidate WHERE candidate.candidate_id = evidence.candidate_id))

-- name: find_repeated_evidence
-- The same words of the same message for the same record or candidate.
SELECT id FROM evidence WHERE id > :after AND id <= :until AND EXISTS (
    SELECT 1 FROM evidence AS other WHERE other.id < evidence.id AND other.memory_id = evidence.memory_id
      AND other.quote = evidence.quote AND other.item_id IS evidence.item_id AND other.turn_id IS evidence.turn_id
    UNION ALL SELECT 1 FROM evidence AS other WHERE other.id < evidence.id AND other.candidate_id = evidence.candidate_id
      AND other.quote = evidence.quote AND other.item_id IS evidence.item_id AND other.turn_id IS evidence.turn_id
) ORDER BY id

-- name: mend_repeated_evidence
-- Remove repetitions of a piece of evidence; the first one stays.
DELETE FROM evidence WHERE id IN (SELECT value FROM json_each(:rows)) AND EXISTS (
    SELECT 1 FROM evidence AS other WHERE other.id < evidence.id AND other.memory_id IS evidence.memory_id AND other.candidate_id IS evidence.candidate_id
      AND other.quote = evidence.quote AND other.item_id IS evidence.item_id AND other.turn_id IS evidence.turn_id
)

-- name: find_evidence_counts
-- Records with a wrong count of evidence.
SELECT id FROM record WHERE id > :after AND id <= :until
  AND evidence_count <> (SELECT count(*) FROM evidence WHERE evidence.memory_id = record.memory_id) ORDER BY id

-- name: mend_evidence_counts
-- Count the evidence of records anew.
UPDATE record SET evidence_count = (SELECT count(*) FROM evidence WHERE evidence.memory_id = record.memory_id)
WHERE id IN (SELECT value FROM json_each(:rows))

-- name: find_candidate_counts
-- Waiting candidates with a wrong count of evidence.
SELECT id FROM candidate WHERE id > :after AND id <= :until AND status = 'pending'
  AND evidence_count <> (SELECT count(*) FROM evidence WHERE evidence.candidate_id = candidate.candidate_id) ORDER BY id

-- name: mend_candidate_counts
-- Count the evidence of waiting candidates anew.
UPDATE candidate SET evidence_count = (SELECT count(*) FROM evidence WHERE evidence.candidate_id = candidate.candidate_id)
WHERE id IN (SELECT value FROM json_each(:rows)) AND status = 'pending'

-- name: find_scope_counts
-- Scopes with a wrong count of active records.
SELECT id FROM scope WHERE id > :after AND id <= :until
  AND active <> (SELECT count(*) FROM record WHERE scope_id = scope.id AND status = 'active') ORDER BY id

-- name: mend_scope_counts
-- Count the active records of scopes anew.
UPDATE scope SET active = (SELECT count(*) FROM record WHERE scope_id = scope.id AND status = 'active') WHERE id IN (SELECT value FROM json_each(:rows))
  AND active <> (SELECT count(*) FROM record WHERE scope_id = scope.id AND status = 'active')

-- name: find_superseded_links
-- Superseded records whose link to the newer record is wrong, where the right one can be found.
SELECT id FROM record WHERE id > :after AND id <= :until AND superseded_by IS NOT NULL AND superseded_by IS NOT coalesce(
    (SELECT other.memory_id FROM record AS other WHERE other.memory_id = record.superseded_by),
    (SELECT other.memory_id FROM record AS other WHERE other.supersedes = record.memory_id ORDER BY other.id DESC LIMIT 1), '') ORDER BY id

-- name: mend_superseded_links
-- Link superseded records to the newest record that names them; to none where that was erased.
UPDATE record SET superseded_by = coalesce(
    (SELECT other.memory_id FROM record AS other WHERE other.memory_id = record.superseded_by),
    (SELECT other.memory_id FROM record AS other WHERE other.supersedes = record.memory_id ORDER BY other.id DESC LIMIT 1), '')
WHERE id IN (SELECT value FROM json_each(:rows)) AND superseded_by IS NOT NULL

-- name: find_supersedes_links
-- Records whose link to an older record leads nowhere.
SELECT id FROM record WHERE id > :after AND id <= :until AND supersedes IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM record AS other WHERE other.memory_id = record.supersedes) ORDER BY id

-- name: mend_supersedes_links
-- Link records to the newest record that names them as newer; to none where that was erased.
UPDATE record SET supersedes = (SELECT other.memory_id FROM record AS other WHERE other.superseded_by = record.memory_id ORDER BY other.id DESC LIMIT 1)
WHERE id IN (SELECT value FROM json_each(:rows)) AND NOT EXISTS (SELECT 1 FROM record AS other WHERE other.memory_id = record.supersedes)

-- name: find_forgotten_texts
-- Kept terms of forgotten records.
SELECT record_terms.row FROM record_terms LEFT JOIN record ON record.id = record_terms.row
WHERE record_terms.row > :after AND record_terms.row <= :until AND (record.id IS NULL OR record.status = 'deleted') ORDER BY record_terms.row

-- name: find_missing_texts
-- Records without kept terms.
SELECT id FROM record WHERE id > :after AND id <= :until AND status <> 'deleted' AND NOT EXISTS (SELECT 1 FROM record_terms WHERE record_terms.row = record.id) ORDER BY id

-- name: find_stale_texts
-- Kept terms of another version of the lexicon.
SELECT row FROM record_terms WHERE row > :after AND row <= :until AND lexicon <> :lexicon ORDER BY row

-- name: find_index_states
-- Records that are not marked as indexed, with their mark.
SELECT id, index_state FROM record WHERE id > :after AND id <= :until AND index_state <> 'indexed' ORDER BY id

-- name: reconsider_vectors
-- Mark whether some records wait for a vector of a space; none waits where there is no space.
UPDATE record SET index_state = CASE WHEN :space IS NULL OR status = 'deleted'
    OR EXISTS (SELECT 1 FROM memory_vec WHERE record_id = record.id AND space_id = :space) THEN 'indexed' ELSE 'pending' END
WHERE id IN (SELECT value FROM json_each(:rows))

-- name: index_state_of
-- A record's mark.
SELECT index_state FROM record WHERE id = :row

-- name: find_format
-- The format of the records' full-text index.
SELECT v FROM memory_fts_config WHERE k = 'version'

-- name: put_format
-- Write the format of an index that overwrites deleted entries, as `schema.sql` asks for.
INSERT OR REPLACE INTO memory_fts_config (k, v) VALUES ('version', 5), ('secure-delete', 1)

-- name: said_in_records
-- Texts of records between two rows.
SELECT id, memory_id, {words} FROM record WHERE id BETWEEN :first AND :last ORDER BY id

-- name: said_in_candidates
-- Texts of candidates between two rows.
SELECT id, candidate_id, CAST(content AS BLOB), CAST(value AS BLOB), CAST(key AS BLOB), CAST(proposal AS BLOB)
FROM candidate WHERE id BETWEEN :first AND :last ORDER BY id

-- name: said_in_evidence
-- Quotes of evidence between two rows.
SELECT id, coalesce(memory_id, candidate_id), CAST(quote AS BLOB) FROM evidence WHERE id BETWEEN :first AND :last ORDER BY id

-- name: keep_said_evidence
-- Write a quote from which forgotten words were removed.
UPDATE evidence SET quote = :quote, digest = iif(digest IS {vouched_evidence}, {vouched_said_evidence}, digest) WHERE id = :row

-- name: earlier_values
-- The values of a record before it was changed in place, oldest first, as JSON.
SELECT CAST(value AS BLOB) FROM earlier_value WHERE record_id = :row ORDER BY id

-- name: said_in_earlier_values
-- Earlier values of records between two rows.
SELECT earlier_value.id, coalesce(memory_id, ''), CAST(earlier_value.value AS BLOB) FROM earlier_value LEFT JOIN record ON record.id = record_id
WHERE earlier_value.id BETWEEN :first AND :last ORDER BY earlier_value.id

-- name: keep_said_earlier_value
-- Write an earlier value from which forgotten words were removed; another row may have the same by now.
UPDATE OR REPLACE earlier_value SET value = :value WHERE id = :row

-- name: said_in_decisions
-- Factors of decisions between two rows.
SELECT id, coalesce(memory_id, candidate_id, turn_id, ''), CAST(factors AS BLOB) FROM decision WHERE id BETWEEN :first AND :last ORDER BY id

-- name: keep_said_decision
-- Write a decision's factors from which forgotten words were removed.
UPDATE decision SET factors = :factors WHERE id = :row

-- name: said_in_answers
-- Kept answers between two rows.
SELECT rowid, coalesce(json_extract(answer, '$.memory_id'), json_extract(answer, '$.candidate_id'), ''), CAST(answer AS BLOB)
FROM idempotency WHERE rowid BETWEEN :first AND :last ORDER BY rowid

-- name: keep_said_answer
-- Write an answer from which forgotten words were removed.
UPDATE idempotency SET answer = :answer WHERE rowid = :row

-- name: status_of
-- The status of a record.
SELECT status FROM record WHERE memory_id = :memory_id

-- name: unscored_records
-- Records whose tier is not the one that the last consolidation noted.
SELECT id, tier, tier_days FROM record WHERE status = 'active' AND tier IS NOT tier_days AND (:scope_id IS NULL OR scope_id = :scope_id) ORDER BY id LIMIT :limit

-- name: note_tier
-- Note the tier of a record.
UPDATE record SET tier = :days WHERE id = :id

-- name: faded_machine_records
-- Active records of machines that have faded, in the order in which they did.
SELECT memory_id FROM record WHERE status = 'active' AND is_machine AND fades_at <= :now AND (:scope_id IS NULL OR scope_id = :scope_id)
ORDER BY fades_at, id LIMIT :limit

-- name: aging_machine_records
-- Active records of machines that fade some day.
SELECT id, memory_id, standing, reinforced_at, updated_at, fades_at FROM record
WHERE status = 'active' AND is_machine AND fades_at IS NOT NULL AND id > :after AND (:scope_id IS NULL OR scope_id = :scope_id) ORDER BY id LIMIT :limit

-- name: count_faded
-- The number of active records of the user's voice that have faded.
SELECT count(*) FROM record WHERE status = 'active' AND NOT is_machine AND fades_at <= :now AND (:scope_id IS NULL OR scope_id = :scope_id)

-- name: faded_user_records
-- Active records of the user's voice that have faded, in the order in which they did, after a place.
SELECT id, memory_id, standing, reinforced_at, updated_at, fades_at FROM record
WHERE status = 'active' AND NOT is_machine AND fades_at <= :now AND scope_id = :scope_id AND (fades_at, id) > (:place, :row)
ORDER BY fades_at, id LIMIT :limit

-- name: long_archived
-- Archived records of machines that were last changed before a time.
SELECT memory_id FROM record WHERE status = 'archived' AND is_machine AND updated_at < :before AND (:scope_id IS NULL OR scope_id = :scope_id)
ORDER BY updated_at, id LIMIT :limit

-- name: machine_crowds
-- The number of active, unpinned records of machines by scope and kind.
SELECT scope_id, kind, count(*) FROM record WHERE status = 'active' AND is_machine AND NOT pinned AND (:scope_id IS NULL OR scope_id = :scope_id)
GROUP BY scope_id, kind

-- name: weakest_machine_records
-- The weakest active, unpinned records of machines of some kinds in a scope; strength is that of memory/rules/strength.py.
SELECT memory_id FROM record WHERE status = 'active' AND is_machine AND NOT pinned AND scope_id = :scope_id AND instr(:kinds, ',' || kind || ',') > 0
ORDER BY min(1.0, standing * pow(max(1.0, (:now - reinforced_at) / 3600000.0), -0.3)), created_at, id LIMIT :limit

-- name: waiting_crowds
-- The number of pending candidates that no person wrote, by scope.
SELECT scope_id, count(*) FROM candidate WHERE status = 'pending' AND instr(proposal, '"kind":"user"') = 0 AND (:scope_id IS NULL OR scope_id = :scope_id)
GROUP BY scope_id

-- name: weakest_candidates
-- The pending candidates of a scope that no person wrote, the weakest first.
SELECT candidate.*, scope.kind, scope.key FROM shown_candidate AS candidate JOIN scope ON scope.id = candidate.scope_id
WHERE status = 'pending' AND instr(proposal, '"kind":"user"') = 0 AND scope_id = :scope_id ORDER BY score, created_at, candidate.id LIMIT :limit

-- name: count_raw
-- The number of pending candidates, and of those made before a time.
SELECT count(*), sum(created_at <= :before) FROM candidate WHERE status = 'pending' AND (:scope_id IS NULL OR scope_id = :scope_id)

-- name: raw_after
-- Pending candidates that were made before a time, after a row.
SELECT candidate.*, scope.kind, scope.key FROM shown_candidate AS candidate JOIN scope ON scope.id = candidate.scope_id
WHERE status = 'pending' AND created_at <= :before AND candidate.id > :after AND (:scope_id IS NULL OR scope_id = :scope_id)
ORDER BY candidate.id LIMIT :limit

-- name: reinforce_record
-- Begin a record's lifetime anew.
UPDATE record SET reinforced_at = :now WHERE memory_id = :memory_id

-- name: tally_records
-- The number of records by status, and of active notes.
SELECT 'records_' || status, count(*) FROM record WHERE id > :after AND id <= :until GROUP BY status
UNION ALL SELECT 'notes', count(*) FROM record WHERE id > :after AND id <= :until AND status = 'active' AND is_machine

-- name: tally_candidates
-- The number of candidates by status.
SELECT 'candidates_' || status, count(*) FROM candidate WHERE id > :after AND id <= :until GROUP BY status

-- name: tally_vectors
-- The number of vectors of records.
SELECT 'vectors_of_records', count(*) FROM memory_vec WHERE id > :after AND id <= :until

-- name: end_of_tombstones
-- The last row of a look at the next tombstones.
SELECT max(id) FROM (SELECT id FROM tombstone WHERE id > :after ORDER BY id LIMIT :limit)

-- name: tally_tombstones
-- The number of tombstones.
SELECT 'tombstones', count(*) FROM tombstone WHERE id > :after AND id <= :until

-- name: enrichment_of
-- A model's enrichment of a record.
SELECT entities, topics, summary, model, at FROM enrichment JOIN record ON record.id = enrichment.row WHERE memory_id = :memory_id

-- name: end_of_enrichment
-- The last row of a look at the next enrichment.
SELECT max(row) FROM (SELECT row FROM enrichment WHERE row > :after ORDER BY row LIMIT :limit)

-- name: find_lone_enrichment
-- Enrichment of records that are gone.
SELECT row FROM enrichment WHERE row > :after AND row <= :until AND NOT EXISTS (SELECT 1 FROM record WHERE record.id = enrichment.row)

-- name: drop_enrichment
-- Remove the enrichment of some records.
DELETE FROM enrichment WHERE row IN (SELECT value FROM json_each(:rows))

-- name: end_of_vectors
-- The last row of a look at the next vectors.
SELECT max(id) FROM (SELECT id FROM memory_vec WHERE id > :after ORDER BY id LIMIT :limit)

-- name: find_lone_vectors
-- Vectors of records that are gone.
SELECT id FROM memory_vec WHERE id > :after AND id <= :until AND NOT EXISTS (SELECT 1 FROM record WHERE record.id = memory_vec.record_id)

-- name: find_lone_texts
-- Terms of records that are gone.
SELECT row FROM record_terms WHERE row > :after AND row <= :until AND NOT EXISTS (SELECT 1 FROM record WHERE record.id = record_terms.row)

-- name: replacements
-- The records that a record superseded (`out`), and those that superseded it (`in`), by the link of either.
SELECT supersedes, 'out' FROM record WHERE memory_id = :memory_id AND supersedes IS NOT NULL
UNION SELECT memory_id, 'out' FROM record WHERE superseded_by = :memory_id
UNION SELECT superseded_by, 'in' FROM record WHERE memory_id = :memory_id AND superseded_by IS NOT NULL
UNION SELECT memory_id, 'in' FROM record WHERE supersedes = :memory_id
