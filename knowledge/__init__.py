"""Files as evidence: folders of the user whose files are searched and quoted, and never changed or copied.

walk/    the walk through a folder, and the patterns that leave files out of it
scan/    the comparison of a folder with the rows of its last scan, and the watch that leads to the next
index/   the cutting of a file into pieces, and their way into the index
links/   links and imports in a text, and the files that they lead to
search/  find pieces, verify them on the disk, show them; read around an address
turns/   the tools of a model, and recall before it answers
rows/    the only SQL of this house

A piece is what retrieval calls a chunk: a range of a file's text that is found by itself. A content stands for all
files of the same bytes and kind; it is indexed once.
"""
