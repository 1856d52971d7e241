"""Ageing of records: the stages of a consolidation, and the service by which a person looks at it."""
