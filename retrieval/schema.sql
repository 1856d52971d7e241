-- The graph: what things are called, and how they are linked. One graph for all houses; each row names the house that it belongs to.

-- `place`: the part of its house whose visibility the entity shares, such as the id of a collection or `kind:key` of a scope.
-- `path`: of a file or folder, one entity each. `subject`: the id of the file or record that it stands for, and goes with.
-- One with neither lives as long as an edge names it.
CREATE TABLE entity (
    id        INTEGER PRIMARY KEY,
    entity_id TEXT NOT NULL UNIQUE,
    house     TEXT NOT NULL CHECK (house IN ('memory', 'thread_episodic', 'knowledge')),
    place     TEXT NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN (
        'page', 'folder', 'project', 'area', 'resource', 'archive', 'inbox', 'tag', 'code',
        'person', 'organization', 'place', 'system', 'thing', 'topic')),
    name      TEXT NOT NULL,
    folded    TEXT NOT NULL, -- the name as names are compared
    path      TEXT,
    subject   TEXT
) STRICT;
CREATE UNIQUE INDEX entity_path ON entity (house, place, path) WHERE path IS NOT NULL;
CREATE UNIQUE INDEX entity_named ON entity (house, place, kind, folded) WHERE path IS NULL AND subject IS NULL;
CREATE INDEX entity_subject ON entity (house, subject) WHERE subject IS NOT NULL;
CREATE INDEX entity_folded ON entity (folded, house, place);

CREATE TABLE alias (
    entity INTEGER NOT NULL REFERENCES entity (id) ON DELETE CASCADE,
    folded TEXT NOT NULL,
    name   TEXT NOT NULL,
    PRIMARY KEY (entity, folded)
) STRICT, WITHOUT ROWID;
CREATE INDEX alias_folded ON alias (folded);

-- `subject`: the record, chunk or file that says so; the edge goes with it. `target`: the words of a link as they were written,
-- `target_folded`: the name by which the link is found again when what is called so comes or goes;
-- without `to_entity` the link leads nowhere, until something of that name appears.
CREATE TABLE edge (
    id            INTEGER PRIMARY KEY,
    house         TEXT NOT NULL CHECK (house IN ('memory', 'thread_episodic', 'knowledge')),
    subject       TEXT NOT NULL,
    from_entity   INTEGER NOT NULL REFERENCES entity (id) ON DELETE CASCADE,
    to_entity     INTEGER REFERENCES entity (id) ON DELETE SET NULL,
    target        TEXT,
    target_folded TEXT,
    kind          TEXT NOT NULL,
    strength      REAL NOT NULL CHECK (strength BETWEEN 0 AND 1),
    origin        TEXT NOT NULL CHECK (origin IN ('explicit', 'inferred')),
    address       TEXT, -- where the subject says it, as its house writes addresses
    created_at    INTEGER NOT NULL,
    confirmed_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX edge_of_subject ON edge (house, subject);
CREATE INDEX edge_from ON edge (from_entity, kind);
CREATE INDEX edge_to ON edge (to_entity, kind) WHERE to_entity IS NOT NULL;
CREATE INDEX edge_target ON edge (target_folded) WHERE target_folded IS NOT NULL;
CREATE INDEX edge_unconfirmed ON edge (confirmed_at) WHERE origin = 'inferred';

-- What was named by an edge alone has no name left when the last one goes: no word of an erased text stays behind.
CREATE TRIGGER edge_gone AFTER DELETE ON edge BEGIN
    DELETE FROM entity WHERE id IN (old.from_entity, old.to_entity) AND path IS NULL AND subject IS NULL
        AND NOT EXISTS (SELECT 1 FROM edge WHERE from_entity = entity.id)
        AND NOT EXISTS (SELECT 1 FROM edge WHERE to_entity = entity.id);
END;

-- Vectors of texts that left an index and may come back to it. `house` and `place`: whose they were last, and with what they go.
CREATE TABLE embedding_cache (
    space_id  INTEGER NOT NULL REFERENCES space (id) ON DELETE CASCADE,
    text_hash BLOB NOT NULL, -- keyed, of the text that the model was given
    vector    BLOB NOT NULL,
    house     TEXT NOT NULL CHECK (house IN ('memory', 'thread_episodic', 'knowledge')),
    place     TEXT NOT NULL,
    used_at   INTEGER NOT NULL,
    PRIMARY KEY (text_hash, space_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX embedding_cache_used ON embedding_cache (used_at);
CREATE INDEX embedding_cache_place ON embedding_cache (house, place);
