"""Reading of durable memory: search, list, recall, the standing block, and the reason for each hit."""
