-- name: get_home
-- A fact of the home by name.
SELECT value FROM home WHERE name = :name

-- name: put_home
-- Keep a fact of the home.
INSERT INTO home (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: remove_home
-- A fact of the home does not hold any more.
DELETE FROM home WHERE name = :name

-- name: add_owner
-- A process begins its life here.
INSERT INTO owner (owner, started_at) VALUES (:owner, :started_at) ON CONFLICT DO NOTHING

-- name: list_owners
-- The owners of the home, dead or alive.
SELECT owner FROM owner ORDER BY started_at, owner

-- name: remove_owner
-- A process has ended.
DELETE FROM owner WHERE owner = :owner

-- name: add_job
-- Queue work, for now or for later, unless the same is waiting already.
INSERT INTO job (job_id, kind, subject, thread_id, turn_id, maker, state, next_run_at, created_at)
VALUES (:job_id, :kind, :subject, :thread_id, :turn_id, :maker, CASE WHEN :due > :now THEN 'retry_wait' ELSE 'queued' END, :due, :now)
ON CONFLICT (kind, subject) WHERE state IN ('queued', 'retry_wait') DO NOTHING

-- name: claim_jobs
-- Lease the oldest due jobs of a kind: a process does its own work, so that its client hears of it, and that of the dead.
UPDATE job SET state = 'leased', owner = :owner, leased_at = :real_now, attempt_count = attempt_count + 1
WHERE id IN (
    SELECT id FROM (
        SELECT id FROM job
        WHERE kind = :kind AND state = 'retry_wait' AND next_run_at <= :now AND death_count = 0
          AND (maker = :owner OR NOT EXISTS (SELECT 1 FROM owner WHERE owner.owner = job.maker))
          AND NOT EXISTS (SELECT 1 FROM job AS held WHERE held.kind = job.kind AND held.subject = job.subject AND held.state = 'leased')
        ORDER BY next_run_at LIMIT :limit
    )
    UNION ALL
    SELECT id FROM (
        SELECT id FROM job
        WHERE kind = :kind AND state = 'queued' AND death_count = 0
          AND (maker = :owner OR NOT EXISTS (SELECT 1 FROM owner WHERE owner.owner = job.maker))
          AND NOT EXISTS (SELECT 1 FROM job AS held WHERE held.kind = job.kind AND held.subject = job.subject AND held.state = 'leased')
        ORDER BY id LIMIT :limit
    )
    LIMIT :limit
)
RETURNING job_id, kind, subject, thread_id, turn_id, state, attempt_count, next_run_at, created_at, last_error, death_count

-- name: claim_suspect
-- Lease the due job of a kind that the fewest processes died of, of those that one died of.
UPDATE job SET state = 'leased', owner = :owner, leased_at = :real_now, attempt_count = attempt_count + 1
WHERE id = (
    SELECT id FROM job
    WHERE kind = :kind AND death_count > 0 AND state IN ('queued', 'retry_wait') AND (state = 'queued' OR next_run_at <= :now)
      AND (maker = :owner OR NOT EXISTS (SELECT 1 FROM owner WHERE owner.owner = job.maker))
      AND NOT EXISTS (SELECT 1 FROM job AS held WHERE held.kind = job.kind AND held.subject = job.subject AND held.state = 'leased')
    ORDER BY death_count, id LIMIT 1
)
RETURNING job_id, kind, subject, thread_id, turn_id, state, attempt_count, next_run_at, created_at, last_error, death_count

-- name: move_job
-- One step of a leased job, made only under the lease it was decided on; not back to waiting when the same waits already.
UPDATE job SET state = :state, owner = NULL, leased_at = NULL, next_run_at = :next_run_at, last_error = :last_error,
    attempt_count = :attempt_count
WHERE job_id = :job_id AND state = 'leased' AND owner = :owner AND attempt_count = :leased_attempt
  AND (:state NOT IN ('queued', 'retry_wait')
    OR NOT EXISTS (SELECT 1 FROM job AS twin WHERE twin.kind = job.kind AND twin.subject = job.subject AND twin.state IN ('queued', 'retry_wait')))

-- name: drop_leased_twin
-- A leased job that cannot wait again because its subject was queued meanwhile: the waiting one does the work.
UPDATE job SET state = 'cancelled', owner = NULL, leased_at = NULL, last_error = :last_error
WHERE job_id = :job_id AND state = 'leased' AND owner = :owner AND attempt_count = :leased_attempt

-- name: free_jobs_of
-- Work leased by a process that ends in order is runnable at once; its attempt does not count.
UPDATE job SET state = 'queued', owner = NULL, leased_at = NULL, attempt_count = max(0, attempt_count - 1)
WHERE owner = :owner AND state = 'leased'
  AND NOT EXISTS (SELECT 1 FROM job AS twin WHERE twin.kind = job.kind AND twin.subject = job.subject AND twin.state IN ('queued', 'retry_wait'))

-- name: free_jobs_of_dead
-- Work leased by a process that died is runnable at once, or dead when as many processes died of it as may; no attempt counts.
UPDATE job SET owner = NULL, leased_at = NULL, attempt_count = max(0, attempt_count - 1),
    death_count = death_count + (json_extract(:most, '$.' || kind) IS NOT NULL),
    state = iif(death_count + 1 >= json_extract(:most, '$.' || kind), 'dead', 'queued'),
    last_error = iif(death_count + 1 >= json_extract(:most, '$.' || kind), 'process_died', last_error)
WHERE owner = :owner AND state = 'leased'
  AND NOT EXISTS (SELECT 1 FROM job AS twin WHERE twin.kind = job.kind AND twin.subject = job.subject AND twin.state IN ('queued', 'retry_wait'))

-- name: drop_leased_twins_of
-- A dead process's lease whose subject was queued again meanwhile: the waiting one does the work.
UPDATE job SET state = 'cancelled', owner = NULL, leased_at = NULL WHERE owner = :owner AND state = 'leased'

-- name: hurry_jobs
-- What waits for a retry is due.
UPDATE job SET next_run_at = :now WHERE kind = :kind AND state = 'retry_wait' AND next_run_at > :now

-- name: free_stuck_jobs
-- Work that a living but stuck process holds for too long.
UPDATE job SET state = 'queued', owner = NULL, leased_at = NULL
WHERE state = 'leased' AND leased_at < :before
  AND NOT EXISTS (SELECT 1 FROM job AS twin WHERE twin.kind = job.kind AND twin.subject = job.subject AND twin.state IN ('queued', 'retry_wait'))

-- name: drop_stuck_twins
-- A stuck lease whose subject was queued again meanwhile, as `free_stuck_jobs` leaves it: the waiting one does the work.
UPDATE job SET state = 'cancelled', owner = NULL, leased_at = NULL WHERE state = 'leased' AND leased_at < :before

-- name: cancel_jobs_of_thread
-- A deleted thread's work is not done.
UPDATE job SET state = 'cancelled', owner = NULL, leased_at = NULL
WHERE kind = :kind AND thread_id = :thread_id AND state IN ('queued', 'leased', 'retry_wait')

-- name: cancel_jobs_of_subject
-- A vanished subject's work is not done.
UPDATE job SET state = 'cancelled', owner = NULL, leased_at = NULL
WHERE kind = :kind AND subject = :subject AND state IN ('queued', 'leased', 'retry_wait')

-- name: remove_jobs_of_subject
-- No job names a subject that left no trace; every state, as the index begins with it.
DELETE FROM job WHERE state IN ('queued', 'leased', 'retry_wait', 'dead', 'cancelled', 'done') AND kind = :kind AND subject = :subject

-- name: requeue_job
-- A dead job gets its attempts again, unless the same waits already.
UPDATE job SET state = 'queued', attempt_count = 0, death_count = 0, next_run_at = :now
WHERE job_id = :job_id AND kind = :kind AND state = 'dead'
  AND NOT EXISTS (SELECT 1 FROM job AS twin WHERE twin.kind = job.kind AND twin.subject = job.subject AND twin.state IN ('queued', 'retry_wait'))

-- name: requeue_dead_jobs
-- Every dead job of a kind gets its attempts again, the newest of each subject.
UPDATE job SET state = 'queued', attempt_count = 0, death_count = 0, next_run_at = :now
WHERE kind = :kind AND state = 'dead' AND id IN (SELECT max(id) FROM job WHERE kind = :kind AND state = 'dead' GROUP BY subject)
  AND NOT EXISTS (SELECT 1 FROM job AS twin WHERE twin.kind = job.kind AND twin.subject = job.subject AND twin.state IN ('queued', 'retry_wait'))

-- name: list_jobs
-- Jobs of a kind in some states, newest first.
SELECT job_id, kind, subject, thread_id, turn_id, state, attempt_count, next_run_at, created_at, last_error, death_count FROM job
WHERE kind = :kind AND (:states = '' OR instr(:states, ',' || state || ',') > 0) AND (:before IS NULL OR job_id < :before)
ORDER BY job_id DESC LIMIT :limit

-- name: count_jobs
-- Jobs of a kind by state.
SELECT state, count(*) FROM job WHERE kind = :kind GROUP BY state

-- name: count_jobs_of_thread
-- Jobs of a kind of a thread by state.
SELECT state, count(*) FROM job WHERE thread_id = :thread_id AND kind = :kind GROUP BY state

-- name: count_all_jobs
-- Jobs by kind and state.
SELECT kind, state, count(*) FROM job GROUP BY kind, state

-- name: runnable_kinds
-- Those of some kinds that have a job which waits for a worker, or a retry which is due.
SELECT value FROM json_each(:kinds) WHERE EXISTS (SELECT 1 FROM job WHERE kind = value AND state = 'queued')
  OR EXISTS (SELECT 1 FROM job WHERE kind = value AND state = 'retry_wait' AND next_run_at <= :now)

-- name: leased_kinds
-- Those of some kinds that have a job which is being worked on, here or elsewhere.
SELECT value FROM json_each(:kinds) WHERE EXISTS (SELECT 1 FROM job WHERE kind = value AND state = 'leased')

-- name: count_active_jobs
-- Unfinished jobs by kind and state, without looking at the finished.
SELECT kind, state, count(*) FROM job WHERE state IN ('queued', 'retry_wait', 'leased') GROUP BY kind, state

-- name: leased_jobs
-- Who holds work, and since when.
SELECT kind, owner, leased_at FROM job WHERE state = 'leased'

-- name: next_retry
-- When each kind's earliest retry is due, and how many wait.
SELECT kind, count(*), min(next_run_at) FROM job WHERE state = 'retry_wait' GROUP BY kind

-- name: oldest_waiting
-- When the oldest unfinished job of a kind was made.
SELECT min(created_at) FROM job WHERE kind = :kind AND state IN ('queued', 'leased', 'retry_wait') AND (:thread_id IS NULL OR thread_id = :thread_id)

-- name: forget_finished_jobs
-- Finished work is kept for a while, then only counted by what it left.
DELETE FROM job WHERE state IN ('done', 'cancelled') AND created_at < :before

-- name: list_spaces
-- Every set of vectors, in the order in which they came to their state.
SELECT id, model, dim, digest, state FROM space ORDER BY changed_at, id

-- name: add_space
-- A new set of vectors.
INSERT INTO space (model, dim, digest, state, changed_at) VALUES (:model, :dim, :digest, :state, :now)

-- name: move_space
-- A set of vectors is searched, is being filled, or is kept for going back.
UPDATE space SET state = :state, changed_at = :now WHERE id = :id

-- name: drop_space
-- A set of vectors that nothing is left of.
DELETE FROM space WHERE id = :id

-- name: subjects_without_job
-- Subjects that no unfinished or dead job of a kind is about.
SELECT value FROM json_each(:subjects) WHERE value NOT IN (SELECT subject FROM job WHERE state = 'dead' AND kind = :kind)
  AND NOT EXISTS (SELECT 1 FROM job WHERE kind = :kind AND subject = value AND state IN ('queued', 'retry_wait'))
  AND NOT EXISTS (SELECT 1 FROM job WHERE kind = :kind AND subject = value AND state = 'leased')

-- name: list_shapes
-- Everything of the schema by name, and how it is made.
SELECT name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL

-- name: list_trees
-- Everything of the schema that has pages: its first one, its kind and its table.
SELECT rootpage, name, type, tbl_name FROM sqlite_schema WHERE rootpage > 0 ORDER BY rootpage

-- name: take_out_tables
-- Tables are no part of the schema any more, nor is what belongs to them; their pages stay as they are.
DELETE FROM sqlite_schema WHERE instr(:names, ',' || tbl_name || ',') > 0

-- name: take_out_indexes
-- Indexes are no part of the schema any more; their pages stay as they are.
DELETE FROM sqlite_schema WHERE type = 'index' AND instr(:names, ',' || name || ',') > 0

-- name: table_of_index
-- The table that an index is of.
SELECT tbl_name FROM sqlite_schema WHERE type = 'index' AND name = :name

-- name: exchange_index
-- An index has the pages of another one.
UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = :made) WHERE name = :name

-- name: is_without_rowid
-- Whether the rows of a table have no numbers.
SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = :name

-- name: list_numbered_children
-- Tables that name another one's rows by number and go with them, or let go of them: column, table, its column, what follows.
SELECT child.name, part."from", part."table", part."to", part.on_delete FROM sqlite_schema AS child, pragma_foreign_key_list(child.name) AS part
WHERE child.type = 'table' AND part."to" = 'id' AND part.on_delete IN ('CASCADE', 'SET NULL')

-- name: raise_sequence
-- The next number of a table is far from those that it had.
INSERT INTO sqlite_sequence (name, seq)
SELECT :name, coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = :name), 0) + :step

-- name: planned_pass
-- When a pass runs next.
SELECT next_run_at FROM pass_state WHERE name = :name

-- name: plan_pass
-- Plan the next run of a pass.
INSERT INTO pass_state (name, next_run_at) VALUES (:name, :at) ON CONFLICT (name) DO UPDATE SET next_run_at = excluded.next_run_at

-- name: add_run
-- Queue a run.
INSERT INTO pass_run (run_id, name, trigger, is_dry, state, workspace_id, queued_at, stages)
VALUES (:run_id, :name, :trigger, :is_dry, 'queued', :workspace_id, :now, :stages)

-- name: put_run
-- How far a run is.
UPDATE pass_run SET state = :state, reason = :reason, started_at = :started_at, ended_at = :ended_at, stages = :stages, stage = :stage,
    place = :place, changes = :changes, reversible_until = :reversible_until
WHERE run_id = :run_id

-- name: get_run
-- A run by its id.
SELECT run_id, name, trigger, is_dry, state, reason, workspace_id, started_at, ended_at, stages, stage, place, changes, reversible_until
FROM pass_run WHERE run_id = :run_id

-- name: unfinished_run
-- The oldest run, of a pass or of any, that has not ended.
SELECT run_id, name, trigger, is_dry, state, reason, workspace_id, started_at, ended_at, stages, stage, place, changes, reversible_until
FROM pass_run WHERE state IN ('queued', 'running') AND (:name IS NULL OR name = :name) ORDER BY id LIMIT 1

-- name: last_run
-- The newest run of a pass that has ended and was not dry.
SELECT run_id, name, trigger, is_dry, state, reason, workspace_id, started_at, ended_at, stages, stage, place, changes, reversible_until
FROM pass_run WHERE name = :name AND NOT is_dry AND ended_at IS NOT NULL ORDER BY id DESC LIMIT 1

-- name: list_runs
-- Runs, newest first.
SELECT id, run_id, name, trigger, is_dry, state, reason, workspace_id, started_at, ended_at, stages, stage, place, changes, reversible_until
FROM pass_run WHERE id < :before AND (:name IS NULL OR name = :name) AND (:states IS NULL OR instr(:states, ',' || state || ',') > 0)
ORDER BY id DESC LIMIT :limit

-- name: add_change
-- Log what a run changed.
INSERT INTO pass_change (run_id, subject, what, before, after) VALUES (:run_id, :subject, :what, :before, :after)

-- name: changes_of_run_after
-- What a run changed, in order.
SELECT id, subject, what, before, after FROM pass_change WHERE run_id = :run_id AND id > :place ORDER BY id LIMIT :limit

-- name: changes_to_undo
-- The last changes of a run that no undoing has looked at.
SELECT id, subject, what, before, after FROM pass_change WHERE run_id = :run_id AND NOT is_seen ORDER BY id DESC LIMIT :limit

-- name: mark_change
-- An undoing has looked at a change.
UPDATE pass_change SET is_seen = 1 WHERE id = :id

-- name: old_runs
-- Runs that ended before a time.
SELECT id FROM pass_run WHERE ended_at < :before ORDER BY ended_at LIMIT :limit

-- name: forget_runs
-- Drop some runs; their changes go with them.
DELETE FROM pass_run WHERE id IN (SELECT value FROM json_each(:rows))
