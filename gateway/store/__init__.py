"""The database file: its threads, its schema, its damage, and how no byte of what is erased stays in it."""
