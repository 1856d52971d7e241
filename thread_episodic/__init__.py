"""The conversation index: searches what was said, as far as the caller may see it.

search/  find, rank, gate, show
index/   how messages come into the index, and how it is repaired
rows/    the only SQL of this house
"""
