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
-- Entities that are gone and have names yet.
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
