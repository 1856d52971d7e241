-- name: find_format
-- The format of the full-text table of pieces.
SELECT v FROM knowledge_fts_config WHERE k = 'version'

-- name: put_format
-- Write the format of the full-text table of pieces, whose row was lost.
INSERT OR REPLACE INTO knowledge_fts_config (k, v) VALUES ('version', 5), ('secure-delete', 1)

-- name: find_card_format
-- The format of the full-text table of names.
SELECT v FROM knowledge_card_fts_config WHERE k = 'version'

-- name: put_card_format
-- Write the format of the full-text table of names, whose row was lost.
INSERT OR REPLACE INTO knowledge_card_fts_config (k, v) VALUES ('version', 5), ('secure-delete', 1)

-- name: add_owner
-- A workspace, or the user, gets its integer.
INSERT INTO knowledge_owner (workspace_id) VALUES (:workspace_id) ON CONFLICT (workspace_id) DO NOTHING

-- name: get_owner
-- The integer of a workspace, or of the user.
SELECT id FROM knowledge_owner WHERE workspace_id = :workspace_id

-- name: remove_owner
-- A workspace is gone.
DELETE FROM knowledge_owner WHERE id = :owner

-- name: add_collection
-- A folder is to be indexed.
INSERT INTO collection (collection_id, owner, name, path, include, exclude, follow_gitignore, watch, recall, meaning, enrich, state, created_at)
VALUES (:collection_id, :owner, :name, :path, :include, :exclude, :follow_gitignore, :watch, :recall, :meaning, :enrich, 'new', :now)

-- name: get_collection
-- A collection by its id.
SELECT c.id, c.collection_id, o.workspace_id, c.owner, c.name, c.path, c.include, c.exclude, c.follow_gitignore, c.watch, c.recall, c.meaning,
    c.enrich, c.state, c.reason, c.skipped, c.bad_patterns, c.withheld_at, c.deep_wanted, c.scanned_at, c.deep_scanned_at, c.created_at
FROM collection AS c JOIN knowledge_owner AS o ON o.id = c.owner WHERE c.collection_id = :collection_id

-- name: collections_of
-- The collections of some owners after a row.
SELECT c.id, c.collection_id, o.workspace_id, c.owner, c.name, c.path, c.include, c.exclude, c.follow_gitignore, c.watch, c.recall, c.meaning,
    c.enrich, c.state, c.reason, c.skipped, c.bad_patterns, c.withheld_at, c.deep_wanted, c.scanned_at, c.deep_scanned_at, c.created_at
FROM collection AS c JOIN knowledge_owner AS o ON o.id = c.owner
WHERE (:workspaces = '' OR o.workspace_id IN (SELECT value FROM json_each(:workspaces))) AND c.id > :after
    AND c.collection_id NOT GLOB ':*' ORDER BY c.id LIMIT :limit

-- name: find_presence
-- Whether there is a collection, also one that is being removed, and one that is recalled in turns.
SELECT EXISTS (SELECT 1 FROM collection), EXISTS (SELECT 1 FROM collection WHERE recall AND collection_id NOT GLOB ':*')

-- name: count_collections
-- How many collections there are.
SELECT count(*) FROM collection WHERE collection_id NOT GLOB ':*'

-- name: change_collection
-- What a person chose for a collection.
UPDATE collection SET name = :name, path = :path, include = :include, exclude = :exclude, follow_gitignore = :follow_gitignore,
    watch = :watch, recall = :recall, meaning = :meaning, enrich = :enrich WHERE id = :id

-- name: set_state
-- The state of a collection.
UPDATE collection SET state = :state, reason = :reason WHERE id = :id

-- name: change_state
-- The state of a collection that is in another one still.
UPDATE collection SET state = :state, reason = :reason WHERE id = :id AND state = :before

-- name: want_deep
-- The next scan reads every file again.
UPDATE collection SET deep_wanted = 1 WHERE id = :id

-- name: end_scan
-- A scan has ended.
UPDATE collection SET state = :state, reason = :reason, skipped = :skipped, bad_patterns = :bad_patterns, withheld_at = :withheld_at,
    scanned_at = :now, deep_scanned_at = iif(:deep, :now, deep_scanned_at), deep_wanted = iif(:deep, 0, deep_wanted) WHERE id = :id

-- name: leave_collection
-- A collection is being removed: it has an id that none can name or take, and its former one is free.
UPDATE collection SET collection_id = ':' || id, state = 'unavailable' WHERE id = :id

-- name: leaving_collections
-- The collections of an owner, or of all, that are being removed.
SELECT id, owner FROM collection WHERE collection_id GLOB ':*' AND (:owner = 0 OR owner = :owner)

-- name: remove_collection
-- A collection is gone, with its files, log and versions.
DELETE FROM collection WHERE id = :id

-- name: count_files
-- The files of a collection by state and reason.
SELECT state, reason, count(*) FROM knowledge_file WHERE collection = :collection GROUP BY state, reason

-- name: size_of_collection
-- The bytes of a collection's files, each copy counted as a preview does, and the pieces of what they say.
SELECT coalesce(sum(k.bytes * said.copies), 0), coalesce(sum(k.pieces), 0) FROM (
    SELECT content, count(*) AS copies FROM knowledge_file INDEXED BY knowledge_file_content
    WHERE collection = :collection AND content IS NOT NULL GROUP BY content) AS said
CROSS JOIN knowledge_content AS k ON k.id = said.content

-- name: oldest_pending
-- When the oldest file began to wait.
SELECT min(pending_at) FROM knowledge_file WHERE collection = :collection AND state = 'pending'

-- name: files_of_folder
-- The files of a folder as they were seen last.
SELECT id, name, device, inode, size, mtime_ns, kind, state, reason, content FROM knowledge_file
WHERE collection = :collection AND folder = :folder

-- name: add_file
-- A file was seen for the first time; it waits to be read.
INSERT INTO knowledge_file (file_id, collection, folder, name, device, inode, size, mtime_ns, kind, language, state, pending_at,
    is_baseline, next_run_at)
VALUES (:file_id, :collection, :folder, :name, :device, :inode, :size, :mtime_ns, :kind, :language, 'pending', :now, :is_baseline, :held_until)
ON CONFLICT (collection, folder, name) DO NOTHING

-- name: renew_file
-- A file is another one than before, or is looked at anew.
UPDATE knowledge_file SET device = :device, inode = :inode, size = :size, mtime_ns = :mtime_ns, kind = :kind, language = :language,
    state = 'pending', reason = NULL, attempts = 0, deaths = 0, next_run_at = rests_until, error = NULL, pending_at = coalesce(pending_at, :now)
WHERE id = :id

-- name: folders_of_collection
-- The folders in which files were seen.
SELECT DISTINCT folder FROM knowledge_file WHERE collection = :collection

-- name: folders_below
-- Those of the folders of a collection with files that are one of some paths, or lie below one.
SELECT f.folder FROM json_each(:paths) AS wanted CROSS JOIN knowledge_file AS f
WHERE f.collection = :collection AND f.folder = wanted.value
UNION SELECT f.folder FROM json_each(:paths) AS wanted CROSS JOIN knowledge_file AS f
WHERE f.collection = :collection AND f.folder >= wanted.value || '/' AND f.folder < wanted.value || '0'

-- name: places_of_files
-- The places that some files have at present.
SELECT id, folder, name FROM knowledge_file WHERE id IN (SELECT value FROM json_each(:rows))

-- name: count_readable
-- How many files of a collection there are to be read.
SELECT count(*) FROM knowledge_file WHERE collection = :collection AND state <> 'missing'

-- name: count_read
-- How many files of a collection were read to the end.
SELECT count(*) FROM knowledge_file WHERE collection = :collection AND state IN ('indexed', 'partial')

-- name: has_lost_reader
-- Whether a file failed because it ends its reader.
SELECT 1 FROM knowledge_file WHERE collection = :collection AND state = 'failed' AND reason = 'reader_failed' LIMIT 1

-- name: renew_all_files
-- Every file of a collection is read again.
UPDATE knowledge_file SET state = 'pending', pending_at = coalesce(pending_at, :now), next_run_at = 0
WHERE collection = :collection AND state IN ('indexed', 'partial', 'skipped')

-- name: renew_part_of_files
-- A sixth of the files of a collection is read again.
UPDATE knowledge_file SET state = 'pending', pending_at = coalesce(pending_at, :now), next_run_at = 0
WHERE collection = :collection AND id % :parts = :part AND state IN ('indexed', 'partial', 'skipped')

-- name: end_deep_part
-- A sixth of the files was queued; after the last one the whole collection was.
UPDATE collection SET deep_part = (deep_part + 1) % :parts, deep_part_at = :now,
    deep_scanned_at = iif(deep_part + 1 = :parts, :now, deep_scanned_at) WHERE id = :collection

-- name: oldest_deep_part
-- When the last part of a deep scan was that is longest ago.
SELECT min(max(coalesce(deep_part_at, 0), coalesce(deep_scanned_at, 0))) FROM collection
WHERE scanned_at IS NOT NULL AND state IN ('live', 'polling')

-- name: deep_parts_due
-- The collections of which a sixth is to be read again, and which sixth.
SELECT id, collection_id, deep_part FROM collection
WHERE scanned_at IS NOT NULL AND state IN ('live', 'polling') AND max(coalesce(deep_part_at, 0), coalesce(deep_scanned_at, 0)) <= :before

-- name: twins_of_inodes
-- Files that this scan saw for the first time, with the inode and size of some that are gone, each with the row of that one.
SELECT wanted.value ->> 0, f.id, f.folder, f.name, f.kind, f.language FROM json_each(:gone) AS wanted
CROSS JOIN knowledge_file AS f INDEXED BY knowledge_file_inode
WHERE f.collection = :collection AND f.inode = wanted.value ->> 1 AND f.device = wanted.value ->> 2 AND f.size = wanted.value ->> 3
    AND f.mtime_ns = wanted.value ->> 4 AND f.content IS NULL AND f.state = 'pending' AND f.id > wanted.value ->> 0
ORDER BY wanted.key, f.id

-- name: known_inodes
-- The files that were read and have one of some inodes, by what a move keeps, with their folders.
SELECT inode, device, size, mtime_ns, folder FROM knowledge_file INDEXED BY knowledge_file_inode
WHERE collection = :collection AND inode IN (SELECT value FROM json_each(:inodes)) AND content IS NOT NULL

-- name: files_at
-- The files that some places have, and whether each was never read.
SELECT wanted.key, f.id, f.content IS NULL AND f.state = 'pending' FROM json_each(:places) AS wanted CROSS JOIN knowledge_file AS f
WHERE f.collection = :collection AND f.folder = wanted.value ->> 0 AND f.name = wanted.value ->> 1

-- name: move_file
-- A file has another path; all that is known of it stays, but perhaps the terms of its names, and failures to read it where it was.
UPDATE knowledge_file SET folder = :folder, name = :name, kind = :kind, language = :language, card = coalesce(:card, card),
    attempts = iif(state = 'pending', 0, attempts), next_run_at = iif(state = 'pending', rests_until, next_run_at),
    error = iif(state = 'pending', NULL, error)
WHERE id = :id

-- name: find_file_again
-- A file that was missing waits to be read.
UPDATE knowledge_file SET state = 'pending' WHERE id = :id AND state = 'missing'

-- name: remove_files
-- Some files are gone.
DELETE FROM knowledge_file WHERE id IN (SELECT value FROM json_each(:rows))

-- name: release_files
-- What is new is read now: the scan that saw it knows which of it are moved files. So is what rests, where that is asked for.
UPDATE knowledge_file SET next_run_at = 0 WHERE collection = :collection AND state = 'pending' AND next_run_at > 0 AND attempts = 0
    AND (:resting OR content IS NULL)

-- name: collections_with_resting
-- The collections with files that changed and are not due yet, without a failure.
SELECT DISTINCT c.id, c.collection_id FROM knowledge_file AS f JOIN collection AS c ON c.id = f.collection
WHERE f.state = 'pending' AND f.next_run_at > :now AND f.attempts = 0 AND f.content IS NOT NULL

-- name: miss_file
-- A file is not where it was, or is not to be read any more.
UPDATE knowledge_file SET state = 'missing', reason = :reason, pending_at = NULL WHERE id = :id

-- name: missing_files
-- Files that are not where they were.
SELECT id, folder, name, device, inode, size, mtime_ns, content, reason FROM knowledge_file
WHERE collection = :collection AND state = 'missing' LIMIT :limit

-- name: missing_with_content
-- A file that is gone and said the same.
SELECT id, folder, name FROM knowledge_file WHERE collection = :collection AND content = :content AND state = 'missing' LIMIT 1

-- name: get_file
-- A file by its place.
SELECT f.id, f.file_id, f.folder, f.name, f.kind, f.language, f.state, f.reason, f.content, f.size, f.mtime_ns, f.indexed_at, f.attempts, f.next_run_at,
    f.error, n.sha256, n.bytes, n.lines, n.left_from, n.left_pages, n.encoding
FROM knowledge_file AS f LEFT JOIN knowledge_content AS n ON n.id = f.content
WHERE f.collection = :collection AND f.folder = :folder AND f.name = :name

-- name: list_files
-- The files of a collection in the order of their rows, filtered.
SELECT f.id, f.file_id, f.folder, f.name, f.kind, f.language, f.state, f.reason, f.content, f.size, f.mtime_ns, f.indexed_at, f.attempts, f.next_run_at,
    f.error, n.sha256, n.bytes, n.lines, n.left_from, n.left_pages, n.encoding
FROM knowledge_file AS f LEFT JOIN knowledge_content AS n ON n.id = f.content
WHERE f.collection = :collection AND f.id > :after AND (:states = '' OR f.state IN (SELECT value FROM json_each(:states)))
    AND (:kinds = '' OR f.kind IN (SELECT value FROM json_each(:kinds)))
    AND (:prefix = '' OR substr(iif(f.folder = '', '', f.folder || '/') || f.name, 1, length(:prefix)) = :prefix)
ORDER BY f.id LIMIT :limit

-- name: paths_of_content
-- Every place of a content.
SELECT c.collection_id, f.folder, f.name, c.path, c.state, f.mtime_ns, c.id, f.id, f.state FROM knowledge_file AS f JOIN collection AS c ON c.id = f.collection
WHERE f.content = :content AND f.state IN ('indexed', 'partial', 'pending') ORDER BY f.id LIMIT 100

-- name: pending_files
-- The next files of a collection that wait and are due.
SELECT id, folder, name, kind, content, attempts, deaths, size, mtime_ns, is_baseline, language FROM knowledge_file
WHERE collection = :collection AND state = 'pending' AND next_run_at <= :now ORDER BY next_run_at, id LIMIT :limit

-- name: next_due
-- When the next waiting file of a collection is due.
SELECT min(next_run_at) FROM knowledge_file WHERE collection = :collection AND state = 'pending'

-- name: waits_for_new
-- Whether a file waits that was never read.
SELECT 1 FROM knowledge_file WHERE collection = :collection AND state = 'pending' AND content IS NULL LIMIT 1

-- name: next_readings
-- When the next of the files that wait is due, of each collection whose folder was seen.
SELECT collection_id, next_at FROM (
    SELECT c.collection_id, (
        SELECT min(f.next_run_at) FROM knowledge_file AS f WHERE f.collection = c.id AND f.state = 'pending'
    ) AS next_at FROM collection AS c WHERE c.state NOT IN ('new', 'scanning', 'unavailable')
) WHERE next_at IS NOT NULL

-- name: finish_file
-- A file was read: what it says is indexed, or why it is not.
UPDATE knowledge_file SET state = :state, reason = :reason, content = :content, error = NULL, attempts = 0, deaths = 0, next_run_at = 0,
    pending_at = NULL, indexed_at = :now, size = :size, mtime_ns = :mtime_ns, rests_until = :rests_until WHERE id = :id AND state = 'pending'

-- name: fail_file
-- A file could not be read now.
UPDATE knowledge_file SET state = :state, reason = :reason, error = :error, attempts = :attempts, deaths = :deaths, next_run_at = :next_run_at
WHERE id = :id AND state = 'pending'

-- name: hurry_file
-- A file is read again at once: the disk says something else.
UPDATE knowledge_file SET state = 'pending', next_run_at = 0, pending_at = coalesce(pending_at, :now) WHERE id = :id AND state IN ('indexed', 'partial')

-- name: hurry_waiting
-- What waits of a collection whose folder is back is due now: that it was missing meanwhile was no fault of it.
UPDATE knowledge_file SET next_run_at = 0, attempts = 0, error = NULL WHERE collection = :collection AND state = 'pending'

-- name: retry_file
-- A file that failed, or waits after a failure, is tried again now.
UPDATE knowledge_file SET state = 'pending', attempts = 0, deaths = 0, next_run_at = 0, error = NULL, reason = NULL,
    pending_at = coalesce(pending_at, :now)
WHERE (state = 'failed' OR (state = 'pending' AND attempts > 0)) AND (:file_id = '' OR file_id = :file_id) AND (:collection = 0 OR collection = :collection)
    AND (:lost_readers OR deaths = 0)

-- name: collection_of_file
-- The collection that a file belongs to.
SELECT c.collection_id FROM knowledge_file AS f JOIN collection AS c ON c.id = f.collection WHERE f.file_id = :file_id

-- name: find_content
-- A content that is there already.
SELECT id, left_from IS NOT NULL OR left_pages <> '[]' FROM knowledge_content WHERE owner = :owner AND sha256 = :sha256 AND kind = :kind

-- name: add_content
-- Something that a file says.
INSERT INTO knowledge_content (owner, sha256, kind, encoding, bytes, lines, pieces, left_from, left_pages, importance, topics, hidden)
VALUES (:owner, :sha256, :kind, :encoding, :bytes, :lines, :pieces, :left_from, :left_pages, :importance, :topics, :hidden)

-- name: add_pdf_text
-- The text of a PDF.
INSERT INTO pdf_text (content, text) VALUES (:content, :text)

-- name: get_pdf_text
-- The text of a PDF.
SELECT text FROM pdf_text WHERE content = :content

-- name: unused_contents
-- Those of some contents that no file has.
SELECT id FROM knowledge_content AS n WHERE id IN (SELECT value FROM json_each(:contents))
    AND NOT EXISTS (SELECT 1 FROM knowledge_file WHERE content = n.id)

-- name: remove_contents
-- Remove contents that no file has any more.
DELETE FROM knowledge_content WHERE id IN (SELECT value FROM json_each(:contents))

-- name: last_chunk
-- The highest row of a piece.
SELECT coalesce(max(id), 0) FROM knowledge_chunk

-- name: add_chunk
-- A piece of a content.
INSERT INTO knowledge_chunk (id, content, position, from_byte, to_byte, from_line, to_line, page, headings, text_hash, terms, term_count)
VALUES (:id, :content, :position, :from_byte, :to_byte, :from_line, :to_line, :page, :headings, :text_hash, :terms, :term_count)

-- name: terms_of_contents
-- The pieces of some contents with their terms, and whether these are in the index.
SELECT k.id, n.owner, k.terms, EXISTS (SELECT 1 FROM knowledge_fts_docsize AS d WHERE d.id = k.id)
FROM json_each(:contents) AS wanted CROSS JOIN knowledge_content AS n ON n.id = wanted.value CROSS JOIN knowledge_chunk AS k ON k.content = n.id

-- name: remove_chunks
-- The pieces of some contents are gone.
DELETE FROM knowledge_chunk WHERE content IN (SELECT value FROM json_each(:contents))

-- name: words_of_others
-- The pieces of collections that are not being removed, with their terms.
SELECT DISTINCT k.id, n.owner, k.terms FROM collection AS c CROSS JOIN knowledge_file AS f ON f.collection = c.id
CROSS JOIN knowledge_content AS n ON n.id = f.content CROSS JOIN knowledge_chunk AS k ON k.content = n.id
WHERE c.collection_id NOT GLOB ':*' AND k.terms IS NOT NULL LIMIT :limit

-- name: cards_of_others
-- The files of collections that are not being removed, with the terms of their names.
SELECT f.id, c.owner, f.card FROM collection AS c CROSS JOIN knowledge_file AS f ON f.collection = c.id
WHERE c.collection_id NOT GLOB ':*' AND f.card IS NOT NULL LIMIT :limit

-- name: add_words
-- The terms of a piece become searchable.
INSERT INTO knowledge_fts (rowid, body) VALUES (:id, :body)

-- name: remove_words
-- The terms of a piece leave the index; they must be those that were put in. The index is damaged where they are not there.
INSERT INTO knowledge_fts (knowledge_fts, rowid, body) VALUES ('delete', :id, :body)

-- name: words_there
-- Those of some pieces whose terms are in the index.
SELECT id FROM knowledge_fts_docsize WHERE id IN (SELECT value FROM json_each(:rows))

-- name: add_card
-- The names of a file become searchable.
INSERT INTO knowledge_card_fts (rowid, body) VALUES (:id, :body)

-- name: remove_card
-- The names of a file leave the index; the same holds for them.
INSERT INTO knowledge_card_fts (knowledge_card_fts, rowid, body) VALUES ('delete', :id, :body)

-- name: merge_cards
-- The full-text table of names becomes one segment, in which a term is found at once.
INSERT INTO knowledge_card_fts (knowledge_card_fts) VALUES ('optimize')

-- name: cards_there
-- Those of some files whose names are in the index.
SELECT id FROM knowledge_card_fts_docsize WHERE id IN (SELECT value FROM json_each(:rows))

-- name: card_of_file
-- The terms of a file's names.
SELECT card, content FROM knowledge_file WHERE id = :id

-- name: cards_of_files
-- The terms of the names of some files, and what they say.
SELECT id, card, content FROM knowledge_file WHERE id IN (SELECT value FROM json_each(:rows))

-- name: set_card
-- The names of a file, as they are indexed.
UPDATE knowledge_file SET card = :card WHERE id = :id

-- name: rows_with_term
-- The newest pieces that have a term, as one array.
SELECT json_group_array(row) FROM (SELECT rowid AS row FROM knowledge_fts WHERE knowledge_fts MATCH :match ORDER BY rowid DESC LIMIT :cap)

-- name: cards_with_term
-- The newest files whose names have a term, as one array.
SELECT json_group_array(row) FROM (SELECT rowid AS row FROM knowledge_card_fts WHERE knowledge_card_fts MATCH :match ORDER BY rowid DESC LIMIT :cap)

-- name: pieces_of_owners
-- How many pieces some owners have.
SELECT coalesce(sum(pieces), 0) FROM knowledge_owner WHERE id IN (SELECT value FROM json_each(:owners))

-- name: add_pieces
-- An owner has so many pieces more, or fewer.
UPDATE knowledge_owner SET pieces = pieces + :count WHERE id = :owner

-- name: count_pieces_anew
-- The pieces of every content are counted; rows that say so already are not written.
UPDATE knowledge_content SET pieces = (SELECT count(*) FROM knowledge_chunk AS k WHERE k.content = knowledge_content.id)
WHERE pieces <> (SELECT count(*) FROM knowledge_chunk AS k WHERE k.content = knowledge_content.id)

-- name: sum_pieces_anew
-- Every owner has the pieces of its contents.
UPDATE knowledge_owner SET pieces = (SELECT coalesce(sum(n.pieces), 0) FROM knowledge_content AS n WHERE n.owner = knowledge_owner.id)

-- name: chunks_by_row
-- Pieces with the content that they are of.
SELECT k.id, k.content, k.position, k.from_byte, k.to_byte, k.from_line, k.to_line, k.headings, k.text_hash, k.terms, k.term_count, n.owner, n.encoding,
    n.importance, n.topics, n.kind, n.sha256, n.hidden, k.page
FROM json_each(:rows) AS wanted CROSS JOIN knowledge_chunk AS k ON k.id = wanted.value CROSS JOIN knowledge_content AS n ON n.id = k.content
WHERE n.owner IN (SELECT value FROM json_each(:owners))

-- name: first_chunks_of_files
-- The first piece of what some files say.
SELECT k.id, f.id FROM json_each(:rows) AS wanted CROSS JOIN knowledge_file AS f ON f.id = wanted.value
CROSS JOIN knowledge_chunk AS k ON k.content = f.content AND k.position = 0

-- name: chunks_of_content
-- The pieces of a content in their order, without terms.
SELECT position, from_byte, to_byte, from_line, to_line, text_hash, id FROM knowledge_chunk WHERE content = :content ORDER BY position

-- name: add_change
-- Something happened to a file or a collection.
INSERT INTO knowledge_change (at, collection, name, event, path, from_path, sha256, count)
VALUES (:now, :collection, :name, :event, :path, :from_path, :sha256, :files)

-- name: list_changes
-- What happened, newest first.
SELECT seq, at, event, name, path, from_path, sha256, count FROM knowledge_change
WHERE seq < :before AND at >= :since AND (:name = '' OR name = :name) ORDER BY seq DESC LIMIT :limit

-- name: last_change
-- The last line of the log.
SELECT coalesce(max(seq), 0) FROM knowledge_change

-- name: count_changes
-- How many files the lines of the log after one of them are about, by collection and event, and the last of these lines.
SELECT name, event, sum(coalesce(count, 1)), max(seq) FROM knowledge_change WHERE seq > :after GROUP BY name, event

-- name: list_path_ends
-- The lines by which files left a path, newest first.
SELECT seq, event, path FROM knowledge_change WHERE collection = :collection AND coalesce(from_path, path) = :path
    AND event IN ('moved', 'removed', 'ignored') ORDER BY seq DESC LIMIT :limit

-- name: next_path_end
-- The next line by which a file left a path.
SELECT seq, event, path FROM knowledge_change WHERE collection = :collection AND coalesce(from_path, path) = :path
    AND event IN ('moved', 'removed', 'ignored') AND seq > :after ORDER BY seq LIMIT 1

-- name: find_move_below
-- How a file below a folder moved last. The signs keep the planner at the index by paths: the log may be long.
SELECT seq, coalesce(from_path, path), path FROM knowledge_change WHERE collection = :collection
    AND coalesce(from_path, path) >= :folder || '/' AND coalesce(from_path, path) < :folder || '0'
    AND event = 'moved' AND +seq > :after ORDER BY +seq DESC LIMIT 1

-- name: last_version
-- The newest content of a path that is known.
SELECT id, sha256 FROM file_version WHERE collection = :collection AND path = :path ORDER BY id DESC LIMIT 1

-- name: add_version
-- A path says something else than before.
INSERT INTO file_version (collection, path, sha256, bytes, first_seen_at, last_seen_at) VALUES (:collection, :path, :sha256, :bytes, :now, :now)

-- name: add_moved_versions
-- What some files say at the paths that they moved to, unless that was the last that was seen there.
INSERT INTO file_version (collection, path, sha256, bytes, first_seen_at, last_seen_at)
SELECT f.collection, f.path, n.sha256, n.bytes, :now, :now
FROM (
    SELECT collection, content, iif(folder = '', '', folder || '/') || name AS path FROM knowledge_file
    WHERE id IN (SELECT value FROM json_each(:files)) AND state IN ('indexed', 'partial')
) AS f JOIN knowledge_content AS n ON n.id = f.content
WHERE n.sha256 IS NOT (SELECT sha256 FROM file_version WHERE collection = f.collection AND path = f.path ORDER BY id DESC LIMIT 1)

-- name: note_version
-- A path still says the same.
UPDATE file_version SET last_seen_at = :now WHERE id = :id

-- name: list_versions
-- What a path said, newest first.
SELECT id, sha256, bytes, first_seen_at, last_seen_at FROM file_version
WHERE collection = :collection AND path = :path AND id < :before ORDER BY id DESC LIMIT :limit

-- name: count_rows_of_collection
-- How many files, and versions, a collection has.
SELECT (SELECT count(*) FROM knowledge_file WHERE collection = :collection), (SELECT count(*) FROM file_version WHERE collection = :collection)

-- name: some_files
-- Some files of a collection, to be removed.
SELECT id FROM knowledge_file WHERE collection = :collection LIMIT :limit

-- name: count_pending_of
-- How many files of some collections wait.
SELECT count(*) FROM knowledge_file WHERE state = 'pending' AND collection IN (SELECT value FROM json_each(:collections))

-- name: await_vectors
-- Pieces without a vector of the space wait for one.
UPDATE knowledge_chunk SET index_state = 'pending' WHERE index_state = 'indexed' AND terms IS NOT NULL
  AND content IN (SELECT id FROM knowledge_content WHERE is_meant = 1)
  AND NOT EXISTS (SELECT 1 FROM knowledge_vec AS v WHERE v.chunk = knowledge_chunk.id AND space_id = :space)

-- name: await_vectors_of_contents
-- The pieces of some contents without a vector wait for one, also those of which none could be made.
UPDATE knowledge_chunk SET index_state = 'pending'
WHERE content IN (SELECT value FROM json_each(:contents)) AND index_state <> 'pending' AND terms IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM knowledge_vec AS v JOIN space AS p ON p.id = v.space_id AND p.state = 'current'
    WHERE v.chunk = knowledge_chunk.id)

-- name: await_vectors_again
-- The pieces of a collection of which no vector could be made wait for one.
UPDATE knowledge_chunk SET index_state = 'pending' WHERE index_state = 'repair_needed' AND terms IS NOT NULL
  AND content IN (SELECT f.content FROM knowledge_file AS f JOIN knowledge_content AS n ON n.id = f.content AND n.is_meant = 1
    WHERE f.collection = :collection)

-- name: settle_vectors
-- Pieces that have a vector of the space, or for which none will come, wait no more.
UPDATE knowledge_chunk SET index_state = 'indexed' WHERE index_state = 'pending'
  AND (:space IS NULL OR EXISTS (SELECT 1 FROM knowledge_vec AS v WHERE v.chunk = knowledge_chunk.id AND space_id = :space))

-- name: settle_vector
-- A piece waits for no vector.
UPDATE knowledge_chunk SET index_state = 'indexed' WHERE id = :row

-- name: refuse_vector
-- No vector can be made of a piece now.
UPDATE knowledge_chunk SET index_state = 'repair_needed' WHERE id = :row

-- name: look_for_lack
-- Where a look at so many pieces ends, and whether any of them that can have one lacks a vector of the space.
SELECT max(id), max(lacks) FROM (SELECT k.id, n.is_meant = 1 AND k.terms IS NOT NULL AND k.index_state <> 'repair_needed'
    AND NOT EXISTS (SELECT 1 FROM knowledge_vec AS v WHERE v.chunk = k.id AND space_id = :space) AS lacks
  FROM knowledge_chunk AS k JOIN knowledge_content AS n ON n.id = k.content WHERE k.id > :after ORDER BY k.id LIMIT :limit)

-- name: end_of_chunks
-- Where a look at so many pieces ends.
SELECT max(id) FROM (SELECT id FROM knowledge_chunk WHERE id > :after ORDER BY id LIMIT :limit)

-- name: without_vector
-- The next pieces that lack a vector of the space.
SELECT k.id, k.content, k.from_byte, k.to_byte, k.headings, n.owner, n.sha256, n.encoding, n.hidden, n.kind, n.bytes
FROM knowledge_chunk AS k JOIN knowledge_content AS n ON n.id = k.content
WHERE n.is_meant = 1 AND k.terms IS NOT NULL AND k.index_state <> 'repair_needed' AND k.id > :after AND k.id <= :until
  AND NOT EXISTS (SELECT 1 FROM knowledge_vec AS v WHERE v.chunk = k.id AND space_id = :space) ORDER BY k.id LIMIT :limit

-- name: pending_without_vector
-- The newest pieces below a place, or above the newest that was met, that wait for a vector of the space that is searched.
SELECT k.id, k.content, k.from_byte, k.to_byte, k.headings, n.owner, n.sha256, n.encoding, n.hidden, n.kind, n.bytes
FROM knowledge_chunk AS k INDEXED BY knowledge_chunk_awaiting_vector JOIN knowledge_content AS n ON n.id = k.content
WHERE k.index_state = 'pending' AND (:after = 0 OR k.id < :after OR k.id > :newest)
  AND NOT EXISTS (SELECT 1 FROM knowledge_vec AS v WHERE v.chunk = k.id AND space_id = :space) ORDER BY k.id DESC LIMIT :limit

-- name: count_vectors_of_space
-- How many pieces can have a vector, and how many have one of the space.
SELECT (SELECT count(*) FROM knowledge_chunk AS k JOIN knowledge_content AS n ON n.id = k.content
    WHERE n.is_meant = 1 AND k.terms IS NOT NULL AND k.index_state <> 'repair_needed'),
  (SELECT count(*) FROM knowledge_vec WHERE space_id = :space)

-- name: add_vector
-- Store the vector of a piece, if vectors of its content are wanted.
INSERT INTO knowledge_vec (space_id, owner, chunk, text_hash, vector, digest)
SELECT :space, n.owner, k.id, :text_hash, :numbers, :digest FROM knowledge_chunk AS k JOIN knowledge_content AS n ON n.id = k.content
WHERE k.id = :row AND n.is_meant = 1
ON CONFLICT (chunk, space_id) DO NOTHING

-- name: vectors_added
-- Vectors of an owner that came after a place.
SELECT id, chunk, vector FROM knowledge_vec WHERE space_id = :space AND owner = :partition AND id > :after ORDER BY id LIMIT :limit

-- name: vectors_of_chunks
-- The vectors of pieces of some owners. The join keeps the planner at the pieces' own index, in their order.
SELECT chunk, vector FROM json_each(:subjects) AS wanted CROSS JOIN knowledge_vec ON chunk = wanted.value AND space_id = :space
WHERE owner IN (SELECT value FROM json_each(:partitions))

-- name: vectors_present
-- Every vector of an owner.
SELECT id FROM knowledge_vec WHERE space_id = :space AND owner = :partition

-- name: vector_losses
-- How many vectors of an owner were ever removed.
SELECT count FROM knowledge_vec_loss WHERE space_id = :space AND owner = :partition

-- name: drop_vectors
-- A part of a space that nobody searches any more.
DELETE FROM knowledge_vec WHERE id IN (SELECT id FROM knowledge_vec WHERE space_id = :space LIMIT :limit)

-- name: vectors_of_texts
-- A vector of the space for each text that has one, whoever says it.
SELECT wanted.key, v.vector FROM json_each(:texts) AS wanted CROSS JOIN knowledge_vec AS v
ON v.text_hash = unhex(wanted.value) AND v.space_id = :space GROUP BY wanted.key

-- name: vectors_of_content
-- The vectors of a content's pieces.
SELECT v.id, v.space_id, v.text_hash, v.vector FROM knowledge_chunk AS k CROSS JOIN knowledge_vec AS v ON v.chunk = k.id WHERE k.content = :content

-- name: remove_vectors_of_contents
-- Some contents have no vectors any more.
DELETE FROM knowledge_vec WHERE chunk IN (SELECT id FROM knowledge_chunk WHERE content IN (SELECT value FROM json_each(:contents)))

-- name: mean_contents
-- Whether vectors are wanted of some contents: as any of the collections of each says.
UPDATE knowledge_content SET is_meant = (SELECT coalesce(max(c.meaning = 'all' OR (c.meaning = 'documents' AND knowledge_content.kind <> 'code')), 0)
    FROM knowledge_file AS f JOIN collection AS c ON c.id = f.collection WHERE f.content = knowledge_content.id)
WHERE id IN (SELECT value FROM json_each(:contents)) RETURNING id, is_meant

-- name: contents_after
-- The next contents of a collection.
SELECT DISTINCT content FROM knowledge_file WHERE collection = :collection AND content > :after ORDER BY content LIMIT :limit

-- name: settle_contents
-- The pieces of some contents wait for no vector.
UPDATE knowledge_chunk SET index_state = 'indexed' WHERE content IN (SELECT value FROM json_each(:contents))

-- name: count_waiting
-- How many pieces wait for their vector.
SELECT count(*) FROM knowledge_chunk WHERE index_state = 'pending'

-- name: has_waiting
-- Whether a piece of some owners waits for its vector.
SELECT 1 FROM knowledge_chunk AS k INDEXED BY knowledge_chunk_awaiting_vector JOIN knowledge_content AS n ON n.id = k.content
WHERE k.index_state = 'pending' AND n.owner IN (SELECT value FROM json_each(:owners)) LIMIT 1

-- name: put_references
-- What a text refers to.
INSERT INTO knowledge_reference (content, title, aliases, tags, links) VALUES (:content, :title, :aliases, :tags, :links)
ON CONFLICT (content) DO UPDATE SET title = excluded.title, aliases = excluded.aliases, tags = excluded.tags, links = excluded.links

-- name: get_references
-- What a text refers to.
SELECT aliases, tags, links, title FROM knowledge_reference WHERE content = :content

-- name: links_of_contents
-- The links of some contents that refer to something.
SELECT content, links FROM knowledge_reference WHERE content IN (SELECT value FROM json_each(:contents))

-- name: drop_references
-- Some texts refer to nothing any more.
DELETE FROM knowledge_reference WHERE content IN (SELECT value FROM json_each(:contents))

-- name: titles_of
-- The titles of some contents that have one.
SELECT content, title FROM knowledge_reference WHERE content IN (SELECT value FROM json_each(:contents)) AND title <> ''

-- name: add_import
-- A text imports something of a name.
INSERT INTO knowledge_import (key, content) VALUES (:key, :content) ON CONFLICT DO NOTHING

-- name: drop_import
-- A text imports nothing of a name any more.
DELETE FROM knowledge_import WHERE key = :key AND content = :content

-- name: linked_waiting_files
-- Those of some files that wait to be read, as the graph knows them, with the terms of their names.
SELECT f.id, f.card, f.file_id, c.collection_id, iif(f.folder = '', '', f.folder || '/') || f.name, f.kind, f.language,
    coalesce(c.scanned_at, c.created_at)
FROM knowledge_file AS f JOIN collection AS c ON c.id = f.collection
WHERE f.id IN (SELECT value FROM json_each(:rows)) AND f.state = 'pending'

-- name: importing_files
-- The files of a collection that import something of a name, with their links.
SELECT f.id, r.links FROM knowledge_import AS i JOIN knowledge_reference AS r ON r.content = i.content
JOIN knowledge_file AS f ON f.content = i.content JOIN collection AS c ON c.id = f.collection
WHERE i.key = :key AND c.collection_id = :place

-- name: linked_files
-- Some files as the graph knows them.
SELECT f.id, f.file_id, c.collection_id, iif(f.folder = '', '', f.folder || '/') || f.name, f.kind, f.language,
    coalesce(c.scanned_at, c.created_at)
FROM knowledge_file AS f JOIN collection AS c ON c.id = f.collection WHERE f.id IN (SELECT value FROM json_each(:rows)) ORDER BY f.id

-- name: files_with_references
-- Those of some files that say something of others.
SELECT f.id FROM knowledge_file AS f JOIN knowledge_reference AS r ON r.content = f.content
WHERE f.id IN (SELECT value FROM json_each(:rows))

-- name: imported_names
-- Those of some names' numbers that a text imports.
SELECT DISTINCT key FROM knowledge_import WHERE key IN (SELECT value FROM json_each(:keys))

-- name: files_beside
-- The other files of a file's folder.
SELECT f.file_id FROM knowledge_file AS own JOIN knowledge_file AS f ON f.collection = own.collection AND f.folder = own.folder AND f.id <> own.id
WHERE own.file_id = :file_id

-- name: has_other_files
-- Whether a folder has another file than that of a path.
SELECT 1 FROM knowledge_file AS f JOIN collection AS c ON c.id = f.collection
WHERE c.collection_id = :place AND (f.folder = :folder OR (f.folder >= :folder || '/' AND f.folder < :folder || '0'))
    AND iif(f.folder = '', '', f.folder || '/') || f.name <> :path LIMIT 1

-- name: has_files_below
-- Whether a file lies below a folder.
SELECT 1 FROM knowledge_file WHERE collection = :collection AND (folder = :folder OR (folder >= :folder || '/' AND folder < :folder || '0')) LIMIT 1

-- name: count_below
-- How many files lie below a folder.
SELECT count(*) FROM knowledge_file AS f JOIN collection AS c ON c.id = f.collection
WHERE c.collection_id = :place AND (f.folder = :folder OR (f.folder >= :folder || '/' AND f.folder < :folder || '0'))

-- name: collections_by_state
-- Every collection with its files that wait and that failed.
SELECT c.collection_id, c.path, c.state, c.reason,
    (SELECT count(*) FROM knowledge_file AS f WHERE f.collection = c.id AND f.state = 'pending'),
    (SELECT count(*) FROM knowledge_file AS f WHERE f.collection = c.id AND f.state = 'failed')
FROM collection AS c WHERE c.collection_id NOT GLOB ':*' ORDER BY c.id

-- name: sample_files
-- Some indexed files, drawn by chance.
SELECT c.path, iif(f.folder = '', '', f.folder || '/') || f.name, n.sha256, f.size, f.mtime_ns
FROM knowledge_file AS f JOIN collection AS c ON c.id = f.collection JOIN knowledge_content AS n ON n.id = f.content
WHERE f.state IN ('indexed', 'partial') AND c.state <> 'unavailable' ORDER BY random() LIMIT :limit

-- name: index_gaps
-- Pieces and files without words, words without a piece or file, pieces and texts of nothing.
SELECT (SELECT count(*) FROM knowledge_chunk WHERE terms IS NOT NULL AND term_count > 0 AND id NOT IN (SELECT id FROM knowledge_fts_docsize)),
    (SELECT count(*) FROM knowledge_file WHERE card IS NOT NULL AND id NOT IN (SELECT id FROM knowledge_card_fts_docsize)),
    (SELECT count(*) FROM knowledge_fts_docsize WHERE id NOT IN (SELECT id FROM knowledge_chunk)),
    (SELECT count(*) FROM knowledge_card_fts_docsize WHERE id NOT IN (SELECT id FROM knowledge_file)),
    (SELECT count(*) FROM knowledge_chunk WHERE content NOT IN (SELECT id FROM knowledge_content)),
    (SELECT count(*) FROM knowledge_content WHERE id NOT IN (SELECT content FROM knowledge_file WHERE content IS NOT NULL))

-- name: empty_words
-- The full-text table of pieces is empty.
INSERT INTO knowledge_fts (knowledge_fts) VALUES ('delete-all')

-- name: empty_cards
-- The full-text table of names is empty.
INSERT INTO knowledge_card_fts (knowledge_card_fts) VALUES ('delete-all')

-- name: pieces_without_words
-- Some pieces whose terms are not in the index.
SELECT k.id, n.owner, k.terms FROM knowledge_chunk AS k JOIN knowledge_content AS n ON n.id = k.content
WHERE k.id > :after AND k.terms IS NOT NULL AND k.id NOT IN (SELECT id FROM knowledge_fts_docsize) ORDER BY k.id LIMIT :limit

-- name: files_without_words
-- Some files whose names are not in the index.
SELECT f.id, c.owner, f.card FROM knowledge_file AS f JOIN collection AS c ON c.id = f.collection
WHERE f.id > :after AND f.card IS NOT NULL AND f.id NOT IN (SELECT id FROM knowledge_card_fts_docsize) ORDER BY f.id LIMIT :limit

-- name: old_versions
-- Versions that were seen last before a time and are not the newest of their path.
SELECT id FROM file_version AS one WHERE last_seen_at < :before
    AND EXISTS (SELECT 1 FROM file_version AS later WHERE later.collection = one.collection AND later.path = one.path AND later.id > one.id)
LIMIT :limit

-- name: drop_versions
-- Drop some versions.
DELETE FROM file_version WHERE id IN (SELECT value FROM json_each(:rows))

-- name: end_of_entities
-- Where a look at so many entities ends.
SELECT max(id) FROM (SELECT id FROM entity WHERE id > :after ORDER BY id LIMIT :limit)

-- name: find_entities_of_no_file
-- Entities of files, and of collections, that are gone.
SELECT id FROM entity WHERE id > :after AND id <= :until AND house = 'knowledge'
    AND (NOT EXISTS (SELECT 1 FROM collection WHERE collection.collection_id = entity.place)
        OR (subject IS NOT NULL AND NOT EXISTS (SELECT 1 FROM knowledge_file WHERE knowledge_file.file_id = entity.subject)))

-- name: keep_lost_owners
-- Owners whose rows were lost keep their numbers under a name that nobody has: their collections are never another's.
INSERT INTO knowledge_owner (id, workspace_id)
SELECT DISTINCT owner, 'lost_' || lower(hex(randomblob(16))) FROM collection WHERE owner NOT IN (SELECT id FROM knowledge_owner)
