-- Statements of the graph.

-- name: add_entity
-- Add an entity, or give the one of that path or name its present name and subject.
INSERT INTO entity (entity_id, house, place, kind, name, folded, path, subject)
VALUES (:entity_id, :house, :place, :kind, :name, :folded, :path, :subject)
ON CONFLICT (house, place, path) WHERE path IS NOT NULL
    DO UPDATE SET kind = excluded.kind, name = excluded.name, folded = excluded.folded, subject = excluded.subject
ON CONFLICT (house, place, kind, folded) WHERE path IS NULL AND subject IS NULL DO UPDATE SET name = excluded.name
RETURNING id, entity_id, house, place, kind, name, path, subject

-- name: renew_entity
-- Give the entity without a path that stands for a thing of a house its present place and name.
UPDATE entity SET place = :place, name = :name, folded = :folded
WHERE house = :house AND subject = :subject AND kind = :kind AND path IS NULL
RETURNING id, entity_id, house, place, kind, name, path, subject

-- name: entities_named
-- The entities of a house and place that have a name, or go by it as well.
SELECT id, entity_id, house, place, kind, name, path, subject FROM entity
WHERE house = :house AND place = :place AND folded = :folded
UNION SELECT entity.id, entity_id, house, place, kind, entity.name, path, subject FROM alias
JOIN entity ON entity.id = alias.entity WHERE alias.folded = :folded AND house = :house AND place = :place
ORDER BY 1

-- name: drop_aliases
-- Drop the other names of an entity.
DELETE FROM alias WHERE entity = :entity

-- name: add_alias
-- Add another name of an entity.
INSERT INTO alias (entity, folded, name) VALUES (:entity, :folded, :name) ON CONFLICT DO NOTHING

-- name: drop_entities
-- Drop the entities that stand for a thing of a house, with the edges that begin at them; links to them lead nowhere then.
DELETE FROM entity WHERE house = :house AND subject = :subject

-- name: edges_of_subject
-- The numbers of the edges that a thing of a house states, of one origin.
SELECT id FROM edge WHERE house = :house AND subject = :subject AND origin = :origin

-- name: add_edge
-- Add an edge.
INSERT INTO edge (house, subject, from_entity, to_entity, target, target_folded, kind, strength, origin, address, created_at, confirmed_at)
VALUES (:house, :subject, :from_row, :to_row, :target, :target_folded, :kind, :strength, :origin, :address, :now, :now)

-- name: drop_edge
-- Drop an edge.
DELETE FROM edge WHERE id = :id

-- name: drop_edges
-- Drop every edge that a thing of a house states.
DELETE FROM edge WHERE house = :house AND subject = :subject

-- name: stated_edges
-- The edges that a thing of a house states, the strongest first, with the names of their ends.
SELECT a.name, edge.kind, ifnull(b.name, edge.target), edge.strength, edge.origin
FROM edge JOIN entity AS a ON a.id = edge.from_entity LEFT JOIN entity AS b ON b.id = edge.to_entity
WHERE edge.house = :house AND edge.subject = :subject AND ifnull(b.name, edge.target) IS NOT NULL
ORDER BY edge.strength DESC, edge.id LIMIT :limit

-- name: linked_subjects
-- The things of a house that edges join to one of it: whose they are, their kind, origin and direction.
SELECT other.subject, edge.kind, edge.origin, 'out' FROM entity AS own
JOIN edge ON edge.from_entity = own.id JOIN entity AS other ON other.id = edge.to_entity
WHERE own.house = :house AND own.subject = :subject AND other.house = :house AND other.subject <> :subject
UNION SELECT other.subject, edge.kind, edge.origin, 'in' FROM entity AS own
JOIN edge ON edge.to_entity = own.id JOIN entity AS other ON other.id = edge.from_entity
WHERE own.house = :house AND own.subject = :subject AND other.house = :house AND other.subject <> :subject
LIMIT :limit

-- name: unconfirmed_edges
-- Inferred edges that were confirmed last before a time.
SELECT id FROM edge WHERE origin = 'inferred' AND confirmed_at < :before LIMIT :limit

-- name: drop_listed_edges
-- Drop some edges.
DELETE FROM edge WHERE id IN (SELECT value FROM json_each(:rows))

-- name: end_of_edges
-- Where a look at so many edges ends.
SELECT max(id) FROM (SELECT id FROM edge WHERE id > :after ORDER BY id LIMIT :limit)

-- name: find_lone_edges
-- Edges whose beginning is gone, or whose end is and was never written down.
SELECT id FROM edge WHERE id > :after AND id <= :until
    AND (NOT EXISTS (SELECT 1 FROM entity WHERE entity.id = from_entity)
        OR (target IS NULL AND NOT EXISTS (SELECT 1 FROM entity WHERE entity.id = to_entity)))

-- name: end_of_entities
-- Where a look at so many entities ends.
SELECT max(id) FROM (SELECT id FROM entity WHERE id > :after ORDER BY id LIMIT :limit)

-- name: find_lone_entities
-- Entities that stand for nothing and that no edge names.
SELECT id FROM entity AS one WHERE id > :after AND id <= :until AND path IS NULL AND subject IS NULL
    AND NOT EXISTS (SELECT 1 FROM edge WHERE from_entity = one.id)
    AND NOT EXISTS (SELECT 1 FROM edge WHERE to_entity = one.id)

-- name: drop_listed_entities
-- Drop some entities.
DELETE FROM entity WHERE id IN (SELECT value FROM json_each(:rows))

-- name: end_of_aliases
-- Where a look at so many names ends.
SELECT max(entity) FROM (SELECT entity FROM alias WHERE entity > :after ORDER BY entity LIMIT :limit)

-- name: find_lone_aliases
-- Entities that are gone and still have other names.
SELECT DISTINCT entity FROM alias WHERE entity > :after AND entity <= :until
    AND NOT EXISTS (SELECT 1 FROM entity WHERE entity.id = alias.entity)

-- name: drop_listed_aliases
-- Drop every name of some entities.
DELETE FROM alias WHERE entity IN (SELECT value FROM json_each(:rows))

-- name: tally_entities
-- How many entities there are.
SELECT 'entities', count(*) FROM entity WHERE id > :after AND id <= :until

-- name: tally_edges
-- How many edges there are of each origin.
SELECT 'edges_' || origin, count(*) FROM edge WHERE id > :after AND id <= :until GROUP BY origin

-- name: cached_vectors
-- The vectors of the space of those of some texts that left an index.
SELECT wanted.key, c.vector FROM json_each(:texts) AS wanted CROSS JOIN embedding_cache AS c
ON c.text_hash = unhex(wanted.value) AND c.space_id = :space

-- name: cache_vector
-- A text left an index, and its vector is kept for its return.
INSERT INTO embedding_cache (space_id, text_hash, vector, house, place, used_at) VALUES (:space, :text_hash, :vector, :house, :place, :now)
ON CONFLICT (text_hash, space_id) DO UPDATE SET house = excluded.house, place = excluded.place, used_at = excluded.used_at

-- name: take_cached
-- A text is in an index again, with its vector.
DELETE FROM embedding_cache WHERE text_hash = :text_hash AND space_id = :space

-- name: drop_cached_of_place
-- Drop the cached vectors that a part of a house left.
DELETE FROM embedding_cache WHERE house = :house AND place = :place

-- name: drop_cached_of_space
-- Drop the cached vectors of a space.
DELETE FROM embedding_cache WHERE space_id = :space

-- name: old_cached
-- Vectors that no text asked for since a time.
SELECT space_id, hex(text_hash) FROM embedding_cache WHERE used_at < :before LIMIT :limit

-- name: drop_listed_cached
-- Some cached vectors go.
DELETE FROM embedding_cache WHERE (text_hash, space_id) IN (SELECT unhex(value ->> 1), value ->> 0 FROM json_each(:rows))

-- name: entity_at_path
-- The entity of a path.
SELECT id, entity_id, house, place, kind, name, path, subject FROM entity WHERE house = :house AND place = :place AND path = :path

-- name: entity_by_id
-- An entity by its id.
SELECT id, entity_id, house, place, kind, name, path, subject FROM entity WHERE entity_id = :entity_id

-- name: entity_of_subject
-- The page or code that stands for a thing of a house.
SELECT id, entity_id, house, place, kind, name, path, subject FROM entity WHERE house = :house AND subject = :subject AND kind IN ('page', 'code')

-- name: entities_called
-- Pages and code of a name.
SELECT id, entity_id, house, place, kind, name, path, subject FROM entity
WHERE folded = :folded AND house = :house AND place = :place AND kind IN ('page', 'code') ORDER BY id LIMIT 20

-- name: entities_aliased
-- What goes by a name as well.
SELECT entity.id, entity_id, house, place, kind, entity.name, path, subject FROM alias JOIN entity ON entity.id = alias.entity
WHERE alias.folded = :folded AND house = :house AND place = :place ORDER BY entity.id LIMIT 20

-- name: aliases_of
-- The other names of some entities.
SELECT entity, name FROM alias WHERE entity IN (SELECT value FROM json_each(:entities)) ORDER BY entity, folded

-- name: entities_of_subjects
-- The pages and code that stand for some things of a house.
SELECT id, entity_id, house, place, kind, name, path, subject FROM entity
WHERE house = :house AND subject IN (SELECT value FROM json_each(:subjects)) AND kind IN ('page', 'code')

-- name: stating_subjects
-- Those of some things of a house that state an edge.
SELECT DISTINCT subject FROM edge WHERE house = :house AND subject IN (SELECT value FROM json_each(:subjects))

-- name: keys_of_links
-- Those of some names by which a link is found again.
SELECT DISTINCT target_folded FROM edge WHERE target_folded IN (SELECT value FROM json_each(:names))

-- name: move_entity
-- Give an entity another path.
UPDATE entity SET path = :path WHERE id = :row

-- name: rename_entity
-- Give an entity another name.
UPDATE entity SET name = :name, folded = :folded WHERE id = :row

-- name: drop_entity
-- Drop an entity.
DELETE FROM entity WHERE id = :id

-- name: drop_place
-- Drop the entities of a place, with the edges that begin at them.
DELETE FROM entity WHERE house = :house AND place = :place

-- name: count_edges_of_place
-- How many edges begin in a place.
SELECT count(*) FROM edge JOIN entity ON entity.id = edge.from_entity WHERE entity.house = :house AND entity.place = :place

-- name: drop_edges_of_kinds
-- Drop the edges of some kinds that a thing of a house states.
DELETE FROM edge WHERE house = :house AND subject = :subject AND kind IN (SELECT value FROM json_each(:kinds))

-- name: links_by_key
-- The links of a place that are found again by a name.
SELECT edge.id, edge.subject, from_entity, to_entity, edge.kind, target, address FROM edge JOIN entity ON entity.id = edge.from_entity
WHERE target_folded = :folded AND edge.house = :house AND entity.place = :place AND address IS NOT NULL

-- name: links_of_subject
-- The links that a thing of a house states.
SELECT id, subject, from_entity, to_entity, kind, target, address FROM edge
WHERE house = :house AND subject = :subject AND target IS NOT NULL AND address IS NOT NULL

-- name: lead_to
-- Let a link lead to an entity, or nowhere.
UPDATE edge SET to_entity = :to_row WHERE id = :id

-- name: edges_around
-- The edges at some entities, in the order in which they were made; links of one kind between the same two are one.
SELECT min(edge.id) AS first, a.place, edge.subject, a.entity_id, b.entity_id, edge.target, edge.kind,
    coalesce(round(min(1.0, sum(edge.strength) - (count(*) - 1) * ((:single ->> edge.kind) - :repeated)), 4), avg(edge.strength)) AS joined,
    edge.origin, edge.address, edge.created_at
FROM edge JOIN entity AS a ON a.id = edge.from_entity LEFT JOIN entity AS b ON b.id = edge.to_entity
WHERE edge.id IN (
        SELECT id FROM edge WHERE :out AND from_entity IN (SELECT value FROM json_each(:entities))
        UNION SELECT id FROM edge WHERE :in AND to_entity IN (SELECT value FROM json_each(:entities)))
    AND (:kinds = '' OR edge.kind IN (SELECT value FROM json_each(:kinds)))
GROUP BY edge.from_entity, coalesce(edge.to_entity, -edge.id), edge.kind, edge.origin
HAVING first > :after AND joined >= :min_strength ORDER BY first LIMIT :limit

-- name: neighbours
-- The strongest ends of edges at an entity, in either direction; links of one kind to the same end are one.
SELECT direction, kind, joined, subject, place, path, target FROM (
    SELECT iif(e.from_entity = :entity, 'out', 'in') AS direction, e.kind, n.subject, n.place, n.path,
        iif(e.from_entity = :entity, e.target, NULL) AS target, min(e.id) AS first,
        coalesce(round(min(1.0, sum(e.strength) - (count(*) - 1) * ((:single ->> e.kind) - :repeated)), 4), avg(e.strength)) AS joined
    FROM (SELECT id, to_entity AS other FROM edge WHERE from_entity = :entity AND to_entity <> :entity
        UNION ALL SELECT id, from_entity FROM edge WHERE to_entity = :entity AND from_entity <> :entity) AS ends
    CROSS JOIN edge AS e ON e.id = ends.id CROSS JOIN entity AS n ON n.id = ends.other
    WHERE e.kind NOT IN (SELECT value FROM json_each(:but)) AND n.subject IS NOT NULL AND n.path IS NOT NULL
    GROUP BY direction, n.id, e.kind, e.origin)
WHERE joined > :above ORDER BY joined DESC, first LIMIT :limit

-- name: list_entities
-- The entities of some places whose name, or other name, has a text in it.
SELECT id, entity_id, house, place, kind, name, path, subject FROM entity AS one WHERE house = :house AND place IN (SELECT value FROM json_each(:places))
    AND (:kinds = '' OR kind IN (SELECT value FROM json_each(:kinds))) AND id > :after
    AND (:query = '' OR instr(folded, :query) > 0
        OR EXISTS (SELECT 1 FROM alias WHERE alias.entity = one.id AND instr(alias.folded, :query) > 0))
ORDER BY id LIMIT :limit

-- name: subjects_leading_to
-- The things whose edges of a kind lead to an entity.
SELECT DISTINCT subject FROM edge WHERE to_entity = :entity AND kind = :kind

-- name: belongings
-- What things stand for, and the folders and tags that they are in.
SELECT subject, entity_id, name, kind FROM entity
WHERE house = :house AND subject IN (SELECT value FROM json_each(:subjects)) AND kind IN ('page', 'code')
UNION ALL SELECT edge.subject, t.entity_id, t.name, t.kind FROM edge JOIN entity AS t ON t.id = edge.to_entity
WHERE edge.house = :house AND edge.subject IN (SELECT value FROM json_each(:subjects)) AND edge.kind IN ('member_of', 'tagged')
