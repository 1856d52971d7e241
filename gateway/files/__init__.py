"""Files that messages carry: kept by content, and read where that takes a library."""
