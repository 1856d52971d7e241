-- Statements of the graph.

-- name: add_entity
-- Add an entity, or give the one of that path or name its present name and subject.
INSERT INTO entity (entity_id, house, place, kind, name, folded, path, subject)
VALUES (:entity_id, :house, :place, :kind, :name, :folded, :path, :subject)
ON CONFLICT (house, place, path) WHERE path IS NOT NULL
    DO UPDATE SET kind = excluded.kind, name = excluded.name, folded = excluded.folded, subject = excluded.subject
ON CONFLICT (house, place, kind, folded) WHERE path IS NULL AND subject IS NULL DO UPDATE SET name = excluded.name
RETURNING id, entity_id, house, place, kind, name, path, subject

-- name: entity_of_subject
-- The entity of a kind that stands for a thing of a house.
SELECT id, entity_id, house, place, kind, name, path, subject FROM entity
WHERE house = :house AND subject = :subject AND kind = :kind ORDER BY id LIMIT 1

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

-- name: drop_unconfirmed
-- Drop inferred edges that were confirmed last before a time.
DELETE FROM edge WHERE id IN (SELECT id FROM edge WHERE origin = 'inferred' AND confirmed_at < :before LIMIT :limit)

-- name: first_unconfirmed
-- When the inferred edge that has waited longest was confirmed.
SELECT min(confirmed_at) FROM edge WHERE origin = 'inferred'

-- name: drop_aimless
-- Drop edges whose other end is gone and was never written down.
DELETE FROM edge WHERE id IN (SELECT id FROM edge WHERE to_entity IS NULL AND target IS NULL LIMIT :limit)

-- name: drop_unnamed
-- Drop entities that stand for nothing and that no edge names.
DELETE FROM entity WHERE id IN (
    SELECT id FROM entity AS one WHERE path IS NULL AND subject IS NULL
        AND NOT EXISTS (SELECT 1 FROM edge WHERE from_entity = one.id)
        AND NOT EXISTS (SELECT 1 FROM edge WHERE to_entity = one.id) LIMIT :limit)

-- name: drop_lone_aliases
-- Drop names of entities that are gone.
DELETE FROM alias WHERE entity IN (SELECT entity FROM alias WHERE entity NOT IN (SELECT id FROM entity) LIMIT :limit)

-- name: drop_baseless_edges
-- Drop edges whose beginning is gone.
DELETE FROM edge WHERE id IN (SELECT id FROM edge WHERE from_entity NOT IN (SELECT id FROM entity) LIMIT :limit)

-- name: census_of_graph
-- How many entities and edges of each origin there are.
SELECT 'entities', count(*) FROM entity
UNION ALL SELECT 'edges_' || origin, count(*) FROM edge GROUP BY origin
