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
-- What a recall rests on beside its query: a number that every change of a scope raises, and one that every new vector raises.
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'memory_change'), 0), coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'memory_vec'), 0)

-- name: get_record
-- A record by id.
SELECT {record} FROM record JOIN record_bytes AS whole ON whole.raw_id = record.id JOIN scope ON scope.id = record.scope_id WHERE memory_id = :memory_id

-- name: standing_state
-- A mark of each standing record of some scopes, its row first: another one once the record is another. Their index is all that is read.
SELECT coalesce(group_concat(id || ':' || updated_at || ':' || hex(checksum)), '') FROM record WHERE scope_id IN (SELECT value FROM json_each(:scope_ids))
  AND status = 'active' AND category IN ('recurring_instruction', 'communication_style', 'identity')

-- name: marks
-- What stands for the words of some records that are believed.
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
-- Which kinds of rows there are of a key, a fingerprint or words.
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
-- Whether the same was forgotten, erased, or rejected by a person, at a time or since.
SELECT EXISTS (SELECT 1 FROM record WHERE scope_id = :scope_id AND fingerprint = :fingerprint AND +status = 'deleted' AND deleted_at >= :since)
    OR EXISTS (SELECT 1 FROM record WHERE scope_id = :scope_id AND text_hash = :text_hash AND +status = 'deleted' AND deleted_at >= :since)
    OR EXISTS (SELECT 1 FROM tombstone WHERE scope_id = :scope_id AND text_hash = :text_hash AND erased_at >= :since)
    OR EXISTS (SELECT 1 FROM tombstone WHERE scope_id = :scope_id AND fingerprint = :fingerprint AND erased_at >= :since)
    OR EXISTS (SELECT 1 FROM candidate WHERE scope_id = :scope_id AND fingerprint = :fingerprint
        AND status IN ('rejected', 'suppressed') AND decided_at >= :since)
    OR EXISTS (SELECT 1 FROM candidate WHERE scope_id = :scope_id AND text_hash = :text_hash
        AND status IN ('rejected', 'suppressed') AND decided_at >= :since)

-- name: list_by_update
-- Records of a scope that a filter lets through, the last changed first, after a place.
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
-- Records of a scope that a filter lets through, the newest first, after a place.
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
-- Records of a scope that a filter lets through, the most important first, after a place.
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
-- Records of a scope that a filter lets through, the strongest first; strength as memory/rules/strength.py has it, after a place.
SELECT CAST(1000000 * min(1.0, standing * pow(max(1.0, (:at - reinforced_at) / 3600000.0), -0.3)) AS INTEGER) AS place, id FROM record WHERE scope_id = :scope_id
  AND CAST(1000000 * min(1.0, standing * pow(max(1.0, (:at - reinforced_at) / 3600000.0), -0.3)) AS INTEGER) <= :place AND (CAST(1000000 * min(1.0, standing * pow(max(1.0, (:at - reinforced_at) / 3600000.0), -0.3)) AS INTEGER) < :place OR id < :row)
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
-- The newest active records of a scope and category without a name of the caller's that a term is in.
SELECT record.id FROM (SELECT rowid AS row FROM memory_fts WHERE memory_fts MATCH :match ORDER BY rowid DESC LIMIT :budget) CROSS JOIN record ON record.id = row
WHERE scope_id = :scope_id AND category = :category AND status = 'active' AND alias IS NULL
  AND NOT is_machine LIMIT :limit

-- name: active_rows_before
-- Active records of some scopes, the newest first.
SELECT id FROM record WHERE scope_id IN (SELECT value FROM json_each(:scope_ids)) AND status = 'active' AND id < :row
ORDER BY id DESC LIMIT :limit

-- name: comparable_records
-- Active records among some, of a scope and category, without a name of the caller's, as far as a statement is compared with them.
SELECT record.id, CAST(record.key AS BLOB), is_single, CAST(content AS BLOB), CAST(record.value AS BLOB)
FROM json_each(:rows) AS wanted CROSS JOIN record ON record.id = wanted.value
WHERE scope_id = :scope_id AND category = :category AND status = 'active' AND alias IS NULL
  AND NOT is_machine

-- name: terms_of_scopes
-- The newest records in some scopes with the terms that are kept of them.
SELECT record.id, terms FROM record LEFT JOIN record_terms ON record_terms.row = record.id
WHERE scope_id IN (SELECT value FROM json_each(:scopes)) AND status <> 'deleted' ORDER BY record.id DESC LIMIT :limit

-- name: count_matches
-- How many full-text matches there are, up to a number.
SELECT count(*) FROM (SELECT rowid FROM memory_fts WHERE memory_fts MATCH :match LIMIT :limit)

-- name: candidates_by_row
-- What ranking and the gate need of records, those left out that cannot be shown or are not asked for; text as bytes, as in `record_bytes`.
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
-- How many active records a scope has.
SELECT active FROM scope WHERE id = :scope_id

-- name: holds_active
-- Whether a scope has an active record, by the records themselves: a damaged count hides nothing.
SELECT EXISTS (SELECT 1 FROM record WHERE scope_id = :scope_id AND status = 'active')

-- name: seal_record
-- What a record's own bytes give.
UPDATE record SET checksum = :checksum WHERE memory_id = :memory_id

-- name: keep_terms
-- Remember what went into the index.
INSERT INTO record_terms (row, scope, terms, lexicon, digest) VALUES (:row, :scope, :terms, :lexicon, :digest)
ON CONFLICT (row) DO UPDATE SET scope = excluded.scope, terms = excluded.terms, lexicon = excluded.lexicon, digest = excluded.digest

-- name: kept_terms
-- What went into the index of a record.
SELECT scope, terms FROM record_terms WHERE row = :row

-- name: drop_terms
-- A record is not in the index any more.
DELETE FROM record_terms WHERE row = :row

-- name: add_text
-- Make a record findable.
INSERT INTO memory_fts (rowid, body) VALUES (:row, :body)

-- name: remove_text
-- Take a record out of the index; the terms are the ones that went in.
INSERT INTO memory_fts (memory_fts, rowid, body)
SELECT 'delete', :row, :body WHERE EXISTS (SELECT 1 FROM memory_fts_docsize WHERE id = :row)

-- name: clear_text
-- Empty the index.
INSERT INTO memory_fts (memory_fts) VALUES ('delete-all')

-- name: change_status
-- A record's next status.
UPDATE record SET status = :status, updated_at = :now, superseded_by = :superseded_by, deleted_at = :deleted_at, contested = :contested WHERE memory_id = :memory_id

-- name: update_record
-- What may change in place.
UPDATE record SET {updated}, sensitivity = :sensitivity, updated_at = :now, key = :key, fingerprint = :fingerprint WHERE memory_id = :memory_id

-- name: adopt_record
-- An agent's note is the user's word from now on, filed as that is.
UPDATE record SET {adopted}, updated_at = :now WHERE memory_id = :memory_id

-- name: notes_saying
-- Active notes of agents in a scope with these words; `+` keeps the planner from the index of the scope's statuses.
SELECT memory_id FROM record WHERE scope_id = :scope_id AND text_hash = :text_hash AND +status = 'active'
  AND is_machine

-- name: take_evidence
-- What supported a record supports another one.
UPDATE evidence SET memory_id = :memory_id, digest = iif(digest IS {vouched_evidence}, {vouched_taken_evidence}, digest) WHERE memory_id = :taken_from

-- name: withhold_record
-- A record that holds what is not kept any more is shown nowhere.
UPDATE record SET metadata = :metadata, sensitivity = 'regulated' WHERE memory_id = :memory_id

-- name: withheld_records
-- Records that are shown nowhere because of what they hold.
SELECT memory_id FROM record WHERE sensitivity = 'regulated' AND instr(metadata, :name) > 0 ORDER BY id

-- name: others_that_are
-- Other active records with a key or a fingerprint.
SELECT memory_id FROM record WHERE scope_id = :scope_id AND fingerprint = :fingerprint AND +status = 'active' AND id <> :row
UNION SELECT memory_id FROM record WHERE scope_id = :scope_id AND key = :key AND status = 'active' AND id <> :row

-- name: set_contested
-- Whether something speaks against a record.
UPDATE record SET contested = :contested, updated_at = :now WHERE memory_id = :memory_id

-- name: grow_evidence
-- More evidence for a record.
UPDATE record SET evidence_count = (SELECT count(*) FROM evidence WHERE evidence.memory_id = record.memory_id), updated_at = :now WHERE memory_id = :memory_id

-- name: note_access
-- A record was read.
UPDATE record SET access_count = access_count + 1, last_accessed_at = :now, reinforced_at = max(reinforced_at, :now) WHERE memory_id = :memory_id

-- name: active_of_turn
-- What a turn taught of its user, oldest first.
SELECT memory_id FROM record WHERE turn_id = :turn_id AND status = 'active' AND NOT is_machine ORDER BY id

-- name: records_of_source
-- What was learnt from a turn or thread.
SELECT memory_id FROM record WHERE turn_id = :turn_id
UNION SELECT memory_id FROM record WHERE thread_id = :thread_id ORDER BY memory_id

-- name: quoting
-- Records and candidates that quote a turn or thread.
SELECT memory_id, candidate_id FROM evidence WHERE turn_id = :turn_id
UNION SELECT memory_id, candidate_id FROM evidence WHERE thread_id = :thread_id ORDER BY memory_id, candidate_id

-- name: drop_quotes
-- Quotes of a turn or thread.
DELETE FROM evidence WHERE (memory_id = :memory_id OR candidate_id = :candidate_id) AND (turn_id = :turn_id OR thread_id = :thread_id)

-- name: count_quotes_of_candidate
-- How much still supports a waiting candidate.
UPDATE candidate SET evidence_count = (SELECT count(*) FROM evidence WHERE evidence.candidate_id = candidate.candidate_id)
WHERE candidate_id = :candidate_id AND status = 'pending'

-- name: candidates_of_source
-- What was proposed in a turn or thread.
SELECT candidate_id FROM candidate WHERE turn_id = :turn_id
UNION SELECT candidate_id FROM candidate WHERE turn_id IN (SELECT turn_id FROM decision WHERE thread_id = :thread_id)
UNION SELECT candidate_id FROM candidate WHERE json_extract(proposal, '$.provenance.thread_id') = :thread_id ORDER BY candidate_id

-- name: forget_candidate
-- A candidate that waits no more is forgotten.
UPDATE candidate SET forgotten_with = :forgotten_with, decided_by = coalesce(decided_by, :decided_by)
WHERE candidate_id = :candidate_id AND forgotten_with IS NULL

-- name: recall_candidates
-- What was forgotten with a record is shown again, unless another forgotten record says the same.
UPDATE candidate SET forgotten_with = coalesce(
    (SELECT memory_id FROM record WHERE memory_id IN (promoted_memory_id, merged_into) AND status = 'deleted'),
    (SELECT memory_id FROM record WHERE scope_id = candidate.scope_id AND fingerprint = candidate.fingerprint AND +status = 'deleted'),
    (SELECT memory_id FROM record WHERE scope_id = candidate.scope_id AND text_hash = candidate.text_hash AND +status = 'deleted'))
WHERE forgotten_with = :memory_id

-- name: forget_repetition
-- What a forgotten turn or thread said is not counted.
DELETE FROM repetition WHERE instr(:scope_ids, ',' || scope_id || ',') > 0
  AND (turn_id = :turn_id OR turn_id IN (SELECT turn_id FROM decision WHERE thread_id = :thread_id))

-- name: status_before_deletion
-- What a tombstone was.
SELECT from_status FROM memory_event WHERE memory_id = :memory_id AND event = 'deleted' AND from_status IS NOT NULL ORDER BY id DESC LIMIT 1

-- name: merged_before
-- The active record that a person merged a record of these words into.
SELECT stays.memory_id FROM record AS merged JOIN record AS stays ON stays.memory_id = merged.superseded_by
WHERE merged.scope_id = :scope_id AND merged.text_hash = :text_hash AND merged.status = 'superseded' AND stays.status = 'active'
  AND (SELECT reason_code FROM memory_event WHERE memory_event.memory_id = merged.memory_id AND event = 'superseded' ORDER BY memory_event.id DESC LIMIT 1) = 'near_duplicate'
LIMIT 1

-- name: was_merged
-- Whether a record last gave way because a person merged it.
SELECT reason_code = 'near_duplicate' FROM memory_event WHERE memory_id = :memory_id AND event = 'superseded' ORDER BY id DESC LIMIT 1

-- name: quotes_of_record
-- The words that support a record.
SELECT thread_id, turn_id, item_id, quote FROM evidence WHERE memory_id = :memory_id ORDER BY id

-- name: quotes_of_same_turns
-- The records with words of a turn that a record has words of, each pair of quotes: of the record, of the other one.
SELECT other.memory_id, CAST(own.quote AS BLOB), CAST(other.quote AS BLOB)
FROM evidence AS own CROSS JOIN evidence AS other ON other.turn_id = own.turn_id
WHERE own.memory_id = :memory_id AND own.turn_id IS NOT NULL AND other.memory_id <> :memory_id ORDER BY other.id

-- name: blank_decisions_of_candidate
-- Decisions keep their reason and lose what names the candidate.
UPDATE decision SET candidate_id = NULL, factors = '[]' WHERE candidate_id = :candidate_id

-- name: erase_recalls
-- A trace of recalls does not name what was erased.
UPDATE memory_recall SET ranked = NULL WHERE ranked IS NOT NULL AND instr(ranked, :memory_id) > 0

-- name: unlink_doubts
-- A candidate does not contest what was erased.
UPDATE candidate SET contested_memory_id = NULL WHERE contested_memory_id = :memory_id

-- name: candidates_saying
-- Candidates that say what is erased, or became it.
SELECT candidate_id FROM candidate WHERE promoted_memory_id = :memory_id
UNION SELECT candidate_id FROM candidate WHERE merged_into = :memory_id
UNION SELECT candidate_id FROM candidate WHERE scope_id = :scope_id AND fingerprint = :fingerprint
UNION SELECT candidate_id FROM candidate WHERE scope_id = :scope_id AND text_hash = :text_hash

-- name: pending_tombstones
-- What was erased and may still lie in the files.
SELECT memory_id FROM tombstone WHERE is_pending ORDER BY erased_at, memory_id

-- name: settle_tombstones
-- No file holds these any more.
UPDATE tombstone SET is_pending = 0 WHERE is_pending AND memory_id IN (SELECT value FROM json_each(:memory_ids))

-- name: generation
-- How much has been forgotten in this home: a number that every forgetting raises.
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'forgotten'), 0)

-- name: note_forgotten
-- Something is forgotten now, whenever it was before.
INSERT OR REPLACE INTO forgotten (mark) VALUES (:mark)

-- name: marks_since
-- What was forgotten after a generation.
SELECT mark FROM forgotten WHERE generation > :since

-- name: forgotten_at
-- The generation in which something was forgotten.
SELECT generation FROM forgotten WHERE mark = :mark

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
-- Of stored answers that name the record nothing is left but that they were given: a late repeat must not bring it back.
UPDATE idempotency SET answer = json_set(answer, '$.canonical_key', '', '$.semantic_fingerprint', '', '$.decision.factors', json('[]'))
WHERE json_extract(answer, '$.memory_id') = :memory_id

-- name: earlier_versions
-- The records that gave way to a record, or to one of those.
WITH RECURSIVE earlier (memory_id) AS (
    SELECT memory_id FROM record WHERE superseded_by = :memory_id
    UNION SELECT record.memory_id FROM record JOIN earlier ON record.superseded_by = earlier.memory_id
) SELECT memory_id FROM earlier WHERE memory_id <> :memory_id

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
INSERT INTO tombstone (memory_id, scope_id, fingerprint, text_hash, key_hash, erased_at, is_pending)
VALUES (:memory_id, :scope_id, :fingerprint, :text_hash, :key_hash, :now, 1) ON CONFLICT (memory_id) DO NOTHING

-- name: add_candidate
-- A proposal that waits.
INSERT INTO candidate (candidate_id, scope_id, category, key, content, value, status, score, bucket, reason_code, evidence_count, contested_memory_id, created_at,
    fingerprint, text_hash, turn_id, proposal, touched_at)
VALUES (:candidate_id, :scope_id, :category, :key, :content, :value, 'pending', :score, :bucket, :reason_code, :evidence_count, :contested_memory_id, :now,
    :fingerprint, :text_hash, :turn_id, :proposal, :now)

-- name: get_candidate
-- A candidate that may be shown, by id.
SELECT candidate.*, scope.kind AS scope_kind, scope.key AS scope_key FROM shown_candidate AS candidate JOIN scope ON scope.id = candidate.scope_id WHERE candidate_id = :candidate_id

-- name: known_candidate
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
-- More evidence for a candidate.
UPDATE candidate SET score = :score, bucket = :bucket, reason_code = :reason_code, touched_at = :now,
    evidence_count = (SELECT count(*) FROM evidence WHERE evidence.candidate_id = candidate.candidate_id) WHERE candidate_id = :candidate_id

-- name: change_candidate_status
-- A candidate's next status.
UPDATE candidate SET status = :status, promoted_memory_id = :promoted_memory_id, merged_into = :merged_into, touched_at = :now,
    decided_at = iif(:status = 'pending', NULL, :now), decided_by = iif(:status = 'pending', NULL, :decided_by)
WHERE candidate_id = :candidate_id AND status = :before

-- name: contesting_candidates
-- What speaks against a record.
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
-- What supports a candidate, as it was written.
SELECT quote, thread_id, turn_id, item_id, source_kind, at FROM evidence WHERE candidate_id = :candidate_id AND digest IS {vouched_evidence} ORDER BY id

-- name: move_evidence
-- What supported a candidate supports another candidate or a record from now on, where it does not yet.
UPDATE evidence SET memory_id = :memory_id, candidate_id = :candidate_id, digest = iif(digest IS {vouched_evidence}, {vouched_moved_evidence}, digest)
WHERE candidate_id = :moved_from AND NOT EXISTS (
    SELECT 1 FROM evidence AS other WHERE (other.memory_id = :memory_id OR other.candidate_id = :candidate_id)
      AND other.quote = evidence.quote AND other.item_id IS evidence.item_id AND other.turn_id IS evidence.turn_id
)

-- name: follow_merge
-- What was merged into a candidate follows it.
UPDATE candidate SET merged_into = :merged_into WHERE merged_into = :candidate_id

-- name: drop_evidence
-- A decided candidate keeps no words of its own.
DELETE FROM evidence WHERE candidate_id = :candidate_id

-- name: due_candidates
-- Candidates that nothing has touched for the time of retention, forgotten ones as well.
SELECT candidate.*, scope.kind AS scope_kind, scope.key AS scope_key FROM candidate JOIN scope ON scope.id = candidate.scope_id
WHERE touched_at <= :before ORDER BY touched_at LIMIT :limit

-- name: next_candidate
-- When the candidate that waits longest was touched.
SELECT min(touched_at) FROM candidate

-- name: erase_candidate
-- The candidate itself.
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
-- Whether the same words of the same message support a record already.
SELECT 1 FROM evidence WHERE (memory_id = :memory_id OR candidate_id = :candidate_id) AND quote = :quote AND item_id IS :item_id AND turn_id IS :turn_id LIMIT 1

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
SELECT action, score, bucket, reason_code, factors, run_id, turn_id FROM told_decision AS decision WHERE memory_id = :memory_id ORDER BY id DESC LIMIT :limit

-- name: decisions_of_candidate
-- Decisions on a candidate, newest first.
SELECT action, score, bucket, reason_code, factors, run_id, turn_id FROM told_decision AS decision WHERE candidate_id = :candidate_id ORDER BY id DESC LIMIT :limit

-- name: decisions_of_turn
-- Decisions on what a turn proposed, oldest first; of a candidate that was decided since, the last word.
SELECT action, score, bucket, reason_code, factors, memory_id FROM told_decision AS decision
WHERE turn_id = :turn_id AND (candidate_id IS NULL OR NOT EXISTS (
    SELECT 1 FROM decision AS later WHERE later.candidate_id = decision.candidate_id AND later.turn_id = :turn_id AND later.id > decision.id
))
ORDER BY id LIMIT :limit

-- name: decisions_of_call
-- Decisions on what a call outside of any turn proposed, as far as they are of these scopes; oldest first.
SELECT action, score, bucket, reason_code, factors, memory_id FROM told_decision
WHERE turn_id = :turn_id AND scope_id IN (SELECT value FROM json_each(:scope_ids)) ORDER BY id LIMIT :limit

-- name: decisions_of_run
-- Decisions on what a run proposed, oldest first.
SELECT action, score, bucket, reason_code, factors, memory_id FROM told_decision AS decision WHERE run_id = :run_id ORDER BY id LIMIT :limit

-- name: count_decisions
-- Decisions of a scope by reason.
SELECT reason_code, count(*) FROM decision WHERE scope_id = :scope_id GROUP BY reason_code

-- name: count_records
-- Records of a scope by category, status at this moment and index state.
SELECT category, CASE WHEN status = 'active' AND expires_at <= :now THEN 'expired' ELSE status END AS status_now, index_state, count(*)
FROM record WHERE scope_id = :scope_id GROUP BY category, status_now, index_state

-- name: count_candidates
-- Candidates of a scope by status.
SELECT status, count(*) FROM candidate WHERE scope_id = :scope_id GROUP BY status

-- name: add_event
-- Something happened to a record.
INSERT INTO memory_event (memory_id, at, event, actor, reason_code, from_status, to_status, caller) VALUES (:memory_id, :at, :event, :actor, :reason_code, :from_status, :to_status, :caller)

-- name: events_between
-- What happened to records of some scopes before a place, newest first; of a merge, that a record was replaced.
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
-- What supports a record, as it was written, newest first.
SELECT quote, thread_id, turn_id, item_id, source_kind, at FROM evidence WHERE memory_id = :memory_id AND digest IS {vouched_evidence} ORDER BY id DESC LIMIT :limit

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
DELETE FROM idempotency WHERE rowid IN (SELECT rowid FROM idempotency WHERE at <= :before LIMIT :limit)

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
DELETE FROM memory_change WHERE seq IN (SELECT seq FROM memory_change WHERE at < :before LIMIT :limit)

-- name: add_recall_event
-- A recall and what came of it; the query as a keyed hash.
INSERT INTO memory_recall (at, turn_id, query_hash, mode, candidates, returned, latency_us, cut_reason, ranked)
VALUES (:at, :turn_id, :query_hash, :mode, :candidates, :returned, :latency_us, :cut_reason, :ranked)

-- name: recalls_of_turn
-- What the recalls of a turn considered, where it was kept.
SELECT ranked FROM memory_recall WHERE turn_id = :turn_id ORDER BY id

-- name: forget_recalls
-- Recall events are kept for a week.
DELETE FROM memory_recall WHERE id IN (SELECT id FROM memory_recall WHERE at < :before LIMIT :limit)

-- name: forget_decisions
-- Decisions that left neither record nor candidate are kept for half a year; the others as long as what they are about.
DELETE FROM decision WHERE id IN (SELECT id FROM decision WHERE memory_id IS NULL AND candidate_id IS NULL AND at < :before LIMIT :limit)

-- name: forget_repetitions
-- What was said once, long ago, and never again.
DELETE FROM repetition WHERE (scope_id, text_hash, turn_id) IN (SELECT scope_id, text_hash, turn_id FROM repetition WHERE at < :before LIMIT :limit)

-- name: get_fact
-- A fact of this house by name.
SELECT value FROM memory_fact WHERE name = :name

-- name: drop_fact
-- A fact of this house does not hold any more.
DELETE FROM memory_fact WHERE name = :name

-- name: put_fact
-- Keep a fact of this house.
INSERT INTO memory_fact (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: add_vector
-- What a record's words mean to a model.
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
-- How many vectors of a scope were ever removed.
SELECT count FROM memory_vec_loss WHERE space_id = :space AND scope_id = :partition

-- name: remove_vectors
-- A record that is forgotten is near to nothing.
DELETE FROM memory_vec WHERE record_id = :row

-- name: drop_vectors
-- A part of a space that nobody searches any more.
DELETE FROM memory_vec WHERE id IN (SELECT id FROM memory_vec WHERE space_id = :space LIMIT :limit)

-- name: await_vectors
-- Records without a vector of the space wait for one.
UPDATE record SET index_state = 'pending' WHERE status <> 'deleted' AND index_state = 'indexed'
  AND NOT EXISTS (SELECT 1 FROM memory_vec WHERE record_id = record.id AND space_id = :space)

-- name: settle_vectors
-- Records that have a vector of the space, or for which none will come, wait no more.
UPDATE record SET index_state = 'indexed' WHERE index_state = 'pending'
  AND (:space IS NULL OR EXISTS (SELECT 1 FROM memory_vec WHERE record_id = record.id AND space_id = :space))

-- name: set_index_state
-- Whether a record's derived data is whole.
UPDATE record SET index_state = :state WHERE id = :row

-- name: look_for_lack
-- Where a look at so many records ends, and whether any of them that can have one lacks a vector of the space.
SELECT max(id), max(lacks) FROM (SELECT id, status <> 'deleted' AND index_state <> 'repair_needed'
    AND NOT EXISTS (SELECT 1 FROM memory_vec WHERE record_id = record.id AND space_id = :space) AS lacks
  FROM record WHERE id > :after ORDER BY id LIMIT :limit)

-- name: count_vectors_of_space
-- How many records can have a vector, and how many have one of the space; each count is of an index.
SELECT (SELECT count(*) FROM record) - (SELECT count(*) FROM record WHERE status = 'deleted')
    - (SELECT count(*) FROM record WHERE index_state <> 'indexed' AND index_state = 'repair_needed' AND status <> 'deleted'),
  (SELECT count(*) FROM memory_vec WHERE space_id = :space)

-- name: has_pending
-- Whether any record waits for its vector.
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
-- What is forgotten and can still be restored, from a place on.
SELECT {record} FROM record JOIN record_bytes AS whole ON whole.raw_id = record.id JOIN scope ON scope.id = record.scope_id
WHERE record.id >= :row AND status = 'deleted' AND instr(:scope_ids, ',' || scope_id || ',') > 0 ORDER BY record.id LIMIT :limit

-- name: export_tombstones
-- What was erased, from a place on.
SELECT tombstone.id, memory_id, scope.kind, scope.key, erased_at, key_id, fingerprint, text_hash, key_hash
FROM tombstone JOIN scope ON scope.id = tombstone.scope_id
WHERE tombstone.id >= :row AND instr(:scope_ids, ',' || scope_id || ',') > 0 ORDER BY tombstone.id LIMIT :limit

-- name: export_evidence
-- The words that support a record, oldest first.
SELECT quote, thread_id, turn_id, item_id, source_kind, at FROM evidence WHERE memory_id = :memory_id AND digest IS {vouched_evidence} ORDER BY at, id

-- name: export_candidate_evidence
-- The words that support a candidate, oldest first.
SELECT quote, thread_id, turn_id, item_id, source_kind, at FROM evidence WHERE candidate_id = :candidate_id AND digest IS {vouched_evidence} ORDER BY at, id

-- name: export_events
-- A record's history, oldest first.
SELECT at, event, actor, reason_code, from_status, to_status FROM memory_event WHERE memory_id = :memory_id ORDER BY at, id

-- name: export_decisions
-- What was decided about a record, oldest first.
SELECT at, action, score, bucket, reason_code, factors, candidate_id, thread_id, turn_id, run_id FROM told_decision AS decision
WHERE memory_id = :memory_id ORDER BY at, id

-- name: export_candidate_decisions
-- What was decided about a candidate alone, oldest first.
SELECT at, action, score, bucket, reason_code, factors, candidate_id, thread_id, turn_id, run_id FROM told_decision AS decision
WHERE candidate_id = :candidate_id AND memory_id IS NULL ORDER BY at, id

-- name: touched_at
-- When a candidate was last proposed or decided.
SELECT touched_at FROM candidate WHERE candidate_id = :candidate_id

-- name: import_candidate
-- A candidate as another home knew it.
INSERT INTO candidate (candidate_id, scope_id, category, key, content, value, status, score, bucket, reason_code, evidence_count, contested_memory_id,
    promoted_memory_id, merged_into, created_at, decided_at, decided_by, fingerprint, text_hash, turn_id, proposal, touched_at)
VALUES (:candidate_id, :scope_id, :category, :key, :content, :value, :status, :score, :bucket, :reason_code, :evidence_count, :contested_memory_id,
    :promoted_memory_id, :merged_into, :created_at, :decided_at, :decided_by, :fingerprint, :text_hash, :turn_id, :proposal, :touched_at)

-- name: import_tombstone
-- What another home has forgotten.
INSERT INTO tombstone (memory_id, scope_id, fingerprint, text_hash, key_hash, erased_at, key_id)
VALUES (:memory_id, :scope_id, :fingerprint, :text_hash, :key_hash, :erased_at, :key_id)

-- name: get_tombstone
-- Whether a record was erased.
SELECT 1 FROM tombstone WHERE memory_id = :memory_id

-- name: is_forgotten
-- Whether words were forgotten here, or rejected since they were said; a tombstone of a bundle counts for what is older than it.
SELECT EXISTS (SELECT 1 FROM record WHERE scope_id = :scope_id AND fingerprint = :fingerprint AND +status = 'deleted')
    OR EXISTS (SELECT 1 FROM record WHERE scope_id = :scope_id AND text_hash = :text_hash AND +status = 'deleted')
    OR EXISTS (SELECT 1 FROM tombstone WHERE scope_id = :scope_id AND fingerprint = :fingerprint AND (key_id IS NULL OR erased_at >= :created_at))
    OR EXISTS (SELECT 1 FROM tombstone WHERE scope_id = :scope_id AND text_hash = :text_hash AND (key_id IS NULL OR erased_at >= :created_at))
    OR EXISTS (SELECT 1 FROM candidate WHERE :is_record AND scope_id = :scope_id AND fingerprint = :fingerprint
        AND status IN ('rejected', 'suppressed') AND decided_at >= :created_at)
    OR EXISTS (SELECT 1 FROM candidate WHERE :is_record AND scope_id = :scope_id AND text_hash = :text_hash
        AND status IN ('rejected', 'suppressed') AND decided_at >= :created_at)

-- name: has_event
-- Whether a record's history has a step already.
SELECT 1 FROM memory_event WHERE memory_id = :memory_id AND at = :at AND event = :event AND actor = :actor
  AND reason_code IS :reason_code AND from_status IS :from_status AND to_status IS :to_status LIMIT 1

-- name: has_decision
-- Whether a decision about a record is known already.
SELECT 1 FROM decision WHERE memory_id = :memory_id AND at = :at AND action = :action AND reason_code = :reason_code AND score = :score
  AND factors = :factors AND turn_id IS :turn_id AND run_id IS :run_id LIMIT 1

-- name: has_candidate_decision
-- Whether a decision about a candidate alone is known already.
SELECT 1 FROM decision WHERE candidate_id = :candidate_id AND memory_id IS NULL AND at = :at AND action = :action AND reason_code = :reason_code
  AND score = :score AND factors = :factors AND turn_id IS :turn_id AND run_id IS :run_id LIMIT 1

-- name: count_up_evidence
-- How much evidence a record has now; when it was changed stays.
UPDATE record SET evidence_count = (SELECT count(*) FROM evidence WHERE evidence.memory_id = record.memory_id) WHERE memory_id = :memory_id

-- name: any_record
-- Whether there is any record.
SELECT 1 FROM record LIMIT 1

-- name: records_after
-- Records in the order of their rows.
SELECT {record} FROM record JOIN record_bytes AS whole ON whole.raw_id = record.id JOIN scope ON scope.id = record.scope_id
WHERE record.id > :after ORDER BY record.id LIMIT :limit

-- name: terms_after
-- What the full-text index has to hold, from a place on.
SELECT row, scope, terms FROM record_terms WHERE row > :after ORDER BY row LIMIT :limit

-- name: terms_of_row
-- What the full-text index has to hold of a record.
SELECT row, scope, terms FROM record_terms WHERE row = :row

-- name: vouched_texts_after
-- Kept terms with what vouches for them, from a place on.
SELECT row, scope, terms, digest FROM record_terms WHERE row > :after ORDER BY row LIMIT :limit

-- name: vouched_vectors_after
-- Vectors with what vouches for them and how many numbers they have, from a place on.
SELECT v.id, v.record_id, v.vector, v.digest, s.dim, v.scope_id IS r.scope_id AND r.status IS NOT 'deleted'
FROM memory_vec AS v LEFT JOIN space AS s ON s.id = v.space_id LEFT JOIN record AS r ON r.id = v.record_id
WHERE v.id > :after ORDER BY v.id LIMIT :limit

-- name: find_lacking_vectors
-- Records that wait for no vector and have none of the space that is searched.
SELECT id FROM record WHERE id > :after AND id <= :until AND status <> 'deleted' AND index_state = 'indexed'
  AND NOT EXISTS (SELECT 1 FROM memory_vec WHERE record_id = record.id AND space_id = :space) ORDER BY id

-- name: drop_wrong_vectors
-- Some vectors go.
DELETE FROM memory_vec WHERE id IN (SELECT value FROM json_each(:rows))

-- name: has_term
-- Whether a search finds a term at all.
SELECT rowid FROM memory_fts WHERE memory_fts MATCH :match LIMIT 1

-- name: listed_after
-- Rows that the full-text index counts as its own, from a place on.
SELECT id FROM memory_fts_docsize WHERE id > :after ORDER BY id LIMIT :limit

-- name: index_totals
-- What the full-text index believes to hold: rows, and terms by column.
SELECT block FROM memory_fts_data WHERE id = 1

-- name: rows_of_term_after
-- What the full-text index holds of a term, from a row on, in its own order.
SELECT term, doc FROM memory_terms WHERE term = :term AND doc > :row LIMIT :limit

-- name: rows_of_terms_after
-- What the full-text index holds of the terms that follow one, in its own order.
SELECT term, doc FROM memory_terms WHERE term > :term LIMIT :limit

-- name: end_of_records
-- Where a look at so many records ends.
SELECT max(id) FROM (SELECT id FROM record WHERE id > :after ORDER BY id LIMIT :limit)

-- name: end_of_scopes
-- Where a look at so many scopes ends.
SELECT max(id) FROM (SELECT id FROM scope WHERE id > :after ORDER BY id LIMIT :limit)

-- name: end_of_texts
-- Where a look at so many kept terms ends.
SELECT max(row) FROM (SELECT row FROM record_terms WHERE row > :after ORDER BY row LIMIT :limit)

-- name: end_of_evidence
-- Where a look at so many pieces of evidence ends.
SELECT max(id) FROM (SELECT id FROM evidence WHERE id > :after ORDER BY id LIMIT :limit)

-- name: end_of_candidates
-- Where a look at so many candidates ends.
SELECT max(id) FROM (SELECT id FROM candidate WHERE id > :after ORDER BY id LIMIT :limit)

-- name: text_gaps
-- How far records, kept terms and rows of the index are from being as many.
SELECT abs((SELECT count(*) FROM record WHERE status <> 'deleted') - (SELECT count(*) FROM record_terms)),
    abs((SELECT count(*) FROM record_terms) - (SELECT count(*) FROM memory_fts_docsize))

-- name: count_marked
-- How many records are marked as wanting repair.
SELECT count(*) FROM record WHERE index_state <> 'indexed' AND index_state = 'repair_needed'

-- name: doubt_tombstone
-- Bytes of what was erased may still lie in the files.
UPDATE tombstone SET is_pending = 1 WHERE memory_id = :memory_id

-- name: find_unfinished_erases
-- Records that were erased and are there.
SELECT record.id FROM record JOIN tombstone ON tombstone.memory_id = record.memory_id AND tombstone.fingerprint = record.fingerprint
WHERE record.id > :after AND record.id <= :until ORDER BY record.id

-- name: count_unfinished_erases
-- How many records were erased and are there.
SELECT count(*) FROM tombstone CROSS JOIN record ON record.memory_id = tombstone.memory_id AND record.fingerprint = tombstone.fingerprint

-- name: vouched_evidence_after
-- The next pieces of evidence, each with whether it is as it was written.
SELECT id, CAST(coalesce(memory_id, candidate_id) AS BLOB), digest IS {vouched_evidence} FROM evidence WHERE id > :after ORDER BY id LIMIT :limit

-- name: find_orphan_evidence
-- Words that support nothing.
SELECT id FROM evidence
WHERE id > :after AND id <= :until AND (memory_id IS NULL OR NOT EXISTS (SELECT 1 FROM record WHERE record.memory_id = evidence.memory_id))
  AND (candidate_id IS NULL OR NOT EXISTS (SELECT 1 FROM candidate WHERE candidate.candidate_id = evidence.candidate_id)) ORDER BY id

-- name: mend_orphan_evidence
-- Words that support nothing go.
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
-- The first one is enough.
DELETE FROM evidence WHERE id IN (SELECT value FROM json_each(:rows)) AND EXISTS (
    SELECT 1 FROM evidence AS other WHERE other.id < evidence.id AND other.memory_id IS evidence.memory_id AND other.candidate_id IS evidence.candidate_id
      AND other.quote = evidence.quote AND other.item_id IS evidence.item_id AND other.turn_id IS evidence.turn_id
)

-- name: find_evidence_counts
-- Records that count their evidence wrong.
SELECT id FROM record WHERE id > :after AND id <= :until
  AND evidence_count <> (SELECT count(*) FROM evidence WHERE evidence.memory_id = record.memory_id) ORDER BY id

-- name: mend_evidence_counts
-- Records count their evidence anew.
UPDATE record SET evidence_count = (SELECT count(*) FROM evidence WHERE evidence.memory_id = record.memory_id)
WHERE id IN (SELECT value FROM json_each(:rows))

-- name: find_candidate_counts
-- Waiting candidates that count their evidence wrong.
SELECT id FROM candidate WHERE id > :after AND id <= :until AND status = 'pending'
  AND evidence_count <> (SELECT count(*) FROM evidence WHERE evidence.candidate_id = candidate.candidate_id) ORDER BY id

-- name: mend_candidate_counts
-- Waiting candidates count their evidence anew.
UPDATE candidate SET evidence_count = (SELECT count(*) FROM evidence WHERE evidence.candidate_id = candidate.candidate_id)
WHERE id IN (SELECT value FROM json_each(:rows)) AND status = 'pending'

-- name: find_scope_counts
-- Scopes whose count of active records is wrong.
SELECT id FROM scope WHERE id > :after AND id <= :until
  AND active <> (SELECT count(*) FROM record WHERE scope_id = scope.id AND status = 'active') ORDER BY id

-- name: mend_scope_counts
-- The count of a scope's active records.
UPDATE scope SET active = (SELECT count(*) FROM record WHERE scope_id = scope.id AND status = 'active') WHERE id IN (SELECT value FROM json_each(:rows))
  AND active <> (SELECT count(*) FROM record WHERE scope_id = scope.id AND status = 'active')

-- name: find_superseded_links
-- Superseded records that do not name what replaced them, where that can be told.
SELECT id FROM record WHERE id > :after AND id <= :until AND superseded_by IS NOT NULL AND superseded_by IS NOT coalesce(
    (SELECT other.memory_id FROM record AS other WHERE other.memory_id = record.superseded_by),
    (SELECT other.memory_id FROM record AS other WHERE other.supersedes = record.memory_id ORDER BY other.id DESC LIMIT 1), '') ORDER BY id

-- name: mend_superseded_links
-- The newest record that says that it replaced them; none, when that was erased.
UPDATE record SET superseded_by = coalesce(
    (SELECT other.memory_id FROM record AS other WHERE other.memory_id = record.superseded_by),
    (SELECT other.memory_id FROM record AS other WHERE other.supersedes = record.memory_id ORDER BY other.id DESC LIMIT 1), '')
WHERE id IN (SELECT value FROM json_each(:rows)) AND superseded_by IS NOT NULL

-- name: find_supersedes_links
-- Records that replaced something that is not there.
SELECT id FROM record WHERE id > :after AND id <= :until AND supersedes IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM record AS other WHERE other.memory_id = record.supersedes) ORDER BY id

-- name: mend_supersedes_links
-- The newest record that says that they replaced it; none, when that was erased.
UPDATE record SET supersedes = (SELECT other.memory_id FROM record AS other WHERE other.superseded_by = record.memory_id ORDER BY other.id DESC LIMIT 1)
WHERE id IN (SELECT value FROM json_each(:rows)) AND NOT EXISTS (SELECT 1 FROM record AS other WHERE other.memory_id = record.supersedes)

-- name: find_forgotten_texts
-- Terms of records that are forgotten.
SELECT record_terms.row FROM record_terms LEFT JOIN record ON record.id = record_terms.row
WHERE record_terms.row > :after AND record_terms.row <= :until AND (record.id IS NULL OR record.status = 'deleted') ORDER BY record_terms.row

-- name: find_missing_texts
-- Records of which no terms are kept.
SELECT id FROM record WHERE id > :after AND id <= :until AND status <> 'deleted' AND NOT EXISTS (SELECT 1 FROM record_terms WHERE record_terms.row = record.id) ORDER BY id

-- name: find_stale_texts
-- Terms that another lexicon made.
SELECT row FROM record_terms WHERE row > :after AND row <= :until AND lexicon <> :lexicon ORDER BY row

-- name: find_index_states
-- Records that are not marked as whole.
SELECT id, index_state FROM record WHERE id > :after AND id <= :until AND index_state <> 'indexed' ORDER BY id

-- name: reconsider_vectors
-- Whether records wait for a vector of a space is decided anew; none waits where there is no space.
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
-- The format of an index that overwrites what is deleted, as `schema.sql` asks for.
INSERT OR REPLACE INTO memory_fts_config (k, v) VALUES ('version', 5), ('secure-delete', 1)

-- name: said_in_records
-- What records say, between two rows.
SELECT id, memory_id, {words} FROM record WHERE id BETWEEN :first AND :last ORDER BY id

-- name: said_in_candidates
-- What proposals say, between two rows.
SELECT id, candidate_id, CAST(content AS BLOB), CAST(value AS BLOB), CAST(key AS BLOB), CAST(proposal AS BLOB)
FROM candidate WHERE id BETWEEN :first AND :last ORDER BY id

-- name: said_in_evidence
-- What was said in support of records and proposals, between two rows.
SELECT id, coalesce(memory_id, candidate_id), CAST(quote AS BLOB) FROM evidence WHERE id BETWEEN :first AND :last ORDER BY id

-- name: keep_said_evidence
-- A quote that does not say any more what was forgotten.
UPDATE evidence SET quote = :quote, digest = iif(digest IS {vouched_evidence}, {vouched_said_evidence}, digest) WHERE id = :row

-- name: earlier_values
-- What a record's value was before, oldest first, as JSON.
SELECT CAST(value AS BLOB) FROM earlier_value WHERE record_id = :row ORDER BY id

-- name: said_in_earlier_values
-- What records' values were before, between two rows.
SELECT earlier_value.id, coalesce(memory_id, ''), CAST(earlier_value.value AS BLOB) FROM earlier_value LEFT JOIN record ON record.id = record_id
WHERE earlier_value.id BETWEEN :first AND :last ORDER BY earlier_value.id

-- name: keep_said_earlier_value
-- An earlier value that does not say any more what was forgotten; another one may say no more than that, too.
UPDATE OR REPLACE earlier_value SET value = :value WHERE id = :row

-- name: said_in_decisions
-- What decisions say of their reasons, between two rows.
SELECT id, coalesce(memory_id, candidate_id, turn_id, ''), CAST(factors AS BLOB) FROM decision WHERE id BETWEEN :first AND :last ORDER BY id

-- name: keep_said_decision
-- A decision whose reasons do not say any more what was forgotten.
UPDATE decision SET factors = :factors WHERE id = :row

-- name: said_in_answers
-- What is kept of answers, between two rows.
SELECT rowid, coalesce(json_extract(answer, '$.memory_id'), json_extract(answer, '$.candidate_id'), ''), CAST(answer AS BLOB)
FROM idempotency WHERE rowid BETWEEN :first AND :last ORDER BY rowid

-- name: keep_said_answer
-- An answer that does not say any more what was forgotten.
UPDATE idempotency SET answer = :answer WHERE rowid = :row

-- name: status_of
-- What became of a record.
SELECT status FROM record WHERE memory_id = :memory_id

-- name: unscored_records
-- Records whose tier is another than the last consolidation saw.
SELECT id, tier, tier_days FROM record WHERE status = 'active' AND tier IS NOT tier_days AND (:scope_id IS NULL OR scope_id = :scope_id) ORDER BY id LIMIT :limit

-- name: note_tier
-- The tier of a record as a consolidation saw it.
UPDATE record SET tier = :days WHERE id = :id

-- name: faded_machine_records
-- Active records of machines whose lifetime has ended.
SELECT memory_id FROM record WHERE status = 'active' AND is_machine AND fades_at <= :now AND (:scope_id IS NULL OR scope_id = :scope_id)
ORDER BY fades_at, id LIMIT :limit

-- name: aging_machine_records
-- Active records of machines that fade some day.
SELECT id, memory_id, standing, reinforced_at, updated_at, fades_at FROM record
WHERE status = 'active' AND is_machine AND fades_at IS NOT NULL AND id > :after AND (:scope_id IS NULL OR scope_id = :scope_id) ORDER BY id LIMIT :limit

-- name: count_faded
-- How many active records of the user's voice have faded.
SELECT count(*) FROM record WHERE status = 'active' AND NOT is_machine AND fades_at <= :now AND (:scope_id IS NULL OR scope_id = :scope_id)

-- name: faded_user_records
-- Active records of the user's voice that fade some day, in that order.
SELECT id, memory_id, standing, reinforced_at, updated_at, fades_at FROM record
WHERE status = 'active' AND NOT is_machine AND fades_at <= :now AND scope_id = :scope_id AND (fades_at, id) > (:place, :row)
ORDER BY fades_at, id LIMIT :limit

-- name: long_archived
-- Records of machines that were archived before a time.
SELECT memory_id FROM record WHERE status = 'archived' AND is_machine AND updated_at < :before AND (:scope_id IS NULL OR scope_id = :scope_id)
ORDER BY updated_at, id LIMIT :limit

-- name: machine_crowds
-- How many active, unpinned records of machines each scope has of each kind.
SELECT scope_id, kind, count(*) FROM record WHERE status = 'active' AND is_machine AND NOT pinned AND (:scope_id IS NULL OR scope_id = :scope_id)
GROUP BY scope_id, kind

-- name: weakest_machine_records
-- The weakest records of machines of some kinds in a scope; strength as memory/rules/strength.py has it.
SELECT memory_id FROM record WHERE status = 'active' AND is_machine AND NOT pinned AND scope_id = :scope_id AND instr(:kinds, ',' || kind || ',') > 0
ORDER BY min(1.0, standing * pow(max(1.0, (:now - reinforced_at) / 3600000.0), -0.3)), created_at, id LIMIT :limit

-- name: waiting_crowds
-- How many pending candidates each scope has that no person wrote.
SELECT scope_id, count(*) FROM candidate WHERE status = 'pending' AND instr(proposal, '"kind":"user"') = 0 AND (:scope_id IS NULL OR scope_id = :scope_id)
GROUP BY scope_id

-- name: weakest_candidates
-- The pending candidates of a scope that no person wrote, the weakest first.
SELECT candidate.*, scope.kind, scope.key FROM shown_candidate AS candidate JOIN scope ON scope.id = candidate.scope_id
WHERE status = 'pending' AND instr(proposal, '"kind":"user"') = 0 AND scope_id = :scope_id ORDER BY score, created_at, candidate.id LIMIT :limit

-- name: count_raw
-- How many candidates wait, and how many of them wait since before a time.
SELECT count(*), sum(created_at <= :before) FROM candidate WHERE status = 'pending' AND (:scope_id IS NULL OR scope_id = :scope_id)

-- name: raw_after
-- Candidates that wait since before a time.
SELECT candidate.*, scope.kind, scope.key FROM shown_candidate AS candidate JOIN scope ON scope.id = candidate.scope_id
WHERE status = 'pending' AND created_at <= :before AND candidate.id > :after AND (:scope_id IS NULL OR scope_id = :scope_id)
ORDER BY candidate.id LIMIT :limit

-- name: reinforce_record
-- A record's lifetime begins anew.
UPDATE record SET reinforced_at = :now WHERE memory_id = :memory_id

-- name: tally_records
-- How many records there are of each status, and how many of them agents noted.
SELECT 'records_' || status, count(*) FROM record WHERE id > :after AND id <= :until GROUP BY status
UNION ALL SELECT 'notes', count(*) FROM record WHERE id > :after AND id <= :until AND status = 'active' AND is_machine

-- name: tally_candidates
-- How many candidates there are of each status.
SELECT 'candidates_' || status, count(*) FROM candidate WHERE id > :after AND id <= :until GROUP BY status

-- name: tally_vectors
-- How many vectors of records there are.
SELECT 'vectors_of_records', count(*) FROM memory_vec WHERE id > :after AND id <= :until

-- name: end_of_tombstones
-- Where a look at so many tombstones ends.
SELECT max(id) FROM (SELECT id FROM tombstone WHERE id > :after ORDER BY id LIMIT :limit)

-- name: tally_tombstones
-- How many tombstones there are.
SELECT 'tombstones', count(*) FROM tombstone WHERE id > :after AND id <= :until

-- name: enrichment_of
-- What a model made of a record.
SELECT entities, topics, summary, model, at FROM enrichment JOIN record ON record.id = enrichment.row WHERE memory_id = :memory_id

-- name: end_of_enrichment
-- Where a look at so much enrichment ends.
SELECT max(row) FROM (SELECT row FROM enrichment WHERE row > :after ORDER BY row LIMIT :limit)

-- name: find_lone_enrichment
-- What was made of records that are gone.
SELECT row FROM enrichment WHERE row > :after AND row <= :until AND NOT EXISTS (SELECT 1 FROM record WHERE record.id = enrichment.row)

-- name: drop_enrichment
-- Drop what was made of some records.
DELETE FROM enrichment WHERE row IN (SELECT value FROM json_each(:rows))

-- name: end_of_vectors
-- Where a look at so many vectors ends.
SELECT max(id) FROM (SELECT id FROM memory_vec WHERE id > :after ORDER BY id LIMIT :limit)

-- name: find_lone_vectors
-- Vectors of records that are gone.
SELECT id FROM memory_vec WHERE id > :after AND id <= :until AND NOT EXISTS (SELECT 1 FROM record WHERE record.id = memory_vec.record_id)

-- name: drop_lone_vectors
-- Drop some vectors.
DELETE FROM memory_vec WHERE id IN (SELECT value FROM json_each(:rows))

-- name: find_lone_texts
-- Terms of records that are gone.
SELECT row FROM record_terms WHERE row > :after AND row <= :until AND NOT EXISTS (SELECT 1 FROM record WHERE record.id = record_terms.row)

-- name: replacements
-- The records that a record replaced, and those that replaced it, by whichever of the two says so.
SELECT supersedes, 'out' FROM record WHERE memory_id = :memory_id AND supersedes IS NOT NULL
UNION SELECT memory_id, 'out' FROM record WHERE superseded_by = :memory_id
UNION SELECT superseded_by, 'in' FROM record WHERE memory_id = :memory_id AND superseded_by IS NOT NULL
UNION SELECT memory_id, 'in' FROM record WHERE supersedes = :memory_id
