-- name: add_scope
-- A workspace or thread gets its integer.
INSERT INTO chunk_scope (kind, key) VALUES (:kind, :key) ON CONFLICT (kind, key) DO NOTHING

-- name: get_scope
-- The integer of a workspace or thread.
SELECT id FROM chunk_scope WHERE kind = :kind AND key = :key

-- name: workspaces
-- The workspaces but one that have something indexed, the newest first.
SELECT key FROM chunk_scope WHERE kind = 'workspace' AND key <> :but ORDER BY id DESC LIMIT :limit

-- name: remove_scope
-- A workspace or thread is gone.
DELETE FROM chunk_scope WHERE kind = :kind AND key = :key

-- name: get_source
-- What is known of an item.
SELECT id, source_hash, state, workspace, thread FROM chunk_source WHERE item_id = :item_id

-- name: get_sources
-- What is known of some items, and whether there are chunks and exclusions of each.
SELECT s.item_id, s.id, s.source_hash, s.state, s.workspace, s.thread,
    EXISTS (SELECT 1 FROM chunk AS c WHERE c.source = s.id AND c.status <> 'retired'),
    EXISTS (SELECT 1 FROM chunk_exclusion AS e WHERE e.item_id = s.item_id)
FROM json_each(:item_ids) AS wanted CROSS JOIN chunk_source AS s ON s.item_id = wanted.value

-- name: put_source
-- An item waits to be indexed, or waits again.
INSERT INTO chunk_source (item_id, turn_id, workspace, thread, role, at, turn_seq, item_seq, speaker, source_hash, digest, state, queued_at)
VALUES (:item_id, :turn_id, :workspace, :thread, :role, :at, :turn_seq, :item_seq, :speaker, :source_hash, :digest, 'pending', :now)
ON CONFLICT (item_id) DO UPDATE SET turn_id = excluded.turn_id, workspace = excluded.workspace, thread = excluded.thread,
    role = excluded.role, at = excluded.at, turn_seq = excluded.turn_seq, item_seq = excluded.item_seq,
    speaker = excluded.speaker, source_hash = excluded.source_hash, digest = excluded.digest, state = 'pending', left_from = NULL, left_to = NULL, queued_at = excluded.queued_at

-- name: place_source
-- An item's place in its thread, which may change though its text does not.
UPDATE chunk_source SET turn_seq = :turn_seq, item_seq = :item_seq
WHERE item_id = :item_id AND (turn_seq <> :turn_seq OR item_seq <> :item_seq)

-- name: finish_source
-- All chunks of an item are in the index; the caller has compared its hash in the same transaction.
UPDATE chunk_source SET state = 'indexed', left_from = :left_from, left_to = :left_to, indexed_at = :now,
    lexicon = :lexicon,
    chunk_count = (SELECT count(*) FROM chunk WHERE source = :id AND status <> 'retired') WHERE id = :id

-- name: repeat_sources_of_turn
-- A turn's items wait to be indexed again.
UPDATE chunk_source SET state = 'pending', queued_at = :now WHERE turn_id = :turn_id AND state = 'indexed'

-- name: remove_source
-- An item is no longer indexed, nor are its chunks.
DELETE FROM chunk_source WHERE id = :id

-- name: sources_of_thread
-- The items of a thread.
SELECT id, workspace, thread FROM chunk_source WHERE thread = :thread

-- name: sources_of_workspace
-- The items of a workspace.
SELECT id, workspace, thread FROM chunk_source WHERE workspace = :workspace

-- name: chunks_of_source
-- An item's chunks that are not retired.
SELECT id, position, from_char, to_char, status, terms, term_count, segment, asks, dated, digest FROM chunk
WHERE source = :source AND status <> 'retired' ORDER BY position

-- name: last_chunk
-- The highest row of a chunk.
SELECT coalesce(max(id), 0) FROM chunk

-- name: add_chunk
-- A chunk enters the index.
INSERT INTO chunk (id, source, position, from_char, to_char, status, terms, term_count, asks, dated, index_state, segment, digest,
    created_at, updated_at)
VALUES (:id, :source, :position, :from_char, :to_char, :status, :terms, :term_count, :asks, :dated, :index_state, :segment, :digest,
    :now, :now)

-- name: move_chunk_status
-- A transition of a chunk, if it still has the status that was read; a retired chunk has neither words nor partition.
UPDATE chunk SET status = :status, index_state = :index_state, terms = iif(:status = 'retired', NULL, terms),
    segment = iif(:status = 'retired', NULL, segment), updated_at = :now WHERE id = :id AND status = :before

-- name: add_fts_row
-- The terms of a chunk become searchable.
INSERT INTO chunk_fts (rowid, body) VALUES (:id, :body)

-- name: remove_fts_row
-- The terms of a chunk leave the index; they must be exactly those that were put in. A row that was lost cannot leave.
INSERT INTO chunk_fts (chunk_fts, rowid, body)
SELECT 'delete', :id, :body WHERE EXISTS (SELECT 1 FROM chunk_fts_docsize WHERE id = :id)

-- name: open_segment
-- The partition that takes new chunks.
SELECT id, chunk_count FROM segment WHERE workspace = :workspace AND state = 'open'

-- name: add_segment
-- The next partition of a workspace.
INSERT INTO segment (workspace, position, state)
SELECT :workspace, coalesce(max(position) + 1, 0), 'open' FROM segment WHERE workspace = :workspace

-- name: seal_segment
-- A full partition takes no more chunks.
UPDATE segment SET state = 'sealed' WHERE id = :id

-- name: enter_segment
-- Chunks came, said when their messages were.
UPDATE segment SET chunk_count = chunk_count + :chunks, term_count = term_count + :terms, digest = digest + :digest,
    first_at = min(coalesce(first_at, :first_at), :first_at), last_at = max(coalesce(last_at, :last_at), :last_at)
WHERE id = :id

-- name: leave_segment
-- A chunk went. Wrong sums are no reason to keep it: repair counts anew.
UPDATE segment SET chunk_count = max(0, chunk_count - 1), term_count = max(0, term_count - :terms), digest = digest - :digest WHERE id = :id

-- name: remove_segments
-- A workspace is gone.
DELETE FROM segment WHERE workspace = :workspace

-- name: count_in_segments
-- How many chunks a workspace has.
SELECT coalesce(sum(chunk_count), 0) FROM segment WHERE workspace = :workspace

-- name: size_of_workspace
-- How many chunks a workspace has, and since when: the sums that its partitions keep.
SELECT coalesce(sum(chunk_count), 0), min(first_at) FROM segment WHERE workspace = :workspace AND chunk_count > 0

-- name: count_in_all_segments
-- How many chunks all workspaces have.
SELECT coalesce(sum(chunk_count), 0) FROM segment

-- name: count_segments
-- Partitions by state, of a workspace or all, and what the fullest open one holds.
SELECT state, count(*), max(chunk_count) FROM segment WHERE :workspace IS NULL OR workspace = :workspace GROUP BY state

-- name: count_term
-- How many chunks of a scope hold a term, counted up to a cap.
SELECT count(*) FROM (SELECT 1 FROM chunk_fts WHERE chunk_fts MATCH :match LIMIT :cap)

-- name: rows_with_term
-- The newest chunks that fit a full-text expression, as one array: reading them row by row would cost more than finding them.
SELECT json_group_array(row) FROM (SELECT rowid AS row FROM chunk_fts WHERE chunk_fts MATCH :match ORDER BY rowid DESC LIMIT :cap)

-- name: find_chunks_by_time
-- The newest chunks of a time range, whatever their words.
SELECT c.id, c.position, c.from_char, c.to_char, c.status, c.terms, c.asks, c.dated, s.item_id, s.turn_id, t.key, s.role, s.at,
    s.turn_seq, s.item_seq, s.speaker, s.source_hash, s.left_from IS NOT NULL
FROM chunk_source AS s JOIN chunk AS c ON c.source = s.id JOIN chunk_scope AS t ON t.id = s.thread
WHERE s.workspace = :workspace AND s.at >= :from_at AND s.at <= :to_at AND c.status = 'indexed'
  AND (:thread IS NULL OR s.thread = :thread) AND (:other_than IS NULL OR s.thread <> :other_than)
  AND (:roles = '' OR instr(:roles, s.role) > 0)
  AND s.turn_id NOT IN (SELECT value FROM json_each(:excluded_turns))
ORDER BY s.at DESC, s.turn_seq DESC, s.item_seq DESC, c.position LIMIT :limit

-- name: sums_in_view
-- The sums of a workspace's chunks without those of some turns, and the count of exclusions; no row while one waits for its vector.
SELECT every.chunks - hidden.chunks, every.terms - hidden.terms, every.digest - hidden.digest, (SELECT count(*) FROM chunk_exclusion)
FROM (
    SELECT coalesce(sum(chunk_count), 0) AS chunks, coalesce(sum(term_count), 0) AS terms, coalesce(sum(digest), 0) AS digest
    FROM segment WHERE workspace = :workspace
) AS every CROSS JOIN (
    SELECT count(*) AS chunks, coalesce(sum(c.term_count), 0) AS terms, coalesce(sum(c.digest), 0) AS digest
    FROM json_each(:excluded_turns) AS turn CROSS JOIN chunk_source AS s ON s.turn_id = turn.value
    CROSS JOIN chunk AS c ON c.source = s.id WHERE +s.workspace = :workspace AND c.segment IS NOT NULL
) AS hidden
WHERE NOT EXISTS (
    SELECT 1 FROM chunk AS c CROSS JOIN chunk_source AS s ON s.id = c.source
    WHERE c.index_state = 'pending' AND s.turn_id NOT IN (SELECT value FROM json_each(:excluded_turns))
)

-- name: chunks_by_row
-- Chunks by row number after every filter, in no order.
SELECT c.id, c.position, c.from_char, c.to_char, c.status, c.terms, c.asks, c.dated, s.item_id, s.turn_id, t.key, s.role, s.at,
    s.turn_seq, s.item_seq, s.speaker, s.source_hash, s.left_from IS NOT NULL
FROM json_each(:rows) AS wanted CROSS JOIN chunk AS c ON c.id = wanted.value
CROSS JOIN chunk_source AS s ON s.id = c.source CROSS JOIN chunk_scope AS t ON t.id = s.thread
WHERE c.status = 'indexed' AND c.terms IS NOT NULL AND s.workspace = :workspace
  AND (:thread IS NULL OR s.thread = :thread) AND (:other_than IS NULL OR s.thread <> :other_than)
  AND (:from_at IS NULL OR s.at >= :from_at) AND (:to_at IS NULL OR s.at <= :to_at)
  AND (:roles = '' OR instr(:roles, s.role) > 0)
  AND s.turn_id NOT IN (SELECT value FROM json_each(:excluded_turns))

-- name: chunks_of_thread
-- The rows of the chunks of a thread that a filter may let through, up to a limit.
SELECT c.id FROM chunk_source AS s CROSS JOIN chunk AS c ON c.source = s.id
WHERE s.thread = :thread AND s.at >= :from_at AND s.at <= :to_at AND c.status = 'indexed' LIMIT :limit

-- name: chunks_of_time
-- The rows of the chunks of a workspace's time that a filter may let through, up to a limit.
SELECT c.id FROM chunk_source AS s CROSS JOIN chunk AS c ON c.source = s.id
WHERE s.workspace = :workspace AND s.at >= :from_at AND s.at <= :to_at AND c.status = 'indexed' LIMIT :limit

-- name: chunks_beside
-- What was said (not what tools did) just before and after each chunk in its thread, unless there is a longer silence between.
SELECT c.id,
    CASE WHEN c.position > 0
        THEN (SELECT o.id FROM chunk AS o WHERE o.source = c.source AND o.position = c.position - 1 AND o.status <> 'retired')
        ELSE (SELECT o.id FROM chunk AS o WHERE o.status <> 'retired' AND o.source = (
            SELECT p.id FROM (
                SELECT id, at FROM chunk_source WHERE thread = s.thread AND role <> 'tool' AND (turn_seq, item_seq) < (s.turn_seq, s.item_seq)
                ORDER BY turn_seq DESC, item_seq DESC LIMIT 1
            ) AS p WHERE abs(p.at - s.at) <= :gap) ORDER BY o.position DESC LIMIT 1) END,
    coalesce(
        (SELECT o.id FROM chunk AS o WHERE o.source = c.source AND o.position = c.position + 1 AND o.status <> 'retired'),
        (SELECT o.id FROM chunk AS o WHERE o.status <> 'retired' AND o.position = 0 AND o.source = (
            SELECT n.id FROM (
                SELECT id, at FROM chunk_source WHERE thread = s.thread AND role <> 'tool' AND (turn_seq, item_seq) > (s.turn_seq, s.item_seq)
                ORDER BY turn_seq, item_seq LIMIT 1
            ) AS n WHERE abs(n.at - s.at) <= :gap)))
FROM json_each(:rows) AS wanted CROSS JOIN chunk AS c ON c.id = wanted.value CROSS JOIN chunk_source AS s ON s.id = c.source

-- name: words_by_row
-- The words of chunks that are in the index, and whether they ask.
SELECT c.id, c.terms, c.asks FROM json_each(:rows) AS wanted CROSS JOIN chunk AS c ON c.id = wanted.value
WHERE c.status = 'indexed' AND c.terms IS NOT NULL

-- name: segments_to_compare
-- A workspace's partitions: those of a time and of what a thread said last first, then the newest.
SELECT g.id FROM segment AS g WHERE g.workspace = :workspace AND g.chunk_count > 0 ORDER BY
    (g.first_at <= :to_at AND g.last_at >= :from_at) DESC,
    g.id IN (
        SELECT c.segment FROM (
            SELECT id FROM chunk_source WHERE thread = :thread ORDER BY turn_seq DESC, item_seq DESC LIMIT :looked_at
        ) AS s CROSS JOIN chunk AS c ON c.source = s.id) DESC,
    g.position DESC LIMIT :limit

-- name: count_workspace_segments
-- How many partitions of a workspace hold something.
SELECT count(*) FROM segment WHERE workspace = :workspace AND chunk_count > 0

-- name: add_vector
-- A chunk gets its vector of a space.
INSERT INTO chunk_vec (space_id, segment, chunk, vector, digest)
SELECT :space, segment, id, :numbers, :digest FROM chunk WHERE id = :row AND status = 'indexed'
ON CONFLICT (chunk, space_id) DO NOTHING

-- name: vectors_added
-- Vectors of a segment that came after a place.
SELECT id, chunk, vector FROM chunk_vec WHERE space_id = :space AND segment = :partition AND id > :after ORDER BY id
LIMIT :limit

-- name: vectors_of_chunks
-- The vectors of chunks that are in some segments. The join keeps the planner at the chunks' own index, in their order.
SELECT chunk, vector FROM json_each(:subjects) AS wanted CROSS JOIN chunk_vec ON chunk = wanted.value AND space_id = :space
WHERE segment IN (SELECT value FROM json_each(:partitions))

-- name: vectors_present
-- Every vector of a segment.
SELECT id FROM chunk_vec WHERE space_id = :space AND segment = :partition

-- name: vector_losses
-- How many vectors of a segment were ever removed.
SELECT count FROM chunk_vec_loss WHERE space_id = :space AND segment = :partition

-- name: drop_vectors
-- A part of the vectors of a space that is no longer searched.
DELETE FROM chunk_vec WHERE id IN (SELECT id FROM chunk_vec WHERE space_id = :space LIMIT :limit)

-- name: await_vectors
-- Chunks without a vector of the space wait for one.
UPDATE chunk SET index_state = 'pending' WHERE status = 'indexed' AND terms IS NOT NULL AND index_state = 'indexed'
  AND NOT EXISTS (SELECT 1 FROM chunk_vec AS v WHERE v.chunk = chunk.id AND space_id = :space)

-- name: settle_vectors
-- Chunks that have a vector of the space, or for which none will come, wait no more.
UPDATE chunk SET index_state = 'indexed' WHERE index_state = 'pending'
  AND (:space IS NULL OR EXISTS (SELECT 1 FROM chunk_vec AS v WHERE v.chunk = chunk.id AND space_id = :space))

-- name: settle_vector
-- A chunk waits for no vector.
UPDATE chunk SET index_state = 'indexed' WHERE id = :row

-- name: refuse_vector
-- No vector can be made of a chunk.
UPDATE chunk SET index_state = 'repair_needed' WHERE id = :row

-- name: look_for_lack
-- Where a look at so many chunks ends, and whether any of them that can have one lacks a vector of the space.
SELECT max(id), max(lacks) FROM (SELECT id, status = 'indexed' AND terms IS NOT NULL AND index_state <> 'repair_needed'
    AND NOT EXISTS (SELECT 1 FROM chunk_vec AS v WHERE v.chunk = chunk.id AND space_id = :space) AS lacks
  FROM chunk WHERE id > :after ORDER BY id LIMIT :limit)

-- name: count_waiting
-- How many chunks wait for their vector.
SELECT count(*) FROM chunk WHERE index_state = 'pending'

-- name: count_vectors_of_space
-- How many chunks can have a vector, and how many have one of the space.
SELECT (SELECT count(*) FROM chunk WHERE status = 'indexed' AND terms IS NOT NULL AND index_state <> 'repair_needed'),
  (SELECT count(*) FROM chunk_vec WHERE space_id = :space)

-- name: end_of_chunks
-- Where a look at so many chunks ends.
SELECT max(id) FROM (SELECT id FROM chunk WHERE id > :after ORDER BY id LIMIT :limit)

-- name: without_vector
-- The next chunks that lack a vector of the space.
SELECT chunk.id, s.item_id, chunk.from_char, chunk.to_char, s.source_hash FROM chunk JOIN chunk_source AS s ON s.id = chunk.source
WHERE chunk.status = 'indexed' AND chunk.terms IS NOT NULL AND chunk.index_state <> 'repair_needed' AND chunk.id > :after AND chunk.id <= :until
  AND NOT EXISTS (SELECT 1 FROM chunk_vec AS v WHERE v.chunk = chunk.id AND space_id = :space) ORDER BY chunk.id LIMIT :limit

-- name: pending_without_vector
-- The next chunks that wait for a vector of the space that is searched.
SELECT chunk.id, s.item_id, chunk.from_char, chunk.to_char, s.source_hash FROM chunk JOIN chunk_source AS s ON s.id = chunk.source
WHERE chunk.index_state = 'pending' AND chunk.status = 'indexed' AND chunk.id > :after
  AND NOT EXISTS (SELECT 1 FROM chunk_vec AS v WHERE v.chunk = chunk.id AND space_id = :space) ORDER BY chunk.id LIMIT :limit

-- name: has_pending
-- Whether something of the scope is not in the index yet.
SELECT 1 FROM chunk_source
WHERE state = 'pending' AND workspace = :workspace AND (:thread IS NULL OR thread = :thread)
  AND (:other_than IS NULL OR thread <> :other_than)
  AND turn_id NOT IN (SELECT value FROM json_each(:excluded_turns)) LIMIT 1

-- name: add_exclusion
-- A range of an item, as it is now, is never recalled again.
INSERT INTO chunk_exclusion (item_id, thread_id, source_hash, from_char, to_char, reason, created_at)
SELECT s.item_id, t.key, s.source_hash, :from_char, :to_char, :reason, :now
FROM chunk_source AS s JOIN chunk_scope AS t ON t.id = s.thread WHERE s.item_id = :item_id
ON CONFLICT DO NOTHING

-- name: exclusions_of_item
-- The ranges of an item that are never recalled: all of it, where it is another than the one that was meant.
SELECT iif(e.source_hash = s.source_hash, e.from_char, 0), iif(e.source_hash = s.source_hash, e.to_char, :whole)
FROM chunk_exclusion AS e JOIN chunk_source AS s ON s.item_id = e.item_id WHERE e.item_id = :item_id

-- name: excluded_items
-- Those of some items, of some threads or of any, of which a part is never recalled.
SELECT wanted.value FROM json_each(:item_ids) AS wanted
WHERE EXISTS (
    SELECT 1 FROM chunk_exclusion AS e
    WHERE e.item_id = wanted.value AND (:threads IS NULL OR e.thread_id IN (SELECT value FROM json_each(:threads)))
) ORDER BY wanted.key

-- name: remove_exclusion
-- One excluded range is recalled again.
DELETE FROM chunk_exclusion WHERE item_id = :item_id AND from_char = :from_char AND to_char = :to_char

-- name: remove_exclusions_of_item
-- Nothing of an item is excluded any more.
DELETE FROM chunk_exclusion WHERE item_id = :item_id

-- name: remove_exclusions_of_thread
-- A deleted thread's exclusions.
DELETE FROM chunk_exclusion WHERE thread_id = :thread_id

-- name: source_in_turn
-- An item of a turn by both ids.
SELECT id, workspace, thread FROM chunk_source WHERE item_id = :item_id AND turn_id = :turn_id

-- name: count_chunks_of_thread
-- Chunks of a thread by status.
SELECT c.status, count(*) FROM chunk_source AS s CROSS JOIN chunk AS c ON c.source = s.id
WHERE s.thread = :thread AND (:workspace IS NULL OR s.workspace = :workspace) GROUP BY c.status

-- name: count_hidden_chunks
-- Chunks that are not in the index by status, of a workspace or all.
SELECT c.status, count(*) FROM chunk AS c CROSS JOIN chunk_source AS s ON s.id = c.source
WHERE c.status <> 'indexed' AND (:workspace IS NULL OR s.workspace = :workspace) GROUP BY c.status

-- name: pending_sources
-- Items that wait, by turn, with the time since when. The `+` keeps the planner from reading everything in an order that it has an index of.
SELECT turn_id, count(*), min(queued_at) FROM chunk_source
WHERE state = 'pending' AND (:workspace IS NULL OR workspace = :workspace) AND (:thread IS NULL OR thread = :thread) GROUP BY +turn_id

-- name: count_partial_sources
-- How many items are too long to be indexed whole.
SELECT count(*) FROM chunk_source
WHERE left_from IS NOT NULL AND (:workspace IS NULL OR workspace = :workspace) AND (:thread IS NULL OR thread = :thread)

-- name: partial_sources
-- Items that are too long to be indexed whole, newest first; the `+` as in `pending_sources`.
SELECT item_id, turn_id, left_from, left_to FROM chunk_source
WHERE left_from IS NOT NULL AND (:workspace IS NULL OR workspace = :workspace) AND (:thread IS NULL OR thread = :thread)
ORDER BY +id DESC LIMIT :limit

-- name: chunk_names_of_turn
-- What the chunk ids of a turn are made of.
SELECT s.turn_id, s.item_id, c.position FROM chunk_source AS s JOIN chunk AS c ON c.source = s.id
WHERE s.turn_id = :turn_id AND c.status <> 'retired' ORDER BY s.item_seq, s.id, c.position

-- name: add_recall_event
-- A search happened.
INSERT INTO recall_event (event_id, at, workspace_id, thread_id, turn_id, query_hash, mode, candidates, returned, latency_us, cut_reason)
VALUES (:event_id, :at, :workspace_id, :thread_id, :turn_id, :query_hash, :mode, :candidates, :returned, :latency_us, :cut_reason)

-- name: forget_recall_events
-- Old searches explain nothing any more.
DELETE FROM recall_event WHERE at < :before

-- name: remove_recall_events_of_thread
-- A deleted thread's searches.
DELETE FROM recall_event WHERE thread_id = :thread_id

-- name: remove_recall_events_of_workspace
-- A deleted workspace's searches.
DELETE FROM recall_event WHERE workspace_id = :workspace_id

-- name: indexed_workspace
-- The workspace in which a thread's messages are indexed.
SELECT workspace.key FROM chunk_scope AS thread JOIN chunk_source AS source ON source.thread = thread.id
JOIN chunk_scope AS workspace ON workspace.id = source.workspace
WHERE thread.kind = 'thread' AND thread.key = :thread_id LIMIT 1

-- name: threads_of_workspace
-- The threads of a workspace that have something in the index.
SELECT DISTINCT t.key FROM chunk_source AS s JOIN chunk_scope AS t ON t.id = s.thread WHERE s.workspace = :workspace

-- name: workspace_of_thread
-- The workspace that a thread's segments are in.
SELECT workspace FROM chunk_source WHERE thread = :thread LIMIT 1

-- name: renew_chunk
-- A chunk's range and terms are made anew.
UPDATE chunk SET from_char = :from_char, to_char = :to_char, terms = :terms, term_count = :term_count, asks = :asks, dated = :dated,
    digest = :digest, updated_at = :now WHERE id = :id

-- name: change_segment_terms
-- Chunks of a segment have more or fewer terms, and another digest.
UPDATE segment SET term_count = max(0, term_count + :more), digest = digest + :change WHERE id = :id

-- name: restore_fts_row
-- The terms of a chunk become searchable, unless a row of it is in the index.
INSERT INTO chunk_fts (rowid, body) SELECT :id, :body WHERE NOT EXISTS (SELECT 1 FROM chunk_fts_docsize WHERE id = :id)

-- name: doubt_segments_of_turn
-- Take the digests of a turn's chunks out of the sums of their segments.
UPDATE segment SET digest = digest - (SELECT coalesce(sum(c.digest), 0) FROM chunk_source AS s CROSS JOIN chunk AS c ON c.source = s.id
  WHERE s.turn_id = :turn_id AND c.segment = segment.id)
WHERE id IN (SELECT c.segment FROM chunk_source AS s CROSS JOIN chunk AS c ON c.source = s.id WHERE s.turn_id = :turn_id)

-- name: doubt_chunks_of_turn
-- The chunks of a turn are to be made anew.
UPDATE chunk SET digest = NULL WHERE source IN (SELECT id FROM chunk_source WHERE turn_id = :turn_id)

-- name: drop_vectors_of_turn
-- The vectors of a turn are to be made anew.
DELETE FROM chunk_vec WHERE chunk IN (SELECT c.id FROM chunk_source AS s JOIN chunk AS c ON c.source = s.id WHERE s.turn_id = :turn_id)

-- name: await_vectors_of_turn
-- The chunks of a turn wait for vectors.
UPDATE chunk SET index_state = 'pending' WHERE status = 'indexed' AND terms IS NOT NULL
  AND source IN (SELECT id FROM chunk_source WHERE turn_id = :turn_id)

-- name: kept_after
-- What the full-text index has to hold, from a place on.
SELECT c.id, s.workspace, s.thread, c.terms FROM chunk AS c JOIN chunk_source AS s ON s.id = c.source
WHERE c.id > :after AND c.status = 'indexed' AND c.terms IS NOT NULL ORDER BY c.id LIMIT :limit

-- name: kept_of
-- What the full-text index has to hold of a chunk.
SELECT c.id, s.workspace, s.thread, c.terms FROM chunk AS c JOIN chunk_source AS s ON s.id = c.source
WHERE c.id = :row AND c.status = 'indexed' AND c.terms IS NOT NULL

-- name: last_change
-- The newest chunk, and what the full-text index believes to hold.
SELECT coalesce(max(id), 0), (SELECT block FROM chunk_fts_data WHERE id = 1) FROM chunk

-- name: listed_after
-- Rows that the full-text index counts as its own, from a place on.
SELECT id FROM chunk_fts_docsize WHERE id > :after ORDER BY id LIMIT :limit

-- name: index_totals
-- What the full-text index believes to hold: rows, and terms by column.
SELECT block FROM chunk_fts_data WHERE id = 1

-- name: rows_of_term_after
-- What the full-text index holds of a term, from a row on, in its own order.
SELECT term, doc FROM chunk_terms WHERE term = :term AND doc > :row LIMIT :limit

-- name: rows_of_terms_after
-- What the full-text index holds of the terms that follow one, in its own order.
SELECT term, doc FROM chunk_terms WHERE term > :term LIMIT :limit

-- name: has_term
-- Whether a search finds a term at all.
SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH :match LIMIT 1

-- name: clear_fts
-- Empty the full-text index.
INSERT INTO chunk_fts (chunk_fts) VALUES ('delete-all')

-- name: find_missing_texts
-- Chunks that are not in the full-text index.
SELECT c.id, s.workspace, s.thread, c.terms FROM chunk AS c JOIN chunk_source AS s ON s.id = c.source
WHERE c.id > :after AND c.id <= :until AND c.status = 'indexed' AND c.terms IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM chunk_fts_docsize AS d WHERE d.id = c.id) ORDER BY c.id

-- name: vouched_sources_after
-- Messages with what vouches for them, from a place on.
SELECT id, item_id, turn_id, workspace, thread, role, at, speaker, source_hash, digest FROM chunk_source
WHERE id > :after ORDER BY id LIMIT :limit

-- name: vouched_chunks_after
-- Chunks with what vouches for them, from a place on; of messages that wait to be cut anew those alone that something vouches for.
SELECT c.id, c.source, c.position, c.from_char, c.to_char, c.terms, c.term_count, c.asks, c.dated, c.digest
FROM chunk AS c CROSS JOIN chunk_source AS s ON s.id = c.source
WHERE c.id > :after AND c.status <> 'retired' AND (s.state = 'indexed' OR c.digest IS NOT NULL) ORDER BY c.id LIMIT :limit

-- name: vouched_vectors_after
-- Vectors with what vouches for them and how many numbers they have, from a place on.
SELECT v.id, v.chunk, v.vector, v.digest, p.dim, v.segment IS c.segment AND c.status IS 'indexed'
FROM chunk_vec AS v LEFT JOIN space AS p ON p.id = v.space_id LEFT JOIN chunk AS c ON c.id = v.chunk
WHERE v.id > :after ORDER BY v.id LIMIT :limit

-- name: newest_terms
-- The newest chunks of a workspace with their threads and terms.
SELECT c.id, s.thread, c.terms FROM chunk AS c CROSS JOIN chunk_source AS s ON s.id = c.source
WHERE s.workspace = :workspace AND c.status = 'indexed' AND c.terms IS NOT NULL ORDER BY c.id DESC LIMIT :limit

-- name: find_orphans
-- Chunks of messages that the index does not know.
SELECT id FROM chunk WHERE id > :after AND id <= :until AND NOT EXISTS (SELECT 1 FROM chunk_source AS s WHERE s.id = chunk.source) ORDER BY id

-- name: drop_orphans
-- Some chunks go that are of no message; what the full-text index has of them is found there.
DELETE FROM chunk WHERE id IN (SELECT value FROM json_each(:rows)) AND NOT EXISTS (SELECT 1 FROM chunk_source AS s WHERE s.id = chunk.source)

-- name: end_of_vectors
-- Where a look at so many vectors ends.
SELECT max(id) FROM (SELECT id FROM chunk_vec WHERE id > :after ORDER BY id LIMIT :limit)

-- name: find_lone_vectors
-- Vectors of chunks that are gone.
SELECT id FROM chunk_vec WHERE id > :after AND id <= :until AND NOT EXISTS (SELECT 1 FROM chunk WHERE chunk.id = chunk_vec.chunk)

-- name: find_lost_segments
-- Chunks in a partition that is not there, or is another workspace's, with their own workspace.
SELECT c.id, c.segment, s.workspace FROM chunk AS c CROSS JOIN chunk_source AS s ON s.id = c.source
WHERE c.id > :after AND c.id <= :until AND c.segment IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM segment WHERE segment.id = c.segment AND segment.workspace = s.workspace) ORDER BY c.id

-- name: restore_segment
-- A partition that was lost is there again; what it holds is counted later.
INSERT OR IGNORE INTO segment (id, workspace, position, state)
SELECT :id, :workspace, coalesce(max(position) + 1, 0), iif(coalesce(max(state = 'open'), 0), 'sealed', 'open')
FROM segment WHERE workspace = :workspace

-- name: segments_of_workspace
-- The partitions of a workspace, the newest first.
SELECT id FROM segment WHERE workspace = :workspace ORDER BY position DESC

-- name: move_chunk
-- A chunk is in another partition.
UPDATE chunk SET segment = :segment WHERE id = :id

-- name: find_lost_scopes
-- Messages whose workspace or thread the index does not know.
SELECT id, item_id, workspace, thread FROM chunk_source AS s WHERE id > :after AND id <= :until
  AND (NOT EXISTS (SELECT 1 FROM chunk_scope AS w WHERE w.id = s.workspace AND w.kind = 'workspace')
    OR NOT EXISTS (SELECT 1 FROM chunk_scope AS t WHERE t.id = s.thread AND t.kind = 'thread')) ORDER BY id

-- name: restore_scope
-- A workspace or thread has the integer again that it had.
INSERT OR IGNORE INTO chunk_scope (id, kind, key) VALUES (:id, :kind, :key)

-- name: end_of_sources
-- Where a look at so many messages ends.
SELECT max(id) FROM (SELECT id FROM chunk_source WHERE id > :after ORDER BY id LIMIT :limit)

-- name: find_other_lexicons
-- Messages that another lexicon cut.
SELECT id FROM chunk_source WHERE id > :after AND id <= :until AND state = 'indexed' AND lexicon IS NOT :lexicon ORDER BY id

-- name: find_wrong_chunk_counts
-- Messages that have more or fewer chunks than they were cut into.
SELECT id FROM chunk_source AS s WHERE id > :after AND id <= :until AND state = 'indexed'
  AND chunk_count IS NOT (SELECT count(*) FROM chunk WHERE source = s.id AND status <> 'retired') ORDER BY id

-- name: await_sources
-- Messages wait to be indexed again.
UPDATE chunk_source SET state = 'pending', queued_at = :now WHERE id IN (SELECT value FROM json_each(:rows)) AND state = 'indexed'

-- name: turns_of_sources
-- The turns of some messages.
SELECT DISTINCT turn_id FROM chunk_source WHERE id IN (SELECT value FROM json_each(:rows)) ORDER BY turn_id

-- name: pending_turns_after
-- The next messages that wait, with their threads.
SELECT s.id, s.turn_id, t.key FROM chunk_source AS s CROSS JOIN chunk_scope AS t ON t.id = s.thread
WHERE s.state = 'pending' AND s.id > :after ORDER BY s.id LIMIT :limit

-- name: drop_wrong_vectors
-- Some vectors go.
DELETE FROM chunk_vec WHERE id IN (SELECT value FROM json_each(:rows))

-- name: find_missing_vectors
-- Chunks that wait for no vector and have none of the space that is searched.
SELECT id FROM chunk WHERE id > :after AND id <= :until AND status = 'indexed' AND terms IS NOT NULL AND index_state = 'indexed'
  AND NOT EXISTS (SELECT 1 FROM chunk_vec AS v WHERE v.chunk = chunk.id AND space_id = :space) ORDER BY id

-- name: await_vectors_of
-- Some chunks wait for vectors, but for those that have one of the space that is searched.
UPDATE chunk SET index_state = 'pending' WHERE id IN (SELECT value FROM json_each(:rows)) AND status = 'indexed' AND terms IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM chunk_vec AS v WHERE v.chunk = chunk.id AND space_id = :space)

-- name: sums_of_chunks
-- What the next chunks add up to, by partition.
SELECT c.segment, count(*), sum(c.term_count), sum(coalesce(c.digest, 0)), min(s.at), max(s.at) FROM chunk AS c CROSS JOIN chunk_source AS s ON s.id = c.source
WHERE c.id > :after AND c.id <= :until AND c.segment IS NOT NULL GROUP BY c.segment

-- name: kept_sums
-- What partitions believe to hold.
SELECT id, chunk_count, term_count, digest, first_at, last_at FROM segment ORDER BY id

-- name: sums_by_index
-- What a partition's chunks add up to: read from an index that holds nothing else.
SELECT count(*), coalesce(sum(term_count), 0), coalesce(sum(digest), 0), coalesce(sum(term_count > 0), 0) FROM chunk INDEXED BY chunk_of_segment
WHERE segment = :id

-- name: count_hidden
-- How many chunks have words and are not found by them. The first condition is the one that the partial index asks for.
SELECT count(*) FROM chunk INDEXED BY chunk_hidden_status WHERE status <> 'indexed' AND status = 'excluded' AND term_count > 0

-- name: count_listed
-- How many of the next rows the full-text index counts as its own, and where they end.
SELECT count(*), max(id) FROM (SELECT id FROM chunk_fts_docsize WHERE id > :after ORDER BY id LIMIT :limit)

-- name: count_segment
-- What a partition holds.
SELECT count(*), coalesce(sum(c.term_count), 0), coalesce(sum(c.digest), 0), min(s.at), max(s.at) FROM chunk AS c CROSS JOIN chunk_source AS s ON s.id = c.source
WHERE c.segment = :id

-- name: put_segment_sums
-- What a partition holds is counted anew.
UPDATE segment SET chunk_count = :chunks, term_count = :terms, digest = :digest, first_at = :first_at, last_at = :last_at WHERE id = :id

-- name: find_format
-- The format of the conversations' full-text index.
SELECT v FROM chunk_fts_config WHERE k = 'version'

-- name: put_format
-- The format of an index that overwrites what is deleted, as `schema.sql` asks for.
INSERT OR REPLACE INTO chunk_fts_config (k, v) VALUES ('version', 5), ('secure-delete', 1)

-- name: reasons_of_exclusions
-- The reasons of exclusions, where one was given.
SELECT item_id, reason FROM chunk_exclusion WHERE reason IS NOT NULL ORDER BY item_id, from_char

-- name: forget_reasons
-- A message stays excluded, without its reasons.
UPDATE chunk_exclusion SET reason = NULL WHERE item_id = :item_id
