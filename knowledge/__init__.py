"""Files as evidence: folders of the user whose files are searched and quoted, and never changed or copied.

scan/    which files a collection holds: patterns, kinds, the comparison with what is known
index/   how a file becomes pieces, and how they come into the index
search/  find, verify on the disk, show; reading around an address
rows/    the only SQL of this house
"""
