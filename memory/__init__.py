"""Durable memory: stable facts, preferences, decisions. Callers propose; this house decides and can say why.

rules/       pure decisions
extraction/  facts stated in so many words, found without a model
proposals/   what each door proposes, and what it is checked against
write/       the one write path
read/        search, list, recall, explanations
candidates/  decisions of a person
forget/      forgetting and erasing
aging/       records that age: consolidation, archive, review
bundles/     export and import
hooks/       what a turn is given, and what it teaches
rows/        rows and full-text rows; the only statements of this house
"""
