"""The index kernel, for records, conversations and files alike: terms, chunks, weights, budgets, flat vectors.

Knows no record and no turn.

rows/  rows of the graph; the only statements of this house
"""
