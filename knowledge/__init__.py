"""Files as evidence: folders of the user whose files are searched and quoted, and never changed or copied.

scan/    the files of a collection: patterns, kinds, the comparison with the rows of the last scan
index/   the cutting of a file into pieces, and their way into the index
links/   links and imports in a text, and the files that they lead to
search/  find pieces, verify them on the disk, show them; read around an address
turns/   the tools of a model, and recall before it answers
rows/    the only SQL of this house

A piece is what retrieval calls a chunk: a range of a file's text that is found by itself. A content stands for all
files of the same bytes and kind; it is indexed once.
"""
