"""Files as evidence: folders of the user whose files are searched and quoted, and never changed or copied.

scan/    which files a collection holds: patterns, kinds, the comparison with what is known
index/   how a file becomes pieces, and how they come into the index
links/   what a text says of others, and what a name leads to
search/  find, verify on the disk, show; reading around an address
turns/   the tools of a model, and recall before it answers
rows/    the only SQL of this house
"""
