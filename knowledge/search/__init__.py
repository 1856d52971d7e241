"""Search and reading: find, verify on the disk, show, with an address."""
