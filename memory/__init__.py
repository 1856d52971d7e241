"""Durable memory: stable facts, preferences, decisions. Callers propose; this house decides and can say why.

rules/       pure decisions
extraction/  facts stated in so many words, found without a model
proposals/   proposals as each door makes them, and the sources that they are checked against
write/       the one write path
read/        search, list, recall, explanations
candidates/  decisions of a person
forget/      forgetting and erasing
aging/       records that age: consolidation, archive, review
bundles/     export and import
hooks/       hooks and tools by which a turn is given memories, and teaches some
rows/        rows and full-text rows; the only statements of this house

Beside the rooms: `service` and `questions` answer the wire's methods, `turn_memory` serves hooks and tools, `doorway`
resolves the scopes of a call, `repair` mends what is derived of records, `parts` builds what these share, `ports` and
`ports_hooks` name what the house is given.
"""
