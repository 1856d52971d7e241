"""Files that messages carry: stored by content, and read with a library where that takes one."""
