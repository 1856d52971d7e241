-- name: add_workspace
-- A new workspace.
INSERT INTO workspace (workspace_id, name, root_path, created_at, updated_at) VALUES (:workspace_id, :name, :root_path, :now, :now)
ON CONFLICT (workspace_id) DO NOTHING

-- name: describe_workspace
-- A workspace learns what it was not told when it was made.
UPDATE workspace SET name = coalesce(name, :name), root_path = coalesce(root_path, :root_path), updated_at = :now
WHERE workspace_id = :workspace_id

-- name: get_workspace
-- A workspace by id.
SELECT workspace_id, name, root_path, created_at, updated_at, state FROM workspace WHERE workspace_id = :workspace_id

-- name: list_workspaces
-- Workspaces after a row, oldest first.
SELECT workspace_id, name, root_path, created_at, updated_at, state, id FROM workspace WHERE id > :after ORDER BY id LIMIT :limit

-- name: condemn_workspace
-- A workspace is being deleted: nothing new begins in it.
UPDATE workspace SET state = 'deleting' WHERE workspace_id = :workspace_id

-- name: remove_workspace
-- A workspace goes; its threads are gone already.
DELETE FROM workspace WHERE workspace_id = :workspace_id

-- name: add_thread
-- A new thread.
INSERT INTO thread (thread_id, workspace_id, agent_id, parent_thread_id, name, mode, memory_mode, origin, task_id, instructions, model, provider, cwd, instruction_files, instruction_profile, agent, forked_from, created_at, updated_at)
VALUES (:thread_id, :workspace_id, :agent_id, :parent_thread_id, :name, :mode, :memory_mode, :origin, :task_id, :instructions, :model, :provider, :cwd, :instruction_files, :instruction_profile, :agent, :forked_from, :now, :now)

-- name: get_thread
-- A thread by id, with its number of turns.
SELECT thread_id, workspace_id, agent_id, parent_thread_id, name, mode, memory_mode, origin, task_id, archived,
    (SELECT count(*) FROM turn WHERE turn.thread_id = thread.thread_id), created_at, updated_at, instructions, model, provider, id,
    cwd, instruction_files, instruction_profile, agent, forked_from
FROM thread WHERE thread_id = :thread_id

-- name: list_threads
-- Threads before a row, newest first.
SELECT thread_id, workspace_id, agent_id, parent_thread_id, name, mode, memory_mode, origin, task_id, archived,
    (SELECT count(*) FROM turn WHERE turn.thread_id = thread.thread_id), created_at, updated_at, instructions, model, provider, id,
    cwd, instruction_files, instruction_profile, agent, forked_from
FROM thread
WHERE id < :before AND (:workspace_id IS NULL OR workspace_id = :workspace_id) AND (:archived IS NULL OR archived = :archived)
ORDER BY id DESC LIMIT :limit

-- name: thread_names_of_workspace
-- The named threads of a workspace, those last spoken in first.
SELECT thread_id, name FROM thread WHERE workspace_id = :workspace_id AND name <> '' AND memory_mode <> 'ignored' ORDER BY updated_at DESC LIMIT :limit

-- name: thread_ids_of_workspace
-- Every thread of a workspace.
SELECT thread_id FROM thread WHERE workspace_id = :workspace_id ORDER BY id

-- name: change_thread
-- The members of a thread that a client may change.
UPDATE thread SET name = :name, memory_mode = :memory_mode, archived = :archived, updated_at = :now WHERE thread_id = :thread_id

-- name: keep_agent
-- The definition by which a thread's agent acts now.
UPDATE thread SET agent = :agent WHERE thread_id = :thread_id AND agent IS NOT :agent

-- name: touch_thread
-- Something happened in a thread.
UPDATE thread SET updated_at = max(updated_at, :now) WHERE thread_id = :thread_id

-- name: remove_thread
-- A thread goes, with its turns, items, runs, ledger and artifact references.
DELETE FROM thread WHERE thread_id = :thread_id

-- name: count_items_of_thread
-- How many items a thread has.
SELECT count(*) FROM item WHERE thread_id = :thread_id

-- name: count_turns_of_thread
-- How many turns a thread has.
SELECT count(*) FROM turn WHERE thread_id = :thread_id

-- name: running_turn_of_thread
-- The turn that is running in a thread.
SELECT turn_id FROM turn WHERE thread_id = :thread_id AND status IN ('in_progress', 'awaiting_host')

-- name: running_turn_of_workspace
-- A turn that is running in a workspace.
SELECT turn_id FROM turn JOIN thread USING (thread_id) WHERE workspace_id = :workspace_id AND turn.status IN ('in_progress', 'awaiting_host') LIMIT 1

-- name: last_position
-- The position of the newest turn of a thread.
SELECT coalesce(max(position), 0) FROM turn WHERE thread_id = :thread_id

-- name: add_turn
-- A turn begins.
INSERT INTO turn (turn_id, thread_id, position, driver, mode, memory_mode, status, options, input_hash, started_at, completed_at, owner, origin, caller, generation)
VALUES (:turn_id, :thread_id, :position, :driver, :mode, :memory_mode, :status, :options, :input_hash, :started_at, :completed_at, :owner, :origin, :caller,
    (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'forgotten'))

-- name: caller_of_turn
-- The door and the client that began a turn.
SELECT caller FROM turn WHERE turn_id = :turn_id

-- name: turns_shown
-- The turns in whose prompt a thing stood, newest first.
SELECT injection.thread_id, injection.turn_id, turn.started_at FROM injection JOIN turn ON turn.turn_id = injection.turn_id
WHERE source_id = :source_id AND source_kind = :source_kind GROUP BY injection.turn_id ORDER BY turn.started_at DESC, turn.id DESC LIMIT :limit

-- name: generation_of_turn
-- How much had been forgotten when a turn began.
SELECT generation FROM turn WHERE turn_id = :turn_id

-- name: get_turn
-- A turn by id, with its workspace.
SELECT turn.turn_id, turn.thread_id, thread.workspace_id, turn.driver, turn.mode, turn.status, turn.started_at, turn.completed_at, turn.error_reason,
    turn.error_retryable, turn.rounds, turn.usage, turn.manifest, turn.input_hash, turn.options, turn.last_seq, turn.position, turn.owner, turn.tool_events, turn.memory_mode, turn.superseded_by,
    turn.upstream
FROM turn JOIN thread USING (thread_id) WHERE turn.turn_id = :turn_id

-- name: turns_of_thread
-- A thread's turns in order.
SELECT turn_id, driver, input_hash, position, origin FROM turn WHERE thread_id = :thread_id ORDER BY position, id

-- name: ended_turns_of_thread
-- The newest finished turns of a thread before a position, newest first.
SELECT turn_id, status FROM turn WHERE thread_id = :thread_id AND status NOT IN ('in_progress', 'awaiting_host') AND position < :position
ORDER BY position DESC, id DESC LIMIT :limit

-- name: status_of_turn
-- The status of a turn.
SELECT status FROM turn WHERE turn_id = :turn_id

-- name: keep_prepared
-- A turn's host may call its model.
UPDATE turn SET manifest = :manifest, last_seq = :last_seq WHERE turn_id = :turn_id AND status = 'awaiting_host'

-- name: keep_manifest
-- What a turn's prompt turned out to hold.
UPDATE turn SET manifest = :manifest WHERE turn_id = :turn_id

-- name: keep_upstream
-- Where a turn that runs went.
UPDATE turn SET upstream = :upstream WHERE turn_id = :turn_id AND owner IS NOT NULL

-- name: end_turn
-- A turn ends, from the status that this was decided on; what is not known of it stays.
UPDATE turn SET status = :status, completed_at = :now, owner = NULL, error_reason = :error_reason, error_retryable = :error_retryable,
    rounds = coalesce(:rounds, rounds), usage = coalesce(:usage, usage), manifest = coalesce(:manifest, manifest),
    last_seq = coalesce(:last_seq, last_seq), tool_events = coalesce(:tool_events, tool_events), upstream = coalesce(:upstream, upstream)
WHERE turn_id = :turn_id AND status = :before

-- name: move_turn
-- A turn's place in its thread.
UPDATE turn SET position = :position WHERE turn_id = :turn_id

-- name: remove_turn
-- A turn goes.
DELETE FROM turn WHERE turn_id = :turn_id

-- name: post_complete
-- All work after a turn is done; only the first to say so changes a row.
UPDATE turn SET post_completed = 1, last_seq = last_seq + 1 WHERE turn_id = :turn_id AND post_completed = 0 RETURNING last_seq

-- name: turns_of_owner
-- Turns that a process runs, or left running.
SELECT turn_id, thread_id FROM turn WHERE owner = :owner ORDER BY id

-- name: recently_interrupted
-- Turns whose process died and that no client was told of yet.
SELECT thread_id, turn_id FROM turn WHERE status = 'interrupted' AND post_completed = 0 ORDER BY id

-- name: add_item
-- Something was said or done.
INSERT INTO item (item_id, turn_id, thread_id, position, kind, role, status, text, at, name, tool, digest)
VALUES (:item_id, :turn_id, :thread_id, :position, :kind, :role, :status, :text, :at, :name, :tool, {vouched_new_item})

-- name: get_items
-- Items by id in that order, with what other houses may know of them; a host's tool event is one, `TURN.tool.NUMBER`, behind all others.
SELECT wanted.key, item.item_id, item.turn_id, item.thread_id, thread.workspace_id, item.role, item.name, item.text, item.at, turn.position, item.position,
    item.kind, item.status, iif(turn.memory_mode = 'ignored' OR turn.superseded_by IS NOT NULL, 'ignored', thread.memory_mode), turn.status, thread.name,
    item.digest IS {vouched_item}
FROM json_each(:item_ids) AS wanted CROSS JOIN item ON item.item_id = wanted.value JOIN turn USING (turn_id) JOIN thread ON thread.thread_id = item.thread_id
UNION ALL
SELECT wanted.key, wanted.value, turn.turn_id, turn.thread_id, thread.workspace_id, 'tool', event.value ->> 'name', event.value ->> 'summary',
    turn.completed_at, turn.position, :behind + event.key, 'tool_event', 'completed', iif(turn.memory_mode = 'ignored' OR turn.superseded_by IS NOT NULL, 'ignored', thread.memory_mode), turn.status, thread.name, 1
FROM json_each(:item_ids) AS wanted CROSS JOIN turn ON turn.turn_id = substr(wanted.value, 1, instr(wanted.value, '.tool.') - 1)
JOIN thread USING (thread_id)
CROSS JOIN json_each(turn.tool_events) AS event ON event.key = CAST(substr(wanted.value, instr(wanted.value, '.tool.') + 6) AS INTEGER)
WHERE instr(wanted.value, '.tool.') > 1 AND event.value ->> 'summary' IS NOT NULL
ORDER BY 1

-- name: items_of_turn
-- A turn's items in order.
SELECT {shown_item} FROM item WHERE turn_id = :turn_id AND id > :after ORDER BY position, id LIMIT :limit

-- name: messages_of_turns
-- The messages of some turns that ended as they should, say something and were not altered, each turn's in order.
SELECT turn_id, kind, text FROM json_each(:turn_ids) AS wanted CROSS JOIN item ON item.turn_id = wanted.value
WHERE item.kind IN ('user_message', 'agent_message') AND item.status = 'completed' AND item.text <> '' AND item.digest IS {vouched_item}
ORDER BY wanted.key, item.position, item.id

-- name: find_request_before
-- What the user said last before a turn, in its conversation.
SELECT item.text FROM turn JOIN item ON item.thread_id = turn.thread_id
WHERE turn.turn_id = :turn_id AND item.kind = 'user_message' AND item.turn_id <> :turn_id AND item.digest IS {vouched_item}
    AND item.id < (SELECT min(id) FROM item AS own WHERE own.turn_id = :turn_id)
ORDER BY item.id DESC LIMIT 1

-- name: list_texts_of_others
-- What a conversation's tools read, but for those of memory, and what assistants say in its workspace's imports; newest first.
SELECT text FROM (
    SELECT item.text, item.id AS row FROM turn JOIN item ON item.thread_id = turn.thread_id
    WHERE turn.turn_id = :turn_id AND item.kind = 'tool_result' AND ifnull(item.name, '') NOT LIKE 'memory!_%' ESCAPE '!'
    UNION ALL
    SELECT event.value ->> 'summary', 0 FROM turn AS asked JOIN turn ON turn.thread_id = asked.thread_id CROSS JOIN json_each(turn.tool_events) AS event
    WHERE asked.turn_id = :turn_id AND event.value ->> 'summary' IS NOT NULL
    UNION ALL
    SELECT item.text, item.id FROM turn AS asked JOIN thread AS here ON here.thread_id = asked.thread_id
    JOIN thread ON thread.workspace_id = here.workspace_id JOIN turn ON turn.thread_id = thread.thread_id AND turn.driver = 'import'
    JOIN item ON item.turn_id = turn.turn_id AND item.kind = 'agent_message'
    WHERE asked.turn_id = :turn_id
) ORDER BY row DESC LIMIT :limit

-- name: item_ids_of_turns
-- The items of some turns by id, in order, and the bytes of each one's text; the events of a host's tools that say something behind them.
SELECT turn_id, item_id, size FROM (
    SELECT wanted.key AS turn, item.turn_id, item_id, octet_length(text) AS size, item.position AS place, item.id AS row
    FROM json_each(:turn_ids) AS wanted CROSS JOIN item ON item.turn_id = wanted.value
    UNION ALL
    SELECT wanted.key, turn.turn_id, turn.turn_id || '.tool.' || event.key, octet_length(event.value ->> 'summary'), :behind + event.key, 0
    FROM json_each(:turn_ids) AS wanted CROSS JOIN turn ON turn.turn_id = wanted.value CROSS JOIN json_each(turn.tool_events) AS event
    WHERE event.value ->> 'summary' IS NOT NULL
) ORDER BY turn, place, row

-- name: history_asc
-- A thread's items after a place, oldest first: turn by turn, so that a page costs what it holds.
SELECT {shown_item}, turn.position, item.position, item.id
FROM turn CROSS JOIN item USING (turn_id)
WHERE turn.thread_id = :thread_id AND turn.position >= :turn_position
  AND (turn.position, item.position, item.id) > (:turn_position, :item_position, :row)
  AND (:kinds = '' OR instr(:kinds, ',' || item.kind || ',') > 0)
ORDER BY turn.position, item.position, item.id LIMIT :limit

-- name: history_desc
-- A thread's items before a place, newest first.
SELECT {shown_item}, turn.position, item.position, item.id
FROM turn CROSS JOIN item USING (turn_id)
WHERE turn.thread_id = :thread_id AND turn.position <= :turn_position
  AND (turn.position, item.position, item.id) < (:turn_position, :item_position, :row)
  AND (:kinds = '' OR instr(:kinds, ',' || item.kind || ',') > 0)
ORDER BY turn.position DESC, item.position DESC, item.id DESC LIMIT :limit

-- name: add_artifact
-- A file that a message carried.
INSERT INTO artifact (artifact_id, version_id, item_id, thread_id, name, kind, mime, size_bytes, role, sha256, is_kept, created_at)
VALUES (:artifact_id, :version_id, :item_id, :thread_id, :name, :kind, :mime, :size_bytes, :role, :sha256, :is_kept, :now)

-- name: artifacts_of_item
-- The files of a message in order.
SELECT artifact_id, version_id, name, kind, mime, size_bytes, role, sha256 FROM artifact WHERE item_id = :item_id ORDER BY id

-- name: count_artifacts_of_thread
-- How many file references a thread has.
SELECT count(*) FROM artifact WHERE thread_id = :thread_id

-- name: add_run
-- A run of a hook.
INSERT INTO hook_run (run_id, hook_id, phase, thread_id, turn_id, status, attempt_count, queued_at, started_at, completed_at, duration_ms,
    contribution_hashes, diagnostics, error_code, error_retryable, contract_version)
VALUES (:run_id, :hook_id, :phase, :thread_id, :turn_id, :status, :attempt_count, :queued_at, :started_at, :completed_at, :duration_ms,
    :contribution_hashes, :diagnostics, :error_code, :error_retryable, :contract_version)

-- name: change_run
-- What became of a run; one that has ended stays as it ended.
UPDATE hook_run SET status = :status, attempt_count = :attempt_count, started_at = :started_at, completed_at = :completed_at, duration_ms = :duration_ms,
    contribution_hashes = :contribution_hashes, diagnostics = :diagnostics, error_code = :error_code, error_retryable = :error_retryable
WHERE run_id = :run_id AND completed_at IS NULL

-- name: open_runs
-- The runs of a hook that have not ended.
SELECT run_id, thread_id, turn_id FROM hook_run WHERE hook_id = :hook_id AND completed_at IS NULL ORDER BY id

-- name: get_run
-- A run by id.
SELECT run_id, hook_id, phase, thread_id, turn_id, status, attempt_count, queued_at, started_at, completed_at, duration_ms, contribution_hashes,
    diagnostics, error_code, error_retryable, id FROM hook_run WHERE run_id = :run_id

-- name: contract_of_run
-- By which version of the hook contract a run was queued.
SELECT contract_version FROM hook_run WHERE run_id = :run_id

-- name: runs_of_turn
-- A turn's runs in order.
SELECT run_id, hook_id, phase, thread_id, turn_id, status, attempt_count, queued_at, started_at, completed_at, duration_ms, contribution_hashes,
    diagnostics, error_code, error_retryable, id FROM hook_run WHERE turn_id = :turn_id ORDER BY id

-- name: list_runs
-- Runs before a row, newest first.
SELECT run_id, hook_id, phase, thread_id, turn_id, status, attempt_count, queued_at, started_at, completed_at, duration_ms, contribution_hashes,
    diagnostics, error_code, error_retryable, id FROM hook_run
WHERE id < :before AND (:phase IS NULL OR phase = :phase) AND (:status IS NULL OR status = :status)
ORDER BY id DESC LIMIT :limit

-- name: list_runs_of_turn
-- The same of one turn.
SELECT run_id, hook_id, phase, thread_id, turn_id, status, attempt_count, queued_at, started_at, completed_at, duration_ms, contribution_hashes,
    diagnostics, error_code, error_retryable, id FROM hook_run
WHERE turn_id = :turn_id AND id < :before AND (:thread_id IS NULL OR thread_id = :thread_id)
  AND (:phase IS NULL OR phase = :phase) AND (:status IS NULL OR status = :status)
ORDER BY id DESC LIMIT :limit

-- name: list_runs_of_thread
-- The same of one thread.
SELECT run_id, hook_id, phase, thread_id, turn_id, status, attempt_count, queued_at, started_at, completed_at, duration_ms, contribution_hashes,
    diagnostics, error_code, error_retryable, id FROM hook_run
WHERE thread_id = :thread_id AND id < :before AND (:phase IS NULL OR phase = :phase) AND (:status IS NULL OR status = :status)
ORDER BY id DESC LIMIT :limit

-- name: skip_waiting_runs
-- The work after a turn does not apply any more.
UPDATE hook_run SET status = 'skipped', completed_at = :now, duration_ms = 0, diagnostics = :diagnostics
WHERE turn_id = :turn_id AND status IN ('queued', 'running')

-- name: add_injection
-- A line that went into a prompt.
INSERT INTO injection (workspace_id, thread_id, turn_id, block_id, line_hash, source_kind, source_id)
VALUES (:workspace_id, :thread_id, :turn_id, :block_id, :line_hash, :source_kind, :source_id)

-- name: add_standing_injection
-- A line that goes into the prompt of every turn: once in a thread is enough.
INSERT INTO injection (workspace_id, thread_id, turn_id, block_id, line_hash, source_kind, source_id)
SELECT :workspace_id, :thread_id, :turn_id, :block_id, :line_hash, :source_kind, :source_id
WHERE NOT EXISTS (SELECT 1 FROM injection WHERE line_hash = :line_hash AND thread_id = :thread_id)

-- name: is_injected
-- A line that went into a prompt of the workspace; a memory's line, into any prompt: the user's memories are recalled in all.
SELECT 1 FROM injection WHERE line_hash = :line_hash AND (source_kind = 'memory' OR workspace_id = :workspace_id) LIMIT 1

-- name: get_tool_reply
-- What a tool call of a host-driven turn answered.
SELECT request, result FROM tool_reply WHERE turn_id = :turn_id AND call_id = :call_id

-- name: add_tool_reply
-- Keep the answer of a tool call; the last one of a call that was made again.
INSERT INTO tool_reply (turn_id, call_id, request, result) VALUES (:turn_id, :call_id, :request, :result)
ON CONFLICT (turn_id, call_id) DO UPDATE SET result = excluded.result

-- name: find_artifact
-- A version of a file whose bytes were received, in a workspace or anywhere; the newest without a version.
SELECT artifact.artifact_id, artifact.version_id, artifact.name, artifact.kind, artifact.mime, artifact.size_bytes, artifact.role, artifact.sha256
FROM artifact JOIN thread USING (thread_id)
WHERE artifact.artifact_id = :artifact_id AND artifact.is_kept = 1 AND (:workspace_id IS NULL OR thread.workspace_id = :workspace_id)
  AND (:version_id IS NULL OR artifact.version_id = :version_id)
ORDER BY artifact.id DESC LIMIT 1

-- name: artifact_elsewhere
-- Whether a file is kept, and not in this thread.
SELECT 1 FROM artifact WHERE artifact_id = :artifact_id AND is_kept = 1 AND thread_id <> :thread_id
  AND NOT EXISTS (SELECT 1 FROM artifact own WHERE own.artifact_id = :artifact_id AND own.is_kept = 1 AND own.thread_id = :thread_id) LIMIT 1

-- name: list_artifacts
-- Files of a thread before a row, newest first, each version where it was last referred to.
SELECT artifact_id, version_id, name, kind, mime, size_bytes, role, sha256, id FROM artifact
WHERE thread_id = :thread_id AND id < :before AND NOT EXISTS (
    SELECT 1 FROM artifact later WHERE later.artifact_id = artifact.artifact_id AND later.id > artifact.id
      AND later.thread_id = artifact.thread_id AND later.version_id = artifact.version_id)
ORDER BY id DESC LIMIT :limit

-- name: contents_of_artifact
-- What the versions of a file hold.
SELECT DISTINCT sha256 FROM artifact WHERE artifact_id = :artifact_id AND is_kept = 1

-- name: remove_artifact
-- A file goes, with all that refers to it.
DELETE FROM artifact WHERE artifact_id = :artifact_id

-- name: content_is_needed
-- Whether anything refers to a content.
SELECT 1 FROM artifact WHERE sha256 = :sha256 AND is_kept = 1 LIMIT 1

-- name: needed_contents
-- Every content that something refers to.
SELECT DISTINCT sha256 FROM artifact WHERE is_kept = 1 ORDER BY sha256

-- name: thread_keeps_bytes
-- Whether a thread has a file whose bytes are kept.
SELECT 1 FROM artifact WHERE thread_id = :thread_id AND is_kept = 1 LIMIT 1

-- name: texts_of_turn
-- What the items of a turn say.
SELECT item_id, text, tool FROM item WHERE turn_id = :turn_id ORDER BY position, id

-- name: redact_item
-- An item that does not say any more what was forgotten; one that was altered in the file is vouched for by nobody.
UPDATE item SET text = :text, tool = :tool, digest = iif(digest IS {vouched_item}, {vouched_redacted_item}, digest) WHERE item_id = :item_id

-- name: add_mention
-- A tool's answer in a turn names a memory, or quotes a collection.
INSERT INTO mention (named, turn_id) VALUES (:named, :turn_id) ON CONFLICT DO NOTHING

-- name: turns_naming
-- In which turns tools' answers name some of these memories or collections.
SELECT DISTINCT turn_id FROM mention WHERE named IN (SELECT value FROM json_each(:named)) ORDER BY turn_id

-- name: results_of_turn
-- What tools answered in a turn.
SELECT item_id, text, tool FROM item WHERE turn_id = :turn_id AND kind = 'tool_result' ORDER BY position

-- name: replies_of_turn
-- What tools answered in a host-driven turn.
SELECT call_id, result FROM tool_reply WHERE turn_id = :turn_id

-- name: redact_reply
-- An answer without what was forgotten.
UPDATE tool_reply SET result = :result WHERE turn_id = :turn_id AND call_id = :call_id

-- name: messages_after
-- The next messages of users and assistants.
SELECT id, item_id FROM item WHERE id > :after AND kind IN ('user_message', 'agent_message') ORDER BY id LIMIT :limit

-- name: vouched_items_after
-- The next items, each with whether it is as it was written.
SELECT id, CAST(turn_id AS BLOB), CAST(item_id AS BLOB), digest IS {vouched_item} FROM item WHERE id > :after ORDER BY id LIMIT :limit

-- name: list_lost_owners
-- The turns and conversations, by id, that messages are of and that are not there any more.
SELECT DISTINCT 'turn', turn_id FROM item WHERE NOT EXISTS (SELECT 1 FROM turn WHERE turn.turn_id = item.turn_id)
UNION SELECT 'thread', thread_id FROM (SELECT thread_id FROM turn UNION SELECT thread_id FROM item) AS named
WHERE NOT EXISTS (SELECT 1 FROM thread WHERE thread.thread_id = named.thread_id)
ORDER BY 1, 2

-- name: lost_threads
-- Conversations that turns are of and that are not there, their first and last times, and the workspace that something else names.
SELECT thread_id, min(started_at), max(coalesce(completed_at, started_at)), coalesce(
    (SELECT workspace_id FROM capture WHERE capture.thread_id = turn.thread_id LIMIT 1),
    (SELECT workspace_id FROM injection JOIN turn AS shown USING (turn_id) WHERE shown.thread_id = turn.thread_id LIMIT 1))
FROM turn WHERE NOT EXISTS (SELECT 1 FROM thread WHERE thread.thread_id = turn.thread_id) GROUP BY thread_id

-- name: said_in_items
-- What was said and done, between two rows.
SELECT id, item_id, CAST(text AS BLOB), CAST(name AS BLOB), CAST(tool AS BLOB), item_id FROM item
WHERE id BETWEEN :first AND :last ORDER BY id

-- name: keep_said_item
-- An item that does not say any more what was forgotten.
UPDATE item SET text = :text, name = :name, tool = :tool, digest = iif(digest IS {vouched_item}, {vouched_said_item}, digest) WHERE id = :row

-- name: said_in_turns
-- What turns keep beside their items, between two rows: their plan, what the host's tools did, and where they went.
SELECT id, turn_id, CAST(manifest AS BLOB), CAST(tool_events AS BLOB), turn_id, upstream FROM turn
WHERE id BETWEEN :first AND :last ORDER BY id

-- name: keep_said_turn
-- A turn that does not say any more what was forgotten.
UPDATE turn SET manifest = :manifest, tool_events = :tool_events WHERE id = :row

-- name: said_in_replies
-- What tools answered hosts, between two rows.
SELECT rowid, turn_id || '/' || call_id, CAST(result AS BLOB), call_id FROM tool_reply
WHERE rowid BETWEEN :first AND :last ORDER BY rowid

-- name: keep_said_reply
-- An answer that does not say any more what was forgotten.
UPDATE tool_reply SET result = :result WHERE rowid = :row

-- name: said_in_runs
-- What hooks said of their work, between two rows.
SELECT id, run_id, CAST(diagnostics AS BLOB) FROM hook_run WHERE id BETWEEN :first AND :last ORDER BY id

-- name: keep_said_run
-- A run of a hook that does not say any more what was forgotten.
UPDATE hook_run SET diagnostics = :diagnostics WHERE id = :row

-- name: said_in_threads
-- What threads are called and told, between two rows.
SELECT id, thread_id, CAST(name AS BLOB), CAST(instructions AS BLOB), thread_id, agent_id, task_id, model, provider, cwd FROM thread
WHERE id BETWEEN :first AND :last ORDER BY id

-- name: keep_said_thread
-- A thread that does not say any more what was forgotten.
UPDATE thread SET name = :name, instructions = :instructions WHERE id = :row

-- name: said_in_workspaces
-- What workspaces are called, between two rows.
SELECT id, workspace_id, CAST(name AS BLOB), workspace_id, root_path FROM workspace WHERE id BETWEEN :first AND :last ORDER BY id

-- name: keep_said_workspace
-- A workspace that does not say any more what was forgotten.
UPDATE workspace SET name = :name WHERE id = :row

-- name: said_in_artifacts
-- What files are called, between two rows.
SELECT id, artifact_id, CAST(name AS BLOB), artifact_id, kind, mime FROM artifact WHERE id BETWEEN :first AND :last ORDER BY id

-- name: keep_said_artifact
-- A file whose name does not say any more what was forgotten.
UPDATE artifact SET name = :name WHERE id = :row

-- name: kept_files
-- Every file whose bytes are kept, and the content of each of its versions.
SELECT DISTINCT artifact_id, sha256 FROM artifact WHERE is_kept = 1 AND kind NOT IN ('image', 'audio', 'video')
ORDER BY artifact_id, sha256

-- name: instruction_state
-- Whether a workspace's instruction files are used, and which its last turn had.
SELECT mode, used FROM instruction_state WHERE workspace_id = :workspace_id

-- name: put_instruction_mode
-- A workspace's instruction files are used or not.
INSERT INTO instruction_state (workspace_id, mode) VALUES (:workspace_id, :mode) ON CONFLICT (workspace_id) DO UPDATE SET mode = excluded.mode

-- name: put_instructions_used
-- The instruction files of a workspace's last turns.
INSERT INTO instruction_state (workspace_id, used) VALUES (:workspace_id, :used) ON CONFLICT (workspace_id) DO UPDATE SET used = excluded.used

-- name: add_instruction_version
-- A text that an instruction file has now, unless it is the one of its newest version.
INSERT INTO instruction_version (workspace_id, path, sha256, at, text)
SELECT :workspace_id, :path, :sha256, :at, :text
WHERE :sha256 IS NOT (SELECT sha256 FROM instruction_version WHERE workspace_id = :workspace_id AND path = :path ORDER BY id DESC LIMIT 1)

-- name: drop_instruction_versions
-- All versions of a file but the newest ones.
DELETE FROM instruction_version WHERE workspace_id = :workspace_id AND path = :path AND id NOT IN (
    SELECT id FROM instruction_version WHERE workspace_id = :workspace_id AND path = :path ORDER BY id DESC LIMIT :kept)

-- name: instruction_versions
-- Versions of a file before a row, newest first.
SELECT id, sha256, at, text FROM instruction_version WHERE workspace_id = :workspace_id AND path = :path AND id < :before ORDER BY id DESC LIMIT :limit

-- name: remove_instruction_versions
-- The versions of a workspace's instruction files go.
DELETE FROM instruction_version WHERE workspace_id = :workspace_id

-- name: remove_instruction_state
-- What is known of a workspace's instruction files goes.
DELETE FROM instruction_state WHERE workspace_id = :workspace_id

-- name: said_in_instructions
-- The texts that instruction files had, between two rows.
SELECT id, path, CAST(text AS BLOB), path FROM instruction_version WHERE id BETWEEN :first AND :last ORDER BY id

-- name: keep_said_instruction
-- A version that does not say any more what was forgotten.
UPDATE instruction_version SET text = :text WHERE id = :row

-- name: add_capture
-- A message of a user that came through a program without memory.
INSERT INTO capture (workspace_id, thread_id, turn_id, session, root, user_hash, is_of_subagent, seen_at)
VALUES (:workspace_id, :thread_id, :turn_id, :session, :root, :user_hash, :is_of_subagent, :now)

-- name: captures_of_chain
-- The captured messages of a chain, newest first: by their digest, by that or the name of their answer, or as a session's newest.
SELECT capture.id, capture.thread_id, capture.turn_id, session, root, user_hash, answer_hash, answer_name, turn.status, turn.superseded_by IS NOT NULL,
    NOT EXISTS (SELECT 1 FROM capture AS later WHERE later.thread_id = capture.thread_id AND later.id > capture.id), recall, is_of_subagent
FROM capture LEFT JOIN turn USING (turn_id)
WHERE workspace_id = :workspace_id AND capture.id IN (
    SELECT one.id FROM json_each(:said) AS wanted CROSS JOIN capture AS one ON one.user_hash = unhex(wanted.value)
    UNION SELECT one.id FROM json_each(:said) AS wanted CROSS JOIN capture AS one ON one.answer_hash = unhex(wanted.value)
    UNION SELECT one.id FROM json_each(:answers) AS wanted CROSS JOIN capture AS one ON one.answer_hash = unhex(wanted.value)
    UNION SELECT one.id FROM capture AS one WHERE one.answer_name = :name
    UNION SELECT max(id) FROM capture AS one WHERE one.session = :session AND one.is_of_subagent = 0
) ORDER BY capture.id DESC LIMIT :limit

-- name: captures_with_shown
-- Those captured messages of some threads that are still shown something, newest first.
SELECT id, thread_id, user_hash FROM capture
WHERE workspace_id = :workspace_id AND thread_id IN (SELECT value FROM json_each(:threads))
    AND EXISTS (SELECT 1 FROM shown_line WHERE capture_id = capture.id)
ORDER BY id DESC LIMIT :limit

-- name: get_capture
-- A captured message by its row.
SELECT capture.id, capture.thread_id, capture.turn_id, session, root, user_hash, answer_hash, answer_name, turn.status, turn.superseded_by IS NOT NULL, 0, recall, is_of_subagent
FROM capture LEFT JOIN turn USING (turn_id) WHERE capture.id = :row

-- name: capture_of_turn
-- The captured message of a turn.
SELECT id FROM capture WHERE turn_id = :turn_id ORDER BY id DESC LIMIT 1

-- name: renew_capture
-- A captured message came again.
UPDATE capture SET seen_at = max(seen_at, :now) WHERE id = :row

-- name: keep_capture_recall
-- How the recall of a captured message ended.
UPDATE capture SET recall = :recall WHERE id = :row

-- name: hide_capture
-- A captured message went out without the lines that were prepared for it.
UPDATE capture SET is_shown = 0, recall = :recall WHERE id = :row

-- name: answer_capture
-- The digest of a conversation with the answer, and of the answer's name.
UPDATE capture SET answer_hash = :answer_hash, answer_name = :answer_name, seen_at = max(seen_at, :now) WHERE id = :row

-- name: first_shown_capture
-- The first message of a thread that went out with what it was given.
SELECT id FROM capture WHERE thread_id = :thread_id AND is_shown = 1 ORDER BY id LIMIT 1

-- name: idle_captures
-- Captured turns that wait for their answer since a time.
SELECT turn.turn_id FROM turn CROSS JOIN capture ON capture.turn_id = turn.turn_id
WHERE turn.owner IS NOT NULL AND turn.status = 'awaiting_host' AND seen_at < :before ORDER BY capture.id LIMIT :limit

-- name: texts_of_recent_captures
-- What was said in the captured turns that have ended since a time, the newest of them.
SELECT recent.turn_id, item.text FROM (
    SELECT capture.id, turn_id FROM capture JOIN turn USING (turn_id)
    WHERE workspace_id = :workspace_id AND turn.status = 'completed' AND seen_at >= :since ORDER BY capture.id DESC LIMIT :limit
) AS recent CROSS JOIN item ON item.turn_id = recent.turn_id WHERE item.text <> ''

-- name: remove_captures
-- The captured messages of a thread go.
DELETE FROM capture WHERE thread_id = :thread_id

-- name: remove_captures_of_workspace
-- The captured messages of a workspace go.
DELETE FROM capture WHERE workspace_id = :workspace_id

-- name: prune_captures
-- Captured messages of which nothing is kept go, once they are old.
DELETE FROM capture WHERE turn_id IS NULL AND seen_at < :before

-- name: add_shown_line
-- A piece of what a captured message is given.
INSERT INTO shown_line (capture_id, block, source_kind, source_id, source_turn, mark, text)
VALUES (:capture_id, :block, :source_kind, :source_id, :source_turn, :mark, :text)

-- name: shown_lines
-- What captured messages are given, in order.
SELECT capture_id, shown_line.id, block, source_kind, source_id, mark, text FROM json_each(:captures) AS wanted CROSS JOIN shown_line ON capture_id = wanted.value
ORDER BY shown_line.id

-- name: shown_sources_of_thread
-- What captured messages of a thread were given, by the ids of its sources.
SELECT DISTINCT source_id FROM capture JOIN shown_line ON capture_id = capture.id WHERE thread_id = :thread_id AND source_id IS NOT NULL

-- name: remove_shown_lines
-- Some pieces of what was shown go.
DELETE FROM shown_line WHERE id IN (SELECT value FROM json_each(:rows))

-- name: remove_shown_of_capture
-- What a captured message was given goes.
DELETE FROM shown_line WHERE capture_id = :row

-- name: move_recall
-- The pieces of a captured message move to the one that asks the same again; its brief stays.
UPDATE shown_line SET capture_id = :to WHERE capture_id = :row AND block <> 'brief'

-- name: copy_brief
-- The brief of a captured message is copied to one of a conversation that leaves its own.
INSERT INTO shown_line (capture_id, block, source_kind, source_id, source_turn, mark, text)
SELECT :to, block, source_kind, source_id, source_turn, mark, text FROM shown_line WHERE capture_id = :row AND block = 'brief' ORDER BY id

-- name: captures_of_thread
-- A thread's captured messages in order.
SELECT capture.id, capture.thread_id, capture.turn_id, session, root, user_hash, answer_hash, answer_name, turn.status, turn.superseded_by IS NOT NULL, 0, recall, is_of_subagent
FROM capture LEFT JOIN turn USING (turn_id) WHERE capture.thread_id = :thread_id ORDER BY capture.id

-- name: newest_of_session
-- The newest captured message of a client's session.
SELECT max(id) FROM capture WHERE workspace_id = :workspace_id AND session = :session AND is_of_subagent = 0

-- name: newest_of_hash
-- The newest captured message with a digest that a client passed on, in a conversation of an agent.
SELECT max(capture.id) FROM capture JOIN turn USING (turn_id) JOIN thread ON thread.thread_id = capture.thread_id
WHERE capture.workspace_id = :workspace_id AND user_hash = :user_hash AND is_of_subagent = 0
    AND json_extract(turn.caller, '$[1]') = :client AND thread.agent_id IS :agent_id

-- name: remove_shown_source
-- What was shown of a source goes.
DELETE FROM shown_line WHERE source_id = :source_id

-- name: remove_shown_of_thread
-- What was shown of a thread goes, wherever it was.
DELETE FROM shown_line WHERE source_turn IN (SELECT turn_id FROM turn WHERE thread_id = :thread_id)

-- name: remove_injections
-- The lines of a prompt go that was not shown to a model after all.
DELETE FROM injection WHERE turn_id = :turn_id

-- name: supersede_turn
-- A turn whose question was asked again names the turn that did.
UPDATE turn SET superseded_by = :by WHERE turn_id = :turn_id

-- name: said_in_shown_lines
-- What captured messages were given, between two rows.
SELECT id, capture_id || '', CAST(text AS BLOB), source_id FROM shown_line WHERE id BETWEEN :first AND :last ORDER BY id

-- name: keep_said_shown_line
-- A piece that does not say any more what was forgotten.
UPDATE shown_line SET text = :text WHERE id = :row
